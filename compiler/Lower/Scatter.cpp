// Scatters.
#include "compiler/Lower/Translator.h"

using namespace mlir;
using utils::IteratorType;

namespace pmap {

// A loop over the indices in row-major order, so that repeated ones combine in order and the bits depend on nothing
// else.
void Translator::translateScatter(ScatterOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  auto indexType = cast<RankedTensorType>(op.getIndices().getType());
  int64_t rank = type.getRank(), dim = op.getDim(), indexRank = indexType.getRank();
  Type element = type.getElementType();
  checkIndices(op, op.getIndices(), op.getIsUnsigned(), dimSize(type, dim, loc), dim);
  Value array = tensor(op.getInput());
  Value indices = indexRank ? tensor(op.getIndices()) : scalar(op.getIndices());
  auto updatesType = cast<RankedTensorType>(op.getUpdates().getType());
  Value updates = updatesType.getRank() ? tensor(op.getUpdates()) : scalar(op.getUpdates());
  Value zero = index(0, loc), one = index(1, loc);
  SmallVector<OpFoldResult> all = mixedSizes(type, loc);

  OpBuilder::InsertionGuard guard(b);
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> point;
  Value carried = array;
  for (int64_t i = 0; i < indexRank; ++i) {
    auto loop = scf::ForOp::create(b, loc, zero, dimSize(indexType, i, loc), one, carried);
    loops.push_back(loop);
    point.push_back(loop.getInductionVar());
    carried = loop.getRegionIterArg(0);
    b.setInsertionPointToStart(loop.getBody());
  }
  Value row = indexRank ? Value(tensor::ExtractOp::create(b, loc, indices, point)) : indices;
  row = op.getIsUnsigned() ? Value(arith::IndexCastUIOp::create(b, loc, b.getIndexType(), row))
                           : Value(arith::IndexCastOp::create(b, loc, b.getIndexType(), row));
  Value updated;
  if (rank == 1) {
    Value update = updatesType.getRank() ? Value(tensor::ExtractOp::create(b, loc, updates, point)) : updates;
    Value old = tensor::ExtractOp::create(b, loc, carried, row);
    updated = tensor::InsertOp::create(b, loc, combine(b, loc, op.getKind(), old, update), carried, row);
  } else {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    auto sliceType = RankedTensorType::get(shape, element);
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), counts = all, strides(rank, b.getIndexAttr(1));
    offsets[dim] = row;
    counts[dim] = b.getIndexAttr(1);
    // The update's part: the dimensions before `dim`, the point, the dimensions after.
    SmallVector<OpFoldResult> partOffsets(updatesType.getRank(), b.getIndexAttr(0)),
        partCounts = all, ones(updatesType.getRank(), b.getIndexAttr(1));
    partCounts.erase(partCounts.begin() + dim);
    partCounts.insert(partCounts.begin() + dim, indexRank, b.getIndexAttr(1));
    for (auto [i, value] : llvm::enumerate(point))
      partOffsets[dim + i] = value;
    Value part = indexRank
                     ? Value(tensor::ExtractSliceOp::create(b, loc, sliceType, updates, partOffsets, partCounts, ones))
                     : updates;
    Value old = tensor::ExtractSliceOp::create(b, loc, sliceType, carried, offsets, counts, strides);
    AffineMap full = b.getMultiDimIdentityMap(rank - 1);
    SmallVector<IteratorType> parallel(rank - 1, IteratorType::parallel);
    Value sum = linalg::GenericOp::create(b, loc, sliceType, part, old, ArrayRef{full, full}, parallel,
                                          [&](OpBuilder &builder, Location at, ValueRange e) {
                                            linalg::YieldOp::create(builder, at,
                                                                    combine(builder, at, op.getKind(), e[1], e[0]));
                                          })
                    .getResult(0);
    updated = tensor::InsertSliceOp::create(b, loc, sum, carried, offsets, counts, strides);
  }
  for (scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, loc, updated);
    updated = loop.getResult(0);
  }
  b.setInsertionPointAfterValue(updated);
  set(op, updated);
}

} // namespace pmap
