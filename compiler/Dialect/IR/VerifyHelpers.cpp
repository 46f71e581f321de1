#include "compiler/Dialect/IR/VerifyHelpers.h"
#include "compiler/Dialect/IR/Infer.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

LogicalResult pmap::verifyElementAndVary(Operation *op, StringRef number, RankedTensorType a, RankedTensorType b) {
  if (a.getElementType() != b.getElementType())
    return op->emitOpError() << "(" << number << ") element types differ: " << a << " and " << b;
  if (varyOf(a) != varyOf(b))
    return op->emitOpError() << "(" << number << ") variances differ (V2): " << a << " and " << b;
  return success();
}

LogicalResult pmap::verifyInferred(Operation *op, StringRef number, RankedTensorType expected, Type got) {
  if (expected == got)
    return success();
  // An axis of literal size may be spelt either way by hand-written code.
  auto tensor = dyn_cast<RankedTensorType>(got);
  if (!tensor || withKnownAxes(op->getBlock(), expected) != withKnownAxes(op->getBlock(), tensor))
    return op->emitOpError() << "(" << number << ") expected the result type " << expected << ", got " << got;
  return success();
}

LogicalResult pmap::verifySortedDims(Operation *op, StringRef number, ArrayRef<int64_t> dims, int64_t rank) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0 || dims[i] >= rank || (i && dims[i - 1] >= dims[i]))
      return op->emitOpError() << "(" << number << ") expected sorted, distinct dimensions below " << rank << ", got ["
                               << dims << "]";
  return success();
}

LogicalResult pmap::verifyDim(Operation *op, StringRef number, int64_t dim, int64_t rank) {
  if (dim < 0 || dim >= rank)
    return op->emitOpError() << "(" << number << ") expected a dimension below " << rank << ", got " << dim;
  return success();
}

bool pmap::kindSuits(ReductionKind kind, Type elementType) {
  switch (kind) {
  case ReductionKind::And:
  case ReductionKind::Or:
    return elementType.isInteger(1);
  case ReductionKind::MaxU:
  case ReductionKind::MinU:
    return elementType.isInteger();
  default:
    return isa<FloatType>(elementType) || (elementType.isInteger() && !elementType.isInteger(1));
  }
}

bool pmap::isZeroIndex(Value value) { return matchPattern(value, m_Zero()); }

DenseElementsAttr pmap::splatOf(Attribute value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}
