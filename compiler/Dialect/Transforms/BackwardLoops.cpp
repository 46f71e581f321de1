// The derivatives of scf.for.
//
// The forward loop stacks what it carries at the start of each trip, and what is dear in its body (Residuals.h). The
// backward loop walks the trips from the last: it loads what was kept, computes the rest of the trip's body again, and
// pulls the carried values' cotangents back through it. Cotangents of values from outside the loop add up in values
// that the backward loop carries, from what they have behind the loop on: nothing is added up apart, however many loops
// and branches lie within each other.
#include "compiler/Dialect/Transforms/Backward.h"
#include "compiler/Dialect/Transforms/MostTrips.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

// The value of one trip.
Value load(OpBuilder &builder, Location loc, Value stack, RankedTensorType type, Value trip) {
  SmallVector<Size> sizes = sizesOf(type);
  sizes.insert(sizes.begin(), Size(1));
  SmallVector<Value> offsets = zeroOffsets(builder, loc, sizes.size());
  offsets[0] = trip;
  Value row = SliceOp::create(builder, loc, withSizes(type, sizes), stack, offsets, /*inBounds=*/true);
  return ReshapeOp::create(builder, loc, type, row);
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

// The trips of a prepared loop: the first dimension of what it stacked, if that is as long as it must be.
Value tripsOf(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  if (!loop->hasAttr(kMostTripsAttr))
    return indexOf(builder, loc, sizeOf(loop.getResults().back().getType(), 0));
  Value span = arith::SubIOp::create(builder, loc, loop.getUpperBound(), loop.getLowerBound());
  return arith::MaxSIOp::create(builder, loc, span, arith::ConstantIndexOp::create(builder, loc, 0));
}

} // namespace

LogicalResult Backward::pullFor(scf::ForOp loop, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = loop.getLoc();
  size_t own = ownResults(loop);
  if (own == loop.getNumResults())
    return loop.emitError() << "a loop that carries neither arrays nor distributed values has no derivative";

  SmallVector<Value> captures = activeCaptures(loop);
  SmallVector<size_t> wanted;
  SmallVector<Value> seeds;
  for (size_t i = 0; i < own; ++i)
    if (isActive(loop.getRegionIterArg(i))) {
      wanted.push_back(i);
      seeds.push_back(cotangents.lookupOrZero(loc, loop.getResult(i)));
    }
  for (Value capture : captures)
    seeds.push_back(cotangents.lookupOrZero(loc, capture));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value trips = tripsOf(builder, loop);
  auto backward = scf::ForOp::create(builder, loc, zero, trips, one, seeds);

  OpBuilder inner = OpBuilder::atBlockEnd(backward.getBody());
  CotangentMap local(inner, names);
  for (auto [capture, sum] : llvm::zip_equal(captures, backward.getRegionIterArgs().drop_front(wanted.size())))
    local.set(capture, sum);
  Value last = arith::SubIOp::create(inner, loc, trips, one);
  Value trip = arith::SubIOp::create(inner, loc, last, backward.getInductionVar());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), inductionOf(inner, loop, trip));
  Kept kept;
  for (auto [value, stack] : llvm::zip_equal(stackedValues(loop), loop.getResults().drop_front(own))) {
    auto dist = dyn_cast<DistType>(value.getType());
    Value loaded = load(inner, loc, stack, dist ? dist.getTensor() : cast<RankedTensorType>(value.getType()), trip);
    if (dist)
      loaded = MoveOp::create(inner, loc, dist, loaded);
    if (isa<BlockArgument>(value))
      mapping.map(value, loaded);
    else
      kept.push_back({value, loaded});
  }
  // The stores belong to the forward loop only; their copies are erased unread.
  for (size_t i = own; i < loop.getNumResults(); ++i)
    mapping.map(loop.getRegionIterArg(i), loop.getInitArgs()[i]);
  SmallVector<Value> bodySeeds(loop.getNumResults());
  for (auto [k, i] : llvm::enumerate(wanted))
    bodySeeds[i] = backward.getRegionIterArg(k);
  if (failed(recomputeAndPull(*loop.getBody(), mapping, bodySeeds, inner, local, kept)))
    return failure();

  SmallVector<Value> yielded;
  for (size_t i : wanted)
    yielded.push_back(local.lookupOrZero(loc, mapping.lookup(loop.getRegionIterArg(i))));
  for (Value capture : captures)
    yielded.push_back(local.lookup(capture));
  scf::YieldOp::create(inner, loc, yielded);

  // First these: a value may be both captured and carried.
  for (auto [capture, cotangent] : llvm::zip_equal(captures, backward.getResults().drop_front(wanted.size())))
    cotangents.set(capture, cotangent);
  for (auto [i, cotangent] : llvm::zip(wanted, backward.getResults()))
    if (Value init = loop.getInitArgs()[i]; isActive(init))
      cotangents.add(loc, init, cotangent);
  return success();
}
