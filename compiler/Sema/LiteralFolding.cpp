// Operators on literals, which fold exactly.
#include "compiler/Sema/LiteralFolding.h"
#include <cmath>

using namespace llvm;
using pmap::ast::BinaryOp;

namespace pmap::sema {

std::optional<double> numberOf(const Value &value) {
  if (const auto *integer = value.as<IntValue>())
    return static_cast<double>(integer->value);
  if (const auto *floating = value.as<FloatValue>())
    return floating->value;
  return std::nullopt;
}

template <typename T> static bool compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Eq:
    return a == b;
  case BinaryOp::Ne:
    return a != b;
  case BinaryOp::Lt:
    return a < b;
  case BinaryOp::Le:
    return a <= b;
  case BinaryOp::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

Value foldLiterals(BinaryOp op, const Value &lhs, const Value &rhs, SourceRange range) {
  const auto *a = lhs.as<IntValue>(), *b = rhs.as<IntValue>();
  double x = *numberOf(lhs), y = *numberOf(rhs);
  if (ast::isComparison(op))
    return Value::boolean(a && b ? compare(op, a->value, b->value) : compare(op, x, y), range);
  if (a && b) {
    int64_t result;
    switch (op) {
    case BinaryOp::Add:
      return __builtin_add_overflow(a->value, b->value, &result) ? Value() : Value::integer(result, range);
    case BinaryOp::Sub:
      return __builtin_sub_overflow(a->value, b->value, &result) ? Value() : Value::integer(result, range);
    case BinaryOp::Mul:
      return __builtin_mul_overflow(a->value, b->value, &result) ? Value() : Value::integer(result, range);
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: {
      if (b->value == 0 || (a->value == INT64_MIN && b->value == -1))
        return Value();
      int64_t quotient = a->value / b->value, rest = a->value % b->value;
      bool adjust = rest != 0 && (rest < 0) != (b->value < 0);
      return Value::integer(op == BinaryOp::Mod ? rest + (adjust ? b->value : 0) : quotient - adjust, range);
    }
    case BinaryOp::Pow: {
      if (b->value < 0)
        break; // a fraction
      int64_t power = 1;
      for (int64_t i = 0; i < b->value && (power != 0 && (power != 1 || i == 0 || a->value != 1)); ++i)
        if (__builtin_mul_overflow(power, a->value, &power) || i > 64)
          return a->value == 1    ? Value::integer(1, range)
                 : a->value == -1 ? Value::integer(b->value % 2 ? -1 : 1, range)
                                  : Value();
      return Value::integer(power, range);
    }
    default:
      break;
    }
  }
  // What is computed from integers and their quotients is a size where it is whole: `4 / 2 + 1`.
  auto isOfSizes = [](const Value &v) { return v.is(ValueKind::Int) || v.as<FloatValue>()->isQuotient; };
  bool isQuotient = isOfSizes(lhs) && isOfSizes(rhs);
  switch (op) {
  case BinaryOp::Add:
    return Value::floating(x + y, range, isQuotient);
  case BinaryOp::Sub:
    return Value::floating(x - y, range, isQuotient);
  case BinaryOp::Mul:
    return Value::floating(x * y, range, isQuotient);
  case BinaryOp::Div:
    return Value::floating(x / y, range, isQuotient && y != 0);
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod: {
    double rest = std::fmod(x, y);
    bool adjust = rest != 0 && (rest < 0) != (y < 0);
    if (op == BinaryOp::Mod)
      return Value::floating(adjust ? rest + y : rest, range);
    return Value::floating(y == 0 ? x / y : std::nearbyint((x - rest) / y - (adjust ? 1 : 0)), range);
  }
  case BinaryOp::Pow:
    return Value::floating(std::pow(x, y), range);
  default:
    return Value();
  }
}

} // namespace pmap::sema
