// The ops of a `pmap.vmap`'s body: which can be done for all rows at once, and in which order the others wait.
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "compiler/Dialect/IR/Emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

namespace {

bool isTensor(Type type) { return isa<RankedTensorType>(type); }

// An elementwise op on tensors of one shape.
bool isElementwise(Operation *op) {
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && op->getNumOperands() > 0 &&
         llvm::all_of(op->getResultTypes(), isTensor);
}

bool prints(Operation *root) {
  return root->walk([](PrintOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

// The op of `block` that `op` is, or is in.
bool isIn(Value value, Block *block, const llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  Operation *ancestor = op ? block->findAncestorOpInBlock(*op) : nullptr;
  return ancestor && ops.contains(ancestor);
}

// True when the op, or one in it, reads what one of `ops` makes: a value, or a size that it binds.
bool dependsOn(Operation *op, const llvm::SetVector<Operation *> &ops) {
  if (ops.empty())
    return false;
  WalkResult reads = op->walk([&](Operation *nested) {
    return llvm::any_of(nested->getOperands(), [&](Value operand) { return isIn(operand, op->getBlock(), ops); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  // Lines are printed in the order of the program.
  if (reads.wasInterrupted() || (prints(op) && llvm::any_of(ops, prints)))
    return true;
  SmallVector<StringRef> symbols;
  for (Operation *other : ops)
    if (auto bind = dyn_cast<BindSizeOp>(other))
      symbols.push_back(bind.getSymbol());
  bool mentions = false;
  if (!symbols.empty())
    visitSizes(op, [&](const Size &size) {
      mentions |= llvm::any_of(symbols, [&](StringRef symbol) { return size.mentions(symbol); });
    });
  return mentions;
}

} // namespace

//===- Order ----------------------------------------------------------------------------------------------------===//

// Whether the op, or one in it, has to do with the rows.
bool Batcher::touches(Operation *root) const {
  auto varies = [&](Value value) { return scope.varies(value); };
  return root
      ->walk([&](Operation *op) {
        auto collective = dyn_cast<CollectiveOp>(op);
        bool meets = collective && llvm::is_contained(collective.getCollectiveAxes(), scope.axis);
        return meets || isa<PrintOp>(op) || llvm::any_of(op->getOperands(), varies) ||
                       llvm::any_of(op->getResults(), varies)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

// An index or a condition of one row: computed where something in that row needs it.
bool Batcher::isLazy(Operation *op) const {
  auto isScalar = [](Type type) { return type.isIndex() || type.isInteger(1); };
  return op->getNumResults() > 0 && !op->getNumRegions() && llvm::all_of(op->getResultTypes(), isScalar) &&
         isMemoryEffectFree(op) && llvm::any_of(op->getResults(), [&](Value result) { return scope.varies(result); });
}

// What cannot be done for all rows at once, whatever the rules say.
bool Batcher::needsRows(Operation *op) const {
  auto varyingSizes = [&](Type type) { return scope.hasVaryingSizes(type); };
  auto differs = [&](Value value) {
    return (value.getType().isIndex() || value.getType().isInteger(1)) && scope.varies(value);
  };
  if (isa<PrintOp>(op) || llvm::any_of(op->getResultTypes(), varyingSizes) ||
      llvm::any_of(op->getOperandTypes(), varyingSizes))
    return true;
  if (op->getNumRegions())
    return regionsNeedRows(op);
  // A lookup in a table has a way of its own.
  bool isLookup = isa<SliceOp>(op) && op->getOperand(0).getDefiningOp<WidenOp>();
  return !isLookup && llvm::any_of(op->getOperands(), differs);
}

LogicalResult Batcher::place(Operation *op, Pending &pending) {
  if (dependsOn(op, pending.later)) {
    pending.later.insert(op);
    return success();
  }
  if (isLazy(op)) {
    if (dependsOn(op, pending.rows))
      pending.rows.insert(op);
    return success();
  }
  // What is printed before an assert fails is seen.
  bool followsPrint = isa<AssertOp>(op) && llvm::any_of(pending.rows, prints);
  if (followsPrint || dependsOn(op, pending.rows)) {
    // A scalar computed from what a row's loop computes is best computed there.
    bool isScalar =
        (isElementwise(op) || isa<ExtractOp, FromIndexOp>(op)) && llvm::all_of(op->getResultTypes(), [](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return tensor && tensor.getRank() == 0;
        });
    (isScalar || followsPrint || needsRows(op) ? pending.rows : pending.later).insert(op);
    return success();
  }
  switch (batchOp(op)) {
  case Outcome::Done:
    return success();
  case Outcome::Rows:
    pending.rows.insert(op);
    return success();
  case Outcome::Failed:
    return failure();
  }
  llvm_unreachable("all outcomes are above");
}

LogicalResult Batcher::flush(Pending &pending) {
  while (!pending.rows.empty()) {
    // What has as many elements as a row chooses cannot leave the loop: what waits for it joins.
    if (!pending.later.empty() && giveVaryingSizes(pending.rows.getArrayRef())) {
      SmallVector<Operation *> all(pending.rows.begin(), pending.rows.end());
      append_range(all, pending.later);
      llvm::sort(all, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
      pending.rows = llvm::SetVector<Operation *>(all.begin(), all.end());
      pending.later.clear();
    }
    Pending next;
    if (failed(runRows(pending.rows.getArrayRef())))
      return failure();
    for (Operation *op : pending.later) {
      // What does not wait for anything else joins the next loop, or is done now.
      if (failed(place(op, next)))
        return failure();
    }
    pending = std::move(next);
  }
  return success();
}

LogicalResult Batcher::run(Block &block) {
  Pending pending;
  for (Operation &op : block.without_terminator()) {
    // What needs to run row by row, but waits for something that waits for the loop so far, begins another loop.
    if (failed(place(&op, pending)))
      return failure();
  }
  return flush(pending);
}

//===- Whole ops ------------------------------------------------------------------------------------------------===//

// An operand as all rows have it: with as many copies where it is the same for all.
Value Batcher::rowsOf(Value inner) {
  Value value = scope.outer.lookupOrDefault(inner);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || scope.varies(inner))
    return value;
  SmallVector<Size> sizes = sizesOf(type);
  sizes.insert(sizes.begin(), batch.size);
  return BroadcastOp::create(builder, inner.getLoc(), withSizes(type, sizes), value);
}

// An op that reads nothing of the rows, but whose type says that it varies: done once, and repeated.
void Batcher::repeat(Operation *op) {
  Operation *copy = builder.clone(*op, scope.outer);
  eraseAxis(copy, batch);
  for (auto [result, one] : llvm::zip_equal(op->getResults(), copy->getResults())) {
    Type type = outerTypeOf(batch, result.getType());
    if (type != one.getType())
      scope.outer.map(result, BroadcastOp::create(builder, op->getLoc(), type, one).getResult());
  }
}

void Batcher::batchElementwise(Operation *op) {
  SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return rowsOf(operand); });
  Operation *copy = builder.clone(*op, scope.outer);
  copy->setOperands(operands);
  for (auto [result, made] : llvm::zip_equal(op->getResults(), copy->getResults()))
    made.setType(outerTypeOf(batch, result.getType()));
}

// An assert holds for every row.
void Batcher::batchAssert(AssertOp op) {
  Value condition = scope.outer.lookupOrDefault(op.getCondition());
  if (scope.varies(op.getCondition()))
    condition = ReduceOp::create(builder, op.getLoc(), ReductionKind::And, condition, {0});
  AssertOp::create(builder, op.getLoc(), condition, op.getMessageAttr())
      ->setDiscardableAttrs(op->getDiscardableAttrDictionary());
}

// The same element of every row.
bool Batcher::batchExtract(ExtractOp op) {
  if (!scope.varies(op.getInput()))
    return false;
  Location loc = op.getLoc();
  Value input = scope.outer.lookup(op.getInput());
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Value> offsets = {arith::ConstantIndexOp::create(builder, loc, 0)};
  for (Value index : op.getIndices())
    offsets.push_back(scope.outer.lookupOrDefault(index));
  SmallVector<Size> sizes(type.getRank(), Size(1));
  sizes[0] = batch.size;
  Value part = SliceOp::create(builder, loc, withSizes(type, sizes), input, offsets, /*inBounds=*/true);
  scope.outer.map(op.getResult(), ReshapeOp::create(builder, loc, withSizes(type, batch.size), part).getResult());
  return true;
}

// Every row looks up its own part of an array that is the same for all: `table[i]` is a gather, whose derivative is a
// scatter. The gather checks the indices as the row would.
bool Batcher::batchLookup(SliceOp op) {
  Value input = op.getInput();
  if (auto widen = input.getDefiningOp<WidenOp>())
    input = widen.getInput();
  if (scope.varies(input))
    return false;
  std::optional<int64_t> dim;
  for (auto [position, offset] : llvm::enumerate(op.getOffsets())) {
    if (!scope.varies(offset))
      continue;
    if (dim)
      return false;
    dim = position;
  }
  auto type = cast<RankedTensorType>(op.getType());
  auto check = dim ? op.getOffsets()[*dim].getDefiningOp<CheckedIndexOp>() : CheckedIndexOp();
  auto index = check ? check.getIndex().getDefiningOp<ToIndexOp>() : ToIndexOp();
  Value places = index ? scope.outer.lookupOrNull(index.getInput()) : Value();
  if (!places || type.getDimSize(*dim) != 1 || scope.varies(check.getSize()))
    return false;

  Location loc = op.getLoc();
  // The axes of a mesh over which only the indices vary: their widen, and the sum that is its transpose, remain.
  RankedTensorType row = batch.rowType(type);
  Value table = scope.outer.lookupOrDefault(input);
  if (Axes missing = differenceOf(varyOf(batch.outerType(type)), varyOf(table.getType())); !missing.empty())
    table = WidenOp::create(builder, loc, table, missing);
  auto tableType = cast<RankedTensorType>(table.getType());
  SmallVector<Size> sizes = sizesOf(row);
  sizes[*dim] = sizeOf(tableType, *dim);
  SmallVector<Value> offsets;
  for (auto [position, offset] : llvm::enumerate(op.getOffsets()))
    offsets.push_back(static_cast<int64_t>(position) == *dim
                          ? arith::ConstantIndexOp::create(builder, loc, 0).getResult()
                          : scope.outer.lookupOrDefault(offset));
  Value part =
      SliceOp::create(builder, loc, withSizes(tableType, sizes), table, offsets, op.getStrides(), op.getInBounds());
  Value found = GatherOp::create(builder, check.getLoc(), part, places, *dim, index.getIsUnsigned());
  SmallVector<int64_t> perm = {*dim};
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != *dim)
      perm.push_back(other);
  found = TransposeOp::create(builder, loc, found, perm);
  scope.outer.map(op.getResult(), ReshapeOp::create(builder, loc, batch.outerType(type), found).getResult());
  return true;
}

Batcher::Outcome Batcher::batchByRule(BatchableOp op) {
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(!isTensor(operand.getType()) && scope.varies(operand) ? Value()
                                                                             : scope.outer.lookupOrDefault(operand));
  if (failed(op.batch(builder, batch, operands, results)))
    return Outcome::Rows;
  scope.outer.map(op->getResults(), results);
  return Outcome::Done;
}

Batcher::Outcome Batcher::batchOp(Operation *op) {
  if (auto size = dyn_cast<AxisSizeOp>(op); size && size.getAxisAttr() == scope.axis) {
    scope.outer.map(size.getResult(), indexOf(builder, op->getLoc(), batch.size));
    return Outcome::Done;
  }
  if (!touches(op)) {
    eraseAxis(builder.clone(*op, scope.outer), batch);
    return Outcome::Done;
  }
  if (needsRows(op))
    return Outcome::Rows;
  if (auto check = dyn_cast<AssertOp>(op)) {
    batchAssert(check);
    return Outcome::Done;
  }
  if (op->getNumRegions())
    return batchRegions(op);
  if (auto rule = dyn_cast<BatchableOp>(op))
    if (batchByRule(rule) == Outcome::Done)
      return Outcome::Done;
  if (auto extract = dyn_cast<ExtractOp>(op); extract && batchExtract(extract))
    return Outcome::Done;
  if (auto slice = dyn_cast<SliceOp>(op); slice && batchLookup(slice))
    return Outcome::Done;
  if (auto collective = dyn_cast<CollectiveOp>(op);
      collective && llvm::is_contained(collective.getCollectiveAxes(), scope.axis)) {
    op->emitError() << "'" << op->getName().stripDialect() << "' over the rows of a vmap is not built yet [E0901]";
    return Outcome::Failed;
  }
  bool readsRows = llvm::any_of(op->getOperands(), [&](Value operand) { return scope.varies(operand); });
  if (!readsRows && isMemoryEffectFree(op) && !isa<AxisIndexOp>(op) && llvm::all_of(op->getResultTypes(), isTensor)) {
    repeat(op);
    return Outcome::Done;
  }
  if (isElementwise(op) || isa<MoveOp>(op)) {
    batchElementwise(op);
    return Outcome::Done;
  }
  if (auto shards = dyn_cast<ShardsOp>(op)) {
    SmallVector<Value> blocks = llvm::map_to_vector(shards.getBlocks(), [&](Value block) { return rowsOf(block); });
    Type type = outerTypeOf(batch, shards.getType());
    scope.outer.map(shards.getResult(), ShardsOp::create(builder, op->getLoc(), type, blocks).getResult());
    return Outcome::Done;
  }
  if (isa<ToShardsOp>(op)) {
    batchElementwise(op);
    return Outcome::Done;
  }
  return Outcome::Rows;
}
