// Kernels whose unit of work is a point of the result, or a few neighbouring ones: elementwise ops, gathers, stencils,
// and reductions across the lines of memory.
#pragma once

#include "compiler/Lower/Cuda/Launch.h"

namespace pmap {

/// An op without reductions: a thread makes 16 bytes of the result where memory allows it, else one element.
void emitElements(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

/// A reduction: a thread makes one element of the result, in sequence. A sum of columns, whose elements are few and far
/// apart, is cut into pieces of rows first.
void emitPointReduction(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

} // namespace pmap
