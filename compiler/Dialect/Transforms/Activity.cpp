#include "compiler/Dialect/Transforms/Activity.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

bool pmap::isDifferentiable(Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    type = dist.getTensor();
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

SmallVector<Value> Activity::activeCaptures(Operation *op) const {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op->getRegions(), captures);
  return llvm::filter_to_vector(captures, [&](Value value) { return isActive(value); });
}

void Activity::forget(Operation *op) {
  op->walk([&](Operation *nested) {
    for (Value result : nested->getResults())
      active.erase(result);
    for (Region &region : nested->getRegions())
      for (Value argument : region.getArguments())
        active.erase(argument);
  });
}

bool Activity::activateIf(bool condition, Value value) {
  return condition && carries(value.getType()) && active.insert(value).second;
}

bool Activity::spreadEach(ValueRange from, ValueRange to) {
  bool changed = false;
  for (auto [source, target] : llvm::zip_equal(from, to))
    changed |= activateIf(isActive(source), target);
  return changed;
}

bool Activity::spreadInto(Block &block) {
  bool changed = false;
  for (Operation &nested : block.without_terminator())
    changed |= spreadThrough(&nested);
  return changed;
}

bool Activity::spreadThrough(Operation *op) {
  if (isa<StopGradientOp>(op) && carries == isDifferentiable)
    return false;
  bool changed = false;
  // A loop is walked until nothing changes: what one trip makes active the next one reads.
  auto untilSettled = [&](llvm::function_ref<bool()> walk) {
    while (walk())
      changed = true;
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    untilSettled([&] {
      bool grew = spreadEach(loop.getInitArgs(), loop.getRegionIterArgs());
      grew |= spreadInto(*loop.getBody());
      grew |= spreadEach(loop.getYieldedValues(), loop.getRegionIterArgs());
      return grew;
    });
    return changed | spreadEach(loop.getRegionIterArgs(), loop.getResults());
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    untilSettled([&] {
      bool grew = spreadEach(loop.getInits(), loop.getBeforeArguments());
      grew |= spreadInto(*loop.getBeforeBody());
      grew |= spreadEach(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      grew |= spreadInto(*loop.getAfterBody());
      grew |= spreadEach(loop.getYieldedValues(), loop.getBeforeArguments());
      return grew;
    });
    return changed | spreadEach(loop.getConditionOp().getArgs(), loop.getResults());
  }
  if (auto map = dyn_cast<MapOp>(op))
    changed |= spreadEach(map.getInputs(), map.getBlocks());
  if (isa<scf::IfOp, ForEachOp, MapOp, CheckpointOp>(op)) {
    for (Region &region : op->getRegions())
      if (!region.empty()) {
        changed |= spreadInto(region.front());
        if (op->getNumResults())
          changed |= spreadEach(region.front().getTerminator()->getOperands(), op->getResults());
      }
    return changed;
  }
  // Every other op: its results depend on whatever it reads.
  bool reads =
      llvm::any_of(op->getOperands(), [&](Value value) { return isActive(value); }) || !activeCaptures(op).empty();
  for (Value result : op->getResults())
    changed |= activateIf(reads, result);
  return changed;
}

void Activity::spread(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    spreadThrough(op);
}
