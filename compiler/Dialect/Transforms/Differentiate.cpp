// pmap-differentiate: removes pmap.grad, the innermost first, by reverse-mode differentiation.
//
// The backward code is built behind the body of the op, where all of its values are at hand; then the whole body moves
// out to the place of the op. Between two orders the code is simplified, or sizes and zeros would make hessians
// explode.
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace pmap;

namespace {

using GradOps = llvm::SmallPtrSet<Operation *, 4>;

// An innermost pmap.grad, or null; none of those that failed, nor one around them.
GradOp findInnermost(Operation *root, const GradOps &failures) {
  GradOp found;
  root->walk<WalkOrder::PostOrder>([&](GradOp op) {
    if (llvm::any_of(failures, [&](Operation *failed) { return op->isAncestor(failed); }))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

// Appends the gradients of the wrt arguments to what the body yields.
LogicalResult appendGradients(GradOp op, SymbolNames &names) {
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body.without_terminator(), [](Operation &nested) { return &nested; });
  OpBuilder builder(yield);
  CotangentMap cotangents(builder, names);
  Backward backward(names);

  markMasked(body);
  for (int64_t position : op.getWrt())
    backward.activate(body.getArgument(position));
  backward.spreadActivity(ops);
  Value value = yield->getOperand(0);
  if (backward.isActive(value))
    cotangents.add(op.getLoc(), value, splat(builder, op.getLoc(), cast<RankedTensorType>(value.getType()), 1));
  if (failed(backward.run(ops, builder, cotangents)))
    return failure();

  SmallVector<Value> yielded(yield->getOperands());
  for (int64_t position : op.getWrt())
    yielded.push_back(cotangents.lookupOrZero(op.getLoc(), body.getArgument(position)));
  yield->setOperands(yielded);
  return success();
}

// Moves the body to the place of the op.
void inlineBody(GradOp op) {
  Block &body = op.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), op.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = body.getTerminator();
  op->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  op.erase();
}

void removeStopGradients(Operation *root) {
  root->walk([](StopGradientOp op) {
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

struct DifferentiatePass : PassWrapper<DifferentiatePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DifferentiatePass)
  StringRef getArgument() const final { return "pmap-differentiate"; }
  StringRef getDescription() const final { return "remove pmap.grad by reverse-mode differentiation"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerDialects(registry); }

  void runOnOperation() override {
    SymbolNames names(getOperation());
    // One that fails does not keep the others from being tried, so that a user sees all of the errors at once.
    GradOps failures;
    while (GradOp op = findInnermost(getOperation(), failures)) {
      auto outer = op->getParentOfType<GradOp>();
      if (failed(appendGradients(op, names))) {
        unmarkMasked(getOperation());
        failures.insert(op);
        continue;
      }
      inlineBody(op);
      unmarkMasked(getOperation());
      if (outer && failures.empty())
        simplify(outer);
    }
    if (!failures.empty())
      return signalPassFailure();
    removeStopGradients(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createDifferentiatePass() { return std::make_unique<DifferentiatePass>(); }
