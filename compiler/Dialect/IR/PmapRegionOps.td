//===- PmapRegionOps.td - for_each, grad and yield ----------------------------------------------------------*- td -*-===//
#ifndef PMAP_REGION_OPS_TD
#define PMAP_REGION_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

def Pmap_YieldOp : Pmap_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["MapOp", "ForEachOp",
    "GradOp", "VmapOp", "VjpOp", "JvpOp", "CheckpointOp", "CustomVjpOp"]>]> {
  let summary = "the results of a pmap region";
  let description = [{
    ```mlir
    pmap.yield %a, %b : tensor<f32>, tensor<3xf32>
    ```

    Lifespan: goes with its parent.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let hasVerifier = 0;
}

def Pmap_ForEachOp : Pmap_Op<"for_each", [RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a comprehension: one value per point of an index space, in parallel";
  let description = [{
    The region runs once for each tuple of indices below `bounds`, in any order. The result's shape is the bounds' sizes,
    then the body's shape. The body sees values from outside.

    ```mlir
    %1 = pmap.for_each (%i, %j) in (%n, %m) {
      %a = pmap.extract %x[%i] : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<f32>
      pmap.yield %a : tensor<f32>
    } : tensor<?x?xf32, #pmap.layout<["n", "m"], []>>
    ```

    Constraints: (for_each-1) the region has one `index` argument per bound; (for_each-2) it yields one tensor per result;
    (for_each-3) a result has the bounds' dimensions, then those of the yielded tensor, its element type and V.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Variadic<Index>:$bounds);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // The block is made, with its index arguments but without a terminator.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$bounds)>
  ];
}

def Pmap_GradOp : Pmap_Op<"grad", [RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "the value and the gradients of a function";
  let description = [{
    The region computes, from its arguments, a floating scalar and then any auxiliary values. The results are that scalar,
    the auxiliary values, and one gradient per position in `wrt`, each of its operand's type (G1, G2). What the region
    sees from outside is constant.

    ```mlir
    %v, %g = pmap.grad (%w as %a : tensor<3xf32>) wrt [0] {
      %s = pmap.reduce sum %a dims [0] : tensor<3xf32> -> tensor<f32>
      pmap.yield %s : tensor<f32>
    } : tensor<f32>, tensor<3xf32>
    ```

    Constraints: (grad-1) the region's arguments are the operands' types; (grad-2) the first yielded value is a floating
    scalar (G1); (grad-3) `wrt` names floating operands, each once; (grad-4) the results are the yielded types, then the
    types of the wrt operands; (grad-5) the value's V is within that of every wrt operand (G1).

    Lifespan: made by Sema; removed by `pmap-transform`.
  }];
  let arguments = (ins Variadic<Pmap_Any>:$inputs, DenseI64ArrayAttr:$wrt);
  let results = (outs Variadic<Pmap_Any>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // `results` are the types of the value, the auxiliary values, and the gradients. The block is made, with its
    // arguments but without a terminator.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs, "::llvm::ArrayRef<int64_t>":$wrt)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Value getValue() { return getResult(0); }
    ::mlir::ResultRange getAuxiliaries() { return getResults().slice(1, getNumResults() - 1 - getWrt().size()); }
    ::mlir::ResultRange getGradients() { return getResults().take_back(getWrt().size()); }
  }];
}

def Pmap_StopGradientOp : Pmap_PureOp<"stop_gradient", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "the value, taken as a constant by derivatives";
  let description = [{
    ```mlir
    %1 = pmap.stop_gradient %x : tensor<3xf32>
    ```

    Lifespan: made by Sema; removed by `pmap-transform` once no `pmap.grad` is left.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 0;
}

#endif
