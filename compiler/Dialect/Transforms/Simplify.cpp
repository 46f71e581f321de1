// pmap-simplify: folds, merges and drops. The patterns are in SimplifyArithmetic.cpp, SimplifyParts.cpp (slices
// and updates) and SimplifyRegions.cpp (unused results of regions, collectives).
#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace pmap;

namespace {

// The canonicalization patterns of the elementwise dialects, and ours. Not scf's: they turn an `if` that yields outer
// arrays into an elementwise select, a copy where there was none.
void populatePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  context->getLoadedDialect<arith::ArithDialect>()->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isa<arith::ArithDialect, math::MathDialect, PmapDialect>(name.getDialect()))
      name.getCanonicalizationPatterns(patterns, context);
  populateArithmeticPatterns(patterns);
  populatePartPatterns(patterns);
  populateRegionPatterns(patterns);
  populateMapPatterns(patterns);
  populateLoopsInMapsPatterns(patterns);
}

struct SimplifyPass : PassWrapper<SimplifyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)
  StringRef getArgument() const final { return "pmap-simplify"; }
  StringRef getDescription() const final { return "fold, merge and drop what is not needed"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerDialects(registry); }

  void runOnOperation() override { simplify(getOperation()); }
};

} // namespace

void pmap::simplify(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  populatePatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  IRRewriter rewriter(root->getContext());
  // Merging equal values makes new patterns match, and matching makes new equal values: two rounds settle what
  // derivatives leave; more would only cost time.
  for (int round = 0; round < 2; ++round) {
    for (Region &region : root->getRegions())
      (void)applyPatternsGreedily(region, frozen);
    DominanceInfo dominance(root);
    eliminateCommonSubExpressions(rewriter, dominance, root);
    mergeEqualCollectives(root);
  }
}

void pmap::joinMaps(Operation *root) {
  if (!root->walk([](MapOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return;
  RewritePatternSet patterns(root->getContext());
  populateRegionPatterns(patterns);
  populateMapPatterns(patterns);
  populateLoopsInMapsPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  for (Region &region : root->getRegions())
    (void)applyPatternsGreedily(region, frozen, GreedyRewriteConfig().enableFolding(false));
}

std::unique_ptr<Pass> pmap::createSimplifyPass() { return std::make_unique<SimplifyPass>(); }
