// Kernels whose unit of work is a row: a warp or a block walks it, reduces along it, and keeps what the reductions give
// in registers. One structured op, or a cluster of them (softmax, a layer norm).
#pragma once

#include "compiler/Lower/Cpu/Clusters.h"
#include "compiler/Lower/Cuda/Launch.h"

namespace pmap {

/// True when a cluster of several ops can be one kernel over rows.
bool fitsRows(Cluster &cluster, ExtentClasses &extents);

/// Emits the kernel for such a cluster.
void emitRows(mlir::OpBuilder &builder, Cluster &cluster);

/// True when a lone reduction is best done by a team per element of its result: it has such elements, and reads along
/// the lines of memory.
bool reducesRows(Kernel &kernel);
void emitRowReduction(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

/// A reduction to one element: partial results of chunks of 4096 elements, then their combination by one block. The
/// order of additions depends on the extents only.
void emitWholeReduction(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

} // namespace pmap
