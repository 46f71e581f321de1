// Removes a pmap.grad by reverse-mode differentiation.
//
// The backward code is built behind the body of the op, where all of its values are at hand; then the whole body moves
// out to the place of the op.
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "compiler/Dialect/Transforms/Transforms.h"

using namespace mlir;
using namespace pmap;

namespace {

// Appends the gradients of the wrt arguments to what the body yields.
LogicalResult appendGradients(GradOp op, SymbolNames &names) {
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Value> roots =
      llvm::map_to_vector(op.getWrt(), [&](int64_t position) -> Value { return body.getArgument(position); });
  settleLoops(op, body, roots, names);
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body.without_terminator(), [](Operation &nested) { return &nested; });
  prepareForward(ops, roots, names);
  markMasked(body);
  OpBuilder builder(yield);
  CotangentMap cotangents(builder, names);
  Backward backward(names);
  for (Value root : roots)
    backward.activate(root);
  backward.spread(ops);
  Value value = yield->getOperand(0);
  if (backward.isActive(value))
    cotangents.add(op.getLoc(), value, splat(builder, op.getLoc(), cast<RankedTensorType>(value.getType()), 1));
  if (failed(backward.run(ops, builder, cotangents)))
    return failure();

  SmallVector<Value> yielded(yield->getOperands());
  for (Value root : roots)
    yielded.push_back(cotangents.lookupOrZero(op.getLoc(), root));
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

} // namespace

LogicalResult pmap::removeGrad(GradOp op, SymbolNames &names) {
  LogicalResult built = appendGradients(op, names);
  unmark(op);
  if (failed(built))
    return failure();
  inlineBody(op);
  return success();
}
