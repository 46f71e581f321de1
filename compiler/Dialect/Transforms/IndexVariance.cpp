#include "compiler/Dialect/Transforms/IndexVariance.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

IndexVariance::IndexVariance(Operation *root) {
  root->walk([&](Operation *op) {
    if (auto bind = dyn_cast<BindSizeOp>(op))
      bound[bind.getSymbol()] = bind;
    else if (auto map = dyn_cast<MapOp>(op))
      for (SizeArgAttr argument : map.getSizeArguments())
        if (argument.getRagged()) // A block's size varies only where a remainder is spread (V10).
          ragged[argument.getSymbol().getValue()] = sorted(argument.getAxes());
  });
}

Axes IndexVariance::of(Value value) {
  llvm::DenseSet<Value> visiting;
  return find(value, visiting);
}

Axes IndexVariance::of(const Size &size) {
  llvm::DenseSet<Value> visiting;
  Axes result;
  visitSize(size, [&](Value other) { result = unionOf(result, find(other, visiting)); }, result);
  return result;
}

void IndexVariance::visitSize(const Size &size, llvm::function_ref<void(Value)> add, Axes &result) {
  for (const std::string &symbol : size.symbols()) {
    if (auto it = ragged.find(symbol); it != ragged.end())
      result = unionOf(result, it->second);
    if (auto it = bound.find(symbol); it != bound.end())
      add(BindSizeOp(it->second).getValue());
  }
}

Axes IndexVariance::find(Value value, llvm::DenseSet<Value> &visiting) {
  if (isa<RankedTensorType>(value.getType()))
    return Axes(varyOf(value.getType()));
  // Loops make cycles: what is being looked at adds nothing new, which gives the least fixpoint (V5).
  if (!visiting.insert(value).second)
    return {};
  Axes result;
  auto add = [&](Value other) { result = unionOf(result, find(other, visiting)); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    visitArgument(argument, add, result);
  } else if (auto size = value.getDefiningOp<SizeOp>()) {
    visitSize(*Size::parse(size.getSize()), add, result);
  } else {
    visitResult(cast<OpResult>(value), add);
  }
  return result;
}

void IndexVariance::visitResult(OpResult value, llvm::function_ref<void(Value)> add) {
  Operation *op = value.getOwner();
  unsigned number = value.getResultNumber();
  llvm::for_each(decidingValues(op), add);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        add(region.front().getTerminator()->getOperand(number));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    add(loop.getInitArgs()[number]);
    add(loop.getYieldedValues()[number]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    add(loop.getConditionOp().getArgs()[number]);
  } else {
    llvm::for_each(op->getOperands(), add);
  }
}

void IndexVariance::visitArgument(BlockArgument argument, llvm::function_ref<void(Value)> add, Axes &result) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    llvm::for_each(decidingValues(loop), add);
    if (number > 0) {
      add(loop.getInitArgs()[number - 1]);
      add(loop.getYieldedValues()[number - 1]);
    }
  } else if (auto each = dyn_cast<ForEachOp>(parent)) {
    add(each.getBounds()[number]);
  } else if (auto map = dyn_cast<MapOp>(parent)) {
    SizeArgAttr size = map.getSizeArguments()[number];
    if (size.getRagged())
      result = sorted(size.getAxes());
    add(map.getSizes()[number]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    // Where a condition varies the devices hold what different numbers of trips have made of a value (V5).
    llvm::for_each(decidingValues(loop), add);
    if (argument.getOwner() == loop.getAfterBody()) {
      add(loop.getConditionOp().getArgs()[number]);
    } else {
      add(loop.getInits()[number]);
      add(loop.getYieldOp()->getOperand(number));
    }
  } else if (auto grad = dyn_cast<GradOp>(parent)) {
    add(grad.getInputs()[number]);
  }
}

SmallVector<Value> pmap::decidingValues(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.getCondition()};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getCondition()};
  if (auto each = dyn_cast<ForEachOp>(op))
    return SmallVector<Value>(each.getBounds());
  return {};
}
