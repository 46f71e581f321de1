// Code of the host between calls of devices, which the devices can run as well.
//
// What is the same on every device, each can compute for itself: scalars, and elementwise what a replicated value
// becomes, as a step of an optimizer. Then nothing waits for the host, and what was several maps, or a loop around one,
// is one map (SimplifyMaps.cpp, LoopsInMaps.cpp).
#pragma once

#include "compiler/Dialect/Transforms/Symbols.h"
#include "llvm/ADT/SetVector.h"

namespace pmap {

/// How the body of a map spells the sizes of the outside: by its size arguments.
class SizesInside {
public:
  SizesInside(MeshAttr mesh, mlir::ValueRange operands, llvm::ArrayRef<SizeArgAttr> arguments);
  /// The type of a value of the host that is the same on every device; null where it has a size without a name inside.
  mlir::RankedTensorType typeOf(mlir::Type outside) const;

  Substitution sizes;
};

/// True for an array of the host.
bool isHostTensor(mlir::Type type);
/// True for an op without effects on scalars, or elementwise on arrays, and for one that takes a value of the host to
/// all devices or back. Branches that do nothing else are such ops, too.
bool runsOnDevices(mlir::Operation *op);
/// Copies such an op into the body of a map. What it reads has a meaning in `mapping`, or is made anew.
void copyHostCode(mlir::OpBuilder &builder, mlir::Operation *op, mlir::IRMapping &mapping, const SizesInside &inside);
/// A value of the host in the body of a map, under the same condition.
mlir::Value hostValueIn(mlir::OpBuilder &builder, mlir::Value value, mlir::IRMapping &mapping,
                        const SizesInside &inside);
/// The distributed value of what is the same on every device.
mlir::Value replicate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, MeshAttr mesh);

/// What code of the host reads from outside, as inputs of the map that takes the code over.
class HostInputs {
public:
  /// Notes a value that is read; false for one that cannot enter. Constants need not.
  bool note(mlir::Value value, const SizesInside &inside);
  /// Notes what an op, and what is in it, reads from outside.
  bool noteOperands(mlir::Operation *op, const SizesInside &inside,
                    llvm::function_ref<bool(mlir::Value)> isFromOutside);
  /// Makes the distributed values, where the builder stands outside of the map.
  llvm::SmallVector<mlir::Value> enter(mlir::OpBuilder &builder, mlir::Location loc, MeshAttr mesh) const;
  /// Gives the values a meaning in the body, that of the blocks that enter.
  void receive(mlir::OpBuilder &builder, mlir::ValueRange blocks, mlir::IRMapping &mapping) const;

private:
  llvm::SetVector<mlir::Value> values;
};

} // namespace pmap
