// pmap-simplify-collectives: collectives that need not be, and ones that could be smaller. What may be done is in
// SmallerCollectives.cpp (single ones) and PairedCollectives.cpp (with the op before or after).
#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/IndexVariance.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace pmap;

namespace {

// A collective whose results nobody reads. All devices leave it out.
struct UnusedCollective : OpInterfaceRewritePattern<CollectiveOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(CollectiveOp op, PatternRewriter &rewriter) const override {
    // One without a result may be there to check something or to wait.
    if (op->getNumResults() == 0 || !op->use_empty())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

// A fused one travels without the values that nobody reads.
struct UnusedLeaves : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs, used;
    SmallVector<Type> types;
    for (auto [input, result] : llvm::zip_equal(op.getInputs(), op.getResults()))
      if (!result.use_empty()) {
        inputs.push_back(input);
        used.push_back(result);
        types.push_back(result.getType());
      }
    if (used.empty() || used.size() == op.getNumResults())
      return failure();
    auto smaller =
        AllReduceOp::create(rewriter, op.getLoc(), types, op.getKind(), inputs, op.getAxes(), op.getGroupsAttr());
    for (auto [from, to] : llvm::zip_equal(used, smaller.getResults()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};

struct SimplifyCollectivesPass : PassWrapper<SimplifyCollectivesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyCollectivesPass)
  StringRef getArgument() const final { return "pmap-simplify-collectives"; }
  StringRef getDescription() const final { return "drop collectives that need not be, and make others smaller"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerDialects(registry); }

  void runOnOperation() override {
    bool any = getOperation().walk([](CollectiveOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!any)
      return;
    IndexVariance variance(getOperation());
    RewritePatternSet patterns(&getContext());
    populateUnusedCollectivePatterns(patterns);
    populateSmallerCollectivePatterns(patterns, variance);
    populatePairedCollectivePatterns(patterns);
    // Merging values that are equal is pmap-simplify's work, before and after.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace

void pmap::populateUnusedCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<UnusedCollective, UnusedLeaves>(patterns.getContext());
}

std::unique_ptr<Pass> pmap::createSimplifyCollectivesPass() { return std::make_unique<SimplifyCollectivesPass>(); }
