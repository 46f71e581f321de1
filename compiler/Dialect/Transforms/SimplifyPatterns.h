// The parts of pmap-simplify. Internal to this library.
#pragma once

namespace mlir {
class RewritePatternSet;
class Value;
} // namespace mlir

namespace pmap {

/// Sums with zero, products with one, reductions of broadcasts.
void populateArithmeticPatterns(mlir::RewritePatternSet &patterns);
/// Sums into parts of arrays, and slices of sums.
void populatePartPatterns(mlir::RewritePatternSet &patterns);
/// Unused results of loops, branches, comprehensions and collectives.
void populateRegionPatterns(mlir::RewritePatternSet &patterns);
/// What a comprehension needs whole leaves its devices once, before it, even where only some points read it: the points
/// are computed in parallel, and nothing moves between devices there. One of the patterns as well.
void moveBeforePoints(mlir::Operation *root);
/// Backward maps that become a part of their forward ones.
void populateMapPatterns(mlir::RewritePatternSet &patterns);

/// True when every element of a floating value is this number.
bool isSplatOf(mlir::Value value, double number);

} // namespace pmap
