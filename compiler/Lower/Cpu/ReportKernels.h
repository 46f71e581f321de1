// What `--explain` lists of the kernels: which operations went into each, and the copies that stay.
#pragma once

#include "compiler/Lower/Cpu/Clusters.h"

namespace pmap {

/// States one fact per kernel that computes something, and one per copy of an array. Does nothing unless asked.
void reportKernels(llvm::MutableArrayRef<Cluster> clusters);
void reportCopies(mlir::func::FuncOp function);

} // namespace pmap
