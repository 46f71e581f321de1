// The forward walk, and the removal of pmap.jvp.
#include "compiler/Dialect/Transforms/Forward.h"
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/Transforms.h"
#include "compiler/Dialect/Transforms/VaryMore.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

void Forward::seed(Value value, Value tangent) {
  activate(value);
  tangents[value] = tangent;
}

Value Forward::tangentOrZero(OpBuilder &builder, Location loc, Value value) {
  Value tangent = tangents.lookup(value);
  return tangent ? tangent : zerosOf(builder, loc, value.getType());
}

LogicalResult Forward::run(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    if (llvm::any_of(op->getResults(), [&](Value result) { return isActive(result); }) && failed(push(op)))
      return failure();
  return success();
}

LogicalResult Forward::push(Operation *op) {
  if (isa<scf::IfOp, scf::ForOp, scf::WhileOp, ForEachOp, MapOp, CheckpointOp>(op))
    return pushRegions(op);
  if (isa<CustomVjpOp>(op))
    return op->emitError() << "a function with a custom_vjp has a reverse derivative only; use grad or vjp of it, or a "
                              "function without one [E0814]";
  auto rule = dyn_cast<DifferentiableOp>(op);
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands())
    operands.push_back(tangents.lookup(operand));
  if (llvm::none_of(operands, [](Value tangent) { return bool(tangent); }))
    return success();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  if (!rule || failed(rule.pushforward(builder, operands, results)))
    return op->emitError() << "no derivative is known for '" << op->getName().stripDialect()
                           << "'; stop_gradient(...) takes its value as a constant [E0810]";
  for (auto [result, tangent] : llvm::zip_equal(op->getResults(), results))
    if (tangent && isActive(result))
      tangents[result] = tangent;
  return success();
}

//===- Regions --------------------------------------------------------------------------------------------------===//

LogicalResult Forward::runBody(Block &block) {
  return run(llvm::map_to_vector(block.without_terminator(), [](Operation &nested) { return &nested; }));
}

void Forward::addTangents(Block &block, ValueRange arguments) {
  for (Value argument : arguments)
    if (isActive(argument))
      seed(argument, block.addArgument(argument.getType(), argument.getLoc()));
}

void Forward::yieldTangents(Operation *terminator, ValueRange operands, ValueRange targets) {
  OpBuilder builder(terminator);
  SmallVector<Value> added;
  for (auto [operand, target] : llvm::zip_equal(operands, targets))
    if (isActive(target))
      added.push_back(tangentOrZero(builder, terminator->getLoc(), operand));
  terminator->insertOperands(terminator->getNumOperands(), added);
}

// The op with more operands, and with a result for the tangent of each active one; takes its regions over.
Operation *Forward::grow(Operation *op, ValueRange operands) {
  SmallVector<Type> types(op->getResultTypes());
  for (Value result : op->getResults())
    if (isActive(result))
      types.push_back(result.getType());
  SmallVector<Value> all(op->getOperands());
  llvm::append_range(all, operands);
  NamedAttrList attributes(op->getAttrDictionary());
  if (auto map = dyn_cast<MapOp>(op)) {
    int32_t sizes = map.getSizes().size(), inputs = map.getInputs().size() + operands.size();
    attributes.set("operandSegmentSizes", DenseI32ArrayAttr::get(op->getContext(), {sizes, inputs}));
  }
  OperationState state(op->getLoc(), op->getName().getStringRef(), all, types, attributes.getAttrs());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  OpBuilder builder(op);
  Operation *grown = builder.create(state);
  unsigned next = op->getNumResults();
  for (auto [from, to] : llvm::zip(op->getResults(), grown->getResults())) {
    from.replaceAllUsesWith(to);
    if (isActive(from))
      seed(to, grown->getResult(next++));
  }
  forget(op);
  op->erase();
  return grown;
}

LogicalResult Forward::pushRegions(Operation *op) {
  OpBuilder builder(op);
  SmallVector<Value> added;
  auto addOperands = [&](ValueRange operands, ValueRange targets) {
    for (auto [operand, target] : llvm::zip_equal(operands, targets))
      if (isActive(target))
        added.push_back(tangentOrZero(builder, op->getLoc(), operand));
  };
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addOperands(loop.getInits(), loop.getBeforeArguments());
    SmallVector<Value> before(loop.getBeforeArguments()), after(loop.getAfterArguments());
    addTangents(*loop.getBeforeBody(), before);
    if (failed(runBody(*loop.getBeforeBody())))
      return failure();
    yieldTangents(loop.getConditionOp(), SmallVector<Value>(loop.getConditionOp().getArgs()), after);
    addTangents(*loop.getAfterBody(), after);
    if (failed(runBody(*loop.getAfterBody())))
      return failure();
    Operation *yield = loop.getAfterBody()->getTerminator();
    yieldTangents(yield, SmallVector<Value>(yield->getOperands()), before);
    grow(op, added);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addOperands(loop.getInitArgs(), loop.getRegionIterArgs());
    addTangents(*loop.getBody(), SmallVector<Value>(loop.getRegionIterArgs()));
  } else if (auto map = dyn_cast<MapOp>(op)) {
    addOperands(map.getInputs(), map.getBlocks());
    addTangents(map.getBody().front(), SmallVector<Value>(map.getBlocks()));
  }
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    if (failed(runBody(region.front())))
      return failure();
    Operation *yield = region.front().getTerminator();
    yieldTangents(yield, SmallVector<Value>(yield->getOperands()), op->getResults());
  }
  grow(op, added);
  return success();
}

//===- pmap.jvp -------------------------------------------------------------------------------------------------===//

LogicalResult pmap::removeJvp(JvpOp op, SymbolNames &) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body.without_terminator(), [](Operation &nested) { return &nested; });
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Forward forward;
  // The code is built for tangents that vary as the values do.
  SmallVector<UnrealizedConversionCastOp> seeds;
  Axes added;
  for (auto [position, tangent] : llvm::zip_equal(op.getWrt(), op.getTangents())) {
    Value argument = body.getArgument(position);
    added = unionOf(added, differenceOf(varyOf(tangent.getType()), varyOf(argument.getType())));
    seeds.push_back(standInFor(builder, loc, argument.getType(), tangent));
    forward.seed(argument, seeds.back().getResult(0));
  }
  forward.spread(ops);
  if (failed(forward.run(ops)))
    return failure();

  builder.setInsertionPoint(yield);
  SmallVector<Value> results(yield->getOperands());
  unsigned values = results.size();
  for (unsigned i = 0; i < values; ++i)
    if (isDifferentiable(results[i].getType()))
      results.push_back(forward.tangentOrZero(builder, loc, results[i]));
  if (!added.empty()) {
    SmallVector<Operation *> made =
        llvm::map_to_vector(body.without_terminator(), [](Operation &nested) { return &nested; });
    varyMore(made, llvm::map_to_vector(seeds, [](auto seed) -> Value { return seed.getResult(0); }), added);
    for (Value &tangent : MutableArrayRef(results).drop_front(values))
      if (!isSubset(added, varyOf(tangent.getType())))
        tangent = WidenOp::create(builder, loc, tangent, added);
  }

  // A result may be an argument or a stand-in, so it is used before those go.
  yield->setOperands(results);
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), op.getInputs()))
    argument.replaceAllUsesWith(input);
  for (UnrealizedConversionCastOp seed : seeds)
    removeStandIn(seed);
  op->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), body.getOperations());
  op.erase();
  return success();
}
