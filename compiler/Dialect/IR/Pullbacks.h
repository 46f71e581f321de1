// What several derivatives share. Internal to this library.
#pragma once

#include "compiler/Dialect/IR/Emit.h"

namespace pmap {

/// perm^-1.
inline llvm::SmallVector<int64_t> invertPermutation(llvm::ArrayRef<int64_t> perm) {
  llvm::SmallVector<int64_t> inverse(perm.size());
  for (auto [i, dim] : llvm::enumerate(perm))
    inverse[dim] = i;
  return inverse;
}

/// The dimensions of `rank` that `dims` leaves, in order.
llvm::SmallVector<int64_t> restOf(int64_t rank, llvm::ArrayRef<int64_t> dims);

/// Undoes a reduction's shape: the dropped dimensions stretch to those of `type`.
mlir::Value stretch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value reduced, mlir::RankedTensorType type,
                    llvm::ArrayRef<int64_t> dims);

/// The cotangent of x where its elements along `dim` are multiplied and `stretched` is the product's cotangent,
/// stretched to x's type. Exact where elements are zero.
mlir::Value pullProduct(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Value x, int64_t dim,
                        mlir::Value stretched);

/// This device's block along `dim` of a value that holds one for each device along `axes` (major first), as `block`:
/// `stacked` ones have a dimension `dim` of their own in the value, which `block` has not.
mlir::Value ownBlock(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value blocks,
                     llvm::ArrayRef<mlir::StringAttr> axes, int64_t dim, mlir::RankedTensorType block, bool stacked);

/// The tangent of a tensor, or zeros for a null one.
mlir::Value tangentOrZeros(mlir::OpBuilder &builder, mlir::Value tangent, mlir::Value primal);
/// The pushforward of an op that is linear in its floating operands together: the op itself, of the tangents.
mlir::LogicalResult applyToTangents(mlir::Operation *op, mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> tangents,
                                    llvm::SmallVectorImpl<mlir::Value> &results);

} // namespace pmap
