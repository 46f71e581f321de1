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

// True for a sum over some loops that begins with zeros.
bool isFreshSum(linalg::GenericOp generic) {
  if (generic.getNumReductionLoops() == 0 || generic.getNumDpsInits() != 1 || !generic->hasOneUse())
    return false;
  auto fill = generic.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  Value result = generic.getBody()->getTerminator()->getOperand(0), running = generic.getBody()->getArguments().back();
  Operation *add = result.getDefiningOp();
  return fill && (matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_Zero())) &&
         isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add) && llvm::is_contained(add->getOperands(), running) &&
         running.hasOneUse();
}

// A loop that adds sums up, as that over the places of a convolution's kernel: each sum continues the carried one,
// where it lies, instead of being made and then added.
void continueCarried(Operation *yield) {
  for (OpOperand &operand : yield->getOpOperands()) {
    auto total = operand.get().getDefiningOp<linalg::GenericOp>();
    Value carried = carriedValue(yield, operand.getOperandNumber());
    if (!total || !carried || !carried.hasOneUse() || !total->hasOneUse() || total->getBlock() != yield->getBlock() ||
        !isSum(total) || !llvm::is_contained(total.getDpsInputs(), carried) || carried.getType() != total.getType(0))
      continue;
    Value other = total.getDpsInputs()[total.getDpsInputs()[0] == carried ? 1 : 0];
    auto sum = other.getDefiningOp<linalg::GenericOp>();
    if (!sum || sum->getBlock() != yield->getBlock() || !isFreshSum(sum))
      continue;
    Operation *zeros = sum.getDpsInits()[0].getDefiningOp();
    sum.getDpsInitOperand(0)->set(carried);
    operand.set(sum.getResult(0));
    total.erase();
    if (zeros->use_empty())
      zeros->erase();
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
