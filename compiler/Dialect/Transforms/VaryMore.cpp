#include "compiler/Dialect/Transforms/VaryMore.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

namespace {

bool isArray(Type type) { return isa<RankedTensorType, DistType>(type); }

class Widening {
public:
  Widening(const Activity &dependent, ArrayRef<StringAttr> added) : dependent(dependent), added(added) {}

  void visit(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        retype(block.getArguments());
        for (Operation &nested : llvm::make_early_inc_range(block))
          visit(&nested);
      }
    retype(op->getResults());
    if (op->hasTrait<OpTrait::IsTerminator>())
      return meet(op->getOpOperands().take_back(op->getParentOp()->getNumResults()), results(op));
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return meet(loop.getInitArgsMutable(), loop.getResults());
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return meet(loop.getInitsMutable(), loop.getBeforeArguments());
    if (auto map = dyn_cast<MapOp>(op))
      return meet(map.getInputsMutable(), map.getBlocks());
    // Any other op wants operands that vary alike.
    if (op->getNumRegions() == 0 &&
        llvm::any_of(op->getResults(), [&](Value result) { return dependent.isActive(result); }))
      for (OpOperand &operand : op->getOpOperands())
        widen(operand);
  }

private:
  // What a terminator's operands become.
  ValueRange results(Operation *terminator) {
    if (auto loop = dyn_cast<scf::WhileOp>(terminator->getParentOp()); loop && isa<scf::YieldOp>(terminator))
      return loop.getBeforeArguments();
    return terminator->getParentOp()->getResults();
  }

  void retype(ValueRange values) {
    for (Value value : values)
      if (dependent.isActive(value))
        value.setType(withMoreVary(value.getType(), added));
  }

  template <typename Operands> void meet(Operands &&operands, ValueRange targets) {
    for (auto [operand, target] : llvm::zip_equal(operands, targets))
      if (dependent.isActive(target))
        widen(operand);
  }

  void widen(OpOperand &operand) {
    Value value = operand.get();
    if (!isArray(value.getType()) || dependent.isActive(value))
      return;
    OpBuilder builder(operand.getOwner());
    Location loc = operand.getOwner()->getLoc();
    if (auto dist = dyn_cast<DistType>(value.getType())) {
      // Distributed values have no widening of their own: the whole is widened and laid out anew.
      Value whole = MoveOp::create(builder, loc, dist.getTensor(), value);
      Value wide = WidenOp::create(builder, loc, whole, added);
      operand.set(MoveOp::create(builder, loc, withMoreVary(dist, added), wide));
      return;
    }
    operand.set(WidenOp::create(builder, loc, value, added));
  }

  const Activity &dependent;
  ArrayRef<StringAttr> added;
};

} // namespace

UnrealizedConversionCastOp pmap::standInFor(OpBuilder &builder, Location loc, Type type, Value value) {
  return UnrealizedConversionCastOp::create(builder, loc, type, value);
}

void pmap::removeStandIn(UnrealizedConversionCastOp op) {
  op->replaceAllUsesWith(op.getInputs());
  op.erase();
}

Type pmap::withMoreVary(Type type, ArrayRef<StringAttr> added) {
  if (auto dist = dyn_cast<DistType>(type))
    return DistType::get(dist.getContext(), cast<RankedTensorType>(withMoreVary(dist.getTensor(), added)),
                         dist.getSpec(), dist.getMesh());
  auto tensor = cast<RankedTensorType>(type);
  return withVary(tensor, unionOf(varyOf(tensor), added));
}

void pmap::varyMore(ArrayRef<Operation *> ops, ArrayRef<Value> roots, ArrayRef<StringAttr> added) {
  Activity dependent(isArray);
  for (Value root : roots)
    dependent.activate(root);
  dependent.spread(ops);
  Widening widening(dependent, added);
  for (Operation *op : ops)
    widening.visit(op);
}
