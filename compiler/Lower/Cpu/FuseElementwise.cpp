// Elementwise fusion on tensors. Every structured op becomes a linalg.generic; a producer is computed inside its
// consumer when that needs no more work than before, or the extra work is cheaper than a trip through memory.

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"

using namespace mlir;

namespace pmap {
namespace {

// What one evaluation of the body costs, in units of an addition.
int64_t bodyCost(linalg::GenericOp generic) {
  int64_t cost = 0;
  for (Operation &op : generic.getBody()->without_terminator())
    cost += pmap::costOf(&op);
  return cost;
}

// The cheapest that is worth storing: below it a value is computed again for each of its consumers.
constexpr int64_t recomputeLimit = 8;

// The number of consumers a value may be recomputed in.
constexpr int64_t recomputeUses = 4;

bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer)
    return false;
  // Where no other operand gives the extent of the loops the producer's result stays, and a reduction cannot write it
  // too.
  if (consumer.getNumReductionLoops() > 0 && !linalg::getPreservedProducerResults(producer, consumer, operand).empty())
    return false;
  int64_t cost = bodyCost(producer);
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  // Each element is wanted once when the map names every loop; otherwise it would be computed once per repetition.
  bool once = map.getNumResults() >= map.getNumDims();
  bool shared = !producer->getResult(0).hasOneUse();
  // What comes from indices and scalars alone costs less than reading it back.
  bool reads = llvm::any_of(producer.getDpsInputs(), [](Value input) { return isa<TensorType>(input.getType()); });
  bool isFree = cost == 0 || (!reads && cost <= recomputeLimit);
  // A shared result stays a result of the fused op, which it must then write at every point once.
  if (isFree)
    return once || !shared;
  if (!once)
    return false;
  // Contractions read their operands through packed copies or many times: they want them in memory.
  if (consumer.getNumReductionLoops() > 0 && linalg::isaContractionOpInterface(cast<linalg::LinalgOp>(*consumer)) &&
      consumer.getNumParallelLoops() > 1)
    return false;
  if (!shared)
    return true;
  return cost <= recomputeLimit &&
         std::distance(producer->getResult(0).use_begin(), producer->getResult(0).use_end()) <= recomputeUses;
}

// Moves what does not depend on the element out of the bodies: it is computed once, and a body that yields it is a
// fill.
void hoistInvariants(func::FuncOp function) {
  function.walk([](linalg::GenericOp generic) {
    for (Operation &op : llvm::make_early_inc_range(generic.getBody()->without_terminator())) {
      bool invariant = op.getNumRegions() == 0 && isPure(&op) && !isa<linalg::IndexOp>(op) &&
                       llvm::all_of(op.getOperands(), [&](Value operand) {
                         return !generic.getRegion().isAncestor(operand.getParentRegion());
                       });
      if (invariant)
        op.moveBefore(generic);
    }
  });
}

struct FuseElementwisePass : PassWrapper<FuseElementwisePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseElementwisePass)
  StringRef getArgument() const final { return "pmap-cpu-fuse"; }
  StringRef getDescription() const final { return "Fuse elementwise producers into their consumers"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect, affine::AffineDialect>();
  }

  void runOnOperation() final {
    hoistInvariants(getOperation());
    RewritePatternSet patterns(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createFuseElementwisePass() { return std::make_unique<FuseElementwisePass>(); }

} // namespace pmap
