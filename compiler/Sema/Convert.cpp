// Conversions that the user writes, `f32(x)`, and their rules: what each pair of kinds of dtypes means.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include <cmath>

using namespace llvm;
using namespace mlir;

namespace pmap::sema {

/// One elementwise conversion between two different dtypes, neither of which is a key.
static mlir::Value convertElements(OpBuilder &builder, Location loc, mlir::Value input, DType from, DType to) {
  auto inputType = cast<RankedTensorType>(input.getType());
  RankedTensorType type = withElementType(inputType, elementType(to, builder.getContext()));
  auto wide = withElementType(inputType, builder.getF32Type());

  if (isBool(to)) {
    mlir::Value zero =
        arith::ConstantOp::create(builder, loc,
                                  DenseElementsAttr::get(makeScalarType(inputType.getElementType()),
                                                         builder.getZeroAttr(inputType.getElementType())));
    if (!pmap::varyOf(inputType).empty())
      zero = WidenOp::create(builder, loc, withVary(cast<RankedTensorType>(zero.getType()), pmap::varyOf(inputType)),
                             zero);
    if (inputType.getRank() > 0)
      zero = BroadcastOp::create(builder, loc, inputType, zero);
    if (isFloat(from))
      return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, input, zero);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, input, zero);
  }
  if (isFloat(from) && isFloat(to)) {
    unsigned a = dtypeBits(from), b = dtypeBits(to);
    if (a < b)
      return arith::ExtFOp::create(builder, loc, type, input);
    if (a > b)
      return arith::TruncFOp::create(builder, loc, type, input);
    return arith::TruncFOp::create(builder, loc, type, arith::ExtFOp::create(builder, loc, wide, input)); // f16, bf16
  }
  if (isFloat(from))
    return isUnsigned(to) ? arith::FPToUIOp::create(builder, loc, type, input).getResult()
                          : arith::FPToSIOp::create(builder, loc, type, input).getResult();
  if (isFloat(to))
    return isSigned(from) ? arith::SIToFPOp::create(builder, loc, type, input).getResult()
                          : arith::UIToFPOp::create(builder, loc, type, input).getResult();
  unsigned a = isBool(from) ? 1 : dtypeBits(from), b = dtypeBits(to);
  if (a == b)
    return input; // signedness is in the operations
  if (a > b)
    return arith::TruncIOp::create(builder, loc, type, input);
  return isSigned(from) ? arith::ExtSIOp::create(builder, loc, type, input).getResult()
                        : arith::ExtUIOp::create(builder, loc, type, input).getResult();
}

Value Elaborator::convert(const Value &value, DType dtype, SourceRange range) {
  if (!value || value.isError())
    return Value::error();
  if (const auto *tuple = value.as<TupleValue>()) {
    if (tuple->elements.empty())
      return error(Code::E0303, value.range(), "expected an array to convert, got no value");
    return error(Code::E0303, value.range(), "expected an array to convert, got " + describeKind(value))
        .fix(value.range(), "map_leaves(" + dtypeName(dtype) + ", " + value.range().text() + ")");
  }
  if (!isArrayLike(value))
    return error(Code::E0303, value.range(), "expected an array to convert, got " + describeKind(value));

  // Literals become constants of the dtype at once; a fraction that is converted explicitly is cut towards zero.
  if (const auto *integer = value.as<IntValue>(); integer && isNumeric(dtype))
    return materialize(Value::integer(integer->value, range), dtype);
  if (const auto *floating = value.as<FloatValue>()) {
    if (isFloat(dtype))
      return Value::array(constant(floating->value, dtype, range), dtype, range);
    if (isInteger(dtype) && std::abs(floating->value) < 9.0e18)
      return materialize(Value::integer(static_cast<int64_t>(floating->value), range), dtype);
  }
  if (value.is(ValueKind::Size) && isNumeric(dtype)) {
    Value made = materialize(value, dtype);
    const auto *array = made.as<ArrayValue>();
    return array ? Value::scalar(array->ssa, dtype, range, false, array->recipe) : made;
  }
  Value made = claimable(value);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  if (array->dtype == dtype)
    return Value::scalar(array->ssa, dtype, range, false, array->weak ? nullptr : array->recipe);
  if (array->dtype == DType::Key || dtype == DType::Key)
    return error(Code::E0305, range,
                 "a random key does not convert: expected a number or bool, got " + dtypeName(array->dtype) + " for " +
                     dtypeName(dtype));
  return Value::array(convertElements(builder, loc(range), array->ssa, array->dtype, dtype), dtype, range);
}

} // namespace pmap::sema
