// The transformations of functions that `pmap-transform` removes, one function each. Every one is given an op whose
// regions hold no other transformation, and leaves dialect ops in its place; a failure has been reported and leaves the
// op where it was.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Dialect/Transforms/Symbols.h"

namespace pmap {

/// Reverse mode (G1, G2): the body, then the gradients of its value.
mlir::LogicalResult removeGrad(GradOp op, SymbolNames &names);
/// Batching (P8): the body for all rows at once, or for `chunk` of them at a time.
mlir::LogicalResult removeVmap(VmapOp op, SymbolNames &names);
/// The body, then at each pullback the cotangents of its wrt arguments.
mlir::LogicalResult removeVjp(VjpOp op, SymbolNames &names);
/// Forward mode: the body, with the tangents beside its values.
mlir::LogicalResult removeJvp(JvpOp op, SymbolNames &names);

} // namespace pmap
