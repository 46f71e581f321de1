//===- PmapArrayOps.td - Whole-array ops --------------------------------------------------------------------*- td -*-===//
#ifndef PMAP_ARRAY_OPS_TD
#define PMAP_ARRAY_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

def Pmap_BroadcastOp : Pmap_PureOp<"broadcast", [Differentiable, Batchable]> {
  let summary = "stretches an array to a larger shape";
  let description = [{
    Dimension k of the operand becomes dimension `dims[k]` of the result. A dimension of literal size 1 stretches; every
    other keeps its size. A scalar broadcast is a splat.

    ```mlir
    %1 = pmap.broadcast %row dims [1] : tensor<4xf32> -> tensor<3x4xf32>
    %2 = pmap.broadcast %c dims [] : tensor<f32> -> tensor<?xf32, #pmap.layout<["n"], []>>
    ```

    Constraints: (broadcast-1) there is one entry of `dims` per operand dimension; (broadcast-2) `dims` increases
    strictly and stays within the result; (broadcast-3) the sizes agree, or the operand's is the literal 1;
    (broadcast-4) operand and result have one element type and one V (V2).

    Lifespan: made by Sema for NumPy broadcasting, and by derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let builders = [
    // A broadcast that aligns trailing dimensions, as NumPy does.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input)>
  ];
  let hasFolder = 1;
}

def Pmap_ReduceOp : Pmap_PureOp<"reduce", [Differentiable, Batchable]> {
  let summary = "combines the elements along some dimensions, which are dropped";
  let description = [{
    `sum` and `prod` of an empty dimension are 0 and 1, `max` and `min` the least and greatest value of the dtype. `max`
    and `min` of floats propagate NaN, as NumPy's do. `maxu` and `minu` are for unsigned integers, `and` and `or` for
    `i1`. `sum` of f16 and bf16 accumulates in f32.

    ```mlir
    %1 = pmap.reduce sum %x dims [0] : tensor<3x4xf32> -> tensor<4xf32>
    ```

    Constraints: (reduce-1) `dims` is sorted, without repeats, and within the operand; (reduce-2) the result is the
    operand without those dimensions, of the same element type and V; (reduce-3) the kind suits the element type, and
    is not `mean`.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_ReductionKindAttr:$kind, Pmap_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$kind $input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::pmap::ReductionKind":$kind, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims)>];
  let hasFolder = 1;
}

def Pmap_ArgReduceOp : Pmap_CheckedOp<"arg_reduce", [Batchable]> {
  let summary = "the position of the extremum along one dimension";
  let description = [{
    Ties take the lowest index and the first NaN wins, as in NumPy. An empty dimension is a run-time error.

    ```mlir
    %1 = pmap.arg_reduce max %x dim 1 : tensor<3x4xf32> -> tensor<3xi32>
    ```

    Constraints: (arg_reduce-1) the kind is `max`, `min`, `maxu` or `minu`; (arg_reduce-2) `dim` is a dimension of the
    operand; (arg_reduce-3) the result is the operand without it, of i32, with the same V.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_ReductionKindAttr:$kind, Pmap_Tensor:$input, I64Attr:$dim);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$kind $input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::pmap::ReductionKind":$kind, "::mlir::Value":$input, "int64_t":$dim)>];
}

def Pmap_ScanOp : Pmap_PureOp<"scan", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "the running sum or product along one dimension, inclusive";
  let description = [{
    ```mlir
    %1 = pmap.scan sum %x dim 0 : tensor<4xf32>
    ```

    Constraints: (scan-1) the kind is `sum` or `prod`; (scan-2) `dim` is a dimension of the operand.

    Lifespan: made by Sema for cumsum and cumprod; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_ReductionKindAttr:$kind, Pmap_Tensor:$input, I64Attr:$dim);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$kind $input `dim` $dim attr-dict `:` type($input)";
}

def Pmap_DotOp : Pmap_PureOp<"dot", [Differentiable, Batchable]> {
  let summary = "a general contraction (dot_general)";
  let description = [{
    The result's dimensions are the batch dimensions, then what is left of `lhs`, then what is left of `rhs`. f16 and
    bf16 accumulate in f32, integers wrap.

    ```mlir
    %1 = pmap.dot %a, %b batch [] x [] contract [1] x [0] : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
    ```

    Constraints: (dot-1) both sides have as many batch, and as many contracted dimensions; (dot-2) a dimension is named
    once; (dot-3) the sizes of paired dimensions agree; (dot-4) both sides have one element type and one V (V2);
    (dot-5) the result's type is what these rules give.

    Lifespan: made by Sema for `@`, `dot`, `einsum`, and by derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$lhs, Pmap_Tensor:$rhs, DenseI64ArrayAttr:$lhs_batch, DenseI64ArrayAttr:$rhs_batch,
                       DenseI64ArrayAttr:$lhs_contract, DenseI64ArrayAttr:$rhs_contract);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `batch` $lhs_batch `x` $rhs_batch `contract` $lhs_contract `x` $rhs_contract attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<int64_t>":$lhsBatch,
                   "::llvm::ArrayRef<int64_t>":$rhsBatch, "::llvm::ArrayRef<int64_t>":$lhsContract,
                   "::llvm::ArrayRef<int64_t>":$rhsContract)>
  ];
}

def Pmap_TransposeOp : Pmap_PureOp<"transpose", [Differentiable, Batchable]> {
  let summary = "permutes the dimensions";
  let description = [{
    Dimension k of the result is dimension `perm[k]` of the operand.

    ```mlir
    %1 = pmap.transpose %x perm [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
    ```

    Constraints: (transpose-1) `perm` is a permutation of the dimensions; (transpose-2) the result's type is the
    operand's, permuted.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, DenseI64ArrayAttr:$perm);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `perm` $perm attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$perm)>];
  let hasFolder = 1;
}

def Pmap_ReshapeOp : Pmap_CheckedOp<"reshape", [Differentiable, Batchable]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    Where the element counts are not provably equal, they are compared at run time.

    ```mlir
    %1 = pmap.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
    ```

    Constraints: (reshape-1) element type and V stay; (reshape-2) element counts that are both known agree.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def Pmap_ConcatOp : Pmap_PureOp<"concat", [Differentiable, Batchable]> {
  let summary = "arrays one after the other along a dimension";
  let description = [{
    ```mlir
    %1 = pmap.concat %x, %y dim 0 : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    ```

    Constraints: (concat-1) there is an operand, and `dim` is one of its dimensions; (concat-2) operands and result agree
    but for `dim`, in V too; (concat-3) the result's size along `dim` is the sum of the operands'.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Variadic<Pmap_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$dim)>];
  let hasFolder = 1;
}

def Pmap_ReverseOp : Pmap_PureOp<"reverse", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "reverses the order along some dimensions";
  let description = [{
    ```mlir
    %1 = pmap.reverse %x dims [0] : tensor<4xf32>
    ```

    Constraint: (reverse-1) `dims` is sorted, without repeats, and within the operand.

    Lifespan: made by Sema for flip and negative steps, and by derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Pmap_RotateOp : Pmap_PureOp<"rotate", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "an array turned around its end along one dimension";
  let description = [{
    Element i of the result along `dim` is element `(i + offset) mod n` of the array, n being its size there. The offset may
    be any number.

    ```mlir
    %1 = pmap.rotate %x by %offset dim 0 : tensor<4xf32>
    ```

    Constraint: (rotate-1) `dim` is a dimension of the operand.

    Lifespan: made by Sema for roll, and by derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Index:$offset, I64Attr:$dim);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `by` $offset `dim` $dim attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Pmap_IotaOp : Pmap_PureOp<"iota"> {
  let summary = "the index along one dimension, as a value";
  let description = [{
    ```mlir
    %1 = pmap.iota dim 0 : tensor<?xi32, #pmap.layout<["n"], []>>
    ```

    Constraints: (iota-1) `dim` is a dimension of the result; (iota-2) the elements are integers or floats.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
}

def Pmap_PadOp : Pmap_PureOp<"pad", [Differentiable, Batchable]> {
  let summary = "puts margins around an array";
  let description = [{
    `low` and `high` are size polynomials, one per dimension; the margins hold the scalar `value`.

    ```mlir
    %1 = pmap.pad %x with %zero low ["0", "k"] high ["0", "1"]
      : tensor<3x4xf32>, tensor<f32> -> tensor<3x?xf32, #pmap.layout<["3", "k+5"], []>>
    ```

    Constraints: (pad-1) there is one low and one high size per dimension, each in normal form; (pad-2) the result's sizes
    are the sums; (pad-3) array, scalar and result have one element type and one V (V2).

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Pmap_Tensor:$value, StrArrayAttr:$low, StrArrayAttr:$high);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `with` $value `low` $low `high` $high attr-dict `:` type($input) `,` type($value) `->` type($result)
  }];
}

def Pmap_SortOp : Pmap_PureOp<"sort", [Differentiable, Batchable, AllTypesMatch<["input", "result"]>]> {
  let summary = "sorts along one dimension, stably";
  let description = [{
    NaN is greater than every number. `unsigned` orders integers as unsigned.

    ```mlir
    %1 = pmap.sort %x dim 0 {descending} : tensor<4xf32>
    ```

    Constraint: (sort-1) `dim` is a dimension of the operand.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, I64Attr:$dim, UnitAttr:$descending, UnitAttr:$is_unsigned);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input)";
}

def Pmap_ArgSortOp : Pmap_PureOp<"argsort", [Batchable]> {
  let summary = "the permutation that sorts along one dimension, stably";
  let description = [{
    ```mlir
    %1 = pmap.argsort %x dim 0 : tensor<4xf32> -> tensor<4xi32>
    ```

    Constraints: (argsort-1) `dim` is a dimension of the operand; (argsort-2) the result has the operand's sizes and V, of
    i32.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, I64Attr:$dim, UnitAttr:$descending, UnitAttr:$is_unsigned);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

def Pmap_CastOp : Pmap_CheckedOp<"cast", [Differentiable, Batchable]> {
  let summary = "the same array under other sizes, compared at run time";
  let description = [{
    What `x :> f32[m]` means. A size that differs is a run-time error.

    ```mlir
    %1 = pmap.cast %x : tensor<?xf32, #pmap.layout<["n"], []>> -> tensor<?xf32, #pmap.layout<["m"], []>>
    ```

    Constraints: (cast-1) rank, element type and V stay; (cast-2) sizes that are both constants agree.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

#endif
