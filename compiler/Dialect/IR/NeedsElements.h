// Reductions that have no value of nothing: the `max` and `min` that a program writes. Those that the compiler makes
// for itself, as of logsumexp, go on with the least or greatest value of the dtype.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"

namespace pmap {

/// A mark of pmap.reduce: that it combines no elements is a run-time error, so it is not executed where it was not. A
/// reduction whose result has no elements either is fine.
constexpr llvm::StringLiteral needsElementsMark = "pmap.needs_elements";

inline bool needsElements(mlir::Operation *op) { return op->hasAttr(needsElementsMark); }

inline void setNeedsElements(ReduceOp op) { op->setAttr(needsElementsMark, mlir::UnitAttr::get(op.getContext())); }

/// What the message calls it.
inline llvm::StringRef nameOfExtremum(ReduceOp op) {
  return llvm::is_contained({ReductionKind::Max, ReductionKind::MaxU, ReductionKind::Or}, op.getKind()) ? "max" : "min";
}

} // namespace pmap
