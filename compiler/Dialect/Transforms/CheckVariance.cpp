// pmap-check-variance: (V6) holds for what Sema and the derivatives made, and types show the variance that comes from
// indices.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Dialect/Transforms/IndexVariance.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace pmap;

namespace {

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

// Arrays that meet are of one size (V10).
LogicalResult checkSizes(CollectiveOp collective, IndexVariance &variance) {
  SmallVector<StringAttr> axes = collective.getCollectiveAxes();
  for (Type operand : collective->getOperandTypes()) {
    auto type = dyn_cast<RankedTensorType>(operand);
    if (!type)
      continue;
    for (const Size &size : sizesOf(type))
      for (StringAttr axis : variance.of(size))
        if (llvm::is_contained(axes, axis))
          return collective.emitError() << "a collective over '" << axis.getValue()
                                        << "' of arrays whose size varies over '" << axis.getValue()
                                        << "': expected one size on all devices (V10) [E0709]";
  }
  return success();
}

// The values without a V in their type that decide what the tensor results of `op` are.
SmallVector<Value> hiddenInputs(Operation *op) {
  if (auto extract = dyn_cast<ExtractOp>(op))
    return SmallVector<Value>(extract.getIndices());
  if (auto slice = dyn_cast<SliceOp>(op))
    return SmallVector<Value>(slice.getOffsets());
  if (auto rotate = dyn_cast<RotateOp>(op))
    return {rotate.getOffset()};
  if (auto update = dyn_cast<UpdateSliceOp>(op))
    return SmallVector<Value>(update.getOffsets());
  if (auto door = dyn_cast<FromIndexOp>(op))
    return {door.getIndex()};
  return isa<ForEachOp>(op) ? SmallVector<Value>() : decidingValues(op);
}

// A result must show in its type what it takes from its operands (V2), and from an index or a condition (V5). That it
// does not is a fault of the pass that made it, not of the program.
LogicalResult checkResults(Operation *op, IndexVariance &variance) {
  if (llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); }))
    return success();
  if (!isa<CollectiveOp>(op) && op->getNumRegions() == 0)
    for (auto operand : op->getOperandTypes())
      for (Type type : op->getResultTypes())
        if (isa<RankedTensorType>(operand) && isa<RankedTensorType>(type) &&
            !differenceOf(varyOf(operand), varyOf(type)).empty())
          return op->emitError() << "a result of type " << type << " takes from an operand of type " << operand
                                 << ", which varies over more, and its type does not say so";
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
      if ((collective && (failed(checkCollective(collective, variance)) || failed(checkSizes(collective, variance)))) ||
          failed(checkResults(op, variance)))
        signalPassFailure();
    });
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createCheckVariancePass() { return std::make_unique<CheckVariancePass>(); }
