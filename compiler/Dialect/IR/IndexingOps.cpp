// Builders, verifiers and folders of the indexing ops.
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

namespace {

// The checks that slice and update_slice share; `part` is the smaller array.
LogicalResult verifyPart(Operation *op, StringRef name, RankedTensorType whole, RankedTensorType part, size_t offsets,
                         ArrayRef<int64_t> strides) {
  auto number = [&](int i) { return (name + "-" + Twine(i)).str(); };
  size_t rank = whole.getRank();
  if (offsets != rank || strides.size() != rank)
    return op->emitOpError() << "(" << number(1) << ") expected " << rank << " offsets and strides, got " << offsets
                             << " and " << strides.size();
  if (llvm::any_of(strides, [](int64_t stride) { return stride < 1; }))
    return op->emitOpError() << "(" << number(2) << ") strides must be at least 1, got [" << strides << "]";
  if (whole.getRank() != part.getRank())
    return op->emitOpError() << "(" << number(3) << ") ranks differ: " << whole << " and " << part;
  return verifyElementAndVary(op, number(3), whole, part);
}

bool coversWhole(Type whole, Type part, ValueRange offsets, ArrayRef<int64_t> strides) {
  return whole == part && llvm::all_of(offsets, isZeroIndex) && llvm::all_of(strides, [](int64_t s) { return s == 1; });
}

LogicalResult verifyIndices(Operation *op, StringRef number, RankedTensorType indices) {
  if (!indices.getElementType().isInteger() || indices.getElementType().isInteger(1))
    return op->emitOpError() << "(" << number << ") expected integer indices, got " << indices;
  return success();
}

} // namespace

//===- checked_index, extract
//-----------------------------------------------------------------------------------------===//

void CheckedIndexOp::build(OpBuilder &builder, OperationState &state, Value index, Value size, int64_t dim) {
  build(builder, state, builder.getIndexType(), index, size, dim);
}

LogicalResult CheckedIndexOp::verify() {
  if (static_cast<int64_t>(getDim()) < 0)
    return emitOpError() << "(checked_index-1) expected a dimension, got " << static_cast<int64_t>(getDim());
  return success();
}

OpFoldResult CheckedIndexOp::fold(FoldAdaptor adaptor) {
  auto index = dyn_cast_or_null<IntegerAttr>(adaptor.getIndex()),
       size = dyn_cast_or_null<IntegerAttr>(adaptor.getSize());
  if (index && size && index.getInt() >= 0 && index.getInt() < size.getInt())
    return getIndex();
  // An index that was checked against the same size is within bounds.
  if (auto inner = getIndex().getDefiningOp<CheckedIndexOp>(); inner && inner.getSize() == getSize())
    return getIndex();
  return {};
}

void ExtractOp::build(OpBuilder &builder, OperationState &state, Value input, ValueRange indices) {
  build(builder, state, scalarOf(tensorType(input)), input, indices);
}

LogicalResult ExtractOp::verify() {
  RankedTensorType input = tensorType(getInput());
  if (static_cast<int64_t>(getIndices().size()) != input.getRank())
    return emitOpError() << "(extract-1) expected " << input.getRank() << " indices, got " << getIndices().size();
  return verifyInferred(*this, "extract-2", scalarOf(input), getType());
}

OpFoldResult ExtractOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // An element of a splat is the scalar itself, but a bounds check must not go with the index.
  if (llvm::any_of(getIndices(), [](Value index) { return index.getDefiningOp<CheckedIndexOp>(); }))
    return {};
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()))
    return splat.resizeSplat(tensorType(getResult()));
  if (auto splat = getInput().getDefiningOp<BroadcastOp>(); splat && splat.getInput().getType() == getType())
    return splat.getInput();
  return {};
}

//===- slice, update_slice
//--------------------------------------------------------------------------------------------===//

void SliceOp::build(OpBuilder &builder, OperationState &state, Type result, Value input, ValueRange offsets,
                    bool inBounds) {
  build(builder, state, result, input, offsets, SmallVector<int64_t>(offsets.size(), 1), inBounds);
}

LogicalResult SliceOp::verify() {
  return verifyPart(*this, "slice", tensorType(getInput()), tensorType(getResult()), getOffsets().size(), getStrides());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (coversWhole(getInput().getType(), getType(), getOffsets(), getStrides()))
    return getInput();
  RankedTensorType result = tensorType(getResult());
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()); splat && getInBounds() && result.hasStaticShape())
    return splat.resizeSplat(result);
  return {};
}

void UpdateSliceOp::build(OpBuilder &builder, OperationState &state, Value input, Value update, ValueRange offsets,
                          ArrayRef<int64_t> strides, bool inBounds) {
  build(builder, state, input.getType(), input, update, offsets, strides, inBounds);
}

void UpdateSliceOp::build(OpBuilder &builder, OperationState &state, Value input, Value update, ValueRange offsets,
                          bool inBounds) {
  build(builder, state, input.getType(), input, update, offsets, SmallVector<int64_t>(offsets.size(), 1), inBounds);
}

LogicalResult UpdateSliceOp::verify() {
  RankedTensorType input = tensorType(getInput());
  if (failed(verifyPart(*this, "update_slice", input, tensorType(getUpdate()), getOffsets().size(), getStrides())))
    return failure();
  return verifyInferred(*this, "update_slice-3", input, getType());
}

OpFoldResult UpdateSliceOp::fold(FoldAdaptor) {
  if (coversWhole(getType(), getUpdate().getType(), getOffsets(), getStrides()))
    return getUpdate();
  return {};
}

//===- gather, scatter
//------------------------------------------------------------------------------------------------===//

void GatherOp::build(OpBuilder &builder, OperationState &state, Value input, Value indices, int64_t dim,
                     bool isUnsigned) {
  build(builder, state, inferGather(tensorType(input), tensorType(indices), dim), input, indices, dim, isUnsigned);
}

LogicalResult GatherOp::verify() {
  RankedTensorType input = tensorType(getInput()), indices = tensorType(getIndices());
  if (failed(verifyDim(*this, "gather-1", getDim(), input.getRank())) ||
      failed(verifyIndices(*this, "gather-2", indices)))
    return failure();
  if (varyOf(input) != varyOf(indices))
    return emitOpError() << "(gather-3) variances differ (V2): " << input << " and " << indices;
  return verifyInferred(*this, "gather-4", inferGather(input, indices, getDim()), getType());
}

void ScatterOp::build(OpBuilder &builder, OperationState &state, ReductionKind kind, Value input, Value indices,
                      Value updates, int64_t dim, bool isUnsigned) {
  build(builder, state, input.getType(), kind, input, indices, updates, dim, isUnsigned);
}

LogicalResult ScatterOp::verify() {
  RankedTensorType input = tensorType(getInput()), indices = tensorType(getIndices());
  if (!llvm::is_contained(
          {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min, ReductionKind::MaxU, ReductionKind::MinU},
          getKind()))
    return emitOpError() << "(scatter-1) expected sum, max, min, maxu or minu, got "
                         << stringifyReductionKind(getKind());
  if (failed(verifyDim(*this, "scatter-2", getDim(), input.getRank())) ||
      failed(verifyIndices(*this, "scatter-3", indices)))
    return failure();
  if (varyOf(input) != varyOf(indices))
    return emitOpError() << "(scatter-4) variances differ (V2): " << input << " and " << indices;
  RankedTensorType updates = inferGather(input, indices, getDim());
  if (updates != getUpdates().getType())
    return emitOpError() << "(scatter-5) expected updates of type " << updates << ", got " << getUpdates().getType();
  return verifyInferred(*this, "scatter-5", input, getType());
}
