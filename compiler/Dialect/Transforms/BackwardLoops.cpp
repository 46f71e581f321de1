// The derivatives of scf.for.
//
// The forward loop is made to store what it carries at the start of each trip, stacked along a first dimension whose
// size is the trip count. The backward loop walks the trips from the last: it loads what was carried, computes the
// trip's body again, and pulls the carried values' cotangents back through it. Cotangents of values from outside the
// loop add up in values that the backward loop carries.
#include "compiler/Dialect/Transforms/Backward.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

// The trip count of a loop, as a value and as a size.
struct TripCount {
  Value value;
  Size size;
};

TripCount countTrips(scf::ForOp loop, OpBuilder &builder, SymbolNames &names) {
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

// The type of a stack of `trips` values.
RankedTensorType stackOf(Type type, const Size &trips) {
  SmallVector<Size> sizes = sizesOf(type);
  sizes.insert(sizes.begin(), trips);
  return withSizes(cast<RankedTensorType>(type), sizes);
}

SmallVector<Value> offsetsAt(OpBuilder &builder, Location loc, Value position, RankedTensorType stack) {
  SmallVector<Value> offsets = zeroOffsets(builder, loc, stack.getRank());
  offsets[0] = position;
  return offsets;
}

Value store(OpBuilder &builder, Location loc, Value stack, Value value, Value position) {
  auto type = cast<RankedTensorType>(stack.getType());
  Value row = ReshapeOp::create(builder, loc, stackOf(value.getType(), Size(1)), value);
  return UpdateSliceOp::create(builder, loc, stack, row, offsetsAt(builder, loc, position, type), /*inBounds=*/true);
}

Value load(OpBuilder &builder, Location loc, Value stack, Type type, Value position) {
  auto stackType = cast<RankedTensorType>(stack.getType());
  Value row = SliceOp::create(builder, loc, stackOf(type, Size(1)), stack, offsetsAt(builder, loc, position, stackType),
                              /*inBounds=*/true);
  return ReshapeOp::create(builder, loc, type, row);
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

// lower + trip * step: the induction variable of a trip.
Value inductionOf(OpBuilder &builder, scf::ForOp loop, Value trip) {
  Location loc = loop.getLoc();
  if (!matchPattern(loop.getStep(), m_One()))
    trip = arith::MulIOp::create(builder, loc, trip, loop.getStep());
  if (matchPattern(loop.getLowerBound(), m_Zero()))
    return trip;
  return arith::AddIOp::create(builder, loc, loop.getLowerBound(), trip);
}

// A loop over the same trips that also stores what it carries. Takes the body over; the old loop stays, hollow, until
// the caller erases it.
scf::ForOp withStacks(scf::ForOp loop, const TripCount &trips, OpBuilder &builder) {
  Location loc = loop.getLoc();
  SmallVector<Value> inits(loop.getInitArgs());
  for (Value init : loop.getInitArgs())
    inits.push_back(splat(builder, loc, stackOf(init.getType(), trips.size), 0));
  auto storing = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  storing->setDiscardableAttrs(loop->getDiscardableAttrDictionary());

  Block *body = storing.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(loop.getBody()->getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  Value trip = tripOf(inner, storing);
  size_t carried = loop.getNumRegionIterArgs();
  SmallVector<Value> yielded(body->getTerminator()->getOperands());
  for (size_t i = 0; i < carried; ++i)
    yielded.push_back(store(inner, loc, storing.getRegionIterArg(carried + i), storing.getRegionIterArg(i), trip));
  body->getTerminator()->setOperands(yielded);
  for (auto [from, to] : llvm::zip(loop.getResults(), storing.getResults()))
    from.replaceAllUsesWith(to);
  return storing;
}

} // namespace

LogicalResult Backward::pullFor(scf::ForOp loop, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = loop.getLoc();
  SmallVector<Value> captures = activeCaptures(loop);
  size_t carried = loop.getNumRegionIterArgs();
  for (Value argument : loop.getRegionIterArgs())
    if (!isa<RankedTensorType>(argument.getType()))
      return loop.emitError()
             << "no derivative is known for a loop that carries distributed values; put the loop inside the "
                "pmap [E0812]";

  // What the old loop's values were to us: `builder` stands behind it, and it goes away.
  SmallVector<size_t> wanted;
  SmallVector<Value> seeds;
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    if (Value cotangent = cotangents.take(result); isActive(loop.getRegionIterArg(i))) {
      wanted.push_back(i);
      seeds.push_back(cotangent ? cotangent : zerosOf(builder, loc, result.getType()));
    }
  OpBuilder before(loop);
  TripCount trips = countTrips(loop, before, names);
  scf::ForOp storing = withStacks(loop, trips, before);
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (isActive(argument))
      activate(storing.getRegionIterArg(i));
    if (isActive(loop.getResult(i)))
      activate(storing.getResult(i));
    active.erase(argument);
    active.erase(loop.getResult(i));
  }
  loop.erase();

  for (Value capture : captures)
    seeds.push_back(zerosOf(builder, loc, capture.getType()));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto backward = scf::ForOp::create(builder, loc, zero, trips.value, one, seeds);

  OpBuilder inner = OpBuilder::atBlockEnd(backward.getBody());
  CotangentMap local(inner, names);
  Value last = arith::SubIOp::create(inner, loc, trips.value, one);
  Value trip = arith::SubIOp::create(inner, loc, last, backward.getInductionVar());
  IRMapping mapping;
  mapping.map(storing.getInductionVar(), inductionOf(inner, storing, trip));
  for (size_t i = 0; i < carried; ++i) {
    Value argument = storing.getRegionIterArg(i);
    mapping.map(argument, load(inner, loc, storing.getResult(carried + i), argument.getType(), trip));
  }
  // The stores at the body's start are part of the forward loop only; their copies die unused.
  SmallVector<Value> bodySeeds(2 * carried);
  for (auto [k, i] : llvm::enumerate(wanted))
    bodySeeds[i] = backward.getRegionIterArg(k);
  for (size_t i = carried; i < 2 * carried; ++i)
    mapping.map(storing.getRegionIterArg(i), storing.getInitArgs()[i]);
  if (failed(recomputeAndPull(*storing.getBody(), mapping, bodySeeds, inner, local)))
    return failure();

  SmallVector<Value> yielded;
  for (size_t i : wanted)
    yielded.push_back(local.lookupOrZero(loc, mapping.lookup(storing.getRegionIterArg(i))));
  for (auto [capture, sum] : llvm::zip_equal(captures, backward.getRegionIterArgs().drop_front(wanted.size()))) {
    Value more = local.lookup(capture);
    yielded.push_back(more ? sumOf(inner, loc, sum, more, names) : sum);
  }
  scf::YieldOp::create(inner, loc, yielded);

  for (auto [i, cotangent] : llvm::zip(wanted, backward.getResults()))
    if (Value init = storing.getInitArgs()[i]; isActive(init))
      cotangents.add(loc, init, cotangent);
  for (auto [capture, cotangent] : llvm::zip_equal(captures, backward.getResults().drop_front(wanted.size())))
    cotangents.add(loc, capture, cotangent);
  return success();
}
