// The parts of pmap-simplify. Internal to this library.
#pragma once

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace pmap {

/// Sums with zero, products with one, reductions of broadcasts, sums into parts of arrays.
void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Unused results of loops, branches, comprehensions and collectives.
void populateRegionPatterns(mlir::RewritePatternSet &patterns);
/// Backward maps that become a part of their forward ones.
void populateMapPatterns(mlir::RewritePatternSet &patterns);

} // namespace pmap
