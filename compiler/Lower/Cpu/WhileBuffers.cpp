// Buffers that a `while` carries.

#include "compiler/Lower/Cpu/WhileBuffers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace pmap {
namespace {

/// Where a buffer that the body hands on may come from: an allocation in the body or an argument of it; and when it
/// does, for a choice.
struct Origin {
  Value buffer, condition;
  bool isTrue = false;
};

/// True when not both can happen.
bool excludeEachOther(const Origin &a, const Origin &b) {
  return a.condition && a.condition == b.condition && a.isTrue != b.isTrue;
}

/// False where an origin is not known.
bool collectOrigins(Value value, scf::WhileOp loop, Origin at, SmallVectorImpl<Origin> &origins) {
  if (auto select = value.getDefiningOp<arith::SelectOp>(); select && !at.condition)
    return collectOrigins(select.getTrueValue(), loop, {Value(), select.getCondition(), true}, origins) &&
           collectOrigins(select.getFalseValue(), loop, {Value(), select.getCondition(), false}, origins);
  if (auto branch = value.getDefiningOp<scf::IfOp>(); branch && !at.condition) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    return collectOrigins(branch.thenYield().getOperand(index), loop, {Value(), branch.getCondition(), true},
                          origins) &&
           collectOrigins(branch.elseYield().getOperand(index), loop, {Value(), branch.getCondition(), false}, origins);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  bool isOwn = argument && argument.getOwner() == loop.getAfterBody();
  bool isFresh = value.getDefiningOp<memref::AllocOp>() && loop.getAfter().isAncestor(value.getParentRegion());
  if (!isOwn && !isFresh)
    return false;
  at.buffer = value;
  origins.push_back(at);
  return true;
}

/// The copy that fills `alloc`, which the condition hands on, when it copies an argument of the condition and nothing
/// else happens to it.
memref::CopyOp copyOfArgument(scf::WhileOp loop, memref::AllocOp alloc) {
  memref::CopyOp copy;
  for (Operation *user : alloc->getUsers()) {
    if (user == loop.getConditionOp())
      continue;
    auto candidate = dyn_cast<memref::CopyOp>(user);
    if (copy || !candidate || candidate.getTarget() != alloc)
      return nullptr;
    copy = candidate;
  }
  auto argument = copy ? dyn_cast<BlockArgument>(copy.getSource()) : BlockArgument();
  return argument && argument.getOwner() == loop.getBeforeBody() && argument.getType() == alloc.getType() ? copy
                                                                                                          : nullptr;
}

/// An allocation that only the loop has once it began.
bool isGivenUp(Value init, scf::WhileOp loop) {
  auto alloc = init.getDefiningOp<memref::AllocOp>();
  return alloc && alloc->getBlock() == loop->getBlock() && llvm::count(loop.getInits(), init) == 1 &&
         llvm::all_of(alloc->getUsers(), [&](Operation *user) {
           return user == loop ||
                  (user->getBlock() == loop->getBlock() && user->isBeforeInBlock(loop) && !user->getNumResults());
         });
}

void handOn(scf::WhileOp loop) {
  // The origins of each buffer that the body hands on. What may be any buffer may also be one of the others.
  SmallVector<SmallVector<Origin>> origins(loop.getInits().size());
  for (auto [index, yielded] : llvm::enumerate(loop.getYieldOp().getOperands()))
    if (isa<MemRefType>(yielded.getType()) && !collectOrigins(yielded, loop, {}, origins[index]))
      return;
  auto isUnique = [&](unsigned index) {
    for (auto [other, theirs] : llvm::enumerate(origins))
      for (const Origin &a : origins[index])
        for (const Origin &b : theirs)
          if (index != other && a.buffer == b.buffer && !excludeEachOther(a, b))
            return false;
    return true;
  };
  // Which arguments the condition hands on, as they are or as copies.
  SmallVector<unsigned> times(loop.getInits().size(), 0);
  SmallVector<std::pair<OpOperand *, memref::CopyOp>> copies;
  for (OpOperand &handed : loop.getConditionOp().getArgsMutable()) {
    if (!isa<MemRefType>(handed.get().getType()))
      continue;
    if (auto argument = dyn_cast<BlockArgument>(handed.get());
        argument && argument.getOwner() == loop.getBeforeBody()) {
      ++times[argument.getArgNumber()];
      continue;
    }
    auto alloc = handed.get().getDefiningOp<memref::AllocOp>();
    if (!alloc || alloc->getBlock() != loop.getBeforeBody())
      return;
    if (memref::CopyOp copy = copyOfArgument(loop, alloc)) {
      ++times[cast<BlockArgument>(copy.getSource()).getArgNumber()];
      copies.push_back({&handed, copy});
    }
  }
  for (auto [handed, copy] : copies) {
    unsigned index = cast<BlockArgument>(copy.getSource()).getArgNumber();
    if (times[index] != 1 || !isUnique(index) || !isGivenUp(loop.getInits()[index], loop))
      continue;
    Value alloc = copy.getTarget(), argument = copy.getSource();
    copy.erase();
    handed->set(argument);
    alloc.getDefiningOp()->erase();
  }
}

} // namespace

void handOnBuffersOfWhiles(Operation *root) {
  root->walk([](scf::WhileOp loop) { handOn(loop); });
}

} // namespace pmap
