// pmap-transform: removes pmap.grad, pmap.vjp, pmap.jvp and pmap.vmap, the innermost first.
//
// Between two orders the code is simplified, or sizes and zeros would make hessians explode.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
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

// Collectives that were there before a derivative was taken; the others that are there afterwards it has added, and
// says so in their locations, which are those of the derivatives that users wrote.
constexpr StringLiteral kSeen = "pmap.seen";

void markSeen(Operation *scope) {
  scope->walk([](CollectiveOp op) { op->setAttr(kSeen, UnitAttr::get(op.getContext())); });
}

void nameAdded(Operation *scope, bool byDerivative, Location derivative) {
  scope->walk([&](CollectiveOp op) {
    if (!op->removeDiscardableAttr(kSeen) && byDerivative && !anyPartNamed(op->getLoc(), kAddedByDerivative))
      op->setLoc(named(derivative, kAddedByDerivative));
  });
}

Operation *enclosingTransform(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (isTransform(parent))
      return parent;
  return nullptr;
}

// Puts a region in the place of its op, which has its results.
void inlineInPlace(Operation *op, Block &body, ValueRange arguments) {
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), arguments))
    argument.replaceAllUsesWith(value);
  Operation *yield = body.getTerminator();
  op->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  op->erase();
}

// What mattered to derivatives only is computed as written: there are none left.
void removeHints(Operation *root) {
  root->walk([](Operation *op) {
    if (auto stop = dyn_cast<StopGradientOp>(op)) {
      stop.replaceAllUsesWith(stop.getInput());
      stop.erase();
    } else if (auto checkpoint = dyn_cast<CheckpointOp>(op)) {
      inlineInPlace(op, checkpoint.getBody().front(), {});
    } else if (auto custom = dyn_cast<CustomVjpOp>(op)) {
      inlineInPlace(op, custom.getPrimal().front(), custom.getInputs());
    }
  });
}

struct TransformPass : PassWrapper<TransformPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TransformPass)
  StringRef getArgument() const final { return "pmap-transform"; }
  StringRef getDescription() const final { return "remove derivatives and vmap, the innermost first"; }
  void getDependentDialects(DialectRegistry &registry) const final { registerDialects(registry); }

  void runOnOperation() override {
    moveBeforePoints(getOperation());
    // What is one map has one derivative: nothing of it is stored between the devices' bodies.
    joinMaps(getOperation());
    SymbolNames names(getOperation());
    // One that fails does not keep the others from being tried, so that a user sees all of the errors at once.
    Failures failures;
    while (Operation *op = findInnermost(getOperation(), failures)) {
      Operation *outer = enclosingTransform(op);
      auto function = op->getParentOfType<func::FuncOp>();
      bool isDerivative = !isa<VmapOp>(op);
      Location loc = op->getLoc();
      markSeen(function);
      bool done = succeeded(remove(op, names));
      nameAdded(function, isDerivative, loc);
      if (!done)
        failures.insert(op);
      else if (outer && failures.empty())
        simplify(outer);
    }
    if (!failures.empty())
      return signalPassFailure();
    removeHints(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createTransformPass() { return std::make_unique<TransformPass>(); }
