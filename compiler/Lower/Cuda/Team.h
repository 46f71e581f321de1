// Threads that reduce together: a warp, or a whole block.
#pragma once

#include "compiler/Lower/Cpu/NestBody.h"
#include "compiler/Lower/Cuda/Launch.h"

namespace pmap {

class Team {
public:
  /// A warp, or with `wholeBlock` the block.
  Team(mlir::OpBuilder &builder, mlir::Location loc, Launch &launch, bool wholeBlock);

  int64_t size() const { return wholeBlock ? blockThreads : warpThreads; }
  /// The thread's number within its team, and the team's in the grid.
  mlir::Value lane, number;

  /// How many blocks hold `count` teams.
  static mlir::Value blocksFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count, bool wholeBlock);

  /// Combines one value of each thread, in an order that depends on nothing; every thread gets the result. `combine` is
  /// emitted for pairs.
  mlir::Value reduce(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

private:
  mlir::Value exchange(mlir::Value value, int64_t distance);
  mlir::Value exchangeWord(mlir::Value word, int64_t distance);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Launch &launch;
  bool wholeBlock;
  /// One place per warp, by element type; taken again by the next reduction.
  llvm::DenseMap<mlir::Type, mlir::Value> places;
};

} // namespace pmap
