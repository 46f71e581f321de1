// Patterns on regions: results that nobody uses.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pmap;

namespace {

// The results to keep.
SmallVector<Value> kept(ValueRange values, const llvm::BitVector &keep) {
  SmallVector<Value> result;
  for (unsigned i : keep.set_bits())
    result.push_back(values[i]);
  return result;
}

llvm::BitVector usedResults(Operation *op) {
  llvm::BitVector used(op->getNumResults());
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      used.set(result.getResultNumber());
  return used;
}

void replaceKept(PatternRewriter &rewriter, Operation *from, Operation *to, const llvm::BitVector &keep) {
  SmallVector<Value> replacements(from->getNumResults());
  for (auto [i, result] : llvm::zip(keep.set_bits(), to->getResults()))
    replacements[i] = result;
  for (auto [result, replacement] : llvm::zip_equal(from->getResults(), replacements))
    if (replacement)
      rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(from);
}

void keepOperands(PatternRewriter &rewriter, Operation *terminator, const llvm::BitVector &keep) {
  rewriter.modifyOpInPlace(terminator, [&] { terminator->setOperands(kept(terminator->getOperands(), keep)); });
}

struct UnusedIfResults : OpRewritePattern<scf::IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::IfOp op, PatternRewriter &rewriter) const override {
    llvm::BitVector used = usedResults(op);
    if (used.all() || op.getElseRegion().empty())
      return failure();
    auto smaller = scf::IfOp::create(rewriter, op.getLoc(), TypeRange(ValueRange(kept(op.getResults(), used))),
                                     op.getCondition(), /*withElseRegion=*/true);
    smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [from, to] : llvm::zip_equal(op->getRegions(), smaller->getRegions())) {
      keepOperands(rewriter, from.front().getTerminator(), used);
      if (!to.empty())
        rewriter.eraseBlock(&to.front());
      rewriter.inlineRegionBefore(from, to, to.end());
    }
    replaceKept(rewriter, op, smaller, used);
    return success();
  }
};

struct UnusedForEachResults : OpRewritePattern<ForEachOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ForEachOp op, PatternRewriter &rewriter) const override {
    llvm::BitVector used = usedResults(op);
    if (used.all() || used.none())
      return failure();
    auto smaller =
        ForEachOp::create(rewriter, op.getLoc(), TypeRange(ValueRange(kept(op.getResults(), used))), op.getBounds());
    keepOperands(rewriter, op.getBody().front().getTerminator(), used);
    rewriter.eraseBlock(&smaller.getBody().front());
    rewriter.inlineRegionBefore(op.getBody(), smaller.getBody(), smaller.getBody().end());
    replaceKept(rewriter, op, smaller, used);
    return success();
  }
};

// The carried values of a loop that something needs: a used result, an op with effects, or another needed carried
// value.
llvm::BitVector neededCarried(scf::ForOp loop) {
  llvm::BitVector needed = usedResults(loop);
  Block *body = loop.getBody();
  llvm::DenseSet<Operation *> live;
  SmallVector<Value> worklist;
  auto need = [&](unsigned i) { worklist.push_back(loop.getYieldedValues()[i]); };
  for (unsigned i : needed.set_bits())
    need(i);
  auto visit = [&](Operation *op) {
    if (!live.insert(op).second)
      return;
    op->walk([&](Operation *nested) { llvm::append_range(worklist, nested->getOperands()); });
  };
  for (Operation &op : body->without_terminator())
    if (!isMemoryEffectFree(&op))
      visit(&op);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == body) {
      unsigned number = argument.getArgNumber();
      if (number > 0 && !needed.test(number - 1)) {
        needed.set(number - 1);
        need(number - 1);
      }
    } else if (Operation *op = value.getDefiningOp()) {
      if (Operation *within = body->findAncestorOpInBlock(*op))
        visit(within);
    }
  }
  return needed;
}

struct UnusedCarried : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::ForOp op, PatternRewriter &rewriter) const override {
    llvm::BitVector needed = neededCarried(op);
    if (needed.all())
      return failure();
    auto smaller = scf::ForOp::create(rewriter, op.getLoc(), op.getLowerBound(), op.getUpperBound(), op.getStep(),
                                      kept(op.getInitArgs(), needed));
    smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Block *body = smaller.getBody();
    if (!body->empty())
      rewriter.eraseOp(body->getTerminator());
    // What is not needed feeds only itself: its initial value stands in for it until the dead ops around it are gone.
    SmallVector<Value> arguments = {smaller.getInductionVar()};
    unsigned next = 0;
    for (unsigned i = 0; i < needed.size(); ++i)
      arguments.push_back(needed.test(i) ? Value(smaller.getRegionIterArg(next++)) : Value(op.getInitArgs()[i]));
    keepOperands(rewriter, op.getBody()->getTerminator(), needed);
    rewriter.mergeBlocks(op.getBody(), body, arguments);
    replaceKept(rewriter, op, smaller, needed);
    return success();
  }
};

// A value that a loop carries around unchanged is the initial value.
struct UnchangedCarried : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(scf::ForOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs(), op.getYieldedValues(), op.getResults())) {
      if (yielded != argument && yielded != init)
        continue;
      if (llvm::all_of(argument.getUses(), [](OpOperand &use) { return isa<scf::YieldOp>(use.getOwner()); }) &&
          result.use_empty())
        continue;
      if (yielded == init && yielded != argument)
        continue;
      rewriter.replaceAllUsesExcept(argument, init, op.getBody()->getTerminator());
      rewriter.replaceAllUsesWith(result, init);
      changed = true;
    }
    return success(changed);
  }
};

// A map that nobody uses, once nothing but collectives in it has an effect.
struct UnusedMap : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    if (!op->use_empty())
      return failure();
    WalkResult effects = op.getBody().walk([](Operation *nested) {
      return isa<PrintOp, AssertOp, scf::WhileOp>(nested) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (effects.wasInterrupted())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

// What nobody reads of a map's results, and what a map does not read of its inputs.
struct UnusedMapValues : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    llvm::BitVector results = usedResults(op), inputs(op.getInputs().size());
    for (auto [number, block] : llvm::enumerate(op.getBlocks()))
      inputs[number] = !block.use_empty();
    if (results.all() && inputs.all())
      return failure();
    auto smaller = MapOp::create(rewriter, op.getLoc(), TypeRange(ValueRange(kept(op.getResults(), results))),
                                 op.getMesh(), op.getSizes(), op.getSizeArguments(), kept(op.getInputs(), inputs),
                                 TypeRange(ValueRange(kept(op.getBlocks(), inputs))));
    smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Block &body = op.getBody().front();
    keepOperands(rewriter, body.getTerminator(), results);
    body.eraseArguments([&](BlockArgument argument) {
      return argument.getArgNumber() >= op.getSizes().size() && argument.use_empty();
    });
    rewriter.eraseBlock(&smaller.getBody().front());
    rewriter.inlineRegionBefore(op.getBody(), smaller.getBody(), smaller.getBody().end());
    replaceKept(rewriter, op, smaller, results);
    return success();
  }
};

// The outermost comprehension around a movement whose value is made outside of it.
Operation *pointsAround(MoveOp op) {
  Operation *outermost = nullptr;
  for (auto each = op->getParentOfType<ForEachOp>(); each; each = each->getParentOfType<ForEachOp>())
    if (!each->isAncestor(op.getInput().getParentBlock()->getParentOp()))
      outermost = each;
  return outermost;
}

struct MoveBeforePoints : OpRewritePattern<MoveOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MoveOp op, PatternRewriter &rewriter) const override {
    Operation *outermost = pointsAround(op);
    if (!outermost)
      return failure();
    rewriter.moveOpBefore(op, outermost);
    return success();
  }
};

} // namespace

void pmap::moveBeforePoints(Operation *root) {
  root->walk([](MoveOp op) {
    if (Operation *outermost = pointsAround(op))
      op->moveBefore(outermost);
  });
}

void pmap::populateRegionPatterns(RewritePatternSet &patterns) {
  patterns.add<UnusedIfResults, UnusedForEachResults, UnusedCarried, UnchangedCarried, UnusedMap, UnusedMapValues,
               MoveBeforePoints>(patterns.getContext());
  populateUnusedCollectivePatterns(patterns);
}
