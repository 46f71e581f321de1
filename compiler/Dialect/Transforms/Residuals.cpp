#include "compiler/Dialect/Transforms/Residuals.h"
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/BreakLoops.h"
#include "compiler/Dialect/Transforms/MapResiduals.h"
#include "compiler/Dialect/Transforms/MostTrips.h"
#include "compiler/Dialect/Transforms/ResidualParts.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pmap;

unsigned pmap::ownResults(Operation *op) {
  auto own = op->getAttrOfType<IntegerAttr>(kOwnResultsAttr);
  return own ? own.getInt() : op->getNumResults();
}

//===- What to keep ---------------------------------------------------------------------------------------------===//

// An all_gather is as dear, but its result is that of all devices.
bool pmap::isDear(Operation *op) {
  if (op->hasAttr(kPartAttr))
    return true;
  if (isa<CollectiveOp>(op))
    return !isa<AllGatherOp>(op);
  if (isa<ReduceOp, ArgReduceOp, ScanOp, SortOp, ArgSortOp, CheckpointOp, scf::ForOp, scf::WhileOp>(op))
    return true;
  if (auto dot = dyn_cast<DotOp>(op)) {
    Size read = elementCountOf(dot.getLhs().getType()) + elementCountOf(dot.getRhs().getType());
    bool larger = (elementCountOf(dot.getType()) - read - Size(1)).provablyNonNegative();
    return !larger;
  }
  if (isa<scf::IfOp, ForEachOp, MapOp>(op))
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps())
        if (isDear(&nested))
          return true;
  return false;
}

namespace {

// The dear values of a body that can be seen from outside of `parent`: their sizes are known there, and their type says
// what they take from a condition or trip count, as the types of all of the parent's results do (V5). Distributed
// values are kept where nothing is gathered for it: there are no stacks of blocks.
SmallVector<Value> valuesToKeep(Block &body, Operation *parent) {
  llvm::StringSet<> inner;
  visitBoundSymbols(parent, [&](StringRef symbol) { inner.insert(symbol); });
  std::optional<Axes> common;
  for (Type type : parent->getResultTypes()) {
    Axes vary(varyOf(type));
    common = common ? differenceOf(*common, differenceOf(*common, vary)) : vary;
  }
  SmallVector<Value> values;
  for (Operation &op : body.without_terminator()) {
    if (!isDear(&op))
      continue;
    for (Value result : op.getResults()) {
      Type type = result.getType();
      auto dist = dyn_cast<DistType>(type);
      bool canBeKept = dist ? isa<scf::IfOp>(parent) || dist.getSpec().isReplicated() : isa<RankedTensorType>(type);
      if (!canBeKept || (common && !isSubset(*common, varyOf(type))))
        continue;
      bool visible = llvm::all_of(sizesOf(type), [&](const Size &size) {
        return llvm::none_of(size.symbols(), [&](StringRef symbol) { return inner.contains(symbol); });
      });
      if (visible)
        values.push_back(result);
    }
  }
  return values;
}

void setOwnResults(Operation *op, unsigned count) {
  op->setAttr(kOwnResultsAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64), count));
}

//===- Loops ----------------------------------------------------------------------------------------------------===//

// The tensor type of a value, of the whole of a distributed one.
RankedTensorType wholeType(Value value) {
  auto dist = dyn_cast<DistType>(value.getType());
  return dist ? dist.getTensor() : cast<RankedTensorType>(value.getType());
}

// Adds to `stack` the value of one trip. There are no stacks of blocks: a distributed value is gathered.
Value store(OpBuilder &builder, Location loc, Value stack, Value value, Value trip) {
  SmallVector<Size> sizes = sizesOf(value.getType());
  sizes.insert(sizes.begin(), Size(1));
  RankedTensorType type = wholeType(value);
  if (value.getType() != type)
    value = MoveOp::create(builder, loc, type, value);
  Value row = ReshapeOp::create(builder, loc, withSizes(type, sizes), value);
  SmallVector<Value> offsets = zeroOffsets(builder, loc, sizes.size());
  offsets[0] = trip;
  return UpdateSliceOp::create(builder, loc, stack, row, offsets, /*inBounds=*/true);
}

// (iv - lower) / step: the number of the trip.
Value tripOf(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value offset = loop.getInductionVar();
  if (!matchPattern(loop.getLowerBound(), m_Zero()))
    offset = arith::SubIOp::create(builder, loc, offset, loop.getLowerBound());
  if (matchPattern(loop.getStep(), m_One()))
    return offset;
  return arith::DivSIOp::create(builder, loc, offset, loop.getStep());
}

// Where a loop's trips can be counted: outside of the loops around it that do not change its bounds, so that what it
// keeps has a size there too. Not outside of branches: they may be taken seldom, and would keep as much each time.
Operation *placeToCount(scf::ForOp loop) {
  Operation *place = loop;
  while (auto outer = dyn_cast<scf::ForOp>(place->getParentOp())) {
    bool fixed = llvm::none_of(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
                               [&](Value bound) { return outer->isAncestor(bound.getParentRegion()->getParentOp()); });
    if (!fixed)
      break;
    place = outer;
  }
  return place;
}

// True for a loop in which parts of carried arrays are read, which the loops around it are to keep as well.
bool readsParts(scf::ForOp loop) {
  return loop
      ->walk([](Operation *op) { return op->hasAttr(kPartAttr) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

// How long the stacks of a loop are: the trips that it takes, or the most that it takes in any trip of those around it.
TripCount lengthOfStacks(scf::ForOp loop, SymbolNames &names) {
  Location loc = loop.getLoc();
  MostTrips most = mostTrips(loop);
  Operation *place = placeToCount(loop);
  if (place->isAncestor(most.place) || !readsParts(loop)) {
    OpBuilder before(place);
    return countTrips(loop, before, names);
  }
  loop->setAttr(kMostTripsAttr, UnitAttr::get(loop.getContext()));
  OpBuilder before(most.place);
  if (most.trips.terms.empty()) {
    int64_t trips = std::max<int64_t>(0, most.trips.constant);
    return {arith::ConstantIndexOp::create(before, loc, trips), Size(trips)};
  }
  Value zero = arith::ConstantIndexOp::create(before, loc, 0);
  Value trips = arith::MaxSIOp::create(before, loc, most.trips.emit(before, loc), zero);
  std::string symbol = names.fresh("trips");
  Value bound = BindSizeOp::create(before, loc, before.getIndexType(), trips, before.getStringAttr(symbol));
  return {bound, Size::symbol(symbol)};
}

// A loop over the same trips that also stacks what it carries and what is dear.
scf::ForOp keepInLoop(scf::ForOp loop, SymbolNames &names) {
  Location loc = loop.getLoc();
  TripCount trips = lengthOfStacks(loop, names);
  SmallVector<Value> kept(loop.getRegionIterArgs());
  llvm::append_range(kept, valuesToKeep(*loop.getBody(), loop));

  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  for (Value value : kept) {
    SmallVector<Size> sizes = sizesOf(value.getType());
    sizes.insert(sizes.begin(), trips.size);
    inits.push_back(splat(builder, loc, withSizes(wholeType(value), sizes), 0));
  }
  auto keeping = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  keeping->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  setOwnResults(keeping, loop.getNumResults());

  Block *body = keeping.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), body->getArguments())) {
    llvm::replace(kept, Value(from), Value(to));
    from.replaceAllUsesWith(to);
  }
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  Value trip = tripOf(inner, keeping);
  SmallVector<Value> yielded(body->getTerminator()->getOperands());
  for (auto [value, stack] : llvm::zip_equal(kept, keeping.getRegionIterArgs().drop_front(loop.getNumResults()))) {
    if (Operation *op = value.getDefiningOp())
      inner.setInsertionPointAfter(op);
    yielded.push_back(store(inner, named(loc, kStoredForDerivative), stack, value, trip));
  }
  body->getTerminator()->setOperands(yielded);
  for (auto [from, to] : llvm::zip(loop.getResults(), keeping.getResults()))
    from.replaceAllUsesWith(to);
  loop.erase();
  return keeping;
}

//===- Branches -------------------------------------------------------------------------------------------------===//

// A branch that also gives out what is dear in it; the other branch gives zeros.
scf::IfOp keepInBranches(scf::IfOp branch) {
  Location loc = branch.getLoc();
  SmallVector<Value> kept[2];
  SmallVector<Type> types(branch.getResultTypes());
  for (auto [values, region] : llvm::zip_equal(kept, branch->getRegions())) {
    values = valuesToKeep(region.front(), branch);
    llvm::append_range(types, ValueRange(values).getTypes());
  }
  if (types.size() == branch.getNumResults())
    return branch;
  OpBuilder builder(branch);
  auto keeping = scf::IfOp::create(builder, loc, types, branch.getCondition(), /*withElseRegion=*/true);
  keeping->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  setOwnResults(keeping, branch.getNumResults());
  for (auto [index, from, to] : llvm::enumerate(branch->getRegions(), keeping->getRegions())) {
    to.takeBody(from);
    Operation *yield = to.front().getTerminator();
    OpBuilder inner(yield);
    SmallVector<Value> yielded(yield->getOperands());
    for (auto [side, values] : llvm::enumerate(kept))
      for (Value value : values)
        yielded.push_back(side == index ? value : zerosOf(inner, loc, value.getType()));
    yield->setOperands(yielded);
  }
  for (auto [from, to] : llvm::zip(branch.getResults(), keeping.getResults()))
    from.replaceAllUsesWith(to);
  branch.erase();
  return keeping;
}

//===- custom_vjp -----------------------------------------------------------------------------------------------===//

// Computes the forward rule where the function was, and leaves an op that knows its results and residuals: its operands
// are the old ones, then those.
void placeForwardRule(CustomVjpOp op, SmallVectorImpl<Operation *> &placed) {
  OpBuilder builder(op);
  IRMapping mapping;
  Block &forward = op.getForward().front();
  mapping.map(forward.getArguments(), op.getInputs());
  for (Operation &nested : forward.without_terminator())
    placed.push_back(builder.clone(nested, mapping));
  SmallVector<Value> inputs(op.getInputs());
  for (Value value : forward.getTerminator()->getOperands())
    inputs.push_back(mapping.lookupOrDefault(value));

  auto rule = CustomVjpOp::create(builder, op.getLoc(), op.getResultTypes(), inputs);
  rule->setAttr(kOwnOperandsAttr, builder.getI64IntegerAttr(op.getInputs().size()));
  auto known = ValueRange(inputs).drop_front(op.getInputs().size());
  for (auto [region, count] : {std::pair(&rule.getPrimal(), op.getNumResults()),
                               std::pair(&rule.getForward(), static_cast<unsigned>(known.size()))}) {
    Block &block = region->emplaceBlock();
    for (Value input : inputs)
      block.addArgument(input.getType(), op.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    YieldOp::create(inner, op.getLoc(), SmallVector<Value>(block.getArguments().slice(op.getInputs().size(), count)));
  }
  rule.getBackward().takeBody(op.getBackward());
  Operation *yield = rule.getBackward().front().getTerminator();
  OpBuilder inner(yield);
  SmallVector<Value> yielded(yield->getOperands());
  for (Value value : known)
    if (isDifferentiable(value.getType()))
      yielded.push_back(splat(inner, op.getLoc(), cast<RankedTensorType>(value.getType()), 0));
  yield->setOperands(yielded);
  placed.push_back(rule);
  op->replaceAllUsesWith(rule->getResults());
  op.erase();
}

//===- The walk -------------------------------------------------------------------------------------------------===//

class Preparation {
public:
  Preparation(const Activity &activity, SymbolNames &names) : activity(activity), names(names) {}

  // Appends the op, or what takes its place, to `prepared`.
  void prepare(Operation *op, SmallVectorImpl<Operation *> &prepared) {
    if (llvm::none_of(op->getResults(), [&](Value result) { return activity.isActive(result); })) {
      prepared.push_back(op);
      return;
    }
    if (auto custom = dyn_cast<CustomVjpOp>(op); custom && !op->hasAttr(kOwnOperandsAttr))
      return placeForwardRule(custom, prepared);
    // What a checkpoint holds is prepared when it is computed again.
    if (isa<scf::ForOp, scf::IfOp, ForEachOp, MapOp>(op))
      for (Region &region : op->getRegions())
        if (!region.empty())
          for (Operation &nested : llvm::make_early_inc_range(region.front().without_terminator())) {
            SmallVector<Operation *> inner;
            prepare(&nested, inner);
          }
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && llvm::all_of(loop.getResultTypes(), llvm::IsaPred<RankedTensorType, DistType>))
      op = keepInLoop(loop, names);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      op = keepInBranches(branch);
    else if (auto map = dyn_cast<MapOp>(op))
      op = keepInMap(map, names);
    prepared.push_back(op);
  }

private:
  const Activity &activity;
  SymbolNames &names;
};

} // namespace

TripCount pmap::countTrips(scf::ForOp loop, OpBuilder &builder, SymbolNames &names) {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  APInt low, high, by;
  if (matchPattern(lower, m_ConstantInt(&low)) && matchPattern(upper, m_ConstantInt(&high)) &&
      matchPattern(step, m_ConstantInt(&by)) && by.isStrictlyPositive()) {
    int64_t span = std::max<int64_t>(0, high.getSExtValue() - low.getSExtValue());
    int64_t trips = llvm::divideCeil(span, by.getSExtValue());
    return {arith::ConstantIndexOp::create(builder, loc, trips), Size(trips)};
  }
  Value span = matchPattern(lower, m_Zero()) ? upper : arith::SubIOp::create(builder, loc, upper, lower).getResult();
  Value trips = matchPattern(step, m_One()) ? span : arith::CeilDivSIOp::create(builder, loc, span, step).getResult();
  // A size polynomial needs no symbol of its own and is at least 0.
  if (auto size = trips.getDefiningOp<SizeOp>(); size && Size::parse(size.getSize())->provablyNonNegative())
    return {trips, *Size::parse(size.getSize())};
  Value atLeastZero = arith::MaxSIOp::create(builder, loc, trips, arith::ConstantIndexOp::create(builder, loc, 0));
  std::string symbol = names.fresh("trips");
  Value bound = BindSizeOp::create(builder, loc, builder.getIndexType(), atLeastZero, builder.getStringAttr(symbol));
  return {bound, Size::symbol(symbol)};
}

SmallVector<Value> pmap::stackedValues(scf::ForOp loop) {
  SmallVector<Value> values;
  for (Value yielded : loop.getYieldedValues().drop_front(ownResults(loop))) {
    auto row = yielded.getDefiningOp<UpdateSliceOp>().getUpdate().getDefiningOp<ReshapeOp>();
    // What is distributed was gathered to be stacked.
    auto gathered = row.getInput().getDefiningOp<MoveOp>();
    values.push_back(gathered && isa<DistType>(gathered.getInput().getType()) ? gathered.getInput() : row.getInput());
  }
  return values;
}

void pmap::settleLoops(Operation *op, Block &body, ArrayRef<Value> roots, SymbolNames &names) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body.without_terminator(), [](Operation &nested) { return &nested; });
  if (countBreakLoops(ops, roots, names))
    joinMaps(op);
}

void pmap::prepareForward(SmallVectorImpl<Operation *> &ops, ArrayRef<Value> roots, SymbolNames &names) {
  countBreakLoops(ops, roots, names);
  markParts(ops);
  Activity activity;
  for (Value root : roots)
    activity.activate(root);
  activity.spread(ops);
  SmallVector<Operation *> prepared;
  Preparation preparation(activity, names);
  for (Operation *op : ops)
    preparation.prepare(op, prepared);
  ops.assign(prepared.begin(), prepared.end());
}
