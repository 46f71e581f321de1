// pmap-hoist-collectives: collectives leave the loops that need them once. Two ways:
//
// - One whose operands are the same in every trip is done before the loop.
// - A sum over devices that is only added up over the trips (or a maximum of maxima) is done after the loop: each
// device
//   adds up its own, psum(a) + psum(b) = psum(a + b).
//
// Movements of values that no trip changes (P5) leave loops in the first way.
//
// The devices agree on the trip count, or the collective could not be inside (V6), so all of them do it once, also when
// there is no trip at all: then it combines what nobody reads, or zeros.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pmap;

namespace {

//===--- Before the loop
//--------------------------------------------------------------------------------------------===//

// Adds what `op` needs of the region to `needed`, and itself, in an order in which they can stand; false when that is
// not the same in every trip, or may not be computed where it was not asked for.
bool collectInvariant(Operation *op, Region &region, SetVector<Operation *> &needed) {
  if (needed.contains(op))
    return true;
  // What types mention must be bound outside as well; the ops of the dialect know.
  bool speculatable = isa<CollectiveOp, MoveOp>(op)
                          ? speculatabilityWhereSizesAreKnown(op) == Speculation::Speculatable
                          : op->getNumRegions() == 0 && isMemoryEffectFree(op) && isSpeculatable(op);
  if (!speculatable || op->getParentRegion() != &region)
    return false;
  for (Value operand : op->getOperands()) {
    if (!region.isAncestor(operand.getParentRegion()))
      continue;
    if (!operand.getDefiningOp() || !collectInvariant(operand.getDefiningOp(), region, needed))
      return false;
  }
  needed.insert(op);
  return true;
}

bool isLoop(Operation *op) { return isa<scf::ForOp, scf::WhileOp, ForEachOp>(op); }

// Moves the invariant collectives and movements of a loop, and what they are computed from, before it. A permutation
// stays: it checks its destinations, and a loop without trips must not fail.
void hoistInvariant(Operation *loop) {
  for (Region &region : loop->getRegions()) {
    if (!region.hasOneBlock())
      continue;
    SmallVector<Operation *> movable;
    for (Operation &op : region.front())
      if (isa<CollectiveOp, MoveOp>(op) && !isa<PermuteOp>(op))
        movable.push_back(&op);
    for (Operation *op : movable) {
      SetVector<Operation *> needed;
      if (!collectInvariant(op, region, needed))
        continue;
      for (Operation *each : needed)
        each->moveBefore(loop);
    }
  }
}

//===--- After the loop
//---------------------------------------------------------------------------------------------===//

// Whether a combination of two values and one over devices may change places.
bool combinesAlike(Operation *combine, ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Mean:
    return isa<arith::AddFOp, arith::AddIOp>(combine);
  case ReductionKind::Max:
    return isa<arith::MaximumFOp, arith::MaxSIOp>(combine);
  case ReductionKind::Min:
    return isa<arith::MinimumFOp, arith::MinSIOp>(combine);
  case ReductionKind::MaxU:
    return isa<arith::MaxUIOp>(combine);
  case ReductionKind::MinU:
    return isa<arith::MinUIOp>(combine);
  default:
    return false;
  }
}

// A carried value that is combined with a collective's result in every trip, and read nowhere else in the loop.
struct CarriedSum {
  unsigned number;
  AllReduceOp collective;
  unsigned leaf;
  Operation *combine;
  bool adds() { return collective.getKind() == ReductionKind::Sum || collective.getKind() == ReductionKind::Mean; }
  Value local() { return collective.getInputs()[leaf]; }
};

std::optional<CarriedSum> carriedSum(scf::ForOp loop, unsigned number) {
  Value argument = loop.getRegionIterArg(number);
  Operation *combine = loop.getYieldedValues()[number].getDefiningOp();
  if (!combine || combine->getNumOperands() != 2 || !combine->hasOneUse() || !argument.hasOneUse() ||
      combine->getParentRegion() != &loop.getRegion())
    return std::nullopt;
  Value other = combine->getOperand(0) == argument ? combine->getOperand(1) : combine->getOperand(0);
  if (other == argument || *argument.user_begin() != combine || !other.hasOneUse())
    return std::nullopt;
  auto collective = other.getDefiningOp<AllReduceOp>();
  if (!collective || collective->getParentRegion() != &loop.getRegion() ||
      !combinesAlike(combine, collective.getKind()))
    return std::nullopt;
  // A sum of narrow floats is rounded once a trip either way, but its parts may be larger than the whole.
  Type element = cast<RankedTensorType>(other.getType()).getElementType();
  CarriedSum found{number, collective, cast<OpResult>(other).getResultNumber(), combine};
  if (found.adds() && isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return std::nullopt;
  // The accumulator is made before the loop, where its sizes must be known.
  if (speculatabilityWhereSizesAreKnown(collective) != Speculation::Speculatable)
    return std::nullopt;
  // The maximum of a group begins with what the devices of the group hold, which may differ.
  if (!found.adds() && collective.getGroups())
    return std::nullopt;
  return found;
}

// Carries each device's own combination instead, and combines these after the loop. A sum begins with zero, and the
// initial value is added at the end; a maximum begins with it.
void sumAfter(scf::ForOp loop, CarriedSum found) {
  OpBuilder before(loop), after(loop->getContext());
  after.setInsertionPointAfter(loop);
  AllReduceOp collective = found.collective;
  Location loc = collective.getLoc();
  Value local = found.local(), init = loop.getInitArgs()[found.number];
  auto type = cast<RankedTensorType>(local.getType());
  SmallVector<StringAttr> axes = axesOf(collective);
  Axes missing = differenceOf(varyOf(type), varyOf(init.getType()));
  Value start = found.adds()      ? splat(before, loc, type, 0)
                : missing.empty() ? init
                                  : WidenOp::create(before, loc, init, missing).getResult();

  loop.getInitArgsMutable()[found.number].set(start);
  Value argument = loop.getRegionIterArg(found.number), result = loop.getResult(found.number);
  argument.setType(type);
  OpBuilder inside(found.combine);
  IRMapping mapping;
  for (Value operand : found.combine->getOperands())
    mapping.map(operand, operand == argument ? argument : local);
  Operation *combine = inside.clone(*found.combine, mapping);
  combine->getResult(0).setType(type);
  found.combine->getResult(0).replaceAllUsesWith(combine->getResult(0));
  found.combine->erase();

  SmallVector<OpOperand *> uses;
  for (OpOperand &use : result.getUses())
    uses.push_back(&use);
  result.setType(type);
  Value total =
      AllReduceOp::create(after, loc, collective.getKind(), result, axes, collective.getGroupsAttr()).getResult(0);
  if (found.adds()) {
    IRMapping operands;
    Operation *sum = after.clone(*combine, operands);
    sum->setOperands({init, total});
    sum->getResult(0).setType(cast<RankedTensorType>(total.getType()));
    total = sum->getResult(0);
  }
  for (OpOperand *use : uses)
    use->set(total);
}

void sumCarriedAfter(scf::ForOp loop) {
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (std::optional<CarriedSum> found = carriedSum(loop, number))
      sumAfter(loop, *found);
}

struct HoistCollectivesPass : PassWrapper<HoistCollectivesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistCollectivesPass)
  StringRef getArgument() const final { return "pmap-hoist-collectives"; }
  StringRef getDescription() const final { return "move collectives out of loops"; }

  void runOnOperation() override {
    // Inner loops first, so that what leaves one may leave the next.
    SmallVector<Operation *> loops;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isLoop(op))
        loops.push_back(op);
    });
    for (Operation *loop : loops) {
      hoistInvariant(loop);
      if (auto counted = dyn_cast<scf::ForOp>(loop))
        sumCarriedAfter(counted);
    }
    RewritePatternSet patterns(&getContext());
    populateUnusedCollectivePatterns(patterns);
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createHoistCollectivesPass() { return std::make_unique<HoistCollectivesPass>(); }
