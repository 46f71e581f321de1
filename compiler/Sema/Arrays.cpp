// Making arrays of values: constants, stacked lists, broadcasting and widening.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Reading types
//===----------------------------------------------------------------------===//

SmallVector<Size> Elaborator::sizesOf(mlir::Value array) const { return pmap::sizesOf(array.getType()); }

SmallVector<Size> Elaborator::sizesOf(const Value &value) {
  if (const auto *array = value.as<ArrayValue>())
    return sizesOf(array->ssa);
  if (const auto *list = value.as<ListValue>()) {
    SmallVector<Size> sizes{Size(static_cast<int64_t>(list->elements.size()))};
    if (!list->elements.empty())
      append_range(sizes, sizesOf(list->elements.front()));
    return sizes;
  }
  return {};
}

int64_t Elaborator::rankOf(const Value &value) { return sizesOf(value).size(); }

VarySet Elaborator::varyOf(mlir::Value array) const { return VarySet(pmap::varyOf(array.getType())); }

VarySet Elaborator::varyOf(const Size &size) const {
  VarySet vary;
  for (const std::string &name : size.symbols()) {
    auto found = symbols.find(name);
    if (found != symbols.end())
      vary = unionOf(vary, found->second->vary);
  }
  return vary;
}

VarySet Elaborator::varyOf(const Value &value) const {
  if (const auto *array = value.as<ArrayValue>())
    return varyOf(array->ssa);
  if (const auto *size = value.as<SizeValue>())
    return varyOf(size->polynomial);
  VarySet vary;
  if (const auto *list = value.as<ListValue>())
    for (const Value &element : list->elements)
      vary = unionOf(vary, varyOf(element));
  if (const auto *tuple = value.as<TupleValue>())
    for (const Value &element : tuple->elements)
      vary = unionOf(vary, varyOf(element));
  if (const auto *range = value.as<RangeValue>())
    vary = unionOf(varyOf(range->low), varyOf(range->high));
  return vary;
}

bool Elaborator::isDistributed(const Value &value) const {
  const auto *array = value.as<ArrayValue>();
  return array && isa<DistType>(array->ssa.getType());
}

bool Elaborator::isArrayLike(const Value &value) const {
  if (!value)
    return false;
  switch (value.kind()) {
  case ValueKind::Array:
  case ValueKind::Int:
  case ValueKind::Float:
  case ValueKind::Bool:
  case ValueKind::Size:
    return true;
  case ValueKind::List:
    return all_of(value.as<ListValue>()->elements, [&](const Value &v) { return isArrayLike(v); });
  default:
    return false;
  }
}

std::optional<DType> Elaborator::dtypeOf(const Value &value) const {
  if (const auto *array = value.as<ArrayValue>())
    return array->weak ? std::nullopt : std::optional<DType>(array->dtype);
  if (value.is(ValueKind::Bool))
    return DType::Bool;
  if (const auto *list = value.as<ListValue>())
    for (const Value &element : list->elements)
      if (std::optional<DType> dtype = dtypeOf(element))
        return dtype;
  return std::nullopt;
}

DType Elaborator::defaultDType(const Value &weak) const {
  if (std::optional<DType> strong = dtypeOf(weak))
    return *strong;
  return isWeakFloat(weak) ? DType::F32 : DType::I32;
}

mlir::Type Elaborator::elementType(DType dtype) const { return pmap::elementType(dtype, &context); }

mlir::RankedTensorType Elaborator::tensorType(DType dtype, ArrayRef<Size> sizes, const VarySet &vary) const {
  return makeTensorType(elementType(dtype), sizes, vary);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static mlir::TypedAttr scalarAttribute(double value, mlir::Type type) {
  if (auto floating = dyn_cast<mlir::FloatType>(type)) {
    APFloat number(value);
    bool lossy;
    number.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    return mlir::FloatAttr::get(floating, number);
  }
  return mlir::IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), static_cast<int64_t>(value), true, true));
}

mlir::Value Elaborator::constant(double value, DType dtype, SourceRange range) {
  auto type = makeScalarType(elementType(dtype));
  mlir::Attribute scalar = scalarAttribute(value, type.getElementType());
  return mlir::arith::ConstantOp::create(builder, loc(range), mlir::DenseElementsAttr::get(type, scalar));
}

mlir::Value Elaborator::constantInt(int64_t value, DType dtype, SourceRange range) {
  if (isFloat(dtype))
    return constant(static_cast<double>(value), dtype, range);
  auto type = makeScalarType(elementType(dtype));
  APInt number(type.getElementTypeBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  mlir::Attribute scalar = mlir::IntegerAttr::get(type.getElementType(), number);
  return mlir::arith::ConstantOp::create(builder, loc(range), mlir::DenseElementsAttr::get(type, scalar));
}

mlir::Value Elaborator::splat(mlir::Value scalar, ArrayRef<Size> sizes, SourceRange range) {
  return broadcastTo(scalar, sizes, range);
}

mlir::Value Elaborator::broadcastTo(mlir::Value array, ArrayRef<Size> sizes, SourceRange range) {
  auto from = cast<mlir::RankedTensorType>(array.getType());
  auto to = makeTensorType(from.getElementType(), sizes, pmap::varyOf(from));
  if (from == to)
    return array;
  return BroadcastOp::create(builder, loc(range), to, array);
}

mlir::Value Elaborator::widen(mlir::Value array, const VarySet &vary) {
  VarySet all = unionOf(varyOf(array), vary);
  auto from = cast<mlir::RankedTensorType>(array.getType());
  auto to = withVary(from, all);
  if (from == to)
    return array;
  // A vmapped axis exists within its vmap only: for a value from outside, the start of the region is its definition
  // there.
  mlir::Region *within = nullptr;
  for (const MeshContext &mesh : meshes)
    if (mesh.region && contains(all, mesh.axes.front()) && !mesh.region->isAncestor(array.getParentRegion()))
      within = mesh.region;
  // V2 puts it at the definition, once: an earlier widen of the same value is the one to use. It always dominates, for
  // it follows the definition.
  for (mlir::Operation *user : array.getUsers())
    if (auto earlier = dyn_cast<WidenOp>(user))
      if (earlier.getType() == to && (!within || earlier->getParentRegion() == within))
        return earlier.getResult();
  mlir::OpBuilder::InsertionGuard guard(builder);
  if (within)
    builder.setInsertionPointToStart(&within->front());
  else
    builder.setInsertionPointAfterValue(array);
  return WidenOp::create(builder, array.getLoc(), to, array);
}

//===----------------------------------------------------------------------===//
// Materializing
//===----------------------------------------------------------------------===//

namespace {

/// The numbers of a nest of literal lists in row-major order; false when something in it is no literal.
bool literalNumbers(const Value &value, SmallVectorImpl<Value> &numbers) {
  if (const auto *list = value.as<ListValue>())
    return all_of(list->elements, [&](const Value &v) { return literalNumbers(v, numbers); });
  if (!value.is(ValueKind::Int) && !value.is(ValueKind::Float) && !value.is(ValueKind::Bool))
    return false;
  numbers.push_back(value);
  return true;
}

/// Whether every list at one depth has one length.
bool isRegular(const Value &value) {
  const auto *list = value.as<ListValue>();
  if (!list)
    return true;
  auto lengthOf = [](const Value &v) { return v.as<ListValue>() ? int64_t(v.as<ListValue>()->elements.size()) : -1; };
  for (const Value &element : list->elements)
    if (!isRegular(element) || lengthOf(element) != lengthOf(list->elements.front()))
      return false;
  return true;
}

} // namespace

static std::string literalText(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return std::to_string(integer->value);
  return value.range().text().str();
}

Value Elaborator::materialize(const Value &value, std::optional<DType> hint) {
  if (!value || value.isError())
    return Value::error();
  SourceRange range = value.range();

  if (const auto *array = value.as<ArrayValue>()) {
    Value here = value;
    if (auto dist = dyn_cast<DistType>(array->ssa.getType())) {
      mlir::Value whole = MoveOp::create(builder, loc(range), dist.getTensor(), array->ssa);
      here = Value::array(whole, array->dtype, range);
      array = here.as<ArrayValue>();
    }
    if (!array->weak)
      return here;
    DType target = hint.value_or(isFloat(array->dtype) ? DType::F32 : DType::I32);
    if (isFloat(array->dtype) && !isFloat(target))
      return error(Code::E0302, range,
                   "'" + sourceText(range) + "' is a fraction and does not become " + dtypeName(target))
          .fix(range, (dtypeName(target) + "(" + range.text() + ")").str());
    if (isBool(target))
      return error(Code::E0301, range, "expected bool, got a number");
    return convert(here, target, range);
  }

  if (const auto *integer = value.as<IntValue>()) {
    DType dtype = hint.value_or(DType::I32);
    if (isBool(dtype))
      return error(Code::E0301, range, "expected bool, got the number " + literalText(value));
    if (dtype == DType::Key)
      return error(Code::E0301, range, "expected a random key, got the number " + literalText(value));
    if (isInteger(dtype) && !dtypeHolds(dtype, integer->value))
      return error(Code::E0304, range, literalText(value) + " does not fit " + dtypeName(dtype));
    // As a size it is still the literal, whatever dtype it has now.
    return Value::scalar(constantInt(integer->value, dtype, range), dtype, range, false,
                         isInteger(dtype) ? recipeOf(value) : nullptr);
  }

  if (const auto *floating = value.as<FloatValue>()) {
    DType dtype = hint.value_or(DType::F32);
    if (isInteger(dtype))
      return error(Code::E0302, range,
                   "'" + sourceText(range) + "' is a fraction and does not become " + dtypeName(dtype));
    if (!isFloat(dtype))
      return error(Code::E0301, range, "expected " + dtypeName(dtype) + ", got a number");
    return Value::array(constant(floating->value, dtype, range), dtype, range);
  }

  if (const auto *boolean = value.as<BoolValue>())
    return Value::array(constantInt(boolean->value, DType::Bool, range), DType::Bool, range);

  if (const auto *size = value.as<SizeValue>()) {
    DType dtype = hint.value_or(DType::I32);
    if (!isNumeric(dtype))
      return error(Code::E0301, range, "expected " + dtypeName(dtype) + ", got a size");
    auto type = tensorType(dtype, {}, varyOf(size->polynomial));
    auto op = FromIndexOp::create(builder, loc(range), type, indexOf(size->polynomial, range), isUnsigned(dtype));
    return Value::scalar(op, dtype, range, false, isInteger(dtype) ? recipeOf(value) : nullptr);
  }

  if (const auto *list = value.as<ListValue>())
    return stackList(*list, hint);

  return error(Code::E0303, range, "expected an array, got " + describeKind(value));
}

Value Elaborator::claimable(const Value &value) {
  const auto *array = value.as<ArrayValue>();
  if (array && array->weak && !isDistributed(value))
    return value;
  if (!isArrayLike(value) || dtypeOf(value))
    return materialize(value);
  DType wide = isFloat(defaultDType(value)) ? DType::F64 : DType::I64;
  Value made = materialize(value, wide);
  array = made.as<ArrayValue>();
  return array ? Value::scalar(array->ssa, wide, value.range(), /*weak=*/true, array->recipe) : made;
}

Value Elaborator::stackList(const ListValue &list, std::optional<DType> hint) {
  SourceRange range = list.range;
  SmallVector<Value> numbers;
  Value self = Value::list(list.elements, range);
  bool literal = literalNumbers(self, numbers);
  if (literal && !isRegular(self))
    return error(Code::E0414, range, "the rows of this array have different lengths");

  std::optional<DType> strong;
  bool weakFloat = false;
  for (const Value &element : list.elements) {
    if (element.isError())
      return Value::error();
    if (!isArrayLike(element))
      return error(Code::E0303, element.range(), "expected a number or an array, got " + describeKind(element));
    weakFloat |= isWeakFloat(element);
  }
  if (!list.elements.empty())
    strong = commonDType(list.elements, range, "an array literal", /*allowAllWeak=*/true);
  if (strong == std::nullopt && failedCommonDType)
    return Value::error();
  DType dtype = strong ? *strong : hint.value_or(weakFloat ? DType::F32 : DType::I32);

  if (literal) {
    SmallVector<int64_t> shape;
    for (const ListValue *level = &list; level;) {
      shape.push_back(level->elements.size());
      level = level->elements.empty() ? nullptr : level->elements.front().as<ListValue>();
    }
    // A nest of literals is one constant.
    mlir::Type element = elementType(dtype);
    SmallVector<mlir::Attribute> attributes;
    for (const Value &number : numbers) {
      Value one = number;
      if (one.is(ValueKind::Bool) != isBool(dtype))
        return error(Code::E0301, one.range(), "expected " + dtypeName(dtype) + ", got " + literalText(one));
      if (const auto *integer = one.as<IntValue>()) {
        if (isInteger(dtype) && !dtypeHolds(dtype, integer->value))
          return error(Code::E0304, one.range(), literalText(one) + " does not fit " + dtypeName(dtype));
        attributes.push_back(isFloat(dtype) ? mlir::Attribute(scalarAttribute(double(integer->value), element))
                                            : mlir::IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(),
                                                                                    integer->value, true, true)));
      } else if (const auto *floating = one.as<FloatValue>()) {
        if (!isFloat(dtype))
          return error(Code::E0302, one.range(),
                       "'" + literalText(one) + "' is a fraction and does not become " + dtypeName(dtype));
        attributes.push_back(scalarAttribute(floating->value, element));
      } else {
        attributes.push_back(mlir::IntegerAttr::get(element, one.as<BoolValue>()->value));
      }
    }
    auto type = mlir::RankedTensorType::get(shape, element);
    auto data = mlir::DenseElementsAttr::get(type, attributes);
    return Value::array(mlir::arith::ConstantOp::create(builder, loc(range), data), dtype, range);
  }

  // Rows of one shape, stacked along a new first dimension.
  SmallVector<mlir::Value> rows;
  VarySet vary;
  for (const Value &element : list.elements) {
    mlir::Value row = tensorOf(element, dtype);
    if (!row)
      return Value::error();
    rows.push_back(row);
    vary = unionOf(vary, varyOf(row));
  }
  SmallVector<Size> first = sizesOf(rows.front());
  for (auto [i, row] : enumerate(rows)) {
    SmallVector<Size> sizes = sizesOf(row);
    if (sizes != first) {
      if (assumedEqual(first, sizes))
        return Value::error();
      Report report = error(Code::E0414, list.elements[i].range(),
                            "the rows of an array have one shape: expected " + renderArray(dtype, first) + ", got " +
                                renderArray(dtype, sizes));
      for (ArrayRef<Size> part : {ArrayRef<Size>(first), ArrayRef<Size>(sizes)})
        for (const Size &size : part)
          noteBirths(report, size);
      if (sizes.size() == first.size())
        report.note({}, "to join arrays of different lengths, write concat((a, b))");
      return report;
    }
    sizes.insert(sizes.begin(), Size(1));
    row = widen(row, vary);
    row = ReshapeOp::create(builder, loc(range), tensorType(dtype, sizes, vary), row);
  }
  mlir::Value stacked = rows.size() == 1 ? rows.front() : ConcatOp::create(builder, loc(range), rows, 0).getResult();
  return Value::array(stacked, dtype, range);
}

mlir::Value Elaborator::tensorOf(const Value &value, std::optional<DType> hint) {
  Value made = materialize(value, hint);
  const auto *array = made.as<ArrayValue>();
  return array ? array->ssa : mlir::Value();
}

} // namespace pmap::sema
