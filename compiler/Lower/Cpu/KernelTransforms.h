// Rewrites of structured ops on memrefs before loops are made for them.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

namespace pmap {

/// Named structured ops and copies of memrefs as `linalg.generic`.
void copiesToKernels(mlir::func::FuncOp function);

/// Merges neighbouring loops that walk every operand as one line of memory, so that `[n, d]` elementwise becomes one loop
/// over n * d. Returns a new op before `op` (which stays), or `op` itself. With `keepFirst` the first loop stays apart.
mlir::linalg::GenericOp collapseLoops(mlir::OpBuilder &builder, mlir::linalg::GenericOp op, bool keepFirst = false);

/// Emits a call of the runtime's matrix product when `kernel` is one that a library does best. Returns false otherwise.
bool lowerToGemm(mlir::OpBuilder &builder, Kernel &kernel);

} // namespace pmap
