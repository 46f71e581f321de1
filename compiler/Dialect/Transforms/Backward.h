// The backward walk of reverse-mode differentiation, over one block and the regions in it.
#pragma once

#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/Activity.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pmap {

/// The cotangents gathered so far in one block. A value that has none has the cotangent zero, which is not written down
/// until something needs it.
class CotangentMap {
public:
  CotangentMap(mlir::OpBuilder &builder, SymbolNames &names) : builder(builder), names(names) {}

  /// Adds `cotangent` (null for zero) to that of `primal`.
  void add(mlir::Location loc, mlir::Value primal, mlir::Value cotangent);
  /// Makes `cotangent` (null for zero) the one gathered so far.
  void set(mlir::Value primal, mlir::Value cotangent) { map[primal] = cotangent; }
  /// The cotangent, or null.
  mlir::Value lookup(mlir::Value primal) const { return map.lookup(primal); }
  /// The cotangent, or zeros.
  mlir::Value lookupOrZero(mlir::Location loc, mlir::Value primal);

private:
  mlir::OpBuilder &builder;
  SymbolNames &names;
  llvm::DenseMap<mlir::Value, mlir::Value> map;
};

/// Zeros of a tensor or a distributed type.
mlir::Value zerosOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);
/// a + b of a tensor or a distributed type.
mlir::Value sumOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a, mlir::Value b, SymbolNames &names);

/// Where the walk over a comprehension's body stops: the elements of outer arrays that it reads, in branches too. What
/// a point contributes to such an element is added up over the points, once they are all there.
struct ElementReads {
  struct Read {
    mlir::Value array;
    mlir::Value contribution; ///< the element's cotangent at one point: zero where a branch that reads it is not taken
    /// Per dimension of the array, the comprehension's index that it is read at, and what is added to that.
    std::optional<llvm::SmallVector<std::pair<int64_t, int64_t>>> shifts;
    mlir::Value place; ///< otherwise the element's row-major place, the first one where it is not read
    bool inBranch = false;

    /// True when the other read is of the same element at every point.
    bool isOfSame(const Read &other) const { return array == other.array && shifts && shifts == other.shifts; }
  };
  /// Adds a read whose contribution is known where `builder` stands.
  void note(mlir::OpBuilder &builder, mlir::Location loc, const Read &read);
  mlir::Block *body = nullptr;
  llvm::DenseSet<mlir::Value> arrays;
  llvm::SmallVector<Read> reads;
};

/// Builds the cotangents of what was activated, from those of what `run` was given. The forward ops have gone through
/// `prepareForward` (Residuals.h) and are left as they are, so that one forward computation has any number of backward
/// ones.
class Backward : public Activity {
public:
  explicit Backward(SymbolNames &names) : names(names) {}

  /// Walks `ops` backward and adds the cotangents of what they read. `builder` stands after them all.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops, mlir::OpBuilder &builder, CotangentMap &cotangents);

private:
  /// A value of a region's body that the forward computation kept, and where it is found now.
  using Kept = llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>;

  mlir::LogicalResult pull(mlir::Operation *op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullIf(mlir::scf::IfOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullFor(mlir::scf::ForOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEach(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEachInParallel(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullForEachInOrder(ForEachOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullMap(MapOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullCheckpoint(CheckpointOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);
  mlir::LogicalResult pullCustom(CustomVjpOp op, mlir::OpBuilder &builder, CotangentMap &cotangents);

  /// Copies a body to the builder's place and pulls `seeds` (one per yielded value, null for zero) back through the
  /// copy. `cotangents` collects what the body's arguments, as mapped, and captured values get. What was `kept` is not
  /// computed again.
  mlir::LogicalResult recomputeAndPull(mlir::Block &body, mlir::IRMapping &mapping, llvm::ArrayRef<mlir::Value> seeds,
                                       mlir::OpBuilder &builder, CotangentMap &cotangents, const Kept &kept = {});

  void eraseUnread(llvm::ArrayRef<mlir::Operation *> copies);
  /// True when the op is a read at which the walk stops; notes what it contributes.
  bool noteRead(mlir::Operation *op, mlir::OpBuilder &builder, CotangentMap &cotangents);

  SymbolNames &names;
  ElementReads *elements = nullptr; ///< of the comprehension that is being pulled back in parallel
};

/// Marks the ops under `block` whose results reach a branch of an `arith.select` (see kMaskedAttr).
void markMasked(mlir::Block &block);
/// Takes away the marks of a differentiation.
void unmark(mlir::Operation *root);

} // namespace pmap
