// Sizes and offsets as sums of values and constants, which are compared where their difference is a constant.
#pragma once

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace pmap {

/// A sum of index values, each times a constant, and a constant. The terms are in the order of their first appearance.
struct Linear {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  int64_t constant = 0;

  Linear() = default;
  explicit Linear(int64_t constant) : constant(constant) {}
};

/// A size or an offset, seen through additions and products with constants.
Linear linearOf(mlir::OpFoldResult value);
llvm::SmallVector<Linear> linearOf(llvm::ArrayRef<mlir::OpFoldResult> values);

Linear operator+(const Linear &a, const Linear &b);
Linear operator-(const Linear &a, const Linear &b);
inline Linear operator+(const Linear &a, int64_t b) { return a + Linear(b); }

/// a - b where that is the same number for all values.
std::optional<int64_t> difference(const Linear &a, const Linear &b);
/// True when a <= b for all values.
bool isAtMost(const Linear &a, const Linear &b);

/// The sum as an index.
mlir::Value valueOf(mlir::OpBuilder &builder, mlir::Location loc, const Linear &linear);

} // namespace pmap
