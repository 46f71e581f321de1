// The result types of ops that have only one possible: the builders use these to make types, the verifiers to check
// them.
#pragma once

#include "compiler/Dialect/IR/Layout.h"

namespace pmap {

/// The type without `dims` (sorted).
mlir::RankedTensorType inferReduce(mlir::RankedTensorType input, llvm::ArrayRef<int64_t> dims);
mlir::RankedTensorType inferArgReduce(mlir::RankedTensorType input, int64_t dim);
mlir::RankedTensorType inferDot(mlir::RankedTensorType lhs, mlir::RankedTensorType rhs,
                                llvm::ArrayRef<int64_t> lhsBatch, llvm::ArrayRef<int64_t> rhsBatch,
                                llvm::ArrayRef<int64_t> lhsContract, llvm::ArrayRef<int64_t> rhsContract);
mlir::RankedTensorType inferTranspose(mlir::RankedTensorType input, llvm::ArrayRef<int64_t> perm);
/// The first type with the sum of all sizes along `dim`.
mlir::RankedTensorType inferConcat(llvm::ArrayRef<mlir::RankedTensorType> inputs, int64_t dim);
mlir::RankedTensorType inferPad(mlir::RankedTensorType input, llvm::ArrayRef<Size> low, llvm::ArrayRef<Size> high);
mlir::RankedTensorType inferGather(mlir::RankedTensorType input, mlir::RankedTensorType indices, int64_t dim);
/// V minus the axes, or with groups V plus the axes (V3).
mlir::RankedTensorType inferAllReduce(mlir::RankedTensorType input, llvm::ArrayRef<mlir::StringAttr> axes,
                                      bool grouped);
/// With groups, which are of one size, blocks are those of a group. `devices` is what `participantsOf` says.
mlir::RankedTensorType inferAllGather(mlir::RankedTensorType input, llvm::ArrayRef<mlir::StringAttr> axes, int64_t dim,
                                      bool tiled, const Size &devices, bool grouped);
/// The size of an axis as code in `block` writes it: a literal where the mesh around it has one, the number of rows
/// along the axis of a vmap, else `@axis`. Two spellings of one size would be two types.
Size axisSizeIn(mlir::Block *block, llvm::StringRef axis);
/// How many devices the axes have together.
Size devicesAlong(mlir::Block *block, llvm::ArrayRef<mlir::StringAttr> axes);
/// How many devices take part in a collective: those along the axes, or those of a group.
Size participantsOf(mlir::Block *block, llvm::ArrayRef<mlir::StringAttr> axes, mlir::ArrayAttr groups);
/// The type with every axis size as code in `block` writes it.
mlir::RankedTensorType withKnownAxes(mlir::Block *block, mlir::RankedTensorType type);

} // namespace pmap
