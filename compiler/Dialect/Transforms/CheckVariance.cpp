// pmap-check-variance: (V6) holds for what Sema and the derivatives made, and types show the variance that comes from
// indices.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pmap;

namespace {

// V of values without a type that could say it: indices and conditions. Tensors say it themselves.
class IndexVariance {
public:
  explicit IndexVariance(Operation *root) {
    root->walk([&](Operation *op) {
      if (auto bind = dyn_cast<BindSizeOp>(op))
        bound[bind.getSymbol()] = bind.getValue();
      else if (auto map = dyn_cast<MapOp>(op))
        for (SizeArgAttr argument : map.getSizeArguments())
          if (argument.getRagged()) // A block's size varies only where a remainder is spread (V10).
            ragged[argument.getSymbol().getValue()] = sorted(argument.getAxes());
    });
  }

  Axes of(Value value) {
    llvm::DenseSet<Value> visiting;
    return find(value, visiting);
  }

private:
  Axes find(Value value, llvm::DenseSet<Value> &visiting) {
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
      for (const std::string &symbol : Size::parse(size.getSize())->symbols()) {
        if (auto it = ragged.find(symbol); it != ragged.end())
          result = unionOf(result, it->second);
        if (auto it = bound.find(symbol); it != bound.end())
          add(it->second);
      }
    } else {
      Operation *op = value.getDefiningOp();
      llvm::for_each(op->getOperands(), add);
      unsigned number = cast<OpResult>(value).getResultNumber();
      if (isa<scf::IfOp, scf::ForOp>(op))
        for (Region &region : op->getRegions())
          if (!region.empty())
            add(region.front().getTerminator()->getOperand(number));
    }
    return result;
  }

  void visitArgument(BlockArgument argument, llvm::function_ref<void(Value)> add, Axes &result) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        add(bound);
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
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      llvm::for_each(loop.getInits(), add);
      llvm::for_each(loop.getConditionOp()->getOperands(), add);
    } else if (auto grad = dyn_cast<GradOp>(parent)) {
      add(grad.getInputs()[number]);
    }
  }

  llvm::StringMap<Value> bound;
  llvm::StringMap<Axes> ragged;
};

// The values that decide whether, or how often, the regions of `op` run.
SmallVector<Value> decidingValues(Operation *op) {
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

LogicalResult checkCollective(CollectiveOp collective, IndexVariance &variance) {
  SmallVector<StringAttr> axes = collective.getCollectiveAxes();
  for (Operation *parent = collective->getParentOp(); parent && !isa<MapOp>(parent); parent = parent->getParentOp())
    for (Value value : decidingValues(parent))
      for (StringAttr axis : variance.of(value)) {
        if (!llvm::is_contained(axes, axis))
          continue;
        InFlightDiagnostic error =
            collective.emitError()
            << "a collective over '" << axis.getValue() << "' "
            << (isa<scf::IfOp>(parent) ? "under a condition" : "in a loop whose trip count")
            << (isa<scf::IfOp>(parent) ? " that varies" : " varies") << " over '" << axis.getValue()
            << "': some devices may not reach it, and the others would wait for them (V6) [E0706]";
        error.attachNote(parent->getLoc()) << "the " << (isa<scf::IfOp>(parent) ? "condition" : "loop") << " is here";
        if (!isa<BlockArgument>(value))
          error.attachNote(value.getLoc()) << "what decides it is computed here";
        return error;
      }
  return success();
}

// The values without a V in their type that decide what the tensor results of `op` are.
SmallVector<Value> hiddenInputs(Operation *op) {
  if (auto extract = dyn_cast<ExtractOp>(op))
    return SmallVector<Value>(extract.getIndices());
  if (auto slice = dyn_cast<SliceOp>(op))
    return SmallVector<Value>(slice.getOffsets());
  if (auto update = dyn_cast<UpdateSliceOp>(op))
    return SmallVector<Value>(update.getOffsets());
  if (auto door = dyn_cast<FromIndexOp>(op))
    return {door.getIndex()};
  return isa<ForEachOp>(op) ? SmallVector<Value>() : decidingValues(op);
}

// A result must show in its type what it takes from an index or a condition (V5). That it does not is a fault of the
// pass that made it, not of the program.
LogicalResult checkResults(Operation *op, IndexVariance &variance) {
  if (llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); }))
    return success();
  for (Value input : hiddenInputs(op))
    for (StringAttr axis : variance.of(input))
      for (Type type : op->getResultTypes())
        if (isa<RankedTensorType>(type) && !llvm::is_contained(varyOf(type), axis))
          return op->emitError() << "a result of type " << type << " varies over '" << axis.getValue()
                                 << "', through an index or a condition, and its type does not say so";
  return success();
}

struct CheckVariancePass : PassWrapper<CheckVariancePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckVariancePass)
  StringRef getArgument() const final { return "pmap-check-variance"; }
  StringRef getDescription() const final { return "check that all devices reach every collective (V6)"; }

  void runOnOperation() override {
    IndexVariance variance(getOperation());
    getOperation()->walk([&](Operation *op) {
      auto collective = dyn_cast<CollectiveOp>(op);
      if ((collective && failed(checkCollective(collective, variance))) || failed(checkResults(op, variance)))
        signalPassFailure();
    });
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createCheckVariancePass() { return std::make_unique<CheckVariancePass>(); }
