// What several batching rules share. Internal to this library.
#pragma once

#include "compiler/Dialect/IR/Batch.h"
#include "compiler/Dialect/IR/Emit.h"

namespace pmap {

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

/// The dimensions of a row where they are in the array of all rows.
inline llvm::SmallVector<int64_t> behindRows(llvm::ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [](int64_t dim) { return dim + 1; });
}

/// The same with the dimension of the rows before them.
inline llvm::SmallVector<int64_t> withRows(llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> all = {0};
  llvm::append_range(all, behindRows(dims));
  return all;
}

/// The row of an array whose rows are all the same by construction (what a widen over the axis has become), or null. A
/// rule that can use it as it is saves the copies.
mlir::Value commonRow(mlir::OpBuilder &builder, mlir::Value rows);

/// An array with as many copies of `row` along a new first dimension.
mlir::Value repeatRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row, const Size &size);

/// The operand of an op as all rows have it, though it may not vary over the axis.
mlir::Value rowsOf(mlir::OpBuilder &builder, mlir::Location loc, const Batch &batch, mlir::Value inner,
                   mlir::Value operand);

/// Puts dimension `from` at place `to`, the others in order.
mlir::Value moveDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t from, int64_t to);

/// Cuts dimension `dim` into dimensions of these sizes, major first; whose product is its size.
mlir::Value splitDim(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t dim,
                     llvm::ArrayRef<Size> sizes);
/// Makes `count` dimensions from `dim` on into one.
mlir::Value mergeDims(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t dim, int64_t count);

/// Gives an op for all rows the marks (such as `pmap.needs_elements`) of the op for one.
void copyMarks(mlir::Operation *from, mlir::Operation *to);

/// True when an index operand is missing, because it differs between rows: such a part is taken row by row.
inline bool differsBetweenRows(llvm::ArrayRef<mlir::Value> operands) {
  return llvm::any_of(operands, [](mlir::Value operand) { return !operand; });
}

} // namespace pmap
