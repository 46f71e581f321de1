// Which values depend on some others, through regions too.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace pmap {

/// True for floating tensors and distributed floating tensors, the types that have derivatives.
bool isDifferentiable(mlir::Type type);

/// The values that depend on those made active first: results of ops, arguments and results of loops and branches, one
/// by one. Only values whose type `carries` takes part: with `isDifferentiable`, those that derivatives are wanted for.
class Activity {
public:
  using Carries = bool (*)(mlir::Type);
  explicit Activity(Carries carries = isDifferentiable) : carries(carries) {}

  void activate(mlir::Value value) { active.insert(value); }
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Follows what `ops` (in order) do with active values.
  void spread(llvm::ArrayRef<mlir::Operation *> ops);
  /// Forgets what an op that is about to be erased defines: another value may get its place in memory.
  void forget(mlir::Operation *op);
  /// The active values that the regions of an op read from outside.
  llvm::SmallVector<mlir::Value> activeCaptures(mlir::Operation *op) const;

private:
  /// True when something new became active.
  bool spreadThrough(mlir::Operation *op);
  bool spreadInto(mlir::Block &block);
  bool activateIf(bool condition, mlir::Value value);
  /// One value of a list makes that of another active.
  bool spreadEach(mlir::ValueRange from, mlir::ValueRange to);

  Carries carries;
  llvm::DenseSet<mlir::Value> active;
};

} // namespace pmap
