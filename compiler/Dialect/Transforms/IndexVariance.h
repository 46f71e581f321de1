// V of values without a type that could say it: indices and conditions. Tensors say it themselves.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace pmap {

class IndexVariance {
public:
  /// Reads the sizes that are bound under `root`.
  explicit IndexVariance(mlir::Operation *root);

  /// V of any value: of a tensor what its type says, of an index or a condition the union over what it was computed
  /// from.
  Axes of(mlir::Value value);
  /// V of a size: of the indices that its symbols were bound to.
  Axes of(const Size &size);
  /// The op that binds a size symbol under the root, or null.
  BindSizeOp binding(llvm::StringRef symbol) const { return bound.lookup(symbol); }

private:
  Axes find(mlir::Value value, llvm::DenseSet<mlir::Value> &visiting);
  void visitSize(const Size &size, llvm::function_ref<void(mlir::Value)> add, Axes &result);
  void visitResult(mlir::OpResult value, llvm::function_ref<void(mlir::Value)> add);
  void visitArgument(mlir::BlockArgument argument, llvm::function_ref<void(mlir::Value)> add, Axes &result);

  llvm::StringMap<BindSizeOp> bound;
  llvm::StringMap<Axes> ragged;
};

/// The values that decide whether, or how often, the regions of `op` run.
llvm::SmallVector<mlir::Value> decidingValues(mlir::Operation *op);

} // namespace pmap
