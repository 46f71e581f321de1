// Loops and branches of a body in vectors. A lane takes part as long as its own condition holds: both sides of a branch
// run, each under the mask of the lanes that take it, and a `while` goes on until no lane does. So a loop runs as often
// as its longest lane, which scalars would run through as well.

#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {

bool isGuard(Operation &op) {
  auto guard = dyn_cast<scf::IfOp>(op);
  return guard && guard->getNumResults() == 0 && !guard.elseBlock() &&
         !guard.thenBlock()->walk([](linalg::IndexOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Whether
//===--------------------------------------------------------------------------------------------------------------===//

bool NestBody::canVectorizeOp(Operation &op, unsigned dim, DenseSet<Value> &vectors) {
  if (isGuard(op))
    return true;
  bool onVectors = op.walk([&](Operation *inner) {
                       auto index = dyn_cast<linalg::IndexOp>(inner);
                       bool depends = (index && index.getDim() == dim) ||
                                      llvm::any_of(inner->getOperands(), [&](Value v) { return vectors.contains(v); });
                       return depends ? WalkResult::interrupt() : WalkResult::advance();
                     }).wasInterrupted();
  // What is the same in all lanes stays on scalars.
  if (!onVectors)
    return true;
  if (op.getNumRegions())
    return canVectorizeRegions(op, dim, vectors);
  if (!isa<linalg::IndexOp, memref::LoadOp>(op) && !OpTrait::hasElementwiseMappableTraits(&op))
    return false;
  return becomeVectors(op.getResults(), vectors);
}

bool NestBody::becomeVectors(ValueRange values, DenseSet<Value> &vectors) {
  for (Value value : values) {
    if (!value.getType().isIntOrIndexOrFloat())
      return false;
    vectors.insert(value);
  }
  return true;
}

bool NestBody::canVectorizeRegions(Operation &op, unsigned dim, DenseSet<Value> &vectors) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    // Lanes that need another number of trips would need a mask of their own; only a `while` has one.
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (vectors.contains(bound))
        return false;
    if (!becomeVectors(loop.getRegionIterArgs(), vectors))
      return false;
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    if (!becomeVectors(loop.getBeforeArguments(), vectors) || !becomeVectors(loop.getAfterArguments(), vectors))
      return false;
  } else if (!isa<scf::IfOp>(op)) {
    return false;
  }
  for (Region &region : op.getRegions())
    for (Block &block : region)
      for (Operation &inner : block.without_terminator())
        if (!canVectorizeOp(inner, dim, vectors))
          return false;
  return becomeVectors(op.getResults(), vectors);
}

//===--------------------------------------------------------------------------------------------------------------===//
// How
//===--------------------------------------------------------------------------------------------------------------===//

bool NestBody::dependsOnLanes(const NestPoint &point, Operation &op, const IRMapping &mapping) {
  if (point.lanes == 1)
    return false;
  return op
      .walk([&](Operation *inner) {
        auto index = dyn_cast<linalg::IndexOp>(inner);
        bool depends = index && static_cast<int>(index.getDim()) == point.vectorDim;
        for (Value operand : inner->getOperands())
          if (Value mapped = mapping.lookupOrNull(operand))
            depends |= isVector(mapped);
        return depends ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<Value> NestBody::splatAll(ValueRange values, unsigned lanes) {
  return llvm::map_to_vector(values, [&](Value value) { return splat(value, lanes); });
}

Value NestBody::both(Value mask, Value condition) {
  return mask ? arith::AndIOp::create(builder, loc, mask, condition).getResult() : condition;
}

Value NestBody::anyLane(Value mask) {
  return vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, mask);
}

SmallVector<Value> NestBody::zeroVectors(TypeRange types, unsigned lanes) {
  return llvm::map_to_vector(
      types, [&](Type type) { return constantOf(builder.getZeroAttr(type), VectorType::get(lanes, type)); });
}

// The values of the block's terminator.
SmallVector<Value> NestBody::emitBlock(const NestPoint &point, Block &block, IRMapping &mapping) {
  for (Operation &op : block.without_terminator())
    emitOp(point, op, mapping);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

void NestBody::emitRegions(const NestPoint &point, Operation &op, IRMapping &mapping) {
  SmallVector<Value> results;
  if (auto branch = dyn_cast<scf::IfOp>(op))
    results = emitIf(point, branch, mapping);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    results = emitFor(point, loop, mapping);
  else
    results = emitWhile(point, cast<scf::WhileOp>(op), mapping);
  mapping.map(op.getResults(), results);
}

// A side that is cheap and that nothing can go wrong in runs for all lanes, without asking whether one takes it.
static bool isHarmless(Region &side) {
  int64_t cost = 0;
  for (Operation &op : side.front().without_terminator()) {
    if (op.getNumRegions() || !isSpeculatable(&op) || !isMemoryEffectFree(&op))
      return false;
    cost += costOf(&op);
  }
  return cost <= 32;
}

SmallVector<Value> NestBody::emitIf(const NestPoint &point, scf::IfOp branch, IRMapping &mapping) {
  Value condition = mapping.lookupOrDefault(branch.getCondition());
  auto types = llvm::map_to_vector(branch.getResultTypes(),
                                   [&](Type type) -> Type { return VectorType::get(point.lanes, type); });
  // One side, behind a branch on `taken`; null values where it is not taken and `otherwise` is null.
  auto emitSide = [&](Region &side, Value mask) -> SmallVector<Value> {
    if (side.empty())
      return {};
    NestPoint inside = point;
    inside.mask = mask;
    if (isHarmless(side))
      return splatAll(emitBlock(inside, side.front(), mapping), point.lanes);
    auto made = scf::IfOp::create(builder, loc, types, anyLane(mask), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(made.thenBlock());
    SmallVector<Value> values = splatAll(emitBlock(inside, side.front(), mapping), point.lanes);
    if (!types.empty())
      scf::YieldOp::create(builder, loc, values);
    builder.setInsertionPointToStart(made.elseBlock());
    if (!types.empty())
      scf::YieldOp::create(builder, loc, zeroVectors(branch.getResultTypes(), point.lanes));
    return SmallVector<Value>(made.getResults());
  };
  if (!isVector(condition)) {
    // All lanes take the same side.
    auto made = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    for (auto [side, block] :
         {std::pair(&branch.getThenRegion(), made.thenBlock()), std::pair(&branch.getElseRegion(), made.elseBlock())}) {
      builder.setInsertionPointToStart(block);
      if (side->empty())
        continue;
      SmallVector<Value> values = splatAll(emitBlock(point, side->front(), mapping), point.lanes);
      if (!types.empty())
        scf::YieldOp::create(builder, loc, values);
    }
    return SmallVector<Value>(made.getResults());
  }
  Value on = constantOf(builder.getBoolAttr(true), condition.getType());
  Value opposite = arith::XOrIOp::create(builder, loc, condition, on);
  SmallVector<Value> taken = emitSide(branch.getThenRegion(), both(point.mask, condition));
  SmallVector<Value> other = emitSide(branch.getElseRegion(), both(point.mask, opposite));
  SmallVector<Value> results;
  for (auto [index, type] : llvm::enumerate(types))
    results.push_back(arith::SelectOp::create(builder, loc, condition, taken[index], other[index]));
  return results;
}

SmallVector<Value> NestBody::emitFor(const NestPoint &point, scf::ForOp loop, IRMapping &mapping) {
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  SmallVector<Value> inits = llvm::map_to_vector(loop.getInitArgs(), mapped);
  auto made = scf::ForOp::create(builder, loc, mapped(loop.getLowerBound()), mapped(loop.getUpperBound()),
                                 mapped(loop.getStep()), splatAll(inits, point.lanes));
  made->setAttrs(loop->getAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(made.getBody());
  mapping.map(loop.getInductionVar(), made.getInductionVar());
  mapping.map(loop.getRegionIterArgs(), made.getRegionIterArgs());
  SmallVector<Value> next = emitBlock(point, *loop.getBody(), mapping);
  if (!next.empty())
    scf::YieldOp::create(builder, loc, splatAll(next, point.lanes));
  return SmallVector<Value>(made.getResults());
}

// Carried are the loop's own values, which lanes are still in it, and the results of those that are not. A lane that
// has left goes on computing values that nobody reads.
SmallVector<Value> NestBody::emitWhile(const NestPoint &point, scf::WhileOp loop, IRMapping &mapping) {
  unsigned lanes = point.lanes;
  auto maskType = VectorType::get(lanes, builder.getI1Type());
  SmallVector<Value> inits = splatAll(
      llvm::map_to_vector(loop.getInits(), [&](Value value) { return mapping.lookupOrDefault(value); }), lanes);
  unsigned carried = inits.size(), count = loop.getNumResults();
  inits.push_back(point.mask ? point.mask : constantOf(builder.getBoolAttr(true), maskType));
  SmallVector<Type> types{maskType}, kept;
  SmallVector<unsigned> used;
  for (auto [index, result] : llvm::enumerate(loop.getResults())) {
    types.push_back(VectorType::get(lanes, result.getType()));
    if (result.use_empty())
      continue;
    used.push_back(index);
    kept.push_back(result.getType());
  }
  for (unsigned index : used)
    types.push_back(types[1 + index]);
  llvm::append_range(inits, zeroVectors(kept, lanes));
  // Emits a region of the loop at the builder that makes it.
  auto inRegion = [&](OpBuilder &at, function_ref<void()> emit) {
    OpBuilder::InsertionGuard guard(builder);
    builder.restoreInsertionPoint(at.saveInsertionPoint());
    emit();
  };
  auto emitBefore = [&](ValueRange arguments) {
    NestPoint inside = point;
    inside.mask = arguments[carried];
    mapping.map(loop.getBeforeArguments(), arguments.take_front(carried));
    SmallVector<Value> decided = splatAll(emitBlock(inside, *loop.getBeforeBody(), mapping), lanes);
    Value staying = both(inside.mask, decided.front());
    SmallVector<Value> passed{staying};
    llvm::append_range(passed, ArrayRef(decided).drop_front());
    for (auto [place, index] : llvm::enumerate(used))
      passed.push_back(
          arith::SelectOp::create(builder, loc, inside.mask, decided[1 + index], arguments[carried + 1 + place]));
    scf::ConditionOp::create(builder, loc, anyLane(staying), passed);
  };
  auto emitAfter = [&](ValueRange arguments) {
    NestPoint inside = point;
    inside.mask = arguments.front();
    mapping.map(loop.getAfterArguments(), arguments.slice(1, count));
    SmallVector<Value> next = splatAll(emitBlock(inside, *loop.getAfterBody(), mapping), lanes);
    next.push_back(inside.mask);
    llvm::append_range(next, arguments.drop_front(1 + count));
    scf::YieldOp::create(builder, loc, next);
  };
  auto made = scf::WhileOp::create(
      builder, loc, types, inits,
      [&](OpBuilder &at, Location, ValueRange arguments) { inRegion(at, [&] { emitBefore(arguments); }); },
      [&](OpBuilder &at, Location, ValueRange arguments) { inRegion(at, [&] { emitAfter(arguments); }); });
  // What nobody uses is the last value passed on.
  SmallVector<Value> results(made.getResults().slice(1, count));
  for (auto [place, index] : llvm::enumerate(used))
    results[index] = made.getResult(1 + count + place);
  return results;
}

} // namespace pmap
