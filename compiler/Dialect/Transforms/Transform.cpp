// pmap-transform: removes pmap.grad, pmap.vjp, pmap.jvp and pmap.vmap, the innermost first.
//
// Between two orders the code is simplified, or sizes and zeros would make hessians explode.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "compiler/Dialect/Transforms/Transforms.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace pmap;

namespace {

using Failures = llvm::SmallPtrSet<Operation *, 4>;

bool isTransform(Operation *op) { return isa<GradOp, VmapOp, VjpOp, JvpOp>(op); }

// The innermost transformation, or null; none of those that failed, nor one around them. A pullback inside of one waits
// for the vjp that it belongs to, which may stand outside.
Operation *findInnermost(Operation *root, const Failures &failures) {
  Operation *found = nullptr;
  root->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (!isTransform(op) || llvm::any_of(failures, [&](Operation *failed) { return op->isAncestor(failed); }))
      return WalkResult::advance();
    WalkResult inner = op->walk([&](Operation *nested) {
      return nested != op && (isTransform(nested) || isa<PullbackOp>(nested)) ? WalkResult::interrupt()
                                                                              : WalkResult::advance();
    });
    if (inner.wasInterrupted())
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

LogicalResult remove(Operation *op, SymbolNames &names) {
  if (auto grad = dyn_cast<GradOp>(op))
    return removeGrad(grad, names);
  if (auto vmap = dyn_cast<VmapOp>(op))
    return removeVmap(vmap, names);
  if (auto vjp = dyn_cast<VjpOp>(op))
    return removeVjp(vjp, names);
  return removeJvp(cast<JvpOp>(op), names);
}

// Collectives that were there before a derivative was taken; the others that are there afterwards it has added, and says so
// in their locations.
constexpr StringLiteral kSeen = "pmap.seen";

void markSeen(Operation *scope) {
  scope->walk([](CollectiveOp op) { op->setAttr(kSeen, UnitAttr::get(op.getContext())); });
}

void nameAdded(Operation *scope, bool byDerivative) {
  scope->walk([&](CollectiveOp op) {
    if (!op->removeDiscardableAttr(kSeen) && byDerivative)
      op->setLoc(named(op->getLoc(), kAddedByDerivative));
  });
}

Operation *enclosingTransform(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isTransform(parent))
      return parent;
  return nullptr;
}

void removeStopGradients(Operation *root) {
  root->walk([](StopGradientOp op) {
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

struct TransformPass : PassWrapper<TransformPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TransformPass)
  StringRef getArgument() const final { return "pmap-transform"; }
  StringRef getDescription() const final { return "remove derivatives and vmap, the innermost first"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerDialects(registry); }

  void runOnOperation() override {
    SymbolNames names(getOperation());
    // One that fails does not keep the others from being tried, so that a user sees all of the errors at once.
    Failures failures;
    while (Operation *op = findInnermost(getOperation(), failures)) {
      Operation *outer = enclosingTransform(op);
      auto function = op->getParentOfType<func::FuncOp>();
      bool isDerivative = !isa<VmapOp>(op);
      markSeen(function);
      bool done = succeeded(remove(op, names));
      nameAdded(function, isDerivative);
      if (!done)
        failures.insert(op);
      else if (outer && failures.empty())
        simplify(outer);
    }
    if (!failures.empty())
      return signalPassFailure();
    removeStopGradients(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createTransformPass() { return std::make_unique<TransformPass>(); }
