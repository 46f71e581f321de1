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
/// Maps that read what other maps make, and become a part of them.
void populateMapPatterns(mlir::RewritePatternSet &patterns);
/// Loops that do nothing but call devices, which become loops of the devices.
void populateLoopsInMapsPatterns(mlir::RewritePatternSet &patterns);
/// Does what the two before do, and nothing else.
void joinMaps(mlir::Operation *root);

/// True when every element of a floating value is this number.
bool isSplatOf(mlir::Value value, double number);

} // namespace pmap
