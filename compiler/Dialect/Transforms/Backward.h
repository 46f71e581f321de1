// The backward walk of reverse-mode differentiation, over one block and the regions in it.
#pragma once

#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

namespace pmap {

/// The cotangents gathered so far in one block. A value that has none has the cotangent zero, which is not written down
/// until something needs it.
class CotangentMap {
public:
  CotangentMap(mlir::OpBuilder &builder, SymbolNames &names) : builder(builder), names(names) {}

  /// Adds `cotangent` (null for zero) to that of `primal`.
  void add(mlir::Location loc, mlir::Value primal, mlir::Value cotangent);
  /// The cotangent, or null.
  mlir::Value lookup(mlir::Value primal) const { return map.lookup(primal); }
  /// The cotangent, or zeros.
  mlir::Value lookupOrZero(mlir::Location loc, mlir::Value primal);
  /// Removes and returns the cotangent, or null.
  mlir::Value take(mlir::Value primal);

private:
  mlir::OpBuilder &builder;
  SymbolNames &names;
  llvm::DenseMap<mlir::Value, mlir::Value> map;
};

/// Zeros of a tensor or a distributed type.
mlir::Value zerosOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);
/// a + b of a tensor or a distributed type.
mlir::Value sumOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b, SymbolNames &names);
/// True for floating tensors and distributed floating tensors, the types that have cotangents.
bool isDifferentiable(mlir::Type type);

class Backward {
public:
  explicit Backward(SymbolNames &names) : names(names) {}

  /// Makes a value one that cotangents are wanted for.
  void activate(mlir::Value value) { active.insert(value); }
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Finds which results of `ops` (in order) depend on active values, regions included.
  void spreadActivity(llvm::ArrayRef<mlir::Operation *> ops);

  /// Walks `ops` backward and adds the cotangents of what they read. `builder` stands after them all.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops, mlir::OpBuilder &builder, CotangentMap &cotangents);

private:
  mlir::LogicalResult pull(mlir::Operation *op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullIf(mlir::scf::IfOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullFor(mlir::scf::ForOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEach(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEachInParallel(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEachInOrder(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullMap(MapOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);

  /// Copies a body to the builder's place and pulls `seeds` (one per yielded value, null for zero) back through the
  /// copy. `cotangents` collects what the body's arguments, as mapped, and captured values get.
  mlir::LogicalResult recomputeAndPull(mlir::Block &body, mlir::IRMapping &mapping, llvm::ArrayRef<mlir::Value> seeds,
                                       mlir::OpBuilder &builder, CotangentMap &cotangents);
  /// The active values that the regions of an op read from outside.
  llvm::SmallVector<mlir::Value> activeCaptures(mlir::Operation *op);
  bool spreadThrough(mlir::Operation *op);
  bool activateIf(bool condition, mlir::Value value);

  SymbolNames &names;
  llvm::DenseSet<mlir::Value> active;
};

/// Marks the ops under `block` whose results reach a branch of an `arith.select` (see kMaskedAttr), and unmarks them.
void markMasked(mlir::Block &block);
void unmarkMasked(mlir::Operation *root);

} // namespace pmap
