// Blocks and the loops and branches of scf.
#include "compiler/Lower/Translator.h"

using namespace mlir;

namespace pmap {

static bool isDist(Value value) { return isa<DistType>(value.getType()); }

LogicalResult Translator::translateBlock(Block &old, SmallVectorImpl<Value> &yielded) {
  // After which op of this block each distributed value it owns is dead.
  DenseMap<Operation *, SmallVector<Value>> lastUses;
  auto own = [&](Value value) {
    Operation *last = nullptr;
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = old.findAncestorOpInBlock(*user);
      if (!last || last->isBeforeInBlock(ancestor))
        last = ancestor;
    }
    if (!last)
      last = value.getDefiningOp();
    if (last)
      lastUses[last].push_back(value);
    else
      releaseDist(plain(value), value.getLoc());
  };
  for (Value argument : old.getArguments())
    if (isDist(argument))
      own(argument);
  for (Operation &op : old)
    for (Value result : op.getResults())
      if (isDist(result))
        own(result);

  for (Operation &op : old.without_terminator()) {
    if (isOpTriviallyDead(&op) || preset.contains(&op) || skipped.contains(&op))
      continue;
    SmallVector<Value> dead = lastUses.lookup(&op);
    dying.insert(dead.begin(), dead.end());
    if (failed(translate(&op)))
      return failure();
    for (Value value : dead)
      if (dying.erase(value))
        releaseDist(plain(value), op.getLoc());
  }
  Operation *terminator = old.getTerminator();
  SmallVector<Value> handedOn = lastUses.lookup(terminator);
  for (Value operand : terminator->getOperands()) {
    Value value = plain(operand);
    if (isDist(operand)) {
      auto *owned = llvm::find(handedOn, operand);
      if (owned != handedOn.end())
        handedOn.erase(owned);
      else
        retainDist(value, terminator->getLoc());
    }
    yielded.push_back(value);
  }
  return success();
}

LogicalResult Translator::translateRegion(Block &old, Block &block, ValueRange arguments,
                                          function_ref<void(ArrayRef<Value>)> terminate) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  for (auto [argument, value] : llvm::zip_equal(old.getArguments(), arguments))
    set(argument, value);
  size_t mark = sizes.enterScope(&block);
  SmallVector<Value> yielded;
  LogicalResult done = translateBlock(old, yielded);
  sizes.leaveScope(mark);
  if (succeeded(done))
    terminate(yielded);
  return done;
}

/// An op within a loop or a branch may run often or not at all: what it reads from outside dies behind the whole of
/// that.
bool Translator::giveUp(Value dist, Operation *op) {
  return dist.getParentBlock() == op->getBlock() && dying.erase(dist);
}

/// The initial values of a loop, which takes over a reference of each distributed one.
SmallVector<Value> Translator::loopOperands(Operation *op, ValueRange old) {
  SmallVector<Value> values;
  for (Value operand : old) {
    values.push_back(plain(operand));
    if (isDist(operand) && !(operand.hasOneUse() && giveUp(operand, op)))
      retainDist(values.back(), op->getLoc());
  }
  return values;
}

LogicalResult Translator::translateFor(scf::ForOp op) {
  Location loc = op.getLoc();
  auto loop = scf::ForOp::create(b, loc, plain(op.getLowerBound()), plain(op.getUpperBound()), plain(op.getStep()),
                                 loopOperands(op, op.getInitArgs()));
  // The builder ends a body that carries nothing by itself.
  if (op.getInitArgs().empty())
    loop.getBody()->getTerminator()->erase();
  LogicalResult done = translateRegion(*op.getBody(), *loop.getBody(), loop.getBody()->getArguments(),
                                       [&](ArrayRef<Value> yielded) { scf::YieldOp::create(b, loc, yielded); });
  for (auto [old, result] : llvm::zip(op.getResults(), loop.getResults()))
    set(old, result);
  return done;
}

LogicalResult Translator::translateWhile(scf::WhileOp op) {
  Location loc = op.getLoc();
  auto loop =
      scf::WhileOp::create(b, loc, convert(op.getResultTypes()), loopOperands(op, op.getInits()), nullptr, nullptr);
  auto addBlock = [&](Region &region, Block &old) -> Block & {
    if (region.empty())
      region.emplaceBlock();
    Block &block = region.front();
    for (BlockArgument argument : old.getArguments())
      if (block.getNumArguments() < old.getNumArguments())
        block.addArgument(convert(argument.getType()), loc);
    return block;
  };
  Block &oldBefore = op.getBefore().front(), &oldAfter = op.getAfter().front();
  Block &before = addBlock(loop.getBefore(), oldBefore);
  LogicalResult done = translateRegion(oldBefore, before, before.getArguments(), [&](ArrayRef<Value> yielded) {
    scf::ConditionOp::create(b, loc, yielded.front(), yielded.drop_front());
  });
  if (failed(done))
    return failure();
  Block &after = addBlock(loop.getAfter(), oldAfter);
  done = translateRegion(oldAfter, after, after.getArguments(),
                         [&](ArrayRef<Value> yielded) { scf::YieldOp::create(b, loc, yielded); });
  for (auto [old, result] : llvm::zip(op.getResults(), loop.getResults()))
    set(old, result);
  return done;
}

LogicalResult Translator::translateIf(scf::IfOp op) {
  Location loc = op.getLoc();
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(b, loc, convert(op.getResultTypes()), plain(op.getCondition()), /*addThenBlock=*/true,
                                  /*addElseBlock=*/hasElse);
  auto fill = [&](Region &old, Region &region) {
    Block &block = region.front();
    if (!block.empty())
      block.getTerminator()->erase();
    return translateRegion(old.front(), block, {},
                           [&](ArrayRef<Value> yielded) { scf::YieldOp::create(b, loc, yielded); });
  };
  if (failed(fill(op.getThenRegion(), branch.getThenRegion())))
    return failure();
  if (hasElse && failed(fill(op.getElseRegion(), branch.getElseRegion())))
    return failure();
  for (auto [old, result] : llvm::zip(op.getResults(), branch.getResults()))
    set(old, result);
  return success();
}

} // namespace pmap
