// Destination reuse: an op that writes a fresh tensor is told to write into one that may die there. It is a suggestion
// only: where the old value is still wanted, bufferization sees the conflict and allocates after all, without a copy,
// because the op never reads its destination.
//
// A sum that is added to a carried array goes there directly.

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pmap {
namespace {

// True when output `index` is written and never read, into a tensor that nobody else needs.
bool writesFreshTensor(linalg::GenericOp generic, unsigned index) {
  OpOperand *output = generic.getDpsInitOperand(index);
  return output->get().getDefiningOp<tensor::EmptyOp>() && !generic.payloadUsesValueFromOperand(output);
}

// The value carried in the loop around `yield`, for its operand `index`: what the yielded value replaces.
Value carriedValue(Operation *yield, unsigned index) {
  if (auto loop = dyn_cast<scf::ForOp>(yield->getParentOp()))
    return loop.getRegionIterArg(index);
  if (auto loop = dyn_cast<scf::WhileOp>(yield->getParentOp())) {
    // What enters the condition reaches the body through `scf.condition`.
    Value entering = loop.getBeforeArguments()[index];
    for (auto [position, passed] : llvm::enumerate(loop.getConditionOp().getArgs()))
      if (passed == entering)
        return loop.getAfterArguments()[position];
  }
  return Value();
}

// The array that `value` is an update of, as far back as the updates go.
Value beforeUpdates(Value value) {
  while (auto update = value.getDefiningOp<DestinationStyleOpInterface>()) {
    Value before = update.getTiedOpOperand(cast<OpResult>(value))->get();
    auto generic = dyn_cast<linalg::GenericOp>(*update);
    if (generic && writesFreshTensor(generic, cast<OpResult>(value).getResultNumber()))
      break;
    value = before;
  }
  return value;
}

void reuseCarried(Operation *yield) {
  for (OpOperand &operand : yield->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    Value made = beforeUpdates(operand.get());
    auto generic = made.getDefiningOp<linalg::GenericOp>();
    if (!generic || generic->getBlock() != yield->getBlock())
      continue;
    unsigned index = cast<OpResult>(made).getResultNumber();
    Value carried = carriedValue(yield, operand.getOperandNumber());
    if (carried && carried.getType() == made.getType() && writesFreshTensor(generic, index))
      generic.getDpsInitOperand(index)->set(carried);
  }
}

// True for `a + b`, element by element over whole arrays.
bool isSum(linalg::GenericOp generic) {
  Block *body = generic.getBody();
  if (generic.getNumReductionLoops() > 0 || generic.getNumDpsInputs() != 2 || generic.getNumDpsInits() != 1 ||
      body->getOperations().size() != 2 || !isa<arith::AddFOp, arith::AddIOp>(body->front()) ||
      body->getTerminator()->getOperand(0) != body->front().getResult(0))
    return false;
  Operation &add = body->front();
  Value first = body->getArgument(0), second = body->getArgument(1);
  return ((add.getOperand(0) == first && add.getOperand(1) == second) ||
          (add.getOperand(0) == second && add.getOperand(1) == first)) &&
         llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); });
}

// True for an array of zeros, as a fill or as the op that fusion makes of one.
bool isZeros(Value value) {
  Value element;
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    element = fill.getInputs()[0];
  else if (auto generic = value.getDefiningOp<linalg::GenericOp>(); generic && generic.getNumReductionLoops() == 0)
    element = generic.getBody()->getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return element && (matchPattern(element, m_AnyZeroFloat()) || matchPattern(element, m_Zero()));
}

// True for a product of two arrays, summed over some loops from zeros. (Other sums are made apart: the terms of a long
// one would be lost beside what there is already.)
bool isFreshProduct(linalg::GenericOp generic) {
  Block *body = generic.getBody();
  if (generic.getNumReductionLoops() == 0 || generic.getNumDpsInputs() != 2 || generic.getNumDpsInits() != 1 ||
      !generic->hasOneUse() || !isZeros(generic.getDpsInits()[0]) || body->getOperations().size() != 3)
    return false;
  Operation *add = body->getTerminator()->getOperand(0).getDefiningOp();
  return isa<arith::MulFOp, arith::MulIOp>(body->front()) && isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add) &&
         llvm::is_contained(add->getOperands(), body->getArguments().back()) &&
         llvm::is_contained(add->getOperands(), body->front().getResult(0));
}

// Makes `total`, which adds a sum to `running`, the sum itself, continued from `running` where that lies.
bool continueSum(linalg::GenericOp total, Value running) {
  if (!total->hasOneUse() || !isSum(total) || !llvm::is_contained(total.getDpsInputs(), running) ||
      running.getType() != total.getType(0))
    return false;
  Value other = total.getDpsInputs()[total.getDpsInputs()[0] == running ? 1 : 0];
  auto sum = other.getDefiningOp<linalg::GenericOp>();
  if (!sum || sum->getBlock() != total->getBlock() || !isFreshProduct(sum))
    return false;
  Operation *zeros = sum.getDpsInits()[0].getDefiningOp();
  sum.getDpsInitOperand(0)->set(running);
  sum->moveBefore(total);
  total.getResult(0).replaceAllUsesWith(sum.getResult(0));
  total.erase();
  if (isOpTriviallyDead(zeros))
    zeros->erase();
  return true;
}

// A loop that adds sums up, as that over the places of a convolution's kernel: each sum continues the carried one,
// where it lies, instead of being made and then added. So does one that is added to a slice of the carried array, as
// in the derivative by what slices are taken of.
void continueCarried(Operation *yield) {
  for (OpOperand &operand : yield->getOpOperands()) {
    Value carried = carriedValue(yield, operand.getOperandNumber());
    if (!carried)
      continue;
    if (auto total = operand.get().getDefiningOp<linalg::GenericOp>()) {
      if (carried.hasOneUse() && total->getBlock() == yield->getBlock())
        continueSum(total, carried);
      continue;
    }
    auto put = operand.get().getDefiningOp<tensor::InsertSliceOp>();
    auto total = put ? put.getSource().getDefiningOp<linalg::GenericOp>() : nullptr;
    if (!total || put.getDest() != carried || !carried.hasNUses(2) || put->getBlock() != yield->getBlock() ||
        total->getBlock() != yield->getBlock())
      continue;
    for (Value input : total.getDpsInputs()) {
      auto taken = input.getDefiningOp<tensor::ExtractSliceOp>();
      if (taken && taken.getSource() == carried && taken->hasOneUse() &&
          taken.isSameAs(put, [](OpFoldResult a, OpFoldResult b) { return a == b; }) && continueSum(total, taken))
        break;
    }
  }
}

// An input whose last use is this op, read at the very place that is written.
void reuseDyingInput(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() > 0)
    return;
  for (unsigned index = 0; index < generic.getNumDpsInits(); ++index) {
    OpOperand *output = generic.getDpsInitOperand(index);
    if (!writesFreshTensor(generic, index))
      continue;
    for (OpOperand *input : generic.getDpsInputOperands()) {
      Value value = input->get();
      Operation *definition = value.getDefiningOp();
      if (!definition || value.getType() != output->get().getType() ||
          isa<tensor::EmptyOp, arith::ConstantOp>(definition) || definition->getBlock() != generic->getBlock() ||
          generic.getMatchingIndexingMap(input) != generic.getMatchingIndexingMap(output) || !value.hasOneUse())
        continue;
      output->set(value);
      break;
    }
  }
}

struct ReuseDestinationsPass : PassWrapper<ReuseDestinationsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReuseDestinationsPass)
  StringRef getArgument() const final { return "pmap-cpu-reuse-destinations"; }
  StringRef getDescription() const final { return "Write elementwise results where an operand dies"; }

  void runOnOperation() final {
    getOperation().walk([](Operation *op) {
      if (!isa<scf::YieldOp>(op))
        return;
      continueCarried(op);
      reuseCarried(op);
    });
    getOperation().walk([](linalg::GenericOp generic) { reuseDyingInput(generic); });
  }
};

} // namespace

std::unique_ptr<Pass> createReuseDestinationsPass() { return std::make_unique<ReuseDestinationsPass>(); }

} // namespace pmap
