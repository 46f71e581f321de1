// pmap-fuse-collectives: all_reduces of a kind, over the same axes and groups, that do not need each other's results
// are one (C4). What reads the earlier one's results moves behind the later one: devices then meet once instead of
// twice.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pmap;

bool pmap::onlyCommunicates(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<CommResource>(effect.getResource());
         });
}

namespace {

//===--- Equal ones -----------------------------------------------------------------------------------------------===//

// The collectives before a place that is in their scope: those of the blocks around it.
class EqualCollectives {
public:
  void visit(Region &region) {
    size_t mark = seen.size();
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (op.hasTrait<OpTrait::IsIsolatedFromAbove>()) {
          for (Region &inner : op.getRegions())
            EqualCollectives().visit(inner);
          continue;
        }
        for (Region &inner : op.getRegions())
          visit(inner);
        if (!isa<CollectiveOp>(op))
          continue;
        if (auto allReduce = dyn_cast<AllReduceOp>(op))
          mergeLeaves(allReduce);
        else
          mergeWhole(&op);
      }
    seen.resize(mark);
  }

private:
  // A value that an earlier all_reduce has combined in the same way.
  void mergeLeaves(AllReduceOp op) {
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      auto first = llvm::find(op.getInputs(), input);
      if (auto number = static_cast<size_t>(std::distance(op.getInputs().begin(), first)); number != i)
        op.getResult(i).replaceAllUsesWith(op.getResult(number));
      for (Operation *earlier : seen)
        if (auto other = dyn_cast<AllReduceOp>(earlier); other && other.getKind() == op.getKind() &&
                                                         other.getAxes() == op.getAxes() &&
                                                         other.getGroupsAttr() == op.getGroupsAttr())
          if (auto it = llvm::find(other.getInputs(), input); it != other.getInputs().end())
            op.getResult(i).replaceAllUsesWith(other.getResult(std::distance(other.getInputs().begin(), it)));
    }
    if (op->use_empty())
      op.erase();
    else
      seen.push_back(op);
  }

  void mergeWhole(Operation *op) {
    for (Operation *earlier : seen)
      if (OperationEquivalence::isEquivalentTo(earlier, op, OperationEquivalence::IgnoreLocations)) {
        op->replaceAllUsesWith(earlier->getResults());
        op->erase();
        return;
      }
    seen.push_back(op);
  }

  SmallVector<Operation *> seen;
};

//===--- One for two ----------------------------------------------------------------------------------------------===//

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

bool isWideFloat(Value value) { return isa<Float32Type, Float64Type>(elementOf(value)); }

// A mean is a sum and a division, so that it may travel with sums. Narrow floats would be rounded before they are
// divided.
bool isSumLike(AllReduceOp op) {
  return op.getKind() == ReductionKind::Sum ||
         (op.getKind() == ReductionKind::Mean && !op.getGroups() && llvm::all_of(op.getInputs(), isWideFloat));
}

bool fusable(AllReduceOp a, AllReduceOp b) {
  if (a.getAxes() != b.getAxes() || a.getGroupsAttr() != b.getGroupsAttr())
    return false;
  if (a.getKind() != b.getKind() && !(isSumLike(a) && isSumLike(b)))
    return false;
  // Values of different dtypes travel apart, whatever the op.
  return llvm::any_of(a.getInputs(), [&](Value x) {
    return llvm::any_of(b.getInputs(), [&](Value y) { return elementOf(x) == elementOf(y); });
  });
}

bool reads(Operation *op, const llvm::SmallPtrSetImpl<Operation *> &ops) {
  return op
      ->walk([&](Operation *nested) {
        return llvm::any_of(nested->getOperands(), [&](Value value) { return ops.contains(value.getDefiningOp()); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

// What stands between the two and needs the first, in order; nothing when it cannot move behind the second. Where the
// second is of a checkpoint that is computed again in between, work that waited for it would find two of them in
// memory, and in the end all (G4): the backward steps of the one go before.
std::optional<SmallVector<Operation *>> dependentsBetween(AllReduceOp first, AllReduceOp second) {
  llvm::SmallPtrSet<Operation *, 16> dependent = {first}, again;
  SmallVector<Operation *> list;
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode()) {
    if (isa<OpaqueOp>(op) || reads(op, again))
      again.insert(op);
    if (!reads(op, dependent))
      continue;
    if (!onlyCommunicates(op) || isa<OpaqueOp>(op))
      return std::nullopt;
    dependent.insert(op);
    list.push_back(op);
  }
  auto isWork = [](Operation *op) { return isa<CollectiveOp, DotOp>(op) || op->getNumRegions(); };
  if (reads(second, dependent) || (reads(second, again) && llvm::any_of(list, isWork)))
    return std::nullopt;
  return list;
}

// The results of one of the two, out of those of the fused op.
void replace(AllReduceOp op, ValueRange results, ReductionKind fusedKind, OpBuilder &builder) {
  for (auto [from, to] : llvm::zip_equal(op.getResults(), results)) {
    Value value = to;
    if (op.getKind() == ReductionKind::Mean && fusedKind == ReductionKind::Sum) {
      Size devices = devicesAlong(op->getBlock(), axesOf(op));
      auto type = cast<RankedTensorType>(to.getType());
      value = arith::DivFOp::create(builder, op.getLoc(), to,
                                    splatIndex(builder, op.getLoc(), type, indexOf(builder, op.getLoc(), devices)));
    }
    from.replaceAllUsesWith(value);
  }
}

AllReduceOp fuse(AllReduceOp first, AllReduceOp second, ArrayRef<Operation *> between) {
  OpBuilder builder(second);
  SmallVector<Value> inputs(first.getInputs());
  llvm::append_range(inputs, second.getInputs());
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  ReductionKind kind = first.getKind() == second.getKind() ? first.getKind() : ReductionKind::Sum;
  auto fused = AllReduceOp::create(builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), types, kind, inputs,
                                   first.getAxes(), first.getGroupsAttr());
  replace(first, fused.getResults().take_front(first.getNumResults()), kind, builder);
  replace(second, fused.getResults().take_back(second.getNumResults()), kind, builder);
  for (Operation *op : between)
    op->moveBefore(second);
  first.erase();
  second.erase();
  return fused;
}

// Each all_reduce takes in all earlier ones that can wait for it.
void fuseIn(Block &block) {
  SmallVector<AllReduceOp> earlier;
  for (AllReduceOp op : SmallVector<AllReduceOp>(block.getOps<AllReduceOp>())) {
    for (size_t i = 0; i < earlier.size();) {
      AllReduceOp first = earlier[i];
      // What needed one that was taken in has moved behind.
      std::optional<SmallVector<Operation *>> between;
      if (fusable(first, op) && first->isBeforeInBlock(op))
        between = dependentsBetween(first, op);
      if (!between) {
        ++i;
        continue;
      }
      op = fuse(first, op, *between);
      earlier.erase(earlier.begin() + i);
    }
    earlier.push_back(op);
  }
}

struct FuseCollectivesPass : PassWrapper<FuseCollectivesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseCollectivesPass)
  StringRef getArgument() const final { return "pmap-fuse-collectives"; }
  StringRef getDescription() const final { return "make one collective of several that need not wait for each other"; }

  void runOnOperation() override {
    mergeEqualCollectives(getOperation());
    getOperation()->walk([](Block *block) { fuseIn(*block); });
  }
};

} // namespace

void pmap::mergeEqualCollectives(Operation *root) {
  for (Region &region : root->getRegions())
    EqualCollectives().visit(region);
}

std::unique_ptr<Pass> pmap::createFuseCollectivesPass() { return std::make_unique<FuseCollectivesPass>(); }
