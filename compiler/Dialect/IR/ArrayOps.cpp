// Builders, verifiers and folders of the whole-array ops.
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

//===- broadcast
//------------------------------------------------------------------------------------------------------===//

void BroadcastOp::build(OpBuilder &builder, OperationState &state, Type result, Value input) {
  int64_t rank = tensorType(input).getRank();
  int64_t skipped = cast<RankedTensorType>(result).getRank() - rank;
  build(builder, state, result, input, llvm::to_vector(llvm::seq(skipped, skipped + rank)));
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (static_cast<int64_t>(getDims().size()) != input.getRank())
    return emitOpError() << "(broadcast-1) expected " << input.getRank() << " entries in dims, got "
                         << getDims().size();
  if (failed(verifySortedDims(*this, "broadcast-2", getDims(), result.getRank())))
    return failure();
  for (auto [from, to] : llvm::enumerate(getDims()))
    if (input.getDimSize(from) != 1 && sizeOf(input, from) != sizeOf(result, to))
      return emitOpError() << "(broadcast-3) dimension " << from << " of size " << sizeOf(input, from).str()
                           << " cannot become one of size " << sizeOf(result, to).str();
  return verifyElementAndVary(*this, "broadcast-4", input, result);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  RankedTensorType result = tensorType(getResult());
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()); splat && result.hasStaticShape())
    return splat.resizeSplat(result);
  auto inner = getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDims())
    dims.push_back(getDims()[dim]);
  getInputMutable().assign(inner.getInput());
  setDims(dims);
  return getResult();
}

//===- reduce
//---------------------------------------------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReductionKind kind, Value input,
                     ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sortedDims(dims);
  llvm::sort(sortedDims);
  build(builder, state, inferReduce(tensorType(input), sortedDims), kind, input, sortedDims);
}

LogicalResult ReduceOp::verify() {
  RankedTensorType input = tensorType(getInput());
  if (failed(verifySortedDims(*this, "reduce-1", getDims(), input.getRank())) ||
      failed(verifyInferred(*this, "reduce-2", inferReduce(input, getDims()), getType())))
    return failure();
  if (getKind() == ReductionKind::Mean || !kindSuits(getKind(), input.getElementType()))
    return emitOpError() << "(reduce-3) kind " << stringifyReductionKind(getKind())
                         << " does not suit elements of type " << input.getElementType();
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  if (getDims().empty())
    return getInput();
  return {};
}

//===- arg_reduce
//-----------------------------------------------------------------------------------------------------===//

void ArgReduceOp::build(OpBuilder &builder, OperationState &state, ReductionKind kind, Value input, int64_t dim) {
  build(builder, state, inferArgReduce(tensorType(input), dim), kind, input, dim);
}

LogicalResult ArgReduceOp::verify() {
  RankedTensorType input = tensorType(getInput());
  int64_t dim = getDim();
  if (!llvm::is_contained({ReductionKind::Max, ReductionKind::Min, ReductionKind::MaxU, ReductionKind::MinU},
                          getKind()))
    return emitOpError() << "(arg_reduce-1) expected max, min, maxu or minu, got " << stringifyReductionKind(getKind());
  if (failed(verifyDim(*this, "arg_reduce-2", dim, input.getRank())))
    return failure();
  return verifyInferred(*this, "arg_reduce-3", inferArgReduce(input, dim), getType());
}

//===- scan
//-----------------------------------------------------------------------------------------------------------===//

LogicalResult ScanOp::verify() {
  if (getKind() != ReductionKind::Sum && getKind() != ReductionKind::Prod)
    return emitOpError() << "(scan-1) expected sum or prod, got " << stringifyReductionKind(getKind());
  return verifyDim(*this, "scan-2", getDim(), tensorType(getInput()).getRank());
}

//===- dot
//------------------------------------------------------------------------------------------------------------===//

void DotOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, ArrayRef<int64_t> lhsBatch,
                  ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsContract, ArrayRef<int64_t> rhsContract) {
  build(builder, state, inferDot(tensorType(lhs), tensorType(rhs), lhsBatch, rhsBatch, lhsContract, rhsContract), lhs,
        rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
}

LogicalResult DotOp::verify() {
  RankedTensorType lhs = tensorType(getLhs()), rhs = tensorType(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContract().size() != getRhsContract().size())
    return emitOpError() << "(dot-1) both sides need as many batch and as many contracted dimensions";
  auto verifyNamedOnce = [&](ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t rank) {
    SmallVector<int64_t> dims(batch);
    llvm::append_range(dims, contract);
    llvm::sort(dims);
    return verifySortedDims(*this, "dot-2", dims, rank);
  };
  if (failed(verifyNamedOnce(getLhsBatch(), getLhsContract(), lhs.getRank())) ||
      failed(verifyNamedOnce(getRhsBatch(), getRhsContract(), rhs.getRank())))
    return failure();
  auto verifyPaired = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) -> LogicalResult {
    for (auto [i, j] : llvm::zip_equal(left, right))
      if (sizeOf(lhs, i) != sizeOf(rhs, j))
        return emitOpError() << "(dot-3) paired dimensions have sizes " << sizeOf(lhs, i).str() << " and "
                             << sizeOf(rhs, j).str();
    return success();
  };
  if (failed(verifyPaired(getLhsBatch(), getRhsBatch())) || failed(verifyPaired(getLhsContract(), getRhsContract())) ||
      failed(verifyElementAndVary(*this, "dot-4", lhs, rhs)))
    return failure();
  return verifyInferred(
      *this, "dot-5", inferDot(lhs, rhs, getLhsBatch(), getRhsBatch(), getLhsContract(), getRhsContract()), getType());
}

//===- transpose
//------------------------------------------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<int64_t> perm) {
  build(builder, state, inferTranspose(tensorType(input), perm), input, perm);
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = tensorType(getInput());
  SmallVector<int64_t> dims(getPerm());
  llvm::sort(dims);
  if (dims != llvm::to_vector(llvm::seq<int64_t>(input.getRank())))
    return emitOpError() << "(transpose-1) expected a permutation of " << input.getRank() << " dimensions, got ["
                         << getPerm() << "]";
  return verifyInferred(*this, "transpose-2", inferTranspose(input, getPerm()), getType());
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(getPerm().size())))
    return getInput();
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()))
    return splat.resizeSplat(tensorType(getResult()));
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> perm;
  for (int64_t dim : getPerm())
    perm.push_back(inner.getPerm()[dim]);
  getInputMutable().assign(inner.getInput());
  setPerm(perm);
  return getResult();
}

//===- reshape
//--------------------------------------------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (failed(verifyElementAndVary(*this, "reshape-1", input, result)))
    return failure();
  std::optional<int64_t> before = elementCountOf(input).constant(), after = elementCountOf(result).constant();
  if (before && after && *before != *after)
    return emitOpError() << "(reshape-2) " << *before << " elements cannot become " << *after;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  RankedTensorType result = tensorType(getResult());
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()); splat && result.hasStaticShape())
    return splat.resizeSplat(result);
  // Two reshapes are one where the inner one checks nothing.
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner || elementCountOf(inner.getInput().getType()) != elementCountOf(inner.getType()))
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

//===- concat
//---------------------------------------------------------------------------------------------------------===//

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, int64_t dim) {
  SmallVector<RankedTensorType> types;
  for (Value input : inputs)
    types.push_back(tensorType(input));
  build(builder, state, inferConcat(types, dim), inputs, dim);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "(concat-1) expected an operand";
  RankedTensorType first = tensorType(getInputs().front());
  int64_t dim = getDim();
  if (failed(verifyDim(*this, "concat-1", dim, first.getRank())))
    return failure();
  SmallVector<RankedTensorType> types;
  for (Value input : getInputs()) {
    RankedTensorType type = tensorType(input);
    types.push_back(type);
    bool agrees = type.getRank() == first.getRank();
    for (int64_t other = 0; agrees && other < first.getRank(); ++other)
      agrees = other == dim || sizeOf(type, other) == sizeOf(first, other);
    if (!agrees)
      return emitOpError() << "(concat-2) shapes differ off dimension " << dim << ": " << first << " and " << type;
    if (failed(verifyElementAndVary(*this, "concat-2", first, type)))
      return failure();
  }
  return verifyInferred(*this, "concat-3", inferConcat(types, dim), getType());
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  return {};
}

//===- reverse
//--------------------------------------------------------------------------------------------------------===//

LogicalResult ReverseOp::verify() {
  return verifySortedDims(*this, "reverse-1", getDims(), tensorType(getInput()).getRank());
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  if (getDims().empty())
    return getInput();
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()))
    return splat;
  auto inner = getInput().getDefiningOp<ReverseOp>();
  if (inner && inner.getDims() == getDims())
    return inner.getInput();
  return {};
}

LogicalResult RotateOp::verify() { return verifyDim(*this, "rotate-1", getDim(), tensorType(getInput()).getRank()); }

OpFoldResult RotateOp::fold(FoldAdaptor adaptor) {
  int64_t size = getType().getDimSize(getDim());
  auto offset = dyn_cast_or_null<IntegerAttr>(adaptor.getOffset());
  if (offset && (offset.getInt() == 0 || (!ShapedType::isDynamic(size) && (size == 0 || offset.getInt() % size == 0))))
    return getInput();
  if (DenseElementsAttr splat = splatOf(adaptor.getInput()))
    return splat;
  return {};
}

//===- iota, pad
//------------------------------------------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  RankedTensorType result = tensorType(getResult());
  if (failed(verifyDim(*this, "iota-1", getDim(), result.getRank())))
    return failure();
  if (!result.getElementType().isIntOrFloat() || result.getElementType().isInteger(1))
    return emitOpError() << "(iota-2) expected integers or floats, got " << result.getElementType();
  return success();
}

LogicalResult PadOp::verify() {
  RankedTensorType input = tensorType(getInput()), value = tensorType(getValue());
  SmallVector<Size> low, high;
  auto readSizes = [&](ArrayAttr texts, SmallVector<Size> &sizes) -> LogicalResult {
    if (static_cast<int64_t>(texts.size()) != input.getRank())
      return emitOpError() << "(pad-1) expected " << input.getRank() << " sizes, got " << texts.size();
    for (StringRef text : texts.getAsValueRange<StringAttr>()) {
      std::optional<Size> size = Size::parse(text);
      if (!size || size->str() != text)
        return emitOpError() << "(pad-1) size \"" << text << "\" is not in normal form";
      sizes.push_back(*size);
    }
    return success();
  };
  if (failed(readSizes(getLow(), low)) || failed(readSizes(getHigh(), high)) ||
      failed(verifyInferred(*this, "pad-2", inferPad(input, low, high), getType())))
    return failure();
  return verifyInferred(*this, "pad-3", scalarOf(input), value);
}

//===- sort, argsort, cast
//--------------------------------------------------------------------------------------------===//

LogicalResult SortOp::verify() { return verifyDim(*this, "sort-1", getDim(), tensorType(getInput()).getRank()); }

LogicalResult ArgSortOp::verify() {
  RankedTensorType input = tensorType(getInput());
  if (failed(verifyDim(*this, "argsort-1", getDim(), input.getRank())))
    return failure();
  return verifyInferred(*this, "argsort-2", withElementType(input, IntegerType::get(getContext(), 32)), getType());
}

LogicalResult CastOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (input.getRank() != result.getRank())
    return emitOpError() << "(cast-1) ranks differ: " << input << " and " << result;
  if (failed(verifyElementAndVary(*this, "cast-1", input, result)))
    return failure();
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!input.isDynamicDim(dim) && !result.isDynamicDim(dim) && input.getDimSize(dim) != result.getDimSize(dim))
      return emitOpError() << "(cast-2) dimension " << dim << " cannot go from " << input.getDimSize(dim) << " to "
                           << result.getDimSize(dim);
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}
