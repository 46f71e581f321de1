// Operators on values: literals fold exactly, sizes stay polynomials, arrays follow NumPy with the dtype rules of the
// language.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/LiteralFolding.h"
#include "compiler/Sema/ParallelMap.h"
#include <cmath>

using namespace llvm;
using namespace mlir::arith;
using pmap::ast::BinaryOp;

namespace pmap::sema {

static bool isSizeLike(const Value &value) { return value.is(ValueKind::Int) || value.is(ValueKind::Size); }

static Size polynomialOf(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return Size(integer->value);
  return value.as<SizeValue>()->polynomial;
}

//===----------------------------------------------------------------------===//
// Elementwise emission: operands of one type
//===----------------------------------------------------------------------===//

namespace {

/// Emits elementwise operations at one place, on operands of one and the same type.
struct Emitter {
  Elaborator &e;
  mlir::Location at;
  SourceRange range;

  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value b) { return Op::create(e.builder, at, a, b); }
  mlir::Value cmpi(CmpIPredicate p, mlir::Value a, mlir::Value b) { return CmpIOp::create(e.builder, at, p, a, b); }
  mlir::Value cmpf(CmpFPredicate p, mlir::Value a, mlir::Value b) { return CmpFOp::create(e.builder, at, p, a, b); }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) { return SelectOp::create(e.builder, at, c, a, b); }
  /// A constant of the type of `like`.
  mlir::Value constantLike(double v, DType dtype, mlir::Value like) {
    mlir::Value scalar = e.widen(e.constant(v, dtype, range), e.varyOf(like));
    return e.broadcastTo(scalar, e.sizesOf(like), range);
  }

  /// Floor division and modulo as in Python. The lowering checks an integer divisor for zero.
  mlir::Value divide(bool modulo, DType dtype, mlir::Value a, mlir::Value b) {
    if (isUnsigned(dtype))
      return modulo ? make<RemUIOp>(a, b) : make<DivUIOp>(a, b);
    if (!modulo && !isFloat(dtype))
      return make<FloorDivSIOp>(a, b);
    mlir::Value zero = constantLike(0, dtype, a);
    if (isFloat(dtype)) {
      mlir::Value rest = make<RemFOp>(a, b);
      mlir::Value differs = make<XOrIOp>(cmpf(CmpFPredicate::OLT, rest, zero), cmpf(CmpFPredicate::OLT, b, zero));
      mlir::Value adjust = make<AndIOp>(cmpf(CmpFPredicate::ONE, rest, zero), differs);
      if (modulo)
        return select(adjust, make<AddFOp>(rest, b), rest);
      // a / b may round up to the next integer: 1.0 / 0.1 is 10 and a rest. What the rest leaves is a whole number of
      // b.
      mlir::Value whole = make<DivFOp>(make<SubFOp>(a, rest), b);
      whole = select(adjust, make<SubFOp>(whole, constantLike(1, dtype, a)), whole);
      whole = mlir::math::RoundEvenOp::create(e.builder, at, whole);
      mlir::Value byZero = mlir::math::FloorOp::create(e.builder, at, make<DivFOp>(a, b));
      return select(cmpf(CmpFPredicate::OEQ, b, zero), byZero, whole);
    }
    mlir::Value rest = make<RemSIOp>(a, b);
    mlir::Value differs = make<XOrIOp>(cmpi(CmpIPredicate::slt, rest, zero), cmpi(CmpIPredicate::slt, b, zero));
    mlir::Value adjust = make<AndIOp>(cmpi(CmpIPredicate::ne, rest, zero), differs);
    return select(adjust, make<AddIOp>(rest, b), rest);
  }

  /// x ** k for a literal k, by squaring.
  mlir::Value power(DType dtype, mlir::Value x, int64_t k) {
    bool isInt = isInteger(dtype);
    auto multiply = [&](mlir::Value a, mlir::Value b) { return isInt ? make<MulIOp>(a, b) : make<MulFOp>(a, b); };
    bool inverse = k < 0;
    uint64_t n = inverse ? -static_cast<uint64_t>(k) : k;
    mlir::Value result, square = x;
    for (; n; n >>= 1) {
      if (n & 1)
        result = result ? multiply(result, square) : square;
      if (n > 1)
        square = multiply(square, square);
    }
    if (!result)
      result = constantLike(1, dtype, x);
    return inverse ? make<DivFOp>(constantLike(1, dtype, x), result) : result;
  }

  mlir::Value compare(BinaryOp op, DType dtype, mlir::Value a, mlir::Value b) {
    if (isFloat(dtype)) {
      CmpFPredicate p = op == BinaryOp::Eq   ? CmpFPredicate::OEQ
                        : op == BinaryOp::Ne ? CmpFPredicate::UNE
                        : op == BinaryOp::Lt ? CmpFPredicate::OLT
                        : op == BinaryOp::Le ? CmpFPredicate::OLE
                        : op == BinaryOp::Gt ? CmpFPredicate::OGT
                                             : CmpFPredicate::OGE;
      return cmpf(p, a, b);
    }
    bool u = isUnsigned(dtype) || isBool(dtype);
    CmpIPredicate p = op == BinaryOp::Eq   ? CmpIPredicate::eq
                      : op == BinaryOp::Ne ? CmpIPredicate::ne
                      : op == BinaryOp::Lt ? (u ? CmpIPredicate::ult : CmpIPredicate::slt)
                      : op == BinaryOp::Le ? (u ? CmpIPredicate::ule : CmpIPredicate::sle)
                      : op == BinaryOp::Gt ? (u ? CmpIPredicate::ugt : CmpIPredicate::sgt)
                                           : (u ? CmpIPredicate::uge : CmpIPredicate::sge);
    return cmpi(p, a, b);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Binary operators
//===----------------------------------------------------------------------===//

Value Elaborator::binary(BinaryOp op, Value lhs, Value rhs, SourceRange range, SourceRange opRange) {
  if (lhs.isError() || rhs.isError())
    return Value::error();
  if (op == BinaryOp::MatMul)
    return matmul(lhs, rhs, range);
  if (isDistributed(lhs) || isDistributed(rhs))
    if (auto split = elementwiseOnBlocks(*this, ast::spelling(op), {lhs, rhs}, range, [&](ArrayRef<Value> blocks) {
          return binary(op, blocks[0], blocks[1], range, opRange);
        }))
      return *split;
  std::string what = ("`" + ast::spelling(op) + "`").str();
  bool comparison = ast::isComparison(op);

  // Compile-time values first: they never reach the IR.
  if (lhs.is(ValueKind::String) && rhs.is(ValueKind::String)) {
    const std::string &a = lhs.as<StringValue>()->text, &b = rhs.as<StringValue>()->text;
    if (op == BinaryOp::Add)
      return Value::string(a + b, range);
    if (op == BinaryOp::Eq || op == BinaryOp::Ne)
      return Value::boolean((a == b) == (op == BinaryOp::Eq), range);
  }
  const auto *leftType = lhs.as<TypeValue>(), *rightType = rhs.as<TypeValue>();
  if (leftType && rightType && leftType->dtype && rightType->dtype && (op == BinaryOp::Eq || op == BinaryOp::Ne))
    return Value::boolean((leftType->dtype == rightType->dtype) == (op == BinaryOp::Eq), range);
  if (lhs.is(ValueKind::Bool) && rhs.is(ValueKind::Bool) && (op == BinaryOp::Eq || op == BinaryOp::Ne))
    return Value::boolean((lhs.as<BoolValue>()->value == rhs.as<BoolValue>()->value) == (op == BinaryOp::Eq), range);
  if (numberOf(lhs) && numberOf(rhs)) {
    bool byZero = (op == BinaryOp::FloorDiv || op == BinaryOp::Mod) && rhs.is(ValueKind::Int) &&
                  lhs.is(ValueKind::Int) && rhs.as<IntValue>()->value == 0;
    if (byZero)
      return error(Code::E0306, range, "'" + sourceText(range) + "' divides by zero");
    if (Value folded = foldLiterals(op, lhs, rhs, range))
      return folded;
    return error(Code::E0304, range, "'" + sourceText(range) + "' does not fit 64 bits");
  }
  if (isSizeLike(lhs) && isSizeLike(rhs)) {
    Size a = polynomialOf(lhs), b = polynomialOf(rhs);
    switch (op) {
    case BinaryOp::Add:
      return Value::size(a + b, range);
    case BinaryOp::Sub:
      return Value::size(a - b, range);
    case BinaryOp::Mul:
      return Value::size(a * b, range);
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      if (b.isConstant(0))
        return error(Code::E0306, range, "'" + sourceText(range) + "' divides by zero");
      return Value::size(op == BinaryOp::Mod ? Size::mod(a, b) : Size::floorDiv(a, b), range);
    case BinaryOp::Pow:
      if (std::optional<int64_t> k = b.constant(); k && *k >= 0 && *k <= 8) {
        Size power(1);
        for (int64_t i = 0; i < *k; ++i)
          power *= a;
        return Value::size(power, range);
      }
      break;
    case BinaryOp::Eq:
    case BinaryOp::Ne:
      if (a == b)
        return Value::boolean(op == BinaryOp::Eq, range);
      break;
    default:
      break;
    }
    std::shared_ptr<const SizeFacts> says = factsOf(op, a, b);
    if (comparison)
      if (std::optional<bool> known = provableComparison(op, a, b))
        return Value::boolean(*known, range);
    std::shared_ptr<const SizeRecipe> recipe = combine(op, lhs, rhs);
    // Sizes are 64-bit, and a quotient of sizes is a weak float.
    DType wide = op == BinaryOp::Div || op == BinaryOp::Pow ? DType::F64 : DType::I64;
    lhs = convert(lhs, wide, lhs.range());
    rhs = convert(rhs, wide, rhs.range());
    Value result = elementwise(op, lhs, rhs, range, opRange, what);
    const auto *array = result.as<ArrayValue>();
    return array && !comparison ? Value::scalar(array->ssa, array->dtype, range, /*weak=*/true, recipe)
                                : Value::withFacts(result, says);
  }

  // `/` of weak integers is a weak float, and so is what two weak values computed from sizes give.
  bool weak = isArrayLike(lhs) && isArrayLike(rhs) && !dtypeOf(lhs) && !dtypeOf(rhs);
  if (weak) {
    bool isFraction = op == BinaryOp::Div || !isa_and_present<mlir::IntegerType>(weakElement(lhs)) ||
                      !isa_and_present<mlir::IntegerType>(weakElement(rhs));
    DType wide = isFraction ? DType::F64 : DType::I64;
    // As a size, `n/2 + 1` is the exact half and one.
    bool isScalar = rankOf(lhs) == 0 && rankOf(rhs) == 0 && !comparison;
    std::shared_ptr<const SizeRecipe> recipe = isScalar ? combine(op, lhs, rhs) : nullptr;
    lhs = convert(materialize(lhs, wide), wide, lhs.range());
    if (op != BinaryOp::Pow || !rhs.is(ValueKind::Int))
      rhs = convert(materialize(rhs, wide), wide, rhs.range());
    Value result = elementwise(op, lhs, rhs, range, opRange, what);
    const auto *array = result.as<ArrayValue>();
    return array && !comparison ? Value::scalar(array->ssa, array->dtype, range, /*weak=*/true, recipe) : result;
  }
  std::shared_ptr<const SizeFacts> says;
  auto wraps = [](const Value &v) {
    const auto *computed = v.as<ArrayValue>();
    return computed && computed->recipe && computed->recipe->computed;
  };
  if (comparison && !wraps(lhs) && !wraps(rhs))
    if (std::optional<Size> a = pureSizeOf(lhs), b = pureSizeOf(rhs); a && b) {
      // Integers that took a dtype but are known as sizes: `i >= 0` with `i: i32` given the index of a comprehension.
      if (std::optional<bool> known = provableComparison(op, *a, *b))
        return Value::boolean(*known, range);
      says = factsOf(op, *a, *b);
    }
  Value result = elementwise(op, lhs, rhs, range, opRange, what);
  if (says)
    return Value::withFacts(result, says);
  const auto *array = result.as<ArrayValue>();
  if (!array || !isInteger(array->dtype) || rankOf(result) != 0)
    return result;
  return Value::scalar(array->ssa, array->dtype, range, false, combine(op, lhs, rhs));
}

mlir::Type Elaborator::weakElement(const Value &weak) {
  return elementType(isFloat(defaultDType(weak)) ? DType::F64 : DType::I64);
}

/// Whether a value is `sum` of conditions.
static bool countsTruths(mlir::Value value) {
  auto sum = value.getDefiningOp<ReduceOp>();
  mlir::Operation *converted = sum ? sum->getOperand(0).getDefiningOp() : nullptr;
  return converted && converted->getNumOperands() == 1 &&
         mlir::getElementTypeOrSelf(converted->getOperand(0).getType()).isInteger(1);
}

Value Elaborator::elementwise(BinaryOp op, Value lhs, Value rhs, SourceRange range, SourceRange opRange,
                              const std::string &what) {
  bool comparison = ast::isComparison(op);

  // x ** 2 with a literal exponent is multiplication, for any base.
  if (op == BinaryOp::Pow && rhs.is(ValueKind::Int) && isArrayLike(lhs)) {
    Value base = materialize(lhs);
    const auto *array = base.as<ArrayValue>();
    if (!array)
      return Value::error();
    int64_t k = rhs.as<IntValue>()->value;
    if (isFloat(array->dtype) ? std::abs(k) <= 64 : isInteger(array->dtype) && k >= 0 && k <= 64) {
      Emitter emit{*this, loc(opRange), range};
      return Value::array(emit.power(array->dtype, array->ssa, k), array->dtype, range);
    }
    if (isInteger(array->dtype) && k < 0)
      return error(Code::E0305, range,
                   "an integer to a negative power is a fraction: expected a float, got " + render(base))
          .fix(lhs.range(), "f32(" + lhs.range().text() + ")");
  }

  Value given[2] = {lhs, rhs};
  Value operands[2] = {lhs, rhs};
  if (!unifyForElementwise(operands, range, what))
    return Value::error();
  const auto *a = operands[0].as<ArrayValue>(), *b = operands[1].as<ArrayValue>();
  DType dtype = a->dtype;
  mlir::Value x = a->ssa, y = b->ssa;
  Emitter emit{*this, loc(opRange), range};
  auto undefined = [&](const Twine &hint) -> Report {
    Report report = error(Code::E0305, range, what + " is not defined for " + dtypeName(dtype) + hint);
    noteDType(report, given[dtypeOf(given[0]) ? 0 : 1]);
    return report;
  };
  auto done = [&](mlir::Value result) { return Value::array(result, comparison ? DType::Bool : dtype, range); };

  if (dtype == DType::Key && op != BinaryOp::Eq && op != BinaryOp::Ne)
    return undefined(": a random key is opaque");
  if (comparison) {
    if (isBool(dtype) && op != BinaryOp::Eq && op != BinaryOp::Ne)
      return undefined("; expected numbers");
    return done(emit.compare(op, dtype, x, y));
  }
  if (isBool(dtype)) {
    if (op == BinaryOp::Add || op == BinaryOp::Mul)
      return undefined("; for a logical operation write `" + Twine(op == BinaryOp::Add ? "or" : "and") +
                       "`, to count convert with i32(…)");
    return undefined("; convert with i32(…) or f32(…)");
  }
  bool floating = isFloat(dtype);
  switch (op) {
  case BinaryOp::Add:
    return done(floating ? emit.make<AddFOp>(x, y) : emit.make<AddIOp>(x, y));
  case BinaryOp::Sub:
    return done(floating ? emit.make<SubFOp>(x, y) : emit.make<SubIOp>(x, y));
  case BinaryOp::Mul:
    return done(floating ? emit.make<MulFOp>(x, y) : emit.make<MulIOp>(x, y));
  case BinaryOp::Div: {
    if (floating)
      return done(emit.make<DivFOp>(x, y));
    Report report = error(Code::E0306, range,
                          "`/` is for floats: expected a float, got " + dtypeName(dtype) +
                              "; `//` divides integers and floors, f32(…) converts");
    noteDType(report, given[dtypeOf(given[0]) ? 0 : 1]);
    // No fix: `//` would be taken, and gives whole numbers where a share or a mean is meant.
    if (const auto *array = given[0].as<ArrayValue>())
      if (countsTruths(array->ssa)) {
        report.note(SourceRange(),
                    "the share of a condition is its mean, as in 'mean(x > 0)'; f32(…) converts a count");
        return report;
      }
    report.fix(opRange, "//");
    return report;
  }
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    std::optional<int64_t> literal;
    if (const auto *integer = given[1].as<IntValue>())
      literal = integer->value;
    if (literal == 0 && !floating)
      return error(Code::E0306, range, "'" + sourceText(range) + "' divides by zero");
    return done(emit.divide(op == BinaryOp::Mod, dtype, x, y));
  }
  case BinaryOp::Pow: {
    if (!floating && !isUnsigned(dtype))
      return done(emit.make<mlir::math::IPowIOp>(x, y));
    if (!floating) {
      // The op takes its exponent for signed: half of an unsigned one is, and the square of the base makes up for it.
      mlir::Value one = emit.constantLike(1, dtype, x), half = emit.make<ShRUIOp>(y, one);
      mlir::Value isOdd = emit.cmpi(CmpIPredicate::eq, emit.make<AndIOp>(y, one), one);
      mlir::Value even = emit.make<mlir::math::IPowIOp>(emit.make<MulIOp>(x, x), half);
      return done(emit.select(isOdd, emit.make<MulIOp>(even, x), even));
    }
    // Square roots are exact and fast; the general power is neither.
    const auto *exponent = given[1].as<FloatValue>();
    if (exponent && exponent->value == 0.5)
      return done(mlir::math::SqrtOp::create(builder, emit.at, x));
    if (exponent && exponent->value == std::floor(exponent->value) && std::abs(exponent->value) <= 64)
      return done(emit.power(dtype, x, static_cast<int64_t>(exponent->value)));
    return done(mlir::math::PowFOp::create(builder, emit.at, x, y));
  }
  default:
    return undefined("");
  }
}

Value Elaborator::binaryExpression(const ast::BinaryExpr &e) {
  if (ast::isLogical(e.op))
    return logicalExpression(e);
  Value lhs = expression(*e.lhs), rhs = expression(*e.rhs);
  return binary(e.op, lhs, rhs, e.range, e.opRange);
}

//===----------------------------------------------------------------------===//
// Unary operators
//===----------------------------------------------------------------------===//

Value Elaborator::negate(const Value &operand, SourceRange range) {
  if (operand.isError())
    return operand;
  if (isDistributed(operand))
    if (auto split = elementwiseOnBlocks(*this, "-", operand, range,
                                         [&](ArrayRef<Value> blocks) { return negate(blocks[0], range); }))
      return *split;
  if (const auto *integer = operand.as<IntValue>(); integer && integer->value != INT64_MIN)
    return Value::integer(-integer->value, range);
  if (const auto *floating = operand.as<FloatValue>())
    return Value::floating(-floating->value, range);
  if (const auto *size = operand.as<SizeValue>())
    return Value::size(-size->polynomial, range);
  Value made = claimable(operand);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  if (!isNumeric(array->dtype))
    return error(Code::E0305, range,
                 "unary `-` is not defined for " + dtypeName(array->dtype) +
                     (isBool(array->dtype) ? "; for a logical operation write `not`" : ""));
  Emitter emit{*this, loc(range), range};
  mlir::Value result = isFloat(array->dtype)
                           ? NegFOp::create(builder, emit.at, array->ssa).getResult()
                           : emit.make<SubIOp>(emit.constantLike(0, array->dtype, array->ssa), array->ssa);
  return Value::array(result, array->dtype, range, array->weak);
}

Value Elaborator::unaryExpression(const ast::UnaryExpr &e) {
  if (e.op == ast::UnaryOp::Neg) {
    // `-128i8` is one literal, though 128 alone does not fit.
    const auto *number = dyn_cast<ast::NumberExpr>(e.operand.get());
    std::optional<DType> dtype = number ? parseDType(number->suffix) : std::nullopt;
    if (dtype && isSigned(*dtype) && !number->isFloat && number->intValue <= uint64_t(INT64_MAX) &&
        dtypeHolds(*dtype, -static_cast<int64_t>(number->intValue)))
      return Value::array(constantInt(-static_cast<int64_t>(number->intValue), *dtype, e.range), *dtype, e.range);
    return negate(expression(*e.operand), e.range);
  }
  Value operand = expression(*e.operand);
  if (operand.isError())
    return operand;
  if (const auto *boolean = operand.as<BoolValue>())
    return Value::boolean(!boolean->value, e.range);
  Value made = materialize(operand);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  if (!isBool(array->dtype))
    return error(Code::E0305, e.range, "`not` is for bool: expected bool, got " + render(made))
        .fix(e.operand->range, "(" + e.operand->range.text() + " != 0)");
  Emitter emit{*this, loc(e.range), e.range};
  Value result =
      Value::array(emit.make<XOrIOp>(array->ssa, emit.constantLike(1, DType::Bool, array->ssa)), DType::Bool, e.range);
  if (!array->facts)
    return result;
  return Value::withFacts(result,
                          std::make_shared<SizeFacts>(SizeFacts{array->facts->whenFalse, array->facts->whenTrue}));
}

//===----------------------------------------------------------------------===//
// Bit operations
//===----------------------------------------------------------------------===//

template <typename SignedOp, typename UnsignedOp> static Value bitOperation(CallContext &c) {
  Elaborator &e = c.e;
  std::string what = "'" + c.builtin.name + "'";
  bool isShift = std::is_same_v<SignedOp, ShLIOp> || std::is_same_v<SignedOp, ShRSIOp>;
  if (c[0].is(ValueKind::Int) && c[1].is(ValueKind::Int)) {
    int64_t a = c[0].as<IntValue>()->value, b = c[1].as<IntValue>()->value;
    if (!isShift)
      return Value::integer(std::is_same_v<SignedOp, AndIOp>  ? a & b
                            : std::is_same_v<SignedOp, OrIOp> ? a | b
                                                              : a ^ b,
                            c.range);
  }
  Value operands[2] = {c[0], c[1]};
  if (!e.unifyForElementwise(operands, c.range, what))
    return Value::error();
  const auto *a = operands[0].as<ArrayValue>(), *b = operands[1].as<ArrayValue>();
  if (!isInteger(a->dtype) && !(isBool(a->dtype) && !isShift))
    return e.error(Code::E0305, c.range, what + " is for integers, got " + dtypeName(a->dtype));
  Emitter emit{e, e.loc(c.range), c.range};
  mlir::Value x = a->ssa, y = b->ssa;
  if (!isShift)
    return Value::array(emit.make<SignedOp>(x, y), a->dtype, c.range);
  const auto *literal = c[1].as<IntValue>();
  if (literal && literal->value >= 0 && literal->value < int64_t(dtypeBits(a->dtype)))
    return Value::array(isSigned(a->dtype) ? emit.make<SignedOp>(x, y) : emit.make<UnsignedOp>(x, y), a->dtype,
                        c.range);
  // A shift by the width or more gives what shifting step by step would: zeros, or the sign.
  double width = dtypeBits(a->dtype);
  mlir::Value tooFar = emit.cmpi(CmpIPredicate::uge, y, emit.constantLike(width, a->dtype, x));
  mlir::Value zero = emit.constantLike(0, a->dtype, x);
  mlir::Value last = emit.constantLike(width - 1, a->dtype, x);
  if (std::is_same_v<SignedOp, ShRSIOp> && isSigned(a->dtype))
    return Value::array(emit.make<SignedOp>(x, emit.select(tooFar, last, y)), a->dtype, c.range);
  mlir::Value shifted = emit.make<UnsignedOp>(x, emit.select(tooFar, zero, y));
  return Value::array(emit.select(tooFar, zero, shifted), a->dtype, c.range);
}

void registerBitBuiltins(BuiltinTable &table) {
  table.add("bitand", "a, b", bitOperation<AndIOp, AndIOp>);
  table.add("bitor", "a, b", bitOperation<OrIOp, OrIOp>);
  table.add("bitxor", "a, b", bitOperation<XOrIOp, XOrIOp>);
  table.add("shl", "a, b", bitOperation<ShLIOp, ShLIOp>);
  table.add("shr", "a, b", bitOperation<ShRSIOp, ShRUIOp>);
}

} // namespace pmap::sema
