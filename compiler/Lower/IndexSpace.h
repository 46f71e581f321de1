// The index space of one comprehension, or of one nested in another whose values a reduction consumes.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "llvm/ADT/SmallSet.h"

namespace pmap {

struct IndexSpace {
  llvm::SmallVector<ForEachOp, 2> loops;       ///< outermost first
  llvm::SmallVector<mlir::Value> bounds;       ///< the new values of all bounds, in order
  llvm::SmallVector<mlir::OpFoldResult> sizes; ///< the same, constants as attributes
  llvm::SmallVector<int64_t> shape;            ///< the same, as dimensions of a type

  unsigned rank() const { return bounds.size(); }
  mlir::Block &body() const { return loops.back()->getRegion(0).front(); }
  /// True for values that are the same at every point.
  bool isOutside(mlir::Value value) const {
    return !const_cast<ForEachOp &>(loops.front()).getBody().isAncestor(value.getParentRegion());
  }
  /// The number of an index of this space, counted from the outermost.
  std::optional<unsigned> numberOf(mlir::Value value) const;
};

/// An index of a space plus something that is the same at every point; either may be missing.
struct IndexPosition {
  std::optional<unsigned> argument;
  mlir::Value offset; ///< null for 0
};

/// The least and the greatest value of an index over all points, attained because no argument occurs twice. The bounds
/// are taken to be positive.
struct IndexRange {
  mlir::Value low, high;
  bool unitSteps = true;
  llvm::SmallDenseSet<unsigned> arguments;
};

/// Two old index values that are the same number: one value, or the same polynomial or constant.
bool isSameIndex(mlir::Value a, mlir::Value b);

/// True when a comprehension's body computes with scalars alone: it may hold loops, branches, and comprehensions that a
/// reduction consumes at once.
bool hasScalarBody(ForEachOp op);
/// True when all that uses a comprehension are reductions to a scalar, so that it need not become an array.
bool isReducedAtOnce(ForEachOp op);

/// Moves what is the same at every point out of all comprehensions of a function.
void hoistInvariants(mlir::Operation *function);

} // namespace pmap
