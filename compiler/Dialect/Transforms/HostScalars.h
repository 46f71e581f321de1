// Scalars that the host computes between calls of devices.
//
// They are the same on every device, so that the devices can compute them for themselves: then nothing waits for the
// host, and what was several maps, or a loop around one, is one map (SimplifyMaps.cpp, LoopsInMaps.cpp).
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace pmap {

/// True for a tensor without dimensions on the host.
bool isHostScalar(mlir::Type type);
/// True for an op without effects that computes scalars of scalars, or takes one to all devices or back; branches that
/// do nothing else are such ops, too.
bool computesScalars(mlir::Operation *op);
/// Copies such an op into the body of a map. What it reads has a meaning in `mapping`, or is a constant or an index of
/// what has one.
void copyScalars(mlir::OpBuilder &builder, mlir::Operation *op, mlir::IRMapping &mapping);
/// A scalar in the body of a map, under the same condition.
mlir::Value scalarIn(mlir::OpBuilder &builder, mlir::Value value, mlir::IRMapping &mapping);

/// The scalars from outside of some code, as inputs of the map that takes the code over.
class ScalarInputs {
public:
  /// Notes a scalar that is read; false for one that cannot enter.
  bool note(mlir::Value value);
  /// Notes what an op, and what is in it, reads from outside.
  bool noteOperands(mlir::Operation *op, llvm::function_ref<bool(mlir::Value)> isFromOutside);
  /// Makes the distributed values, where the builder stands outside of the map.
  llvm::SmallVector<mlir::Value> enter(mlir::OpBuilder &builder, mlir::Location loc, MeshAttr mesh) const;
  /// Gives the scalars a meaning in the body, that of the blocks that enter.
  void receive(mlir::OpBuilder &builder, mlir::ValueRange blocks, mlir::IRMapping &mapping) const;

private:
  llvm::SetVector<mlir::Value> values;
};

/// The distributed value of a scalar that is the same on every device.
mlir::Value replicate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, MeshAttr mesh);

} // namespace pmap
