//===- PmapIndexingOps.td - Reading and updating parts of arrays --------------------------------------------*- td -*-===//
#ifndef PMAP_INDEXING_OPS_TD
#define PMAP_INDEXING_OPS_TD

include "compiler/Dialect/IR/PmapOpBase.td"

// An index has no type that could carry a V. Where an index varies, Sema widens the array first, so that the result's V,
// which is the array's, is right; `pmap-check-variance` checks this.

def Pmap_CheckedIndexOp : Pmap_CheckedOp<"checked_index"> {
  let summary = "an index that is within bounds";
  let description = [{
    Gives `index` back where 0 <= index < size. Anything else is a run-time error at this op's location; the value is then
    clamped, so that what follows stays within bounds. `dim` is the dimension the message names.

    ```mlir
    %j = pmap.checked_index %i < %n dim 0
    ```

    Constraint: (checked_index-1) `dim` is not negative.

    Lifespan: made by Sema; removed by PmapToLinalg.
  }];
  let arguments = (ins Index:$index, Index:$size, I64Attr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `<` $size `dim` $dim attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$index, "::mlir::Value":$size, "int64_t":$dim)>];
  let hasFolder = 1;
}

def Pmap_ExtractOp : Pmap_PureOp<"extract", [Differentiable]> {
  let summary = "one element, as a scalar";
  let description = [{
    The indices come from `pmap.checked_index`, or are within bounds by construction.

    ```mlir
    %1 = pmap.extract %x[%i, %j] : tensor<3x4xf32> -> tensor<f32>
    ```

    Constraints: (extract-1) there is one index per dimension; (extract-2) the result is a scalar of the array's element
    type and V.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Variadic<Index>:$indices);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `[` $indices `]` attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::ValueRange":$indices)>];
  let hasFolder = 1;
}

def Pmap_SliceOp : Pmap_CheckedOp<"slice", [Differentiable, Batchable]> {
  let summary = "a rectangular part of an array";
  let description = [{
    Element i of the result along a dimension is element `offset + i * stride` of the array. The sizes are the result
    type's. A part past the end is a run-time error, unless the op is marked `in_bounds`.

    ```mlir
    %1 = pmap.slice %x[%i, %c0] strides [1, 2] : tensor<8x8xf32> -> tensor<2x4xf32>
    ```

    Constraints: (slice-1) there is one offset and one stride per dimension; (slice-2) strides are at least 1;
    (slice-3) the rank, element type and V stay.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Variadic<Index>:$offsets, DenseI64ArrayAttr:$strides, UnitAttr:$in_bounds);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `[` $offsets `]` `strides` $strides (`in_bounds` $in_bounds^)? attr-dict `:` type($input) `->` type($result)
  }];
  let builders = [
    // Stride 1 in every dimension.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::ValueRange":$offsets, "bool":$inBounds)>
  ];
  let hasFolder = 1;
}

def Pmap_UpdateSliceOp : Pmap_CheckedOp<"update_slice", [Differentiable, Batchable]> {
  let summary = "an array with a rectangular part replaced";
  let description = [{
    Pure; done in place where the old array is dead. Bounds are checked as in `pmap.slice`.

    ```mlir
    %1 = pmap.update_slice %x[%i, %c0] strides [1, 1] = %u : tensor<8x8xf32>, tensor<2x4xf32>
    ```

    Constraints: (update_slice-1) there is one offset and one stride per dimension; (update_slice-2) strides are at least
    1; (update_slice-3) array and update agree in rank, element type and V.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Pmap_Tensor:$update, Variadic<Index>:$offsets, DenseI64ArrayAttr:$strides,
                       UnitAttr:$in_bounds);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $input `[` $offsets `]` `strides` $strides (`in_bounds` $in_bounds^)? `=` $update attr-dict
    `:` type($input) `,` type($update) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$update, "::mlir::ValueRange":$offsets,
                   "::llvm::ArrayRef<int64_t>":$strides, "bool":$inBounds)>,
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$update, "::mlir::ValueRange":$offsets, "bool":$inBounds)>
  ];
  let hasFolder = 1;
}

def Pmap_GatherOp : Pmap_CheckedOp<"gather", [Differentiable, Batchable]> {
  let summary = "the parts of an array that integer indices name";
  let description = [{
    Dimension `dim` of the array is replaced by the dimensions of `indices`. An index out of range is a run-time error.
    `is_unsigned` reads the indices as unsigned.

    ```mlir
    %1 = pmap.gather %x, %ids dim 0 : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
    ```

    Constraints: (gather-1) `dim` is a dimension of the array; (gather-2) indices are integers; (gather-3) array, indices
    and result have one V (V2); (gather-4) the result's type is what these rules give.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_Tensor:$input, Pmap_Tensor:$indices, I64Attr:$dim, UnitAttr:$is_unsigned);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = "$input `,` $indices `dim` $dim attr-dict `:` type($input) `,` type($indices) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$indices, "int64_t":$dim, CArg<"bool", "false">:$isUnsigned)>];
}

def Pmap_ScatterOp : Pmap_CheckedOp<"scatter", [Differentiable, Batchable]> {
  let summary = "adds updates into the parts of an array that integer indices name";
  let description = [{
    The transpose of `pmap.gather`: `updates` has the type that gathering would give, and each part is combined with what
    the array holds. Repeated indices combine in the order of the updates. An index out of range is a run-time error.

    ```mlir
    %1 = pmap.scatter sum %x, %ids, %u dim 0 : tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32> -> tensor<8x4xf32>
    ```

    Constraints: (scatter-1) the kind is `sum`, `max`, `min`, `maxu` or `minu`; (scatter-2) `dim` is a dimension of the
    array; (scatter-3) indices are integers; (scatter-4) all operands have one V (V2); (scatter-5) `updates` has the type
    that gathering gives.

    Lifespan: made by Sema and derivatives; removed by PmapToLinalg.
  }];
  let arguments = (ins Pmap_ReductionKindAttr:$kind, Pmap_Tensor:$input, Pmap_Tensor:$indices, Pmap_Tensor:$updates,
                       I64Attr:$dim, UnitAttr:$is_unsigned);
  let results = (outs Pmap_Tensor:$result);
  let assemblyFormat = [{
    $kind $input `,` $indices `,` $updates `dim` $dim attr-dict
    `:` type($input) `,` type($indices) `,` type($updates) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::pmap::ReductionKind":$kind, "::mlir::Value":$input, "::mlir::Value":$indices,
                                 "::mlir::Value":$updates, "int64_t":$dim, CArg<"bool", "false">:$isUnsigned)>];
}

#endif
