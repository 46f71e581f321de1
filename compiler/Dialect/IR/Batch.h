// What the batching rules share: the rows of a `pmap.vmap` that is being removed (P8).
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"

namespace pmap {

/// The axis of a `pmap.vmap`, and how many rows it has. A value that varies over `axis` becomes one with a new first
/// dimension of `size`.
struct Batch {
  mlir::StringAttr axis;
  Size size;

  bool varies(mlir::Type type) const { return llvm::is_contained(varyOf(type), axis); }
  bool varies(mlir::Value value) const { return varies(value.getType()); }
  /// The type with `size` instead of `@axis` in its sizes; still that of one row.
  mlir::RankedTensorType rowType(mlir::RankedTensorType type) const;
  /// What a value of this type in the region becomes outside: `rowType`, and for one that varies over the axis V
  /// without it and a new first dimension.
  mlir::RankedTensorType outerType(mlir::RankedTensorType type) const;
};

} // namespace pmap
