// Cotangents, and the backward walk over ops without regions.
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/MostTrips.h"
#include "compiler/Dialect/Transforms/ResidualParts.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

//===- Values of tensor and distributed types --------------------------------------------------------------------===//

namespace {

// An elementwise sum of distributed values: a map whose body adds two blocks.
Value sumOfDistributed(OpBuilder &builder, Location loc, Value a, Value b, SymbolNames &names) {
  auto type = cast<DistType>(a.getType());
  MLIRContext *context = builder.getContext();
  SmallVector<Value> sizes;
  SmallVector<SizeArgAttr> arguments;
  SmallVector<Size> local;
  for (auto [dim, size] : llvm::enumerate(sizesOf(type))) {
    SmallVector<StringAttr> axes = type.getSpec().getAxes(dim);
    if (axes.empty() && size.isConstant()) {
      local.push_back(size);
      continue;
    }
    std::string symbol = names.fresh("d");
    sizes.push_back(indexOf(builder, loc, size));
    // Blocks that came out of a split are already as they must be, whether or not they are even.
    arguments.push_back(
        SizeArgAttr::get(context, builder.getStringAttr(symbol), axes, /*ragged=*/true, builder.getStringAttr("")));
    local.push_back(Size::symbol(symbol));
  }
  Axes vary = unionOf(type.getSpec().getAllAxes(), varyOf(type));
  Type block = makeTensorType(type.getTensor().getElementType(), local, vary);
  auto map = MapOp::create(builder, loc, TypeRange(type), type.getMesh(), sizes, arguments, ValueRange{a, b},
                           TypeRange{block, block});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&map.getBody().front());
  Value sum = arith::AddFOp::create(builder, loc, map.getBlocks()[0], map.getBlocks()[1]);
  YieldOp::create(builder, loc, sum);
  return map.getResult(0);
}

} // namespace

Value pmap::zerosOf(OpBuilder &builder, Location loc, Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    return MoveOp::create(builder, loc, dist, splat(builder, loc, dist.getTensor(), 0));
  return splat(builder, loc, cast<RankedTensorType>(type), 0);
}

Value pmap::sumOf(OpBuilder &builder, Location loc, Value a, Value b, SymbolNames &names) {
  if (isa<DistType>(a.getType()))
    return sumOfDistributed(builder, loc, a, b, names);
  return arith::AddFOp::create(builder, loc, a, b);
}

void CotangentMap::add(Location loc, Value primal, Value cotangent) {
  if (!cotangent)
    return;
  assert(cotangent.getType() == primal.getType() && "a cotangent has the type of its primal (G2)");
  Value &slot = map[primal];
  slot = slot ? sumOf(builder, loc, slot, cotangent, names) : cotangent;
}

Value CotangentMap::lookupOrZero(Location loc, Value primal) {
  Value cotangent = lookup(primal);
  return cotangent ? cotangent : zerosOf(builder, loc, primal.getType());
}

//===- The walk --------------------------------------------------------------------------------------------------===//

LogicalResult Backward::run(ArrayRef<Operation *> ops, OpBuilder &builder, CotangentMap &cotangents) {
  for (Operation *op : llvm::reverse(ops)) {
    if (noteRead(op, builder, cotangents))
      continue;
    bool wanted =
        llvm::any_of(op->getResults(), [&](Value result) { return isActive(result) && cotangents.lookup(result); });
    if (wanted && failed(pull(op, builder, cotangents)))
      return failure();
  }
  return success();
}

namespace {

// An operation in the words of the language.
std::string describe(Operation *op) {
  if (auto reduce = dyn_cast<AllReduceOp>(op))
    return ("'p" + stringifyReductionKind(reduce.getKind()) + "'" + (reduce.getGroups() ? " over groups" : "")).str();
  return ("'" + op->getName().stripDialect() + "'").str();
}

// The operation may be far from the derivative that needs its own, in a function that others call as well.
LogicalResult failAt(Operation *op, const Twine &message) {
  InFlightDiagnostic error = op->emitError(message);
  Operation *derivative = op->getParentOp();
  while (derivative && !isa<GradOp, VjpOp>(derivative))
    derivative = derivative->getParentOp();
  if (derivative)
    error.attachNote(derivative->getLoc()) << "the derivative is taken here";
  return error;
}

} // namespace

LogicalResult Backward::pull(Operation *op, OpBuilder &builder, CotangentMap &cotangents) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return pullIf(branch, builder, cotangents);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return pullFor(loop, builder, cotangents);
  if (auto each = dyn_cast<ForEachOp>(op))
    return pullForEach(each, builder, cotangents);
  if (auto map = dyn_cast<MapOp>(op))
    return pullMap(map, builder, cotangents);
  if (auto checkpoint = dyn_cast<CheckpointOp>(op))
    return pullCheckpoint(checkpoint, builder, cotangents);
  if (auto custom = dyn_cast<CustomVjpOp>(op))
    return pullCustom(custom, builder, cotangents);
  if (isa<scf::WhileOp>(op))
    return failAt(op, "the gradient of a 'while' needs its number of steps in advance; write a 'for' with a bound and "
                      "an 'if' for the condition inside it [E0811]");

  auto rule = dyn_cast<DifferentiableOp>(op);
  SmallVector<Value> results, operands;
  for (Value result : op->getResults())
    results.push_back(cotangents.lookup(result));
  if (!rule || failed(rule.pullback(builder, results, operands)))
    return failAt(op, "no derivative is known for " + describe(op) +
                          "; stop_gradient(...) takes its value as a constant [E0810]");
  for (auto [operand, cotangent] : llvm::zip(op->getOperands(), operands))
    if (isActive(operand))
      cotangents.add(op->getLoc(), operand, cotangent);
  return success();
}

// Erases the copies that nobody reads: what they compute was kept.
void Backward::eraseUnread(ArrayRef<Operation *> copies) {
  auto hasNoOtherEffect = [](Operation *op) {
    return !isa<BindSizeOp>(op) && !op->walk([](Operation *nested) {
                                        bool free = isMemoryEffectFree(nested) ||
                                                    isa<CollectiveOp, BindSizeOp>(nested) ||
                                                    nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
                                        return free ? WalkResult::advance() : WalkResult::interrupt();
                                      }).wasInterrupted();
  };
  for (Operation *copy : llvm::reverse(copies))
    if (copy->use_empty() && hasNoOtherEffect(copy)) {
      forget(copy);
      copy->erase();
    }
}

LogicalResult Backward::recomputeAndPull(Block &body, IRMapping &mapping, ArrayRef<Value> seeds, OpBuilder &builder,
                                         CotangentMap &cotangents, const Kept &kept) {
  SmallVector<Operation *> copies = cloneForRecomputation(body, builder, mapping, names);
  for (Value argument : body.getArguments())
    if (Value mapped = mapping.lookupOrNull(argument); mapped && isActive(argument))
      activate(mapped);
  spread(copies);
  for (auto [yielded, seed] : llvm::zip_equal(body.getTerminator()->getOperands(), seeds))
    if (Value value = mapping.lookupOrDefault(yielded); isActive(value))
      cotangents.add(value.getLoc(), value, seed);
  if (failed(run(copies, builder, cotangents)))
    return failure();
  for (auto [value, found] : kept)
    mapping.lookup(value).replaceAllUsesWith(found);
  eraseUnread(copies);
  return success();
}

//===- Masks -----------------------------------------------------------------------------------------------------===//

namespace {

bool choosesFloats(Operation *op) { return isa<arith::SelectOp>(op) && isDifferentiable(op->getResult(0).getType()); }

// Walks a block backward with the set of values that reach a branch of a select.
void markMaskedIn(Block &block, llvm::DenseSet<Value> &masked) {
  for (Operation &op : llvm::reverse(block)) {
    bool reaches = llvm::any_of(op.getResults(), [&](Value result) { return masked.contains(result); });
    if (op.getNumRegions()) {
      // Inside a region that holds a select anywhere, all is taken as masked: what a loop carries may come back to it.
      op.walk([&](Operation *nested) { reaches |= choosesFloats(nested); });
      if (!reaches)
        continue;
      op.walk([&](Operation *nested) {
        nested->setAttr(kMaskedAttr, UnitAttr::get(op.getContext()));
        masked.insert(nested->operand_begin(), nested->operand_end());
      });
      continue;
    }
    if (reaches) {
      op.setAttr(kMaskedAttr, UnitAttr::get(op.getContext()));
      masked.insert(op.operand_begin(), op.operand_end());
    }
    if (choosesFloats(&op))
      for (Value side : op.getOperands().drop_front())
        masked.insert(side);
  }
}

} // namespace

void pmap::markMasked(Block &block) {
  llvm::DenseSet<Value> masked;
  markMaskedIn(block, masked);
}

void pmap::unmark(Operation *root) {
  root->walk([](Operation *op) {
    op->removeDiscardableAttr(kMaskedAttr);
    op->removeDiscardableAttr(kOwnResultsAttr);
    op->removeDiscardableAttr(kPartAttr);
    op->removeDiscardableAttr(kMostTripsAttr);
  });
}
