#include "compiler/Evaluate/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringSwitch.h"
#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace pmap::evaluate {
namespace {

using Real = long double;

//===-- Floating operations ------------------------------------------------------------------------------------------//

/// Basic arithmetic is done in double. For the narrower formats that is exact enough to round only once, since double
/// has more than twice their digits, and for f64 it is the operation itself.
using BasicFunction = double (*)(double, double);

/// NumPy's and IEEE 754-2019's maximum: a NaN wins.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

BasicFunction basicFunction(StringRef name) {
  return llvm::StringSwitch<BasicFunction>(name)
      .Case("arith.addf", [](double a, double b) { return a + b; })
      .Case("arith.subf", [](double a, double b) { return a - b; })
      .Case("arith.mulf", [](double a, double b) { return a * b; })
      .Case("arith.divf", [](double a, double b) { return a / b; })
      .Case("arith.remf", [](double a, double b) { return std::fmod(a, b); })
      .Case("arith.maximumf", maximum)
      .Case("arith.minimumf", minimum)
      .Case("arith.maxnumf", [](double a, double b) { return std::fmax(a, b); })
      .Case("arith.minnumf", [](double a, double b) { return std::fmin(a, b); })
      .Case("math.copysign", [](double a, double b) { return std::copysign(a, b); })
      .Case("math.atan2", [](double a, double b) { return double(std::atan2(Real(a), Real(b))); })
      .Case("math.powf", [](double a, double b) { return double(std::pow(Real(a), Real(b))); })
      .Default(nullptr);
}

using UnaryFunction = double (*)(double);

Real roundHalfEven(Real x) {
  Real below = std::floor(x), rest = x - below;
  if (rest < 0.5L || (rest == 0.5L && std::fmod(below, 2.0L) == 0))
    return std::copysign(below, x);
  return std::copysign(below + 1, x);
}

UnaryFunction unaryFunction(StringRef name) {
  return llvm::StringSwitch<UnaryFunction>(name)
      .Case("arith.negf", [](double x) { return -x; })
      .Case("math.absf", [](double x) { return std::fabs(x); })
      .Case("math.acos", [](double x) { return double(std::acos(Real(x))); })
      .Case("math.acosh", [](double x) { return double(std::acosh(Real(x))); })
      .Case("math.asin", [](double x) { return double(std::asin(Real(x))); })
      .Case("math.asinh", [](double x) { return double(std::asinh(Real(x))); })
      .Case("math.atan", [](double x) { return double(std::atan(Real(x))); })
      .Case("math.atanh", [](double x) { return double(std::atanh(Real(x))); })
      .Case("math.cbrt", [](double x) { return double(std::cbrt(Real(x))); })
      .Case("math.ceil", [](double x) { return std::ceil(x); })
      .Case("math.cos", [](double x) { return double(std::cos(Real(x))); })
      .Case("math.cosh", [](double x) { return double(std::cosh(Real(x))); })
      .Case("math.erf", [](double x) { return double(std::erf(Real(x))); })
      .Case("math.erfc", [](double x) { return double(std::erfc(Real(x))); })
      .Case("math.exp", [](double x) { return double(std::exp(Real(x))); })
      .Case("math.exp2", [](double x) { return double(std::exp2(Real(x))); })
      .Case("math.expm1", [](double x) { return double(std::expm1(Real(x))); })
      .Case("math.floor", [](double x) { return std::floor(x); })
      .Case("math.log", [](double x) { return double(std::log(Real(x))); })
      .Case("math.log10", [](double x) { return double(std::log10(Real(x))); })
      .Case("math.log1p", [](double x) { return double(std::log1p(Real(x))); })
      .Case("math.log2", [](double x) { return double(std::log2(Real(x))); })
      .Case("math.round", [](double x) { return std::round(x); })
      .Case("math.roundeven", [](double x) { return double(roundHalfEven(x)); })
      .Case("math.rsqrt", [](double x) { return double(1 / std::sqrt(Real(x))); })
      .Case("math.sin", [](double x) { return double(std::sin(Real(x))); })
      .Case("math.sinh", [](double x) { return double(std::sinh(Real(x))); })
      .Case("math.sqrt", [](double x) { return std::sqrt(x); })
      .Case("math.tan", [](double x) { return double(std::tan(Real(x))); })
      .Case("math.tanh", [](double x) { return double(std::tanh(Real(x))); })
      .Case("math.trunc", [](double x) { return std::trunc(x); })
      .Default(nullptr);
}

using TestFunction = bool (*)(double);

TestFunction testFunction(StringRef name) {
  return llvm::StringSwitch<TestFunction>(name)
      .Case("math.isnan", [](double x) { return bool(std::isnan(x)); })
      .Case("math.isinf", [](double x) { return bool(std::isinf(x)); })
      .Case("math.isfinite", [](double x) { return bool(std::isfinite(x)); })
      .Case("math.isnormal", [](double x) { return bool(std::isnormal(x)); })
      .Default(nullptr);
}

bool compareReal(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return unordered || a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  llvm_unreachable("no such predicate");
}

//===-- Integer operations -------------------------------------------------------------------------------------------//

/// Operands come sign-extended to 64 bits and, for the unsigned operations, zero-extended too; the result's low bits
/// are kept, which is what wrapping means.
struct IntegerPair {
  int64_t a, b;
  uint64_t ua, ub;
  int64_t bits;
};
using IntegerFunction = int64_t (*)(const IntegerPair &);

/// Signed division; the one overflow, min / -1, wraps to min.
int64_t divideSigned(int64_t a, int64_t b) { return b == -1 ? int64_t(0 - uint64_t(a)) : a / b; }
int64_t remainderSigned(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t divideFloor(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t divideCeil(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

bool dividesIntegers(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}, true)
      .Cases({"arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"}, true)
      .Default(false);
}

IntegerFunction integerFunction(StringRef name) {
  using P = const IntegerPair &;
  return llvm::StringSwitch<IntegerFunction>(name)
      .Case("arith.addi", [](P p) { return int64_t(p.ua + p.ub); })
      .Case("arith.subi", [](P p) { return int64_t(p.ua - p.ub); })
      .Case("arith.muli", [](P p) { return int64_t(p.ua * p.ub); })
      .Case("arith.divsi", [](P p) { return divideSigned(p.a, p.b); })
      .Case("arith.divui", [](P p) { return int64_t(p.ua / p.ub); })
      .Case("arith.remsi", [](P p) { return remainderSigned(p.a, p.b); })
      .Case("arith.remui", [](P p) { return int64_t(p.ua % p.ub); })
      .Case("arith.floordivsi", [](P p) { return divideFloor(p.a, p.b); })
      .Case("arith.ceildivsi", [](P p) { return divideCeil(p.a, p.b); })
      .Case("arith.ceildivui", [](P p) { return int64_t(p.ua / p.ub + (p.ua % p.ub != 0)); })
      .Case("arith.andi", [](P p) { return p.a & p.b; })
      .Case("arith.ori", [](P p) { return p.a | p.b; })
      .Case("arith.xori", [](P p) { return p.a ^ p.b; })
      // A shift by the width or more moves every bit out.
      .Case("arith.shli", [](P p) { return p.ub >= uint64_t(p.bits) ? 0 : int64_t(p.ua << p.ub); })
      .Case("arith.shrui", [](P p) { return p.ub >= uint64_t(p.bits) ? 0 : int64_t(p.ua >> p.ub); })
      .Case("arith.shrsi", [](P p) { return p.a >> (p.ub >= uint64_t(p.bits) ? p.bits - 1 : int64_t(p.ub)); })
      .Case("arith.maxsi", [](P p) { return p.a > p.b ? p.a : p.b; })
      .Case("arith.minsi", [](P p) { return p.a < p.b ? p.a : p.b; })
      .Case("arith.maxui", [](P p) { return int64_t(p.ua > p.ub ? p.ua : p.ub); })
      .Case("arith.minui", [](P p) { return int64_t(p.ua < p.ub ? p.ua : p.ub); })
      .Case("math.ipowi",
            [](P p) {
              // A negative power of an integer is its reciprocal, truncated.
              if (p.b < 0)
                return p.a == 1 ? int64_t(1) : p.a == -1 ? (p.b % 2 ? int64_t(-1) : int64_t(1)) : int64_t(0);
              uint64_t result = 1, base = p.ua;
              for (uint64_t power = uint64_t(p.b); power != 0; power >>= 1, base *= base)
                if (power & 1)
                  result *= base;
              return int64_t(result);
            })
      .Default(nullptr);
}

IntegerFunction integerUnaryFunction(StringRef name) {
  using P = const IntegerPair &;
  return llvm::StringSwitch<IntegerFunction>(name)
      .Case("math.absi", [](P p) { return p.a < 0 ? int64_t(0 - uint64_t(p.a)) : p.a; })
      .Case("math.ctpop", [](P p) { return int64_t(std::popcount(p.ua)); })
      .Case("math.ctlz", [](P p) { return int64_t(std::countl_zero(p.ua)) - (64 - p.bits); })
      .Case("math.cttz", [](P p) { return p.ua == 0 ? p.bits : int64_t(std::countr_zero(p.ua)); })
      .Default(nullptr);
}

/// A one-bit integer reads as 0 or 1 from the array; as a signed number its set bit is the sign.
int64_t asSigned(const NDArray &array, int64_t i) {
  int64_t value = array.integer(i);
  return array.element() == Element::Bool ? -value : value;
}

IntegerPair pairOf(const NDArray &a, const NDArray &b, int64_t i) {
  int64_t bits = a.element() == Element::Bool ? 1 : 8 * byteWidth(a.element());
  return {asSigned(a, i), asSigned(b, i), a.unsignedInteger(i), b.unsignedInteger(i), bits};
}

bool compareInteger(arith::CmpIPredicate predicate, const IntegerPair &p) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return p.ua == p.ub;
  case arith::CmpIPredicate::ne:
    return p.ua != p.ub;
  case arith::CmpIPredicate::slt:
    return p.a < p.b;
  case arith::CmpIPredicate::sle:
    return p.a <= p.b;
  case arith::CmpIPredicate::sgt:
    return p.a > p.b;
  case arith::CmpIPredicate::sge:
    return p.a >= p.b;
  case arith::CmpIPredicate::ult:
    return p.ua < p.ub;
  case arith::CmpIPredicate::ule:
    return p.ua <= p.ub;
  case arith::CmpIPredicate::ugt:
    return p.ua > p.ub;
  case arith::CmpIPredicate::uge:
    return p.ua >= p.ub;
  }
  llvm_unreachable("no such predicate");
}

//===-- Conversions --------------------------------------------------------------------------------------------------//

/// A floating number as an integer, toward zero; what does not fit saturates and NaN becomes 0, as in JAX.
int64_t truncateToSigned(double x, int64_t bits) {
  double limit = std::ldexp(1.0, int(bits) - 1);
  int64_t largest = int64_t((uint64_t(1) << (bits - 1)) - 1);
  if (std::isnan(x))
    return 0;
  if (x >= limit)
    return largest;
  if (x <= -limit)
    return -largest - 1;
  return int64_t(x);
}

int64_t truncateToUnsigned(double x, int64_t bits) {
  double limit = std::ldexp(1.0, int(bits));
  if (std::isnan(x) || x <= 0)
    return 0;
  if (x >= limit)
    return int64_t(bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
  return int64_t(uint64_t(x));
}

/// An integer as a floating number, rounded once: going through double first would round a 64-bit integer twice on its
/// way to f32.
void setFromInteger(NDArray &result, int64_t i, bool isUnsigned, int64_t value) {
  if (result.element() == Element::F32)
    result.setReal(i, isUnsigned ? float(uint64_t(value)) : float(value));
  else
    result.setReal(i, isUnsigned ? double(uint64_t(value)) : double(value));
}

/// Applies a conversion; false when `name` is none.
bool convert(StringRef name, const NDArray &from, NDArray &result) {
  enum class Kind { None, Real, SignedToReal, UnsignedToReal, RealToSigned, RealToUnsigned, Signed, Unsigned, Bits };
  Kind kind = llvm::StringSwitch<Kind>(name)
                  .Cases({"arith.extf", "arith.truncf"}, Kind::Real)
                  .Case("arith.sitofp", Kind::SignedToReal)
                  .Case("arith.uitofp", Kind::UnsignedToReal)
                  .Case("arith.fptosi", Kind::RealToSigned)
                  .Case("arith.fptoui", Kind::RealToUnsigned)
                  .Cases({"arith.extsi", "arith.trunci", "arith.index_cast"}, Kind::Signed)
                  .Cases({"arith.extui", "arith.index_castui"}, Kind::Unsigned)
                  .Case("arith.bitcast", Kind::Bits)
                  .Default(Kind::None);
  if (kind == Kind::None)
    return false;
  if (kind == Kind::Bits) {
    result = NDArray::fromBytes(result.element(), result.shape(), from.data());
    return true;
  }
  int64_t bits = result.element() == Element::Bool ? 1 : 8 * byteWidth(result.element());
  for (int64_t i = 0; i < result.count(); ++i) {
    switch (kind) {
    case Kind::Real:
      result.setReal(i, from.real(i));
      break;
    case Kind::SignedToReal:
      setFromInteger(result, i, false, asSigned(from, i));
      break;
    case Kind::UnsignedToReal:
      setFromInteger(result, i, true, int64_t(from.unsignedInteger(i)));
      break;
    case Kind::RealToSigned:
      result.setInteger(i, truncateToSigned(from.real(i), bits));
      break;
    case Kind::RealToUnsigned:
      result.setInteger(i, truncateToUnsigned(from.real(i), bits));
      break;
    case Kind::Signed:
      result.setInteger(i, asSigned(from, i));
      break;
    default:
      result.setInteger(i, int64_t(from.unsignedInteger(i)));
      break;
    }
  }
  return true;
}

} // namespace

ElementwiseStatus evaluateElementwise(Operation *op, ArrayRef<NDArray> operands, NDArray &result) {
  StringRef name = op->getName().getStringRef();
  int64_t count = result.count();

  if (UnaryFunction function = unaryFunction(name)) {
    for (int64_t i = 0; i < count; ++i)
      result.setReal(i, function(operands[0].real(i)));
    return ElementwiseStatus::Done;
  }
  if (BasicFunction function = basicFunction(name)) {
    for (int64_t i = 0; i < count; ++i)
      result.setReal(i, function(operands[0].real(i), operands[1].real(i)));
    return ElementwiseStatus::Done;
  }
  if (IntegerFunction function = integerUnaryFunction(name)) {
    for (int64_t i = 0; i < count; ++i)
      result.setInteger(i, function(pairOf(operands[0], operands[0], i)));
    return ElementwiseStatus::Done;
  }
  if (IntegerFunction function = integerFunction(name)) {
    bool divides = dividesIntegers(name);
    for (int64_t i = 0; i < count; ++i) {
      IntegerPair pair = pairOf(operands[0], operands[1], i);
      if (divides && pair.b == 0)
        return ElementwiseStatus::DivisionByZero;
      result.setInteger(i, function(pair));
    }
    return ElementwiseStatus::Done;
  }
  if (convert(name, operands[0], result))
    return ElementwiseStatus::Done;
  if (TestFunction function = testFunction(name)) {
    for (int64_t i = 0; i < count; ++i)
      result.setInteger(i, function(operands[0].real(i)));
    return ElementwiseStatus::Done;
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    for (int64_t i = 0; i < count; ++i)
      result.setInteger(i, compareReal(compare.getPredicate(), operands[0].real(i), operands[1].real(i)));
    return ElementwiseStatus::Done;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    for (int64_t i = 0; i < count; ++i)
      result.setInteger(i, compareInteger(compare.getPredicate(), pairOf(operands[0], operands[1], i)));
    return ElementwiseStatus::Done;
  }
  if (isa<arith::SelectOp>(op)) {
    // The condition is one for all elements or one for each.
    bool scalar = operands[0].rank() == 0;
    for (int64_t i = 0; i < count; ++i)
      result.copyElement(i, operands[0].integer(scalar ? 0 : i) ? operands[1] : operands[2], i);
    return ElementwiseStatus::Done;
  }
  if (name == "math.fma") {
    for (int64_t i = 0; i < count; ++i) {
      double a = operands[0].real(i), b = operands[1].real(i), c = operands[2].real(i);
      result.setReal(i, result.element() == Element::F64 ? std::fma(a, b, c)
                                                         : double(std::fma(float(a), float(b), float(c))));
    }
    return ElementwiseStatus::Done;
  }
  if (name == "math.fpowi") {
    for (int64_t i = 0; i < count; ++i)
      result.setReal(i, double(std::pow(Real(operands[0].real(i)), Real(operands[1].integer(i)))));
    return ElementwiseStatus::Done;
  }
  if (name == "math.clampf") {
    for (int64_t i = 0; i < count; ++i)
      result.setReal(i, minimum(maximum(operands[0].real(i), operands[1].real(i)), operands[2].real(i)));
    return ElementwiseStatus::Done;
  }
  return ElementwiseStatus::Unknown;
}

} // namespace pmap::evaluate
