// The code of a kernel for one row, which RowKernels.cpp wraps into launches.
//
// For each op of a cluster, in order: what is local and elementwise is computed again where it is used, which costs
// less than a trip through memory; a reduction runs over the row with 16-byte loads, lane after lane, then across
// lanes, and stays in a register; what others need is stored.
#pragma once

#include "compiler/Lower/Cuda/Team.h"

#include <functional>

namespace pmap {

/// An op of the kernel: its loops are rows, in the order of the rows' coordinates, or run inside of a row.
struct RowOp {
  explicit RowOp(mlir::linalg::GenericOp op) : kernel(op) {}

  Kernel kernel;
  llvm::SmallVector<unsigned> rows, inner;
  /// Not stored: its consumers compute it again.
  bool deferred = false;
  /// The inner loop that the lanes run along, how many elements each takes at a time, and whether they may (an `i1` of
  /// the host).
  unsigned along = 0;
  unsigned lanes = 1;
  mlir::Value vectors;
};

class RowEmitter {
public:
  RowEmitter(mlir::OpBuilder &builder, mlir::Location loc, llvm::MutableArrayRef<RowOp> ops);

  /// Decides on the host how each op walks its rows.
  void plan();

  /// One row, by the team's threads. `part`, where not null, is the piece of the one inner loop to walk.
  void emitRow(Team &team, llvm::ArrayRef<mlir::Value> row, const Span *part = nullptr);

  /// Extent of the longest row.
  mlir::Value longest();

  /// Where a reduction's results go instead of its outputs: index of the output → (buffer, indices).
  std::function<void(unsigned, mlir::Value)> storeInstead;

  /// Buffers that only the ops of this kernel use.
  llvm::DenseSet<mlir::Value> locals;
  bool isLocal(RowOp &op);

private:
  /// An op of the kernel and which of its outputs.
  struct Maker {
    unsigned op, output;
  };
  std::optional<Maker> makerOf(mlir::Value buffer, unsigned reader);
  unsigned lanesAlong(unsigned index, unsigned loop);
  void requireAligned(unsigned index, unsigned loop, RowOp &into);
  void forDeferred(unsigned index, unsigned loop, llvm::function_ref<void(unsigned, std::optional<unsigned>)> visit);
  NestPoint pointOf(unsigned index);
  void fill(NestPoint &point, unsigned index);
  mlir::Value computeAgain(unsigned index, unsigned output, const NestPoint &at, mlir::AffineMap access);
  void onFirstLane(llvm::function_ref<void()> emit);
  void keep(unsigned index, llvm::ArrayRef<mlir::Value> values);
  void emitRowScalars(unsigned index);
  Span spanOf(RowOp &op, unsigned loop);
  llvm::SmallVector<mlir::Value>
  emitOuter(RowOp &op, unsigned level, NestPoint point, llvm::ArrayRef<mlir::Value> carried,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(NestPoint &, llvm::ArrayRef<mlir::Value>)> emit);
  mlir::Value vectorEnd(RowOp &op, Span span);
  void emitElements(unsigned index);
  void emitReduction(unsigned index);
  mlir::Value oldValue(unsigned index, unsigned output, NestPoint &start);
  llvm::SmallVector<mlir::Value> reduceLine(unsigned index, NestPoint &outer, llvm::ArrayRef<mlir::Value> carried);
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::MutableArrayRef<RowOp> ops;
  NestOptions options{VectorTarget{accessBits, false}, {}, {}};
  llvm::SmallVector<std::unique_ptr<NestBody>> bodies;
  /// The ops that write a buffer, in order.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Maker, 1>> makers;
  /// What reductions and ops on whole rows gave, by op and output.
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> registers;
  Team *team = nullptr;
  llvm::ArrayRef<mlir::Value> row;
  const Span *part = nullptr;
};

} // namespace pmap
