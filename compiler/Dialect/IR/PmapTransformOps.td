//===- PmapTransformOps.td - Transformations of functions: vmap and derivatives -----------------------------*- td -*-===//
#ifndef PMAP_TRANSFORM_OPS_TD
#define PMAP_TRANSFORM_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

// A region that sees values from outside and is inlined when its op is removed.
class Pmap_TransformOp<string mnemonic, list<Trait> traits = []> : Pmap_Op<mnemonic, !listconcat([
    RecursiveMemoryEffects], traits)>;

def Pmap_VmapOp : Pmap_TransformOp<"vmap", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a function of one row, for all rows at once (P8)";
  let description = [{
    Batchedness is variance: inside the region `axis` is an axis like one of a mesh, of `size` positions, and what differs
    between rows varies over it. An operand enters without its first dimension and varies over `axis`; what the region
    sees from outside is the same for all rows. A yielded value that varies over `axis` leaves with a new first dimension,
    any other as it is. Collectives may name `axis`. `chunk` bounds how many rows are computed at a time.

    ```mlir
    %1 = pmap.vmap "i" size "n" (%x) : (tensor<?x3xf32, #pmap.layout<["n", "3"], []>>) -> tensor<?xf32, #pmap.layout<["n"], []>> {
    ^bb0(%row: tensor<3xf32, #pmap.layout<["3"], ["i"]>>):
      %s = pmap.reduce sum %row dims [0] : tensor<3xf32, #pmap.layout<["3"], ["i"]>> -> tensor<f32, #pmap.layout<[], ["i"]>>
      pmap.yield %s : tensor<f32, #pmap.layout<[], ["i"]>>
    }
    ```

    Constraints: (vmap-1) `size` is a polynomial without `@axis`, and the size of each operand's first dimension; (vmap-2) the
    region's arguments are the operands without that dimension, their V plus `axis`; (vmap-3) a result is the yielded
    type with V minus `axis` and, where V had it, a first dimension of `size`, in terms of `size` instead of `@axis`;
    (vmap-4) `axis` is no axis of a map or vmap around it; (vmap-5) `chunk` is at least 1.

    Lifespan: made by Sema; removed by `pmap-transform`.
  }];
  let arguments = (ins StrAttr:$axis, StrAttr:$size, OptionalAttr<I64Attr>:$chunk, Variadic<Pmap_Tensor>:$inputs);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $axis `size` $size (`chunk` $chunk^)? `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    // Makes the block with its arguments, without a terminator. A null `chunk` is none.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::StringRef":$axis, "const ::pmap::Size &":$size,
                   "::mlir::IntegerAttr":$chunk, "::mlir::ValueRange":$inputs)>
  ];
}

def Pmap_VjpOp : Pmap_TransformOp<"vjp", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "the results of a function, and what its pullbacks need";
  let description = [{
    The results are what the region yields, then the residuals: a token for `pmap.pullback`. The rules for `wrt` are those
    of `pmap.grad`, and its results may be any arrays.

    ```mlir
    %y, %r = pmap.vjp wrt [0] (%x) : (tensor<3xf32>) -> (tensor<3xf32>, !pmap.residuals) {
    ^bb0(%a: tensor<3xf32>):
      %s = math.sin %a : tensor<3xf32>
      pmap.yield %s : tensor<3xf32>
    }
    %g = pmap.pullback %r (%ct) : (tensor<3xf32>) -> tensor<3xf32>
    ```

    Constraints: (vjp-1) the region's arguments are the operands' types; (vjp-2) `wrt` names floating operands, each once;
    (vjp-3) the results are the yielded types, then the residuals; (vjp-4) the V of a floating result is within that of
    every wrt operand (G1).

    Lifespan: made by Sema; removed by `pmap-transform`, with its pullbacks.
  }];
  let arguments = (ins DenseI64ArrayAttr:$wrt, Variadic<Pmap_Tensor>:$inputs);
  let results = (outs Variadic<Pmap_TensorOrResiduals>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `wrt` $wrt `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    // `yielded` are the types of the region's results. The block is made, with its arguments but without a terminator.
    OpBuilder<(ins "::mlir::TypeRange":$yielded, "::mlir::ValueRange":$inputs, "::llvm::ArrayRef<int64_t>":$wrt)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Value getResiduals() { return getResults().back(); }
    ::mlir::ResultRange getValues() { return getResults().drop_back(); }
  }];
}

def Pmap_PullbackOp : Pmap_Op<"pullback", [RecursiveMemoryEffects]> {
  let summary = "the cotangents of a function's arguments, from those of its results";
  let description = [{
    May stand anywhere its `pmap.vjp` dominates, several times, and inside of a `pmap.vmap`, where a cotangent may vary over
    the vmapped axis; what it gives then varies as well.

    Constraints: (pullback-1) the residuals are a result of a `pmap.vjp`; (pullback-2) there is one cotangent per floating
    result of it, of that type, its V at least that of the result; (pullback-3) there is one result per wrt operand, of
    that type, its V plus what the cotangents vary over beyond their primals (G2).

    Lifespan: made by Sema; removed by `pmap-transform`.
  }];
  let arguments = (ins Pmap_ResidualsType:$residuals, Variadic<Pmap_Tensor>:$cotangents);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let assemblyFormat = "$residuals `(` $cotangents `)` attr-dict `:` functional-type($cotangents, $results)";
}

def Pmap_JvpOp : Pmap_TransformOp<"jvp", [SingleBlockImplicitTerminator<"YieldOp">, AttrSizedOperandSegments]> {
  let summary = "the results of a function, and their derivatives along a direction";
  let description = [{
    The results are what the region yields, then the tangents of those that are floating. `tangents` are of the operands
    in `wrt`, in that order. A tangent may vary over more axes than its primal, as inside of a `pmap.vmap` whose rows are
    directions; the tangents of the results then vary as well, and the values do not.

    ```mlir
    %y, %dy = pmap.jvp wrt [0] (%x) along (%dx) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%a: tensor<f32>):
      %s = math.sin %a : tensor<f32>
      pmap.yield %s : tensor<f32>
    }
    ```

    Constraints: (jvp-1) the region's arguments are the operands' types; (jvp-2) `wrt` names floating operands, each once, and
    there is one tangent for each, of its type, its V at least that of the operand; (jvp-3) the results are the yielded
    types, then the floating ones again, their V plus what the tangents vary over beyond their primals.

    Lifespan: made by Sema; removed by `pmap-transform`.
  }];
  let arguments = (ins DenseI64ArrayAttr:$wrt, Variadic<Pmap_Tensor>:$inputs, Variadic<Pmap_Tensor>:$tangents);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `wrt` $wrt `(` $inputs `)` `along` `(` $tangents `)` attr-dict `:` functional-type(operands, $results) $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [
    // The block is made, with its arguments but without a terminator.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$tangents,
                   "::llvm::ArrayRef<int64_t>":$wrt)>
  ];
}

def Pmap_CheckpointOp : Pmap_TransformOp<"checkpoint", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a part of a program whose reverse derivative computes it again instead of storing (G4)";
  let description = [{
    The region has no arguments; it sees values from outside, and yields the results.

    ```mlir
    %1 = pmap.checkpoint : () -> tensor<3xf32> {
      %s = math.sin %x : tensor<3xf32>
      pmap.yield %s : tensor<3xf32>
    }
    ```

    Constraint: (checkpoint-1) the results are the yielded types.

    Lifespan: made by Sema; inlined by `pmap-transform` once no derivative is left.
  }];
  let results = (outs Variadic<Pmap_TensorOrDist>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword `:` functional-type(operands, $results) $body";
}

def Pmap_OpaqueOp : Pmap_PureOp<"opaque", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "the same value, which no optimisation knows to be the same";
  let description = [{
    What is computed from it is not merged with what was computed from `input`: a checkpoint's second computation must
    not become its first one, kept. Costs nothing at run time.

    ```mlir
    %1 = pmap.opaque %x : tensor<3xf32>
    ```

    Lifespan: made by `pmap-transform`; becomes `pmap_rt.opaque` in PmapToLinalg, which bufferization removes.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 0;
}

def Pmap_CustomVjpOp : Pmap_TransformOp<"custom_vjp"> {
  let summary = "a function whose reverse derivative the program gives";
  let description = [{
    `primal` computes the results from the operands. `forward` computes, from the operands, the results and then the
    residuals. `backward` takes the residuals and the cotangents of the floating results, and yields the cotangents of the
    floating operands. Operands are widened to the results' variance first, so that the rule is per device (G3). The
    regions may see constants from outside, which have no derivative.

    Constraints: (custom_vjp-1) the arguments of `primal` and `forward` are the operands' types; (custom_vjp-2) `primal` yields the
    results' types, and so does `forward`, before its residuals; (custom_vjp-3) the arguments of `backward` are the types
    of the residuals, then of the floating results; (custom_vjp-4) `backward` yields the types of the floating operands.

    Lifespan: made by Sema; removed by `pmap-transform`.
  }];
  let arguments = (ins Variadic<Pmap_Tensor>:$inputs);
  let results = (outs Variadic<Pmap_Tensor>:$results);
  let regions = (region SizedRegion<1>:$primal, SizedRegion<1>:$forward, SizedRegion<1>:$backward);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $primal `forward` $forward `backward` $backward
  }];
}

#endif
