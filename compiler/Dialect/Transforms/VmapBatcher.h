// Batching (P8): how the body of a `pmap.vmap` becomes code for all rows. Internal to `pmap-transform`.
//
// What varies over the vmap's axis gets one more dimension, the first. Ops that cannot be done for all rows at once run
// row by row, in one loop as far as their order allows.
#pragma once

#include "compiler/Dialect/IR/Batch.h"
#include "compiler/Dialect/Transforms/IndexVariance.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "llvm/ADT/SetVector.h"

namespace pmap {

/// What is known of one vmap while its body is batched.
struct VmapScope {
  VmapScope(mlir::StringAttr axis, IndexVariance &variance, SymbolNames &names)
      : axis(axis), variance(variance), names(names) {}

  mlir::StringAttr axis;
  IndexVariance &variance;
  SymbolNames &names;
  /// What a value of the region has become outside of it.
  mlir::IRMapping outer;
  /// An index or a condition that differs between rows and came out of a loop over them: its values, as a tensor.
  llvm::DenseMap<mlir::Value, mlir::Value> carried;
  /// The sizes of one row that some loop over the rows binds.
  llvm::DenseSet<mlir::Operation *> boundInRows;

  bool varies(mlir::Value value) const;
  /// True when a size that the type mentions differs between rows: such an array exists within one row only.
  bool hasVaryingSizes(mlir::Type type) const;
};

/// The type without the axis, in terms of `size` instead of `@axis`: that of one row.
mlir::Type rowTypeOf(const Batch &batch, mlir::Type type);
/// What the type becomes for all rows; of distributed values too.
mlir::Type outerTypeOf(const Batch &batch, mlir::Type type);
/// The sizes that an op, or one in it, mentions: in types, and as values.
void visitSizes(mlir::Operation *root, llvm::function_ref<void(const Size &)> visit);
/// Replaces the types of all values under `root`, and `@axis` in all sizes; `axisSize` is the index that the size is.
void eraseAxis(mlir::Operation *root, const Batch &batch);
/// The same, but what varies over the axis still does.
void replaceAxisSize(mlir::Operation *root, const Batch &batch);
/// A size argument for each map under the op, so that its body can name the number of rows; the symbol of each.
llvm::DenseMap<mlir::Operation *, Size> passSizeToMaps(VmapOp op, SymbolNames &names);

/// Batches one block, and the regions of its ops.
class Batcher {
public:
  Batcher(VmapScope &scope, const llvm::DenseMap<mlir::Operation *, Size> &sizeInMap, Batch batch,
          mlir::OpBuilder &builder)
      : scope(scope), sizeInMap(sizeInMap), batch(std::move(batch)), builder(builder) {}

  /// Builds the ops of the block, but its terminator, at the builder's place.
  mlir::LogicalResult run(mlir::Block &block);

private:
  /// What has been put off: ops that run row by row, in one loop, and those that wait for what they compute.
  struct Pending {
    llvm::SetVector<mlir::Operation *> rows, later;
  };
  enum class Outcome { Done, Rows, Failed };

  mlir::LogicalResult place(mlir::Operation *op, Pending &pending);
  mlir::LogicalResult flush(Pending &pending);
  bool touches(mlir::Operation *op) const;
  bool isLazy(mlir::Operation *op) const;
  bool needsRows(mlir::Operation *op) const;
  bool regionsNeedRows(mlir::Operation *op) const;

  // Whole ops (VmapBatcher.cpp).
  Outcome batchOp(mlir::Operation *op);
  Outcome batchByRule(BatchableOp op);
  void batchElementwise(mlir::Operation *op);
  void batchAssert(AssertOp op);
  bool batchExtract(ExtractOp op);
  bool batchLookup(SliceOp op);
  void repeat(mlir::Operation *op);
  mlir::Value rowsOf(mlir::Value inner);

  // Ops with regions (VmapRegions.cpp).
  Outcome batchRegions(mlir::Operation *op);
  mlir::LogicalResult rebuild(mlir::Operation *op, Batch inner);
  mlir::LogicalResult fill(mlir::Block &from, mlir::Region &to, const Batch &inner);
  Outcome batchForEach(ForEachOp op);

  // Row by row (VmapRowLoops.cpp).
  bool giveVaryingSizes(llvm::ArrayRef<mlir::Operation *> ops) const;
  mlir::LogicalResult runRows(llvm::ArrayRef<mlir::Operation *> ops);
  mlir::LogicalResult runRowsAtOnce(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<mlir::Value> escaping,
                                    mlir::Location loc);
  mlir::LogicalResult runRowsInOrder(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<mlir::Value> escaping,
                                     mlir::Location loc);
  mlir::RankedTensorType escapedType(mlir::Value inner) const;
  void mapEscaped(llvm::ArrayRef<mlir::Value> escaping, mlir::ValueRange all);

  VmapScope &scope;
  const llvm::DenseMap<mlir::Operation *, Size> &sizeInMap;
  Batch batch;
  mlir::OpBuilder &builder;
};

/// Copies ops of the region for one row, into the body of a loop over the rows.
class RowBuilder {
public:
  /// `builder` stands at the end of the loop's body, whose rows are numbered by `row`.
  RowBuilder(VmapScope &scope, const Batch &batch, mlir::OpBuilder &builder, mlir::Value row);

  /// Gives a value of the region a meaning in this row.
  void map(mlir::Value inner, mlir::Value local) { mapping.map(inner, local); }
  /// Copies an op with what it needs.
  mlir::LogicalResult add(mlir::Operation *op);
  /// What a value of the region is in this row.
  mlir::FailureOr<mlir::Value> lookup(mlir::Value inner);
  /// To be called when the body is complete: gives the sizes that were bound in another loop as well names of their
  /// own.
  void finish();

private:
  mlir::LogicalResult ensure(mlir::Value inner);
  mlir::LogicalResult ensureSymbols(mlir::Operation *op);
  mlir::LogicalResult rewrite(mlir::Operation *copy, llvm::SmallVectorImpl<mlir::Value> &results);
  mlir::FailureOr<mlir::Value> replacementOf(mlir::Operation *op);
  mlir::Value rowOf(mlir::Value all);
  mlir::Value readPart(SliceOp op);

  VmapScope &scope;
  const Batch &batch;
  mlir::OpBuilder &builder;
  mlir::Value row;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, mlir::Value> batched; // what stands for an array of all rows, and the array
  llvm::DenseMap<mlir::Value, mlir::Value> rows;
  mlir::Operation *lastRow = nullptr; // behind which the next row is read
  bool repeatsSymbols = false;
};

} // namespace pmap
