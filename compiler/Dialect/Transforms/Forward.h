// Forward-mode differentiation: tangents beside values, over one block and the regions in it.
#pragma once

#include "compiler/Dialect/Transforms/Activity.h"

namespace pmap {

/// Builds the tangents of what depends on the values that were given one. A value without one has the tangent zero,
/// which is not written down until something needs it. Ops with regions are replaced by ones that compute both.
class Forward : public Activity {
public:
  /// Gives a value its tangent, of the same type.
  void seed(mlir::Value value, mlir::Value tangent);
  /// Walks `ops`, and puts behind each the tangents of its results.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  /// The tangent, or zeros.
  mlir::Value tangentOrZero(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

private:
  mlir::LogicalResult push(mlir::Operation *op);
  mlir::LogicalResult pushRegions(mlir::Operation *op);
  mlir::LogicalResult runBody(mlir::Block &block);
  /// Appends the tangents of the active ones among `targets`, whose values are `operands` of the terminator.
  void yieldTangents(mlir::Operation *terminator, mlir::ValueRange operands, mlir::ValueRange targets);
  /// Adds an argument for the tangent of each active one of `arguments`.
  void addTangents(mlir::Block &block, mlir::ValueRange arguments);
  mlir::Operation *grow(mlir::Operation *op, mlir::ValueRange operands);

  llvm::DenseMap<mlir::Value, mlir::Value> tangents;
};

} // namespace pmap
