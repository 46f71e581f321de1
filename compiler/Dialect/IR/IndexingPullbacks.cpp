// The derivatives of the indexing ops: reading a part is the transpose of adding into it.
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;

Value zerosLike(OpBuilder &builder, Location loc, Value value) {
  return splat(builder, loc, cast<RankedTensorType>(value.getType()), 0);
}

// The widest margin that a slice may leave of an array that it is nearly all of.
constexpr int64_t widestMargin = 8;

// The transpose of a slice that is all of its array but a few elements at the ends of each dimension: its cotangent
// within margins of zeros; null for any other slice. Sums of such arrays are elementwise, so that what a stencil's
// neighbours contribute becomes one loop, where adding each to a part of the sum would be one loop for each.
Value paddedCotangent(OpBuilder &builder, SliceOp slice, Value cotangent) {
  if (!slice.getInBounds() || llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return Value();
  auto type = cast<RankedTensorType>(slice.getInput().getType());
  SmallVector<Attribute> low, high;
  for (auto [dim, offset] : llvm::enumerate(slice.getOffsets())) {
    Size size = sizeOf(slice.getType(), dim);
    std::optional<int64_t> before = getConstantIntValue(offset), margin = (sizeOf(type, dim) - size).constant();
    if (!before || !margin || *margin > std::min(widestMargin, size.constant().value_or(widestMargin)))
      return Value();
    low.push_back(builder.getStringAttr(Size(*before).str()));
    high.push_back(builder.getStringAttr(Size(*margin - *before).str()));
  }
  Value zero = splat(builder, slice.getLoc(), scalarOf(type), 0);
  return PadOp::create(builder, slice.getLoc(), type, cotangent, zero, builder.getArrayAttr(low),
                       builder.getArrayAttr(high));
}

} // namespace

LogicalResult ExtractOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  RankedTensorType type = cast<RankedTensorType>(getInput().getType());
  if (type.getRank() == 0) {
    result.push_back(cotangents.front());
    return success();
  }
  RankedTensorType one = withSizes(type, SmallVector<Size>(type.getRank(), Size(1)));
  Value element = splatScalar(builder, getLoc(), one, cotangents.front());
  result.push_back(UpdateSliceOp::create(builder, getLoc(), zerosLike(builder, getLoc(), getInput()), element,
                                         getIndices(),
                                         /*inBounds=*/true));
  return success();
}

// The derivatives check the bounds where the op itself does: when only the gradient is wanted, the op is gone.
LogicalResult SliceOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  if (Value padded = paddedCotangent(builder, *this, cotangents.front())) {
    result.push_back(padded);
    return success();
  }
  result.push_back(UpdateSliceOp::create(builder, getLoc(), zerosLike(builder, getLoc(), getInput()),
                                         cotangents.front(), getOffsets(), getStrides(), getInBounds()));
  return success();
}

LogicalResult UpdateSliceOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  // The part is read before it is replaced, so that this can be done in place.
  Value ct = cotangents.front(), hole = zerosLike(builder, getLoc(), getUpdate());
  Value part =
      SliceOp::create(builder, getLoc(), getUpdate().getType(), ct, getOffsets(), getStridesAttr(), getInBoundsAttr());
  result.push_back(UpdateSliceOp::create(builder, getLoc(), ct, hole, getOffsets(), getStrides(), getInBounds()));
  result.push_back(part);
  return success();
}

LogicalResult GatherOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(ScatterOp::create(builder, getLoc(), ReductionKind::Sum, zerosLike(builder, getLoc(), getInput()),
                                     getIndices(), cotangents.front(), getDim(), getIsUnsigned()));
  result.push_back(Value());
  return success();
}

LogicalResult ScatterOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Value ct = cotangents.front();
  auto gathered = [&](Value value) -> Value {
    return GatherOp::create(builder, getLoc(), value, getIndices(), getDim(), getIsUnsigned());
  };
  if (getKind() == ReductionKind::Sum) {
    result.append({ct, Value(), gathered(ct)});
    return success();
  }
  if (getKind() != ReductionKind::Max && getKind() != ReductionKind::Min)
    return failure();
  // All that equal the extremum, the old element included, share the cotangent equally.
  auto wins = [&](Expr x, Expr extremum) {
    return select(x.compare(arith::CmpFPredicate::OEQ, extremum), x.number(1), x.number(0));
  };
  Expr old(builder, getLoc(), getInput()), updates = old.with(getUpdates());
  Expr oldWins = wins(old, old.with(getResult()));
  Expr updateWins = wins(updates, updates.with(gathered(getResult())));
  Value count = ScatterOp::create(builder, getLoc(), ReductionKind::Sum, oldWins, getIndices(), updateWins, getDim(),
                                  getIsUnsigned());
  // An element that nobody equals is NaN; its count would divide by zero to the NaN that is due.
  Expr share = old.with(ct) / old.with(count);
  result.append({share * oldWins, Value(), updates.with(gathered(share)) * updateWins});
  return success();
}
