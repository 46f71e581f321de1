// Verifiers and folders of the size ops and the doors between tensors and scf.
#include "compiler/Dialect/IR/NeedsElements.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pmap;

namespace {

LogicalResult verifyScalar(Operation *op, StringRef number, RankedTensorType type, bool suits, StringRef expected) {
  if (type.getRank() != 0 || !suits)
    return op->emitOpError() << "(" << number << ") expected a scalar " << expected << ", got " << type;
  return success();
}

bool isIntegerDtype(Type type) { return type.isInteger() && !type.isInteger(1); }

// The value of a constant scalar integer.
std::optional<APInt> scalarInteger(Attribute value) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(value);
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return *elements.begin();
}

// Calls `visit` with every symbol that the op's own text or its result types mention.
void visitMentioned(Operation *op, llvm::function_ref<void(StringRef)> visit) {
  auto visitSize = [&](const Size &size) {
    for (const std::string &symbol : size.symbols())
      visit(symbol);
  };
  if (auto size = dyn_cast<SizeOp>(op))
    visitSize(*Size::parse(size.getSize()));
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape())
      llvm::for_each(sizesOf(tensor), visitSize);
}

// The symbols that the function or map around an op binds.
llvm::StringSet<> boundAround(Operation *op) {
  llvm::StringSet<> symbols;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto map = dyn_cast<MapOp>(parent)) {
      for (SizeArgAttr argument : map.getSizeArguments())
        symbols.insert(argument.getSymbol().getValue());
      break;
    }
    if (auto names = parent->getAttrOfType<ArrayAttr>("pmap.sizes"))
      for (StringRef name : names.getAsValueRange<StringAttr>())
        symbols.insert(name);
  }
  return symbols;
}

} // namespace

Speculation::Speculatability pmap::speculatabilityWhereSizesAreKnown(Operation *op) {
  if (needsElements(op))
    return Speculation::NotSpeculatable;
  std::optional<llvm::StringSet<>> bound;
  bool known = true;
  visitMentioned(op, [&](StringRef symbol) {
    if (symbol.starts_with("@"))
      return;
    if (!bound)
      bound = boundAround(op);
    known &= bound->contains(symbol);
  });
  return known ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

LogicalResult SizeOp::verify() {
  std::optional<Size> size = Size::parse(getSize());
  if (!size || size->str() != getSize())
    return emitOpError() << "(size-1) \"" << getSize() << "\" is not in normal form";
  return success();
}

OpFoldResult SizeOp::fold(FoldAdaptor) {
  if (std::optional<int64_t> value = Size::parse(getSize())->constant())
    return IntegerAttr::get(IndexType::get(getContext()), *value);
  return {};
}

LogicalResult BindSizeOp::verify() {
  std::optional<Size> size = Size::parse(getSymbol());
  if (!size || size->asSymbol() != getSymbol().str() || getSymbol().starts_with("@"))
    return emitOpError() << "(bind_size-1) expected the name of a size, got \"" << getSymbol() << "\"";
  return success();
}

LogicalResult ToIndexOp::verify() {
  RankedTensorType input = tensorType(getInput());
  return verifyScalar(*this, "to_index-1", input, isIntegerDtype(input.getElementType()), "integer");
}

OpFoldResult ToIndexOp::fold(FoldAdaptor adaptor) {
  if (std::optional<APInt> value = scalarInteger(adaptor.getInput()))
    return IntegerAttr::get(IndexType::get(getContext()),
                            getIsUnsigned() ? value->getZExtValue() : value->getSExtValue());
  // from_index checked that the index fits.
  if (auto door = getInput().getDefiningOp<FromIndexOp>(); door && door.getIsUnsigned() == getIsUnsigned())
    return door.getIndex();
  return {};
}

LogicalResult FromIndexOp::verify() {
  RankedTensorType result = tensorType(getResult());
  Type element = result.getElementType();
  return verifyScalar(*this, "from_index-1", result, isIntegerDtype(element) || isa<FloatType>(element),
                      "integer or float");
}

OpFoldResult FromIndexOp::fold(FoldAdaptor adaptor) {
  auto index = dyn_cast_or_null<IntegerAttr>(adaptor.getIndex());
  if (!index)
    return {};
  RankedTensorType result = tensorType(getResult());
  if (auto floating = dyn_cast<FloatType>(result.getElementType())) {
    APFloat value(floating.getFloatSemantics());
    value.convertFromAPInt(APInt(64, index.getInt(), true), true, APFloat::rmNearestTiesToEven);
    return DenseElementsAttr::get(result, value);
  }
  unsigned width = result.getElementType().getIntOrFloatBitWidth();
  APInt value(64, index.getInt(), true);
  bool fits = getIsUnsigned() ? index.getInt() >= 0 && value.isIntN(width) : value.isSignedIntN(width);
  if (!fits)
    return {};
  return DenseElementsAttr::get(result, value.trunc(width));
}

LogicalResult ToBoolOp::verify() {
  RankedTensorType input = tensorType(getInput());
  return verifyScalar(*this, "to_bool-1", input, input.getElementType().isInteger(1), "i1");
}

OpFoldResult ToBoolOp::fold(FoldAdaptor adaptor) {
  if (std::optional<APInt> value = scalarInteger(adaptor.getInput()))
    return IntegerAttr::get(IntegerType::get(getContext(), 1), *value);
  return {};
}

LogicalResult AssertOp::verify() {
  RankedTensorType condition = tensorType(getCondition());
  return verifyScalar(*this, "assert-1", condition, condition.getElementType().isInteger(1), "i1");
}

LogicalResult PrintOp::verify() {
  size_t holes = getFormat().count("{}"), values = getValues().size();
  if (holes != values || getDtypes().size() != values)
    return emitOpError() << "(print-1) expected " << values << " holes and dtypes, got " << holes << " and "
                         << getDtypes().size();
  return success();
}
