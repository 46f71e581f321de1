// A loop that may be left by `break` is a `scf.while` that carries an index and a flag. How many trips it takes is
// known when it ends: the index then is the end of the range that it went through, and a `scf.for` over that range does
// exactly the same. What the backward loop needs is kept for the trips that were taken, however far the loop might have
// gone; the price is that the forward computation is done twice.
#include "compiler/Dialect/Transforms/BreakLoops.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Dialect/Transforms/Activity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

// Sema marks such loops (Loops.cpp): the first value that they carry is the index, which grows by 1.
bool mayBreak(Operation *op) {
  auto loop = dyn_cast<scf::WhileOp>(op);
  if (!loop || !loop->hasAttr("pmap.break"))
    return false;
  auto next = loop.getYieldOp().getOperand(0).getDefiningOp<arith::AddIOp>();
  return next && next.getLhs() == loop.getAfterArguments()[0] && matchPattern(next.getRhs(), m_One()) &&
         ValueRange(loop.getConditionOp().getArgs()) == ValueRange(loop.getBeforeArguments());
}

// The loop over the trips that `loop` takes.
scf::ForOp loopOverTrips(scf::WhileOp loop, OpBuilder &builder, SymbolNames &names) {
  Location loc = loop.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto bounded =
      scf::ForOp::create(builder, loc, loop.getInits()[0], loop.getResult(0), one, loop.getInits().drop_front());
  IRMapping mapping;
  mapping.map(loop.getAfterArguments()[0], bounded.getInductionVar());
  for (auto [from, to] : llvm::zip_equal(loop.getAfterArguments().drop_front(), bounded.getRegionIterArgs()))
    mapping.map(from, to);
  OpBuilder inner = OpBuilder::atBlockEnd(bounded.getBody());
  for (Operation &op : loop.getAfterBody()->without_terminator())
    inner.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldOp().getOperands().drop_front())
    yielded.push_back(mapping.lookupOrDefault(value));
  scf::YieldOp::create(inner, loc, yielded);
  names.rename(bounded.getOperation());
  return bounded;
}

// What takes the place of the loop.
SmallVector<Operation *> replace(scf::WhileOp loop, SymbolNames &names) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  scf::ForOp bounded = loopOverTrips(loop, builder, names);
  for (auto [from, to] : llvm::zip_equal(loop.getResults().drop_front(), bounded.getResults()))
    from.replaceAllUsesWith(to);
  loop->removeAttr("pmap.break");
  // What the loop prints and asserts belongs to the other.
  loop->walk([](Operation *op) {
    if (isa<PrintOp, AssertOp>(op))
      op->erase();
  });
  return {loop, bounded.getStep().getDefiningOp(), bounded};
}

} // namespace

bool pmap::countBreakLoops(SmallVectorImpl<Operation *> &ops, ArrayRef<Value> roots, SymbolNames &names) {
  auto isLoop = [](Operation *op) {
    return op
        ->walk([](Operation *nested) { return mayBreak(nested) ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  };
  if (llvm::none_of(ops, isLoop))
    return false;
  Activity activity;
  for (Value root : roots)
    activity.activate(root);
  activity.spread(ops);
  SmallVector<Operation *> placed;
  for (Operation *op : ops) {
    // The outermost of nested loops first: its inner ones then stand in a loop that is walked back over. They depend on
    // the roots if it does, as far as is known here.
    SmallVector<Operation *> work = {op};
    bool depends = llvm::any_of(op->getResults(), [&](Value result) { return activity.isActive(result); });
    if (depends && mayBreak(op)) {
      work = replace(cast<scf::WhileOp>(op), names);
      placed.append(work);
      work = {work.back()};
    } else {
      placed.push_back(op);
    }
    while (depends && !work.empty()) {
      Operation *outer = work.pop_back_val();
      SmallVector<scf::WhileOp> inner;
      outer->walk<WalkOrder::PreOrder>([&](Operation *nested) {
        if (nested == outer || !isa<scf::WhileOp>(nested))
          return WalkResult::advance();
        if (mayBreak(nested))
          inner.push_back(cast<scf::WhileOp>(nested));
        return WalkResult::skip();
      });
      for (scf::WhileOp loop : inner)
        work.push_back(replace(loop, names).back());
    }
  }
  ops.assign(placed.begin(), placed.end());
  return true;
}
