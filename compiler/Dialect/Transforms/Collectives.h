// The parts of the optimisation of collectives. Internal to this library.
//
// The program is one for all devices, so whatever these passes move or leave out is moved or left out on each of them,
// and the devices still meet in one order (V9). What has to be watched is how often an op runs: moving one out of a
// loop, or into an `if`, is up to each pass to justify by V6.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace pmap {

class IndexVariance;

/// Collectives whose results nobody reads, in whole or in part.
void populateUnusedCollectivePatterns(mlir::RewritePatternSet &patterns);
/// Sums of what all devices share, and sums that are smaller before or after another op.
void populateSmallerCollectivePatterns(mlir::RewritePatternSet &patterns, IndexVariance &variance);
/// Pairs of ops that together are one collective: a sum and a part of it, a scatter and a gather.
void populatePairedCollectivePatterns(mlir::RewritePatternSet &patterns);

/// A later collective that does what an earlier one did, on the same values, takes its results.
void mergeEqualCollectives(mlir::Operation *root);

/// True when the op and all in it do nothing but compute and communicate, so that its place in a block matters to
/// nobody but those who read its results.
bool onlyCommunicates(mlir::Operation *op);

/// The axes of an all_reduce, as written.
inline llvm::SmallVector<mlir::StringAttr> axesOf(AllReduceOp op) {
  return llvm::to_vector(op.getAxes().getAsRange<mlir::StringAttr>());
}

/// The all_reduce of one value that makes `value`, when nothing else reads it and it is in the block of `user`: the one
/// that `user` may take its place before. Null when there is none.
AllReduceOp soleSource(mlir::Value value, mlir::Operation *user);

} // namespace pmap
