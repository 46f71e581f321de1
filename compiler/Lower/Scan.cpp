// Scans. Along the last dimension they are a call of the runtime, which has the threads share a long line; along
// another one a loop over slices that are whole arrays.
#include "compiler/Lower/Scan.h"
#include "compiler/Lower/Translator.h"
#include "mlir/IR/Matchers.h"
#include "pmap/runtime.h"

using namespace mlir;
using utils::IteratorType;

namespace pmap {

/// The loop of a scan over `line`, a vector: what is carried is the running value and the vector written so far.
static Value scanLine(OpBuilder &b, Location loc, ReductionKind kind, Type running, Value line, Value destination) {
  Type element = cast<RankedTensorType>(line.getType()).getElementType();
  Value identity = arith::ConstantOp::create(b, loc, reductionIdentity(b, kind, running));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
  Value length = tensor::DimOp::create(b, loc, line, 0);
  auto loop = scf::ForOp::create(
      b, loc, zero, length, one, ValueRange{identity, destination},
      [&](OpBuilder &builder, Location at, Value i, ValueRange carried) {
        Value value = extendTo(builder, at, tensor::ExtractOp::create(builder, at, line, i), running);
        Value sum = combine(builder, at, kind, carried[0], value);
        Value narrow = running == element ? sum : Value(arith::TruncFOp::create(builder, at, element, sum));
        Value updated = tensor::InsertOp::create(builder, at, narrow, carried[1], i);
        scf::YieldOp::create(builder, at, ValueRange{sum, updated});
      });
  return loop.getResult(1);
}

void scanByLoops(rt::CallOp call) {
  OpBuilder b(call);
  Location loc = call.getLoc();
  Value array = call.getInputs()[0], destination = call.getOutputs()[0];
  auto type = cast<RankedTensorType>(destination.getType());
  ReductionKind kind =
      getConstantIntValue(call.getScalars()[0]) == PMAP_REDUCE_PROD ? ReductionKind::Prod : ReductionKind::Sum;
  Type running = accumulatorType(kind, type.getElementType());
  int64_t rank = type.getRank();
  Value result;
  if (rank == 1) {
    result = scanLine(b, loc, kind, running, array, destination);
  } else {
    SmallVector<OpFoldResult> all = tensor::getMixedSizes(b, loc, array);
    auto loop = scf::ForallOp::create(b, loc, ArrayRef(all).drop_back(), destination, std::nullopt);
    OpBuilder inner(loop.getTerminator());
    SmallVector<OpFoldResult> offsets = getAsOpFoldResult(loop.getInductionVars()), strides(rank, b.getIndexAttr(1));
    offsets.push_back(b.getIndexAttr(0));
    SmallVector<OpFoldResult> counts(rank - 1, b.getIndexAttr(1));
    counts.push_back(all.back());
    auto lineType = RankedTensorType::get({type.getDimSize(rank - 1)}, type.getElementType());
    Value line = tensor::ExtractSliceOp::create(inner, loc, lineType, array, offsets, counts, strides);
    Value whole = loop.getRegionIterArgs()[0];
    Value into = tensor::ExtractSliceOp::create(inner, loc, lineType, whole, offsets, counts, strides);
    Value scanned = scanLine(inner, loc, kind, running, line, into);
    OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(atEnd, loc, scanned, whole, offsets, counts, strides);
    result = loop.getResult(0);
  }
  call.getResult(0).replaceAllUsesWith(result);
  call.erase();
}

void Translator::scanLines(ScanOp op, Value array, Value destination) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  auto i64 = [&](const Size &count) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), size(count, loc));
  };
  SmallVector<Size> extents = sizesOf(type);
  Size length = extents.pop_back_val(), lines(1);
  for (const Size &extent : extents)
    lines *= extent;
  SmallVector<Value> scalars{i32(op.getKind() == ReductionKind::Prod ? PMAP_REDUCE_PROD : PMAP_REDUCE_SUM),
                             i32(runtimeDType(type.getElementType())), i64(lines), i64(length)};
  set(op, rt::CallOp::create(b, loc, destination.getType(), scanCallee, scalars, array, destination).getResult(0));
}

// A loop along the dimension. Each step adds a slice to the one before it; the slices are whole arrays of the other
// dimensions, so that the step vectorizes unless there are none.
void Translator::translateScan(ScanOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t rank = type.getRank(), dim = op.getDim();
  Type element = type.getElementType(), running = accumulatorType(op.getKind(), element);
  Value array = tensor(op.getInput()), destination = emptyLike(type, loc);
  Value length = dimSize(type, dim, loc), zero = index(0, loc), one = index(1, loc);
  Value identity = arith::ConstantOp::create(b, loc, reductionIdentity(b, op.getKind(), running));
  if (dim == rank - 1)
    return scanLines(op, array, destination);
  SmallVector<OpFoldResult> all = mixedSizes(type, loc), others = all;
  others.erase(others.begin() + dim);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  auto sliceType = RankedTensorType::get(shape, element);
  Value init = linalg::FillOp::create(b, loc, identity, empty(loc, others, running)).getResult(0);
  AffineMap full = b.getMultiDimIdentityMap(rank - 1);
  SmallVector<IteratorType> parallel(rank - 1, IteratorType::parallel);
  auto loop = scf::ForOp::create(b, loc, zero, length, one, ValueRange{init, destination});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), counts = all, strides(rank, b.getIndexAttr(1));
  offsets[dim] = i;
  counts[dim] = b.getIndexAttr(1);
  Value slice = tensor::ExtractSliceOp::create(b, loc, sliceType, array, offsets, counts, strides);
  // In place: the running slice is the destination's own element.
  Value before = loop.getRegionIterArg(0);
  Value sum =
      linalg::GenericOp::create(b, loc, before.getType(), slice, before, ArrayRef{full, full}, parallel,
                                [&](OpBuilder &builder, Location at, ValueRange e) {
                                  Value value = extendTo(builder, at, e[0], running);
                                  linalg::YieldOp::create(builder, at, combine(builder, at, op.getKind(), e[1], value));
                                })
          .getResult(0);
  Value part = sum;
  if (running != element)
    part =
        linalg::GenericOp::create(b, loc, sliceType, sum, empty(loc, others, element), ArrayRef{full, full}, parallel,
                                  [&](OpBuilder &builder, Location at, ValueRange e) {
                                    Value narrow = arith::TruncFOp::create(builder, at, element, e[0]);
                                    linalg::YieldOp::create(builder, at, narrow);
                                  })
            .getResult(0);
  Value updated = tensor::InsertSliceOp::create(b, loc, part, loop.getRegionIterArg(1), offsets, counts, strides);
  scf::YieldOp::create(b, loc, ValueRange{sum, updated});
  set(op, loop.getResult(1));
}

} // namespace pmap
