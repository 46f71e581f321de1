// The passes of the lowering from the pmap dialect to linalg on plain tensors, and of what belongs to it further down.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace pmap {

/// `pmap-to-linalg`, on a module: the pmap dialect becomes func, scf, arith, math, linalg and tensor ops on plain
/// tensors and scalars; bodies of `pmap.map` become functions; run-time checks, movements and collectives become
/// runtime calls.
std::unique_ptr<mlir::Pass> createPmapToLinalgPass();

/// `pmap-split-destinations`, on a function before bufferization: an op that accumulates into a filled array fills its
/// own.
std::unique_ptr<mlir::Pass> createSplitDestinationsPass();

/// `pmap-lower-runtime-calls`, on a module after bufferization and outlining of parallel loops, before memref becomes
/// LLVM: `pmap_rt.call` becomes `llvm.call` with pointers to descriptors or elements.
std::unique_ptr<mlir::Pass> createLowerRuntimeCallsPass();

/// Makes the passes above known to pmap-opt.
void registerLowerPasses();

/// The dialects that the result of `pmap-to-linalg` needs.
void registerLowerDialects(mlir::DialectRegistry &registry);

} // namespace pmap
