// Reverse derivatives of the collectives that move arrays between devices (G2).
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

// This device's position along several axes, major first.
Value positionAlong(OpBuilder &builder, Location loc, ArrayRef<StringAttr> axes) {
  Value position;
  for (StringAttr axis : axes) {
    Value next = ToIndexOp::create(builder, loc, builder.getIndexType(),
                                   AxisIndexOp::create(builder, loc, axis.getValue()), false);
    if (position)
      next = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, position,
                                indexOf(builder, loc, axisSizeIn(builder.getInsertionBlock(), axis.getValue()))),
          next);
    position = next;
  }
  return position;
}

Value splatInteger(OpBuilder &builder, Location loc, RankedTensorType type, int64_t value) {
  return splat(builder, loc, type, static_cast<double>(value));
}

// The destinations of the way back: for each device that receives the one that sends to it, -1 for the others.
Value inverseOf(OpBuilder &builder, Location loc, Value destinations) {
  RankedTensorType type = tensorType(destinations);
  DenseIntElementsAttr literal;
  if (matchPattern(destinations, m_Constant(&literal))) {
    SmallVector<int32_t> sources(literal.getNumElements(), -1);
    for (auto [source, destination] : llvm::enumerate(literal.getValues<int32_t>()))
      if (destination >= 0 && destination < static_cast<int64_t>(sources.size()))
        sources[destination] = source;
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(sources)));
  }
  // Entry [s, d] of a matrix is s where s sends to d: the columns' maxima.
  auto matrix = makeTensorType(type.getElementType(), {sizeOf(type, 0), sizeOf(type, 0)}, varyOf(type));
  Value sendsTo = BroadcastOp::create(builder, loc, matrix, destinations, ArrayRef<int64_t>{0});
  Value source = IotaOp::create(builder, loc, matrix, 0), destination = IotaOp::create(builder, loc, matrix, 1);
  Value sends = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, sendsTo, destination);
  Value sources = arith::SelectOp::create(builder, loc, sends, source, splatInteger(builder, loc, matrix, -1));
  return ReduceOp::create(builder, loc, ReductionKind::Max, sources, 0);
}

bool isLiteral(Value value) {
  while (isa_and_nonnull<WidenOp, BroadcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return matchPattern(value, m_Constant());
}

} // namespace

Value pmap::ownBlock(OpBuilder &builder, Location loc, Value blocks, ArrayRef<StringAttr> axes, int64_t dim,
                     RankedTensorType block, bool stacked) {
  Axes over = sorted(axes);
  Axes missing = differenceOf(over, varyOf(blocks.getType()));
  if (!missing.empty())
    blocks = WidenOp::create(builder, loc, blocks, missing);
  RankedTensorType type = tensorType(blocks);
  SmallVector<Size> sizes = sizesOf(type);
  sizes[dim] = stacked ? Size(1) : sizeOf(block, dim);
  SmallVector<Value> offsets = zeroOffsets(builder, loc, type.getRank());
  offsets[dim] = positionAlong(builder, loc, axes);
  if (!stacked)
    offsets[dim] = arith::MulIOp::create(builder, loc, offsets[dim], indexOf(builder, loc, sizes[dim]));
  Value own = SliceOp::create(builder, loc, withSizes(type, sizes), blocks, offsets, /*inBounds=*/true);
  if (!stacked)
    return own;
  return ReshapeOp::create(builder, loc, withVary(block, varyOf(type)), own);
}

// The operand's own slice of the result's cotangent. With groups every member holds a cotangent of the whole: the
// members' sum, scattered.
LogicalResult AllGatherOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  RankedTensorType input = tensorType(getInput());
  int64_t dim = getDim();
  Value ct = cotangents.front();
  if (!getGroups()) {
    Value own = ownBlock(builder, loc, ct, getCollectiveAxes(), dim, input, !getTiled());
    result.push_back(withVarianceOf(builder, loc, own, input));
    return success();
  }
  SmallVector<Size> sizes = sizesOf(ct.getType());
  sizes[dim] = getTiled() ? sizeOf(input, dim) : Size(1);
  Value sum =
      ReduceScatterOp::create(builder, loc, withSizes(tensorType(ct), sizes), ct, getAxes(), dim, getGroupsAttr());
  if (!getTiled())
    sum = ReshapeOp::create(builder, loc, withVary(input, varyOf(sum.getType())), sum);
  result.push_back(withVarianceOf(builder, loc, sum, input));
  return success();
}

// Every device's cotangent reaches its part of all operands.
LogicalResult ReduceScatterOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Value all = AllGatherOp::create(builder, getLoc(), cotangents.front(), getCollectiveAxes(), getDim(), /*tiled=*/true,
                                  getGroupsAttr());
  result.push_back(withVarianceOf(builder, getLoc(), all, getInput().getType()));
  return success();
}

// The pieces go back: `split` and `concat` swap.
LogicalResult AllToAllOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  RankedTensorType input = tensorType(getInput());
  Value ct = cotangents.front();
  Value back = AllToAllOp::create(builder, getLoc(), withVary(input, varyOf(ct.getType())), ct, getAxes(), getConcat(),
                                  getSplit(), getGroupsAttr());
  result.push_back(withVarianceOf(builder, getLoc(), back, input));
  return success();
}

// Back along the inverse table, zero where nothing was sent. `fill` gets the cotangents of the devices that received
// nothing.
LogicalResult PermuteOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  Value ct = cotangents.front();
  RankedTensorType type = tensorType(ct);
  Value inverse = inverseOf(builder, loc, getDestinations());
  Value zero = splat(builder, loc, makeScalarType(type.getElementType()), 0);
  Value back = PermuteOp::create(builder, loc, type, ct, inverse, zero, getAxes());
  result.push_back(withVarianceOf(builder, loc, back, getInput().getType()));
  result.push_back(Value());
  if (isLiteral(getFill())) {
    result.push_back(Value());
    return success();
  }
  auto scalar = makeScalarType(builder.getI32Type(), unionOf(varyOf(inverse.getType()), sorted(getCollectiveAxes())));
  Value source = ownBlock(builder, loc, inverse, getCollectiveAxes(), 0, scalar, /*stacked=*/true);
  Value received = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, source,
                                         splatInteger(builder, loc, tensorType(source), 0));
  Value sum = ct;
  if (type.getRank())
    sum =
        ReduceOp::create(builder, loc, ReductionKind::Sum, ct, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  Axes missing = differenceOf(varyOf(sum.getType()), varyOf(received.getType()));
  if (!missing.empty())
    received = WidenOp::create(builder, loc, received, missing);
  Value unfilled = arith::SelectOp::create(builder, loc, received, splat(builder, loc, tensorType(sum), 0), sum);
  result.push_back(withVarianceOf(builder, loc, unfilled, getFill().getType()));
  return success();
}
