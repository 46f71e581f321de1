// What several pullbacks share. Internal to this library.
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

/// The cotangent of x where its elements along `dim` are multiplied and `stretched` is the product's cotangent,
/// stretched to x's type. Exact where elements are zero.
mlir::Value pullProduct(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Value x, int64_t dim,
                        mlir::Value stretched);

} // namespace pmap
