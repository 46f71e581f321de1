// Ops with regions in the body of a `pmap.vmap`: those that all rows run through alike carry the values of all rows.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

namespace {

bool isArray(Type type) { return isa<RankedTensorType, DistType>(type); }

bool hasDimensions(Type type) {
  auto array = dyn_cast<RankedTensorType>(type);
  return array && array.getRank() > 0;
}

// True for a loop in whose body each row chooses for itself what becomes of an array, as the backward code of a branch
// that reads elements does. With all rows in one loop every trip would write the arrays of all rows anew, changed or
// not; a loop for each row changes its own in place. Contractions are worth more together, and devices and lines need
// one order.
bool changesArraysByRow(Operation *op, llvm::function_ref<bool(Value)> varies) {
  if (!isa<scf::ForOp>(op))
    return false;
  bool chooses = false;
  WalkResult result = op->walk([&](Operation *nested) {
    if (isa<DotOp, PrintOp, AssertOp, CollectiveOp, MapOp, MoveOp, ShardsOp, ToShardsOp>(nested))
      return WalkResult::interrupt();
    auto branch = dyn_cast<scf::IfOp>(nested);
    chooses |= branch && varies(branch.getCondition()) && llvm::any_of(branch.getResultTypes(), hasDimensions);
    return WalkResult::advance();
  });
  return chooses && !result.wasInterrupted();
}

} // namespace

// Copies a block for all rows: a batched block's arguments and what it yields have the outer types.
LogicalResult Batcher::fill(Block &from, Region &to, const Batch &inner) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&to, to.end());
  for (BlockArgument argument : from.getArguments())
    scope.outer.map(argument, block->addArgument(outerTypeOf(inner, argument.getType()), argument.getLoc()));
  Batcher nested(scope, sizeInMap, inner, builder);
  if (failed(nested.run(from)))
    return failure();
  builder.clone(*from.getTerminator(), scope.outer);
  return success();
}

LogicalResult Batcher::rebuild(Operation *op, Batch inner) {
  Operation *made = builder.cloneWithoutRegions(*op, scope.outer);
  for (auto [result, all] : llvm::zip_equal(op->getResults(), made->getResults()))
    all.setType(outerTypeOf(batch, result.getType()));
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), made->getRegions()))
    if (!from.empty() && failed(fill(from.front(), to, inner)))
      return failure();
  return success();
}

bool Batcher::regionsNeedRows(Operation *op) const {
  auto varies = [&](Value value) { return scope.varies(value); };
  // An index has no type in which it could carry all rows.
  auto differs = [&](Value value) { return !isArray(value.getType()) && varies(value); };
  return changesArraysByRow(op, varies) || llvm::any_of(decidingValues(op), varies) ||
         llvm::any_of(op->getResults(), differs) || llvm::any_of(op->getRegions(), [&](Region &region) {
           return !region.empty() && llvm::any_of(region.getArguments(), differs);
         });
}

Batcher::Outcome Batcher::batchRegions(Operation *op) {
  if (auto each = dyn_cast<ForEachOp>(op))
    return batchForEach(each);
  auto map = sizeInMap.find(op);
  Batch inner = map == sizeInMap.end() ? batch : Batch{batch.axis, map->second};
  return succeeded(rebuild(op, inner)) ? Outcome::Done : Outcome::Failed;
}

// A comprehension gets the rows as its first index. With a collective over the rows in its body, all rows must be at
// one point together: then each point computes all rows.
Batcher::Outcome Batcher::batchForEach(ForEachOp op) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  auto meets = [&](CollectiveOp collective) {
    return llvm::is_contained(collective.getCollectiveAxes(), scope.axis) ? WalkResult::interrupt()
                                                                          : WalkResult::advance();
  };
  bool rowsMeet = op.walk(meets).wasInterrupted();
  bool allVary = llvm::all_of(op->getResults(), [&](Value result) { return scope.varies(result); });
  SmallVector<Value> bounds;
  for (Value bound : op.getBounds())
    bounds.push_back(scope.outer.lookupOrDefault(bound));
  if (rowsMeet || !allVary) {
    SmallVector<Type> types;
    SmallVector<int64_t> ranks;
    for (auto [result, value] : llvm::zip_equal(op->getResults(), yield->getOperands())) {
      auto type = cast<RankedTensorType>(result.getType());
      auto all = batch.outerType(cast<RankedTensorType>(value.getType()));
      SmallVector<Size> sizes = sizesOf(batch.rowType(type));
      sizes.resize(bounds.size());
      llvm::append_range(sizes, sizesOf(all));
      types.push_back(withSizes(all, sizes));
    }
    auto made = ForEachOp::create(builder, loc, types, bounds);
    made.getBody().getBlocks().clear();
    if (failed(fill(body, made.getBody(), batch)))
      return Outcome::Failed;
    for (auto [result, all] : llvm::zip_equal(op->getResults(), made.getResults())) {
      Value value = all;
      if (scope.varies(result)) {
        // The rows are behind the points, and go before them.
        SmallVector<int64_t> perm;
        int64_t points = bounds.size(), rank = cast<RankedTensorType>(value.getType()).getRank();
        for (int64_t dim = 0; dim < rank; ++dim)
          perm.push_back(dim == 0 ? points : dim <= points ? dim - 1 : dim);
        value = TransposeOp::create(builder, loc, value, perm);
      }
      scope.outer.map(result, value);
    }
    return Outcome::Done;
  }
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(outerTypeOf(batch, result.getType()));
  bounds.insert(bounds.begin(), indexOf(builder, loc, batch.size));
  auto made = ForEachOp::create(builder, loc, types, bounds);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = &made.getBody().front();
  builder.setInsertionPointToEnd(block);
  RowBuilder row(scope, batch, builder, block->getArgument(0));
  for (auto [argument, index] : llvm::zip_equal(body.getArguments(), block->getArguments().drop_front()))
    row.map(argument, index);
  for (Operation &nested : body.without_terminator())
    if (failed(row.add(&nested)))
      return Outcome::Failed;
  SmallVector<Value> yielded;
  for (Value value : yield->getOperands()) {
    FailureOr<Value> local = row.lookup(value);
    if (failed(local))
      return Outcome::Failed;
    yielded.push_back(*local);
  }
  YieldOp::create(builder, loc, yielded);
  row.finish();
  scope.outer.map(op->getResults(), made.getResults());
  return Outcome::Done;
}
