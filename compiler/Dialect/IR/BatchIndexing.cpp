// Batching rules of the indexing ops. Indices that are the same for all rows take the same part of every row.
#include "compiler/Dialect/IR/Batching.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Results = SmallVectorImpl<Value>;

// Offsets and strides of a part that takes all rows.
SmallVector<Value> offsetsOfAllRows(OpBuilder &builder, Location loc, ArrayRef<Value> offsets) {
  SmallVector<Value> all = {arith::ConstantIndexOp::create(builder, loc, 0)};
  llvm::append_range(all, offsets);
  return all;
}

SmallVector<int64_t> stridesOfAllRows(ArrayRef<int64_t> strides) {
  SmallVector<int64_t> all = {1};
  llvm::append_range(all, strides);
  return all;
}

// Every row has its own data and its own indices: each element is read at its own place. A gather in the flattened
// array would take an index that is out of range in its row for one of the next.
Value gatherInRows(OpBuilder &builder, GatherOp op, RankedTensorType type, Value data, Value indices) {
  Location loc = op.getLoc();
  int64_t dim = op.getDim() + 1, inserted = typeOf(indices).getRank() - 1;
  SmallVector<Value> bounds =
      llvm::map_to_vector(sizesOf(type), [&](const Size &size) { return indexOf(builder, loc, size); });
  Value length = indexOf(builder, loc, sizeOf(data.getType(), dim));
  auto each = ForEachOp::create(builder, loc, TypeRange(type), bounds);
  OpBuilder::InsertionGuard guard(builder);
  Block &body = each.getBody().front();
  builder.setInsertionPointToEnd(&body);
  SmallVector<Value> place(body.getArguments());
  SmallVector<Value> which = {place[0]};
  which.append(place.begin() + dim, place.begin() + dim + inserted);
  Value index = ToIndexOp::create(builder, loc, builder.getIndexType(), ExtractOp::create(builder, loc, indices, which),
                                  op.getIsUnsigned());
  Value checked = CheckedIndexOp::create(builder, loc, index, length, op.getDim());
  place.erase(place.begin() + dim, place.begin() + dim + inserted);
  place.insert(place.begin() + dim, checked);
  Value element = ExtractOp::create(builder, loc, data, place);
  YieldOp::create(builder, loc, element);
  return each.getResult(0);
}

} // namespace

LogicalResult SliceOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  if (differsBetweenRows(operands))
    return failure();
  Type type = batch.outerType(cast<RankedTensorType>(getType()));
  auto slice =
      SliceOp::create(builder, getLoc(), type, operands[0], offsetsOfAllRows(builder, getLoc(), operands.drop_front()),
                      builder.getDenseI64ArrayAttr(stridesOfAllRows(getStrides())), getInBoundsAttr());
  copyMarks(*this, slice);
  results.push_back(slice);
  return success();
}

LogicalResult UpdateSliceOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  if (differsBetweenRows(operands))
    return failure();
  auto update = UpdateSliceOp::create(builder, getLoc(), operands[0], operands[1],
                                      offsetsOfAllRows(builder, getLoc(), operands.drop_front(2)),
                                      stridesOfAllRows(getStrides()), getInBounds());
  copyMarks(*this, update);
  results.push_back(update);
  return success();
}

LogicalResult GatherOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Value data = operands[0], indices = operands[1];
  int64_t dim = getDim();
  auto gather = [&](Value from, Value which, int64_t along) -> Value {
    auto gathered = GatherOp::create(builder, getLoc(), from, which, along, getIsUnsigned());
    copyMarks(*this, gathered);
    return gathered;
  };
  if (Value common = commonRow(builder, indices)) {
    results.push_back(gather(data, common, dim + 1));
  } else if (Value common = commonRow(builder, data)) {
    // The rows are the first of the indices' dimensions.
    results.push_back(moveDim(builder, getLoc(), gather(common, indices, dim), dim, 0));
  } else {
    RankedTensorType type = batch.outerType(cast<RankedTensorType>(getType()));
    results.push_back(gatherInRows(builder, *this, type, data, indices));
  }
  return success();
}

// With indices of their own the rows are done one by one, in parallel: each adds in the order of its own updates.
LogicalResult ScatterOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  Value common = commonRow(builder, operands[1]);
  if (!common)
    return failure();
  auto scatter =
      ScatterOp::create(builder, getLoc(), getKind(), operands[0], common, operands[2], getDim() + 1, getIsUnsigned());
  copyMarks(*this, scatter);
  results.push_back(scatter);
  return success();
}
