// Removes a pmap.vjp and its pullbacks.
//
// The body moves out to the place of the op, and each pullback is replaced by backward code where it stands: the
// forward values dominate it, so that nothing is computed twice but what regions hide (Residuals.h).
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "compiler/Dialect/Transforms/Transforms.h"
#include "compiler/Dialect/Transforms/VaryMore.h"

using namespace mlir;
using namespace pmap;

namespace {

// A vjp whose body has moved out.
struct Inlined {
  SmallVector<Operation *> ops;
  SmallVector<Value> roots;  // the wrt arguments
  SmallVector<Value> values; // the floating results
};

class VjpRemoval {
public:
  VjpRemoval(VjpOp op, SymbolNames &names) : op(op), names(names) {}

  LogicalResult run() {
    SmallVector<UnrealizedConversionCastOp> arguments = inlineBody();
    LogicalResult result = success();
    for (Operation *user : llvm::make_early_inc_range(op.getResiduals().getUsers()))
      if (succeeded(result))
        result = removePullback(cast<PullbackOp>(user));
    for (Operation *nested : inlined.ops)
      unmark(nested);
    for (UnrealizedConversionCastOp argument : arguments)
      removeStandIn(argument);
    if (succeeded(result))
      op.erase();
    return result;
  }

private:
  // Moves the body out; a yield of nothing remains.
  SmallVector<UnrealizedConversionCastOp> inlineBody() {
    Location loc = op.getLoc();
    Block &body = op.getBody().front();
    settleLoops(op, body,
                llvm::map_to_vector(op.getWrt(), [&](int64_t position) -> Value { return body.getArgument(position); }),
                names);
    OpBuilder builder(op);
    SmallVector<UnrealizedConversionCastOp> arguments;
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), op.getInputs())) {
      arguments.push_back(standInFor(builder, loc, input.getType(), input));
      argument.replaceAllUsesWith(arguments.back().getResult(0));
    }
    for (int64_t position : op.getWrt())
      inlined.roots.push_back(arguments[position].getResult(0));
    for (Operation &nested : body.without_terminator())
      inlined.ops.push_back(&nested);
    prepareForward(inlined.ops, inlined.roots, names);
    markMasked(body);
    Operation *yield = body.getTerminator();
    op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations(), body.begin(), yield->getIterator());
    for (auto [result, value] : llvm::zip_equal(op.getValues(), yield->getOperands())) {
      result.replaceAllUsesWith(value);
      if (isDifferentiable(value.getType()))
        inlined.values.push_back(value);
    }
    return arguments;
  }

  LogicalResult removePullback(PullbackOp pullback) {
    Location loc = pullback.getLoc();
    OpBuilder builder(pullback);
    Operation *before = pullback->getPrevNode();
    CotangentMap cotangents(builder, names);
    Backward backward(names);
    for (Value root : inlined.roots)
      backward.activate(root);
    backward.spread(inlined.ops);
    // The code is built for cotangents that vary as the values do.
    SmallVector<UnrealizedConversionCastOp> seeds;
    Axes added;
    for (auto [value, cotangent] : llvm::zip_equal(inlined.values, pullback.getCotangents())) {
      added = unionOf(added, differenceOf(varyOf(cotangent.getType()), varyOf(value.getType())));
      seeds.push_back(standInFor(builder, loc, value.getType(), cotangent));
      if (backward.isActive(value))
        cotangents.add(loc, value, seeds.back().getResult(0));
    }
    if (failed(backward.run(inlined.ops, builder, cotangents)))
      return failure();
    SmallVector<Value> results;
    for (Value root : inlined.roots)
      results.push_back(cotangents.lookupOrZero(loc, root));
    if (!added.empty()) {
      SmallVector<Operation *> ops;
      for (Operation *made = before ? before->getNextNode() : &pullback->getBlock()->front(); made != pullback;
           made = made->getNextNode())
        ops.push_back(made);
      SmallVector<Value> roots = llvm::map_to_vector(seeds, [](auto seed) { return seed.getResult(0); });
      varyMore(ops, roots, added);
      for (Value &result : results)
        if (!isSubset(added, varyOf(result.getType())))
          result = WidenOp::create(builder, loc, result, added);
    }
    // A result may be a stand-in itself, so it takes the pullback's place before that one goes.
    pullback->replaceAllUsesWith(results);
    for (UnrealizedConversionCastOp seed : seeds)
      removeStandIn(seed);
    pullback.erase();
    return success();
  }

  VjpOp op;
  SymbolNames &names;
  Inlined inlined;
};

} // namespace

LogicalResult pmap::removeVjp(VjpOp op, SymbolNames &names) { return VjpRemoval(op, names).run(); }
