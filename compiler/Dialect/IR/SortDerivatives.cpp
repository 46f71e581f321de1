// The derivatives of sort: each sorted element came from one place. Reverse scatters the cotangents back there, forward
// gathers the tangents from there, both in the flattened array of rows.
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

// Where the elements of a sorted array came from.
struct SortedPlaces {
  OpBuilder &builder;
  Location loc;
  SmallVector<int64_t> perm;    // puts the sorted dimension last
  RankedTensorType moved, flat; // the array after that, and flattened
  Value places;                 // per element of `flat`, the place it came from

  SortedPlaces(OpBuilder &builder, SortOp op) : builder(builder), loc(op.getLoc()) {
    RankedTensorType type = cast<RankedTensorType>(op.getType());
    int64_t dim = op.getDim();
    perm = restOf(type.getRank(), dim);
    perm.push_back(dim);
    Type i32 = builder.getI32Type();
    Value order = ArgSortOp::create(builder, loc, withElementType(type, i32), op.getInput(), op.getDimAttr(),
                                    op.getDescendingAttr(), op.getIsUnsignedAttr());
    order = TransposeOp::create(builder, loc, order, perm);
    moved = withElementType(cast<RankedTensorType>(order.getType()), type.getElementType());
    flat = withSizes(moved, elementCountOf(moved));
    RankedTensorType indices = withElementType(flat, builder.getI64Type());
    // Row-major place of the row's start: the flat position rounded down to a multiple of the row's length.
    Value position = IotaOp::create(builder, loc, indices, 0);
    Value length = splatIndex(builder, loc, indices, indexOf(builder, loc, sizeOf(type, dim)));
    Value start = arith::SubIOp::create(builder, loc, position, arith::RemSIOp::create(builder, loc, position, length));
    Value flatOrder = ReshapeOp::create(builder, loc, withElementType(flat, i32), order);
    places = arith::AddIOp::create(builder, loc, start, arith::ExtSIOp::create(builder, loc, indices, flatOrder));
  }

  Value flatten(Value value) {
    return ReshapeOp::create(builder, loc, flat, TransposeOp::create(builder, loc, value, perm));
  }
  Value unflatten(Value value) {
    return TransposeOp::create(builder, loc, ReshapeOp::create(builder, loc, moved, value), invertPermutation(perm));
  }
};

} // namespace

LogicalResult SortOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, SmallVectorImpl<Value> &result) {
  SortedPlaces sorted(builder, *this);
  Value ct = sorted.flatten(cotangents.front());
  Value zeros = splat(builder, getLoc(), sorted.flat, 0);
  result.push_back(
      sorted.unflatten(ScatterOp::create(builder, getLoc(), ReductionKind::Sum, zeros, sorted.places, ct, /*dim=*/0)));
  return success();
}

LogicalResult SortOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, SmallVectorImpl<Value> &result) {
  SortedPlaces sorted(builder, *this);
  Value tangent = sorted.flatten(tangents.front());
  result.push_back(sorted.unflatten(GatherOp::create(builder, getLoc(), tangent, sorted.places, /*dim=*/0)));
  return success();
}
