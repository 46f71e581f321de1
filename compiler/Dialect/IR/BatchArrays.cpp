// Batching rules of the whole-array ops: the rows are one more dimension, the first.
#include "compiler/Dialect/IR/Batching.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

using Results = SmallVectorImpl<Value>;

// Appends an op of all rows, with the marks of the op of one.
LogicalResult give(Operation *from, Value value, Results &results) {
  copyMarks(from, value.getDefiningOp());
  results.push_back(value);
  return success();
}

} // namespace

//===- What the rules share
//-----------------------------------------------------------------------------------------===//

Value pmap::commonRow(OpBuilder &builder, Value rows) {
  RankedTensorType type = typeOf(rows), row = withSizes(type, ArrayRef(sizesOf(type)).drop_front());
  if (auto broadcast = rows.getDefiningOp<BroadcastOp>(); broadcast && !llvm::is_contained(broadcast.getDims(), 0)) {
    if (broadcast.getInput().getType() == row)
      return broadcast.getInput();
    SmallVector<int64_t> dims = llvm::map_to_vector(broadcast.getDims(), [](int64_t dim) { return dim - 1; });
    return BroadcastOp::create(builder, rows.getLoc(), row, broadcast.getInput(), dims);
  }
  DenseElementsAttr elements;
  if (row.hasStaticShape() && matchPattern(rows, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(builder, rows.getLoc(), elements.resizeSplat(row));
  return {};
}

Value pmap::repeatRow(OpBuilder &builder, Location loc, Value row, const Size &size) {
  RankedTensorType type = typeOf(row);
  SmallVector<Size> sizes = sizesOf(type);
  sizes.insert(sizes.begin(), size);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(1, sizes.size()));
  return BroadcastOp::create(builder, loc, withSizes(type, sizes), row, dims);
}

Value pmap::rowsOf(OpBuilder &builder, Location loc, const Batch &batch, Value inner, Value operand) {
  return batch.varies(inner) ? operand : repeatRow(builder, loc, operand, batch.size);
}

Value pmap::moveDim(OpBuilder &builder, Location loc, Value value, int64_t from, int64_t to) {
  if (from == to)
    return value;
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return TransposeOp::create(builder, loc, value, perm);
}

Value pmap::splitDim(OpBuilder &builder, Location loc, Value value, int64_t dim, ArrayRef<Size> sizes) {
  RankedTensorType type = typeOf(value);
  SmallVector<Size> all = sizesOf(type);
  all.erase(all.begin() + dim);
  all.insert(all.begin() + dim, sizes.begin(), sizes.end());
  return ReshapeOp::create(builder, loc, withSizes(type, all), value);
}

Value pmap::mergeDims(OpBuilder &builder, Location loc, Value value, int64_t dim, int64_t count) {
  RankedTensorType type = typeOf(value);
  SmallVector<Size> sizes = sizesOf(type);
  Size merged(1);
  for (const Size &size : ArrayRef(sizes).slice(dim, count))
    merged *= size;
  sizes.erase(sizes.begin() + dim, sizes.begin() + dim + count);
  sizes.insert(sizes.begin() + dim, merged);
  return ReshapeOp::create(builder, loc, withSizes(type, sizes), value);
}

void pmap::copyMarks(Operation *from, Operation *to) {
  for (NamedAttribute mark : from->getDiscardableAttrs())
    to->setDiscardableAttr(mark.getName(), mark.getValue());
}

//===- Shapes
//-------------------------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Type type = batch.outerType(cast<RankedTensorType>(getType()));
  return give(*this, BroadcastOp::create(builder, getLoc(), type, operands[0], withRows(getDims())), results);
}

LogicalResult TransposeOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this, TransposeOp::create(builder, getLoc(), operands[0], withRows(getPerm())), results);
}

LogicalResult ReshapeOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Type type = batch.outerType(cast<RankedTensorType>(getType()));
  return give(*this, ReshapeOp::create(builder, getLoc(), type, operands[0]), results);
}

LogicalResult CastOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Type type = batch.outerType(cast<RankedTensorType>(getType()));
  return give(*this, CastOp::create(builder, getLoc(), type, operands[0]), results);
}

LogicalResult ConcatOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this, ConcatOp::create(builder, getLoc(), ValueRange(operands), getDim() + 1), results);
}

LogicalResult ReverseOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  DenseI64ArrayAttr dims = builder.getDenseI64ArrayAttr(behindRows(getDims()));
  return give(*this, ReverseOp::create(builder, getLoc(), operands[0].getType(), operands[0], dims), results);
}

LogicalResult RotateOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  if (differsBetweenRows(operands))
    return failure();
  auto dim = builder.getI64IntegerAttr(getDim() + 1);
  return give(*this, RotateOp::create(builder, getLoc(), operands[0].getType(), operands[0], operands[1], dim),
              results);
}

LogicalResult PadOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  auto margins = [&](ArrayAttr texts) {
    SmallVector<Size> sizes = {Size(0)};
    for (StringRef text : texts.getAsValueRange<StringAttr>())
      sizes.push_back(Size::parse(text)->substitute("@" + batch.axis.str(), batch.size));
    return sizes;
  };
  SmallVector<Size> low = margins(getLow()), high = margins(getHigh());
  RankedTensorType type = batch.outerType(cast<RankedTensorType>(getType()));
  if (Value scalar = commonRow(builder, operands[1])) {
    auto texts = [&](ArrayRef<Size> sizes) {
      SmallVector<std::string> strings = llvm::map_to_vector(sizes, [](const Size &size) { return size.str(); });
      return builder.getStrArrayAttr(SmallVector<StringRef>(strings.begin(), strings.end()));
    };
    Value padded = PadOp::create(builder, getLoc(), type, operands[0], scalar, texts(low), texts(high));
    return give(*this, padded, results);
  }
  // Every row has margins of its own value: the rows are put into an array of those.
  Value whole = BroadcastOp::create(builder, getLoc(), type, operands[1], ArrayRef<int64_t>{0});
  SmallVector<Value> offsets =
      llvm::map_to_vector(low, [&](const Size &size) { return indexOf(builder, getLoc(), size); });
  results.push_back(UpdateSliceOp::create(builder, getLoc(), whole, operands[0], offsets, /*inBounds=*/true));
  return success();
}

LogicalResult StopGradientOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this, StopGradientOp::create(builder, getLoc(), operands[0].getType(), operands[0]), results);
}

//===- Along dimensions
//---------------------------------------------------------------------------------------------===//

LogicalResult ReduceOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this, ReduceOp::create(builder, getLoc(), getKind(), operands[0], behindRows(getDims())), results);
}

LogicalResult ArgReduceOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this, ArgReduceOp::create(builder, getLoc(), getKind(), operands[0], getDim() + 1), results);
}

LogicalResult ScanOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  Value rows = operands[0];
  return give(*this, ScanOp::create(builder, getLoc(), rows.getType(), getKind(), rows, getDim() + 1), results);
}

LogicalResult SortOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands, Results &results) {
  return give(*this,
              SortOp::create(builder, getLoc(), operands[0].getType(), operands[0],
                             builder.getI64IntegerAttr(getDim() + 1), getDescendingAttr(), getIsUnsignedAttr()),
              results);
}

LogicalResult ArgSortOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Type type = batch.outerType(cast<RankedTensorType>(getType()));
  return give(*this,
              ArgSortOp::create(builder, getLoc(), type, operands[0], builder.getI64IntegerAttr(getDim() + 1),
                                getDescendingAttr(), getIsUnsignedAttr()),
              results);
}

//===- Contractions
//-------------------------------------------------------------------------------------------------===//

// The rows are a batch dimension where both sides have them. Where one has, they are a free dimension of it, so that
// many products of vectors with one matrix become a product of two matrices.
LogicalResult DotOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Value lhs = operands[0], rhs = operands[1];
  Value oneLhs = commonRow(builder, lhs), oneRhs = commonRow(builder, rhs);
  auto dot = [&](Value a, Value b, ArrayRef<int64_t> aBatch, ArrayRef<int64_t> bBatch, ArrayRef<int64_t> aContract,
                 ArrayRef<int64_t> bContract) -> Value {
    Value product = DotOp::create(builder, getLoc(), a, b, aBatch, bBatch, aContract, bContract);
    copyMarks(*this, product.getDefiningOp());
    return product;
  };
  ArrayRef<int64_t> lhsBatch = getLhsBatch(), rhsBatch = getRhsBatch();
  ArrayRef<int64_t> lhsContract = getLhsContract(), rhsContract = getRhsContract();
  int64_t batches = lhsBatch.size();
  int64_t lhsRest = typeOf(getLhs()).getRank() - batches - lhsContract.size();
  int64_t rhsRest = typeOf(getRhs()).getRank() - batches - rhsContract.size();

  if (oneLhs && oneRhs) {
    Value row = dot(oneLhs, oneRhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
    results.push_back(repeatRow(builder, getLoc(), row, batch.size));
  } else if (oneRhs) {
    Value product = dot(lhs, oneRhs, behindRows(lhsBatch), rhsBatch, behindRows(lhsContract), rhsContract);
    results.push_back(moveDim(builder, getLoc(), product, batches, 0));
  } else if (oneLhs && rhsRest == 0 && lhsRest > 0) {
    // A matrix times vectors: with the sides exchanged the rows come out first.
    Value product = dot(rhs, oneLhs, behindRows(rhsBatch), lhsBatch, behindRows(rhsContract), lhsContract);
    results.push_back(moveDim(builder, getLoc(), product, batches, 0));
  } else if (oneLhs) {
    Value product = dot(oneLhs, rhs, lhsBatch, behindRows(rhsBatch), lhsContract, behindRows(rhsContract));
    results.push_back(moveDim(builder, getLoc(), product, batches + lhsRest, 0));
  } else {
    results.push_back(
        dot(lhs, rhs, withRows(lhsBatch), withRows(rhsBatch), behindRows(lhsContract), behindRows(rhsContract)));
  }
  return success();
}
