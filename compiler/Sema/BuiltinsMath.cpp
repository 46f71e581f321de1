// Elementwise mathematics. One table row per function of one floating argument; the others are short handlers.

#include "compiler/Sema/ParallelMap.h"
#include <cmath>

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;
namespace math = mlir::math;

namespace {

template <typename Op> mlir::Value op(Emit &m, mlir::Value x) { return Op::create(m.builder, m.loc, x); }

/// 1/(1+exp(-x)) without overflow in value or derivative: exp only sees arguments of at most 0.
mlir::Value sigmoid(Emit &m, mlir::Value x, DType t) {
  mlir::Value zero = m.like(x, 0, t), one = m.like(x, 1, t);
  mlir::Value positive = m.lessEqual(zero, x, t);
  mlir::Value e = math::ExpOp::create(m.builder, m.loc, m.select(positive, m.neg(x), x));
  mlir::Value inverse = m.div(one, m.add(one, e));
  return m.select(positive, inverse, m.mul(e, inverse));
}

/// log(1+exp(x)) = max(x, 0) + log1p(exp(-|x|)).
mlir::Value softplus(Emit &m, mlir::Value x, DType t) {
  mlir::Value zero = m.like(x, 0, t);
  mlir::Value positive = m.lessEqual(zero, x, t);
  mlir::Value e = math::ExpOp::create(m.builder, m.loc, m.select(positive, m.neg(x), x));
  return m.add(m.select(positive, x, zero), math::Log1pOp::create(m.builder, m.loc, e));
}

/// Only constants are selected, so that the derivative is 0 everywhere; a NaN stays one.
mlir::Value signOfFloat(Emit &m, mlir::Value x, DType t) {
  mlir::Value zero = m.like(x, 0, t);
  mlir::Value atZero = m.select(m.equal(x, zero), zero, m.like(x, std::nan(""), t));
  mlir::Value negative = m.select(m.less(x, zero, t), m.like(x, -1, t), atZero);
  return m.select(m.less(zero, x, t), m.like(x, 1, t), negative);
}

/// Functions of one float: how they are emitted, and how a literal argument is folded.
struct UnaryRow {
  llvm::StringLiteral name;
  mlir::Value (*emit)(Emit &, mlir::Value, DType);
  double (*fold)(double);
};

#define MATH(name, Op, fold)                                                                                           \
  {#name, [](Emit &m, mlir::Value x, DType) { return op<math::Op>(m, x); }, [](double x) -> double { return fold; }}

const UnaryRow unaryRows[] = {
    MATH(acos, AcosOp, std::acos(x)),
    MATH(acosh, AcoshOp, std::acosh(x)),
    MATH(asin, AsinOp, std::asin(x)),
    MATH(asinh, AsinhOp, std::asinh(x)),
    MATH(atan, AtanOp, std::atan(x)),
    MATH(atanh, AtanhOp, std::atanh(x)),
    MATH(cbrt, CbrtOp, std::cbrt(x)),
    MATH(ceil, CeilOp, std::ceil(x)),
    MATH(cos, CosOp, std::cos(x)),
    MATH(cosh, CoshOp, std::cosh(x)),
    MATH(erf, ErfOp, std::erf(x)),
    MATH(erfc, ErfcOp, std::erfc(x)),
    MATH(exp, ExpOp, std::exp(x)),
    MATH(exp2, Exp2Op, std::exp2(x)),
    MATH(expm1, ExpM1Op, std::expm1(x)),
    MATH(floor, FloorOp, std::floor(x)),
    MATH(log, LogOp, std::log(x)),
    MATH(log10, Log10Op, std::log10(x)),
    MATH(log1p, Log1pOp, std::log1p(x)),
    MATH(log2, Log2Op, std::log2(x)),
    MATH(rint, RoundEvenOp, std::nearbyint(x)),
    MATH(round, RoundEvenOp, std::nearbyint(x)), // NumPy's: halves go to the even neighbour
    MATH(rsqrt, RsqrtOp, 1 / std::sqrt(x)),
    MATH(sin, SinOp, std::sin(x)),
    MATH(sinh, SinhOp, std::sinh(x)),
    MATH(sqrt, SqrtOp, std::sqrt(x)),
    MATH(tan, TanOp, std::tan(x)),
    MATH(tanh, TanhOp, std::tanh(x)),
    MATH(trunc, TruncOp, std::trunc(x)),
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", softplus, [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }},
    {"square", [](Emit &m, mlir::Value x, DType) { return m.mul(x, x); }, [](double x) { return x * x; }},
    {"reciprocal", [](Emit &m, mlir::Value x, DType t) { return m.div(m.like(x, 1, t), x); },
     [](double x) { return 1 / x; }},
    {"deg2rad", [](Emit &m, mlir::Value x, DType t) { return m.mul(x, m.like(x, M_PI / 180, t)); },
     [](double x) { return x * (M_PI / 180); }},
    {"rad2deg", [](Emit &m, mlir::Value x, DType t) { return m.mul(x, m.like(x, 180 / M_PI, t)); },
     [](double x) { return x * (180 / M_PI); }},
};
#undef MATH

/// The value of a literal, if it is one.
std::optional<double> literalOf(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return double(integer->value);
  if (const auto *floating = value.as<FloatValue>())
    return floating->value;
  return std::nullopt;
}

Value unaryMath(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  StringRef name = c.builtin.name;
  const UnaryRow *row = llvm::find_if(unaryRows, [&](const UnaryRow &r) { return r.name == name; });
  const Value &x = c[0];
  // A literal stays a literal, and a value that no dtype has claimed yet stays unclaimed.
  if (auto literal = literalOf(x))
    return Value::floating(row->fold(*literal), c.range);
  Emit m(c);
  bool weak = c.e.isArrayLike(x) && !c.e.dtypeOf(x);
  Arguments arguments(c);
  if (weak) {
    Operand operand = arguments.asArray(x, DType::F64);
    if (!operand)
      return Value::error();
    return Value::array(row->emit(m, operand.ssa, DType::F64), DType::F64, c.range, /*weak=*/true);
  }
  Operand operand = arguments.floating("x");
  if (!operand)
    return Value::error();
  return Value::array(row->emit(m, operand.ssa, operand.dtype), operand.dtype, c.range);
}

/// The two arguments of a function, as arrays of one dtype, shape and variance. False on error.
bool unify(CallContext &c, SmallVector<Value, 3> &operands) {
  for (const Value &value : operands)
    if (!value || value.isError())
      return false;
  return c.e.unifyForElementwise(operands, c.range, "`" + c.builtin.name + "`");
}

Value binaryMath(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  SmallVector<Value, 3> operands(c.arguments.begin(), c.arguments.end());
  auto x = literalOf(c[0]), y = literalOf(c[1]);
  StringRef name = c.builtin.name;
  if (x && y) {
    double value = name == "atan2"      ? std::atan2(*x, *y)
                   : name == "hypot"    ? std::hypot(*x, *y)
                   : name == "copysign" ? std::copysign(*x, *y)
                   : name == "fdim"     ? std::fdim(*x, *y)
                   : name == "fmod"     ? std::fmod(*x, *y)
                                        : std::log(std::exp(*x) + std::exp(*y));
    return Value::floating(value, c.range);
  }
  // Literals of both kinds meet as floats.
  if (!c.e.dtypeOf(c[0]) && !c.e.dtypeOf(c[1]))
    for (Value &operand : operands)
      operand = c.e.convert(operand, DType::F32, c.range);
  if (!unify(c, operands))
    return Value::error();
  const auto *a = operands[0].as<ArrayValue>(), *b = operands[1].as<ArrayValue>();
  if (!a || !b)
    return Value::error();
  DType t = a->dtype;
  if (!isFloat(t))
    return Arguments(c).badDType({a->ssa, t, c[0].range()}, "floats", "f32");
  Emit m(c);
  mlir::Value p = a->ssa, q = b->ssa, result;
  if (name == "atan2") {
    result = math::Atan2Op::create(m.builder, m.loc, p, q);
  } else if (name == "copysign") {
    result = math::CopySignOp::create(m.builder, m.loc, p, q);
  } else if (name == "fdim") {
    mlir::Value zero = m.like(p, 0, t);
    result = m.maximum(m.sub(p, q), zero, t);
  } else if (name == "fmod") {
    result = mlir::arith::RemFOp::create(m.builder, m.loc, p, q);
  } else if (name == "hypot") {
    // The larger is factored out so that squares neither overflow nor vanish.
    mlir::Value ap = math::AbsFOp::create(m.builder, m.loc, p), aq = math::AbsFOp::create(m.builder, m.loc, q);
    mlir::Value large = m.maximum(ap, aq, t), small = m.minimum(ap, aq, t);
    mlir::Value zero = m.like(p, 0, t), one = m.like(p, 1, t), infinity = m.like(p, HUGE_VAL, t);
    // C's hypot is infinite where either side is, even beside a NaN.
    mlir::Value infinite = m.logicalOr(m.equal(ap, infinity), m.equal(aq, infinity));
    mlir::Value divisor = m.select(m.logicalOr(m.equal(large, zero), infinite), one, large);
    mlir::Value ratio = m.div(m.select(infinite, zero, small), divisor);
    mlir::Value root = math::SqrtOp::create(m.builder, m.loc, m.add(one, m.mul(ratio, ratio)));
    result = m.select(infinite, infinity, m.mul(large, root));
  } else { // logaddexp: max + log1p(exp(-|difference|)), and equal infinities stay what they are
    mlir::Value large = m.maximum(p, q, t), difference = m.sub(p, q), zero = m.like(p, 0, t);
    mlir::Value same = m.equal(p, q);
    mlir::Value safe = m.select(same, zero, difference);
    mlir::Value shrink = math::ExpOp::create(m.builder, m.loc, m.select(m.less(zero, safe, t), m.neg(safe), safe));
    result = m.add(large, math::Log1pOp::create(m.builder, m.loc, shrink));
  }
  return Value::array(result, t, c.range);
}

Value power(CallContext &c) { return c.e.binary(ast::BinaryOp::Pow, c[0], c[1], c.range, c.range); }

Value extremum(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  bool larger = c.builtin.name == "maximum";
  SmallVector<Value, 3> operands(c.arguments.begin(), c.arguments.end());
  const auto *i = c[0].as<IntValue>(), *j = c[1].as<IntValue>();
  if (i && j)
    return Value::integer(larger ? std::max(i->value, j->value) : std::min(i->value, j->value), c.range);
  auto x = literalOf(c[0]), y = literalOf(c[1]);
  if (x && y)
    return Value::floating(larger ? std::fmax(*x, *y) : std::fmin(*x, *y), c.range);
  // Sizes and integer literals have an extremum that is a size.
  auto asSize = [](const Value &v) -> std::optional<Size> {
    if (const auto *size = v.as<SizeValue>())
      return size->polynomial;
    if (const auto *literal = v.as<IntValue>())
      return Size(literal->value);
    return std::nullopt;
  };
  auto p = asSize(c[0]), q = asSize(c[1]);
  if (p && q) {
    // What was sliced is known to be the larger one.
    if (c.e.provablyNonNegative(*q - *p))
      return Value::size(larger ? *q : *p, c.range);
    if (c.e.provablyNonNegative(*p - *q))
      return Value::size(larger ? *p : *q, c.range);
    return Value::size(larger ? Size::max(*p, *q) : Size::min(*p, *q), c.range);
  }
  // And so have integers that only the run knows where they become sizes: x[:minimum(k, n)] is in range. The parts of a
  // size are at least 0, which says nothing of the greater of two.
  auto isNumber = [&](const Value &v) { return c.e.isArrayLike(v) && c.e.rankOf(v) == 0; };
  std::shared_ptr<const SizeRecipe> recipe;
  if (isNumber(c[0]) && isNumber(c[1]))
    recipe = c.e.combine(c[0], c[1], [&](const Size &a, const Size &b) -> std::optional<Size> {
      return larger ? Size::max(a, b) : Size::min(a, b);
    });
  if (recipe && larger && !recipe->scalars.empty())
    recipe = nullptr;
  if (!unify(c, operands))
    return Value::error();
  const auto *a = operands[0].as<ArrayValue>(), *b = operands[1].as<ArrayValue>();
  if (!a || !b)
    return Value::error();
  Emit m(c);
  if (a->dtype == DType::Key)
    return Arguments(c).badDType({a->ssa, a->dtype, c[0].range()}, "numbers");
  mlir::Value result = larger ? m.maximum(a->ssa, b->ssa, a->dtype) : m.minimum(a->ssa, b->ssa, a->dtype);
  return Value::scalar(result, a->dtype, c.range, /*weak=*/false, recipe);
}

Value absolute(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  if (const auto *integer = c[0].as<IntValue>())
    return Value::integer(integer->value < 0 ? -integer->value : integer->value, c.range);
  if (const auto *floating = c[0].as<FloatValue>())
    return Value::floating(std::fabs(floating->value), c.range);
  Operand x = Arguments(c).array("x");
  if (!x)
    return Value::error();
  Emit m(c);
  if (isFloat(x.dtype))
    return Value::array(op<math::AbsFOp>(m, x.ssa), x.dtype, c.range);
  if (isSigned(x.dtype))
    return Value::array(op<math::AbsIOp>(m, x.ssa), x.dtype, c.range);
  if (isUnsigned(x.dtype))
    return Value::array(x.ssa, x.dtype, c.range);
  return Arguments(c).badDType(x, "numbers", "i32");
}

Value sign(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  if (auto literal = literalOf(c[0]))
    return Value::integer(*literal > 0 ? 1 : *literal < 0 ? -1 : 0, c.range);
  Operand x = Arguments(c).array("x");
  if (!x)
    return Value::error();
  Emit m(c);
  if (isFloat(x.dtype))
    return Value::array(signOfFloat(m, x.ssa, x.dtype), x.dtype, c.range);
  if (!isInteger(x.dtype))
    return Arguments(c).badDType(x, "numbers", "i32");
  mlir::Value zero = m.likeInt(x.ssa, 0, x.dtype), one = m.likeInt(x.ssa, 1, x.dtype);
  mlir::Value result = m.select(m.less(zero, x.ssa, x.dtype), one, zero);
  if (isSigned(x.dtype))
    result = m.select(m.less(x.ssa, zero, x.dtype), m.likeInt(x.ssa, -1, x.dtype), result);
  return Value::array(result, x.dtype, c.range);
}

/// isnan, isinf, isfinite: never true, or always, for what is no float.
Value classify(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  Operand x = Arguments(c).array("x", c.e.dtypeOf(c[0]) ? std::nullopt : std::optional(DType::F32));
  if (!x)
    return Value::error();
  if (!isFloat(x.dtype))
    return Arguments(c).badDType(x, "floats", "f32");
  Emit m(c);
  StringRef name = c.builtin.name;
  mlir::Value result;
  if (name == "isnan") {
    result = m.notEqual(x.ssa, x.ssa);
  } else {
    mlir::Value size = op<math::AbsFOp>(m, x.ssa);
    mlir::Value infinity = m.like(x.ssa, HUGE_VAL, x.dtype);
    result = name == "isinf" ? m.equal(size, infinity) : m.less(size, infinity, x.dtype);
  }
  return Value::array(result, DType::Bool, c.range);
}

Value clip(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  if (!c.has("min") && !c.has("max"))
    return c.e.error(Code::E0520, c.range, "`clip` needs a bound, `min:` or `max:`, got none");
  SmallVector<Value, 3> operands = {c[0]};
  for (StringRef bound : {"min", "max"})
    if (c.has(bound))
      operands.push_back(c[bound]);
  if (!unify(c, operands))
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 3> ssa;
  DType t = DType::F32;
  for (const Value &operand : operands) {
    const auto *array = operand.as<ArrayValue>();
    if (!array)
      return Value::error();
    ssa.push_back(array->ssa);
    t = array->dtype;
  }
  if (t == DType::Key)
    return Arguments(c).badDType({ssa[0], t, c[0].range()}, "numbers");
  mlir::Value result = ssa[0];
  unsigned next = 1;
  if (c.has("min"))
    result = m.maximum(result, ssa[next++], t);
  if (c.has("max"))
    result = m.minimum(result, ssa[next], t);
  return Value::array(result, t, c.range);
}

Value where(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  Operand condition = Arguments(c).array("condition");
  if (!condition || !c[1] || !c[2] || c[1].isError() || c[2].isError())
    return Value::error();
  if (!isBool(condition.dtype)) {
    Report report = c.e.error(Code::E0320, condition.range,
                              "`where` needs a bool condition, got " +
                                  c.e.renderArray(condition.dtype, c.e.sizesOf(condition.ssa)));
    if (condition.range.isValid())
      report.fix(condition.range.endPoint(), " != 0");
    return report;
  }
  auto dtype = c.e.commonDType({c[1], c[2]}, c.range, "`where`");
  if (!dtype)
    return Value::error();
  Value a = c.e.materialize(c[1], *dtype), b = c.e.materialize(c[2], *dtype);
  if (a.isError() || b.isError())
    return Value::error();
  SmallVector<Value, 3> operands = {Value::array(condition.ssa, DType::Bool, condition.range), a, b};
  if (!c.e.unifyForElementwise(operands, c.range, "`where`", /*keepDTypes=*/true))
    return Value::error();
  Emit m(c);
  mlir::Value result =
      m.select(operands[0].as<ArrayValue>()->ssa, operands[1].as<ArrayValue>()->ssa, operands[2].as<ArrayValue>()->ssa);
  return Value::array(result, *dtype, c.range);
}

Value fusedMultiplyAdd(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  SmallVector<Value, 3> operands(c.arguments.begin(), c.arguments.end());
  if (!unify(c, operands))
    return Value::error();
  const auto *x = operands[0].as<ArrayValue>();
  if (!isFloat(x->dtype))
    return Arguments(c).badDType({x->ssa, x->dtype, c[0].range()}, "floats", "f32");
  Emit m(c);
  mlir::Value result = math::FmaOp::create(m.builder, m.loc, x->ssa, operands[1].as<ArrayValue>()->ssa,
                                           operands[2].as<ArrayValue>()->ssa);
  return Value::array(result, x->dtype, c.range);
}

} // namespace

void sema::registerMathBuiltins(BuiltinTable &table) {
  for (const UnaryRow &row : unaryRows)
    table.add(row.name, "x", unaryMath);
  for (StringRef name : {"atan2", "hypot", "copysign", "fdim", "fmod", "logaddexp"})
    table.add(name, "x, y", binaryMath);
  for (StringRef name : {"minimum", "maximum"})
    table.add(name, "x, y", extremum);
  for (StringRef name : {"isnan", "isinf", "isfinite"})
    table.add(name, "x", classify);
  table.add("pow", "x, y", power);
  table.add("abs", "x", absolute);
  table.add("fabs", "x", absolute);
  table.add("sign", "x", sign);
  table.add("clip", "x, min?, max?", clip);
  table.add("where", "condition, x, y", where);
  table.add("fma", "x, y, z", fusedMultiplyAdd);
}
