// The passes over the pmap dialect. Each is in a file of its own.
#pragma once

#include <memory>

namespace mlir {
class Operation;
class Pass;
} // namespace mlir

namespace pmap {

/// `pmap-transform`: removes `pmap.grad`, `pmap.vjp`, `pmap.jvp` and `pmap.vmap`, the innermost first, then
/// `pmap.stop_gradient`.
std::unique_ptr<mlir::Pass> createTransformPass();
/// `pmap-check-variance`: no collective over an axis is under a condition or a trip count that varies over it (V6).
std::unique_ptr<mlir::Pass> createCheckVariancePass();
/// `pmap-simplify`: folds, merges and drops what derivatives and generic elaboration leave behind.
std::unique_ptr<mlir::Pass> createSimplifyPass();
/// `pmap-simplify-collectives`: drops collectives that need not be, and makes others smaller.
std::unique_ptr<mlir::Pass> createSimplifyCollectivesPass();
/// `pmap-hoist-collectives`: moves collectives out of loops.
std::unique_ptr<mlir::Pass> createHoistCollectivesPass();
/// `pmap-fuse-collectives`: one all_reduce for several that need not wait for each other (C4).
std::unique_ptr<mlir::Pass> createFuseCollectivesPass();
/// `pmap-report-parallel`: states what `--explain` lists of movements, collectives and stored values.
std::unique_ptr<mlir::Pass> createReportParallelPass();

/// Makes the passes known to command lines.
void registerTransforms();

/// What `pmap-simplify` does, for other passes.
void simplify(mlir::Operation *root);

} // namespace pmap
