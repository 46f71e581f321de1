// Meshes and specs as the source writes them (P1, P2), and what the parallel builtins share.
#pragma once

#include "compiler/Sema/Builtins.h"

namespace pmap::sema {

/// More devices than any machine has; numbers of devices and positions are 32 bits wide at run time.
constexpr int64_t kMostDevices = 2147483647;

using AxisNames = llvm::SmallVector<std::string, 2>;

/// A mesh of devices: named axes with a literal size, or -1 where the number of devices at run time decides.
struct Mesh {
  AxisNames axes;
  llvm::SmallVector<int64_t, 2> sizes;
  llvm::SmallVector<int64_t, 2> devices; // particular devices, or empty
  SourceRange range;

  bool isOpen() const { return llvm::is_contained(sizes, -1); }
  bool has(llvm::StringRef axis) const { return llvm::is_contained(axes, axis); }
  int64_t sizeOf(llvm::StringRef axis) const;
  /// The product of the literal sizes.
  int64_t literalProduct() const;
  /// The size of an axis as code outside the map sees it: a literal, or a part of `@devices`, the devices at run time.
  Size outerSize(llvm::StringRef axis) const;
  Size outerProduct(llvm::ArrayRef<std::string> some) const;
  MeshAttr attribute(mlir::MLIRContext *context) const;
};

/// How one array is split: the axes of each dimension, major first.
struct Spec {
  llvm::SmallVector<AxisNames, 4> dims;

  static Spec replicated(int64_t rank);
  bool isReplicated() const;
  VarySet vary(mlir::MLIRContext *context) const;
  SpecAttr attribute(mlir::MLIRContext *context) const;
};

/// The mesh that `axis:`, `mesh:` and `devices:` describe; each may be null.
std::optional<Mesh> readMesh(Elaborator &e, const Value &axis, const Value &mesh, const Value &devices,
                             SourceRange range);

/// Reads one spec for an array of rank `rank`. `subject` names the array in messages: "argument 'x'".
std::optional<Spec> readSpec(Elaborator &e, const Mesh &mesh, const Value &spec, int64_t rank,
                             const std::string &subject);

/// The spec that `in:` has for a parameter; null for the default rule, nothing (reported) when `in:` does not fit.
std::optional<Value> specOfParameter(Elaborator &e, const Value &in, const FunctionValue &function, unsigned position);

/// One spec (or null) per leaf of `value`: a spec that is no tuple holds for all leaves, a tuple or record goes along.
/// False (reported) when the forms differ.
bool spreadSpecs(Elaborator &e, const Value &value, const Value &spec, llvm::SmallVectorImpl<Value> &specs,
                 const std::string &subject);

/// An axis name or a tuple of them, not yet looked up.
std::optional<AxisNames> readAxisNames(Elaborator &e, const Value &value, llvm::StringRef what);

/// The axes of a collective, which the mesh around it must have (E0704, E0705).
std::optional<AxisNames> readMeshAxes(Elaborator &e, const Value &value, SourceRange range, llvm::StringRef what);

llvm::SmallVector<mlir::StringAttr, 2> axisAttributes(mlir::MLIRContext *context, llvm::ArrayRef<std::string> axes);

/// A literal device number, for a value that lives on one device (P6); nothing (reported) where it is none.
std::optional<int64_t> readDevice(CallContext &c, llvm::StringRef parameter);
/// Every leaf on device `device` alone: a mesh of that one device.
Value moveToDevice(Elaborator &e, const Value &value, int64_t device, SourceRange range);
/// Whether a value lives on one particular device, as `to_device` made it.
bool isOnOneDevice(DistType type);
/// Every leaf whole, outside of any mesh.
Value gatherAll(Elaborator &e, const Value &value, SourceRange range);

void registerCollectiveBuiltins(BuiltinTable &table);
void registerMapBuiltins(BuiltinTable &table);
void registerDistributedBuiltins(BuiltinTable &table);
void registerCmapBuiltins(BuiltinTable &table);

} // namespace pmap::sema
