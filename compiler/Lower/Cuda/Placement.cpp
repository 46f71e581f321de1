// The analysis: first what comes from the device, forwards; then what is of use there, backwards.

#include "compiler/Lower/Cuda/Placement.h"
#include "compiler/Lower/RuntimeOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace pmap {

bool isNumber(Type type) { return isa<FloatType, IntegerType>(type); }

bool isScalarArithmetic(Operation *op) {
  bool isArithmetic =
      isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) || isa<rt::OpaqueOp>(op);
  return isArithmetic && op->getNumRegions() == 0 && op->getNumResults() == 1 && isNumber(op->getResult(0).getType()) &&
         op->getNumOperands() > 0;
}

bool isCheck(Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch || branch->getNumResults() || branch.elseBlock())
    return false;
  unsigned failures = 0;
  for (Operation &inner : branch.thenBlock()->without_terminator()) {
    auto call = dyn_cast<func::CallOp>(inner);
    if (call && call.getCallee() == "pmap_rt_fail")
      ++failures;
    else if (inner.getNumRegions() || !isPure(&inner))
      return false;
  }
  return failures == 1;
}

SmallVector<Value> carriedAs(OpOperand &use) {
  Operation *owner = use.getOwner();
  unsigned index = use.getOperandNumber();
  SmallVector<Value> values;
  if (auto loop = dyn_cast<scf::ForOp>(owner)) {
    if (index >= loop.getNumControlOperands()) {
      values.push_back(loop.getRegionIterArg(index - loop.getNumControlOperands()));
      values.push_back(loop.getResult(index - loop.getNumControlOperands()));
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(owner)) {
    values.push_back(loop.getBeforeArguments()[index]);
  } else if (auto condition = dyn_cast<scf::ConditionOp>(owner)) {
    auto loop = cast<scf::WhileOp>(condition->getParentOp());
    if (index > 0) {
      values.push_back(loop.getAfterArguments()[index - 1]);
      values.push_back(loop.getResult(index - 1));
    }
  } else if (isa<scf::YieldOp>(owner)) {
    if (auto loop = dyn_cast<scf::ForOp>(owner->getParentOp())) {
      values.push_back(loop.getRegionIterArg(index));
      values.push_back(loop.getResult(index));
    } else if (auto loop = dyn_cast<scf::WhileOp>(owner->getParentOp())) {
      values.push_back(loop.getBeforeArguments()[index]);
    } else if (auto branch = dyn_cast<scf::IfOp>(owner->getParentOp())) {
      values.push_back(branch.getResult(index));
    }
  }
  return values;
}

StringRef reasonOfRead(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (isa<scf::ConditionOp>(owner))
    return "the condition of a while loop";
  if (isa<scf::IfOp>(owner))
    return "a condition";
  if (isa<func::ReturnOp>(owner))
    return "a result";
  if (isa<rt::CallOp, func::CallOp>(owner))
    return "an argument of the runtime";
  if (owner->getNumResults() == 1 && owner->getResult(0).getType().isIndex())
    return "a size, an index or a trip count";
  return "a value of the host";
}

static bool isCollective(Operation *op) {
  auto call = dyn_cast<rt::CallOp>(op);
  return call && call.getCallee().starts_with("pmap_rt_all_reduce");
}

Placement::Placement(func::FuncOp function) {
  findOrigins(function);
  findKept(function);
}

// True when an op's scalar results are made on the device.
bool Placement::comesFromDevice(Operation *op) const {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return isNumber(extract.getType()) && !extract.getTensor().getDefiningOp<arith::ConstantOp>();
  auto isDevice = [&](Value operand) { return origins.contains(operand) || isa<TensorType>(operand.getType()); };
  if (isCollective(op))
    return llvm::any_of(cast<rt::CallOp>(op).getInputs(), isDevice);
  return isScalarArithmetic(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return origins.contains(operand); });
}

void Placement::findOrigins(func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    auto add = [&](Value value) { changed |= isNumber(value.getType()) && origins.insert(value).second; };
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Bodies of structured ops are kernels already.
      if (isa<linalg::LinalgOp>(op))
        return WalkResult::skip();
      if (comesFromDevice(op))
        for (Value result : op->getResults())
          add(result);
      for (OpOperand &operand : op->getOpOperands())
        if (origins.contains(operand.get()))
          for (Value carried : carriedAs(operand))
            add(carried);
      return WalkResult::advance();
    });
  }
}

// True when the use wants the value on the device.
bool Placement::keeps(OpOperand &use) const {
  Operation *owner = use.getOwner();
  if (isa<linalg::LinalgOp>(owner) || owner->getParentOfType<linalg::LinalgOp>())
    return true;
  if (isCollective(owner) || isa<tensor::FromElementsOp, tensor::InsertOp>(owner))
    return true;
  if (isCheck(owner) || (isa<func::CallOp>(owner) && isCheck(owner->getParentOp())))
    return true;
  if (isScalarArithmetic(owner) && kept.contains(owner->getResult(0)))
    return true;
  return llvm::any_of(carriedAs(use), [&](Value value) { return kept.contains(value); });
}

void Placement::findKept(func::FuncOp function) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Value value : origins)
      if (!kept.contains(value) && llvm::any_of(value.getUses(), [&](OpOperand &use) { return keeps(use); }))
        changed |= kept.insert(value).second;
    // What is carried around a loop is in one place everywhere, and so is what a region gives.
    function.walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands()) {
        SmallVector<Value> carried = carriedAs(operand);
        if (llvm::any_of(carried, [&](Value value) { return kept.contains(value); }))
          for (Value value : carried)
            changed |= kept.insert(value).second;
      }
    });
  }
}

} // namespace pmap
