// The derivatives of math's elementwise ops. Each rule is the formula, in the operand x and the result y.
#include "compiler/Dialect/IR/ElementwiseModel.h"
#include "compiler/Dialect/IR/Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;
using enum arith::CmpFPredicate;

constexpr double kLn2 = 0.693147180559945309417, kLn10 = 2.30258509299404568402;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

Expr sin(Expr x) { return x.apply<math::SinOp>(); }
Expr cos(Expr x) { return x.apply<math::CosOp>(); }
Expr sinh(Expr x) { return x.apply<math::SinhOp>(); }
Expr cosh(Expr x) { return x.apply<math::CoshOp>(); }
Expr exp(Expr x) { return x.apply<math::ExpOp>(); }
Expr log(Expr x) { return x.apply<math::LogOp>(); }
Expr sqrt(Expr x) { return x.apply<math::SqrtOp>(); }

// 0 at 0, so that |x|' is.
Expr sign(Expr x) {
  return select(x.compare(OGT, 0), x.number(1), select(x.compare(OLT, 0), x.number(-1), x.number(0)));
}

// x ** p for an exponent known to the compiler.
Expr constantPower(Expr x, double p) {
  if (p == 0)
    return x.number(1);
  if (p == 1)
    return x;
  if (p == 2)
    return x * x;
  return x.apply<math::PowFOp>(x.number(p));
}

std::optional<double> splatValue(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  DenseFPElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  bool inexact = false;
  APFloat number = elements.getSplatValue<APFloat>();
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

// d x**p / dx = p x**(p-1), which is 0 for p = 0 even at x = 0; d x**p / dp = x**p log x, which is 0 at x = 0.
void powRule(const ElementwiseRule &rule, Cotangents &cotangents) {
  Expr x = rule.operand(0), p = rule.operand(1);
  if (std::optional<double> constant = splatValue(p)) {
    cotangents.push_back(*constant == 0 ? Value() : rule.scaled(*constant * constantPower(x, *constant - 1)));
  } else {
    // Where p is 0 the exponent 0 is used for p - 1: p times that is 0 at every x.
    Expr isZero = p.compare(OEQ, 0);
    Expr lower = select(isZero, p.number(0), p - 1.0);
    cotangents.push_back(rule.scaled(p * x.apply<math::PowFOp>(lower)));
  }
  Expr base = select(x.compare(OEQ, 0), x.number(1), x);
  cotangents.push_back(rule.scaled(rule.result() * log(base)));
}

// x ** k for an integer k.
void integerPowRule(const ElementwiseRule &rule, Cotangents &cotangents) {
  Expr x = rule.operand(0);
  OpBuilder &builder = *x.builder;
  Value k = rule.op->getOperand(1);
  auto integers = cast<RankedTensorType>(k.getType());
  Value zero = splat(builder, x.loc, integers, 0), one = splat(builder, x.loc, integers, 1);
  Value isZero = arith::CmpIOp::create(builder, x.loc, arith::CmpIPredicate::eq, k, zero);
  Value lower = arith::SelectOp::create(builder, x.loc, isZero, zero, arith::SubIOp::create(builder, x.loc, k, one));
  Expr factor = x.with(arith::SIToFPOp::create(builder, x.loc, x.type(), k));
  Expr power = x.with(math::FPowIOp::create(builder, x.loc, x.value, lower));
  cotangents.append({rule.scaled(factor * power), Value()});
}

void atan2Rule(const ElementwiseRule &rule, Cotangents &cotangents) {
  Expr y = rule.operand(0), x = rule.operand(1);
  Expr norm = x * x + y * y;
  cotangents.append({rule.scaled(x / norm), rule.scaled(-(y / norm))});
}

void attachTrigonometry(MLIRContext *context) {
  attachUnary<math::SinOp>(context, [](Expr x, Expr y) { return cos(x); });
  attachUnary<math::CosOp>(context, [](Expr x, Expr y) { return -sin(x); });
  attachUnary<math::TanOp>(context, [](Expr x, Expr y) { return 1.0 + y * y; });
  attachUnary<math::AsinOp>(context, [](Expr x, Expr y) { return 1.0 / sqrt(1.0 - x * x); });
  attachUnary<math::AcosOp>(context, [](Expr x, Expr y) { return -1.0 / sqrt(1.0 - x * x); });
  attachUnary<math::AtanOp>(context, [](Expr x, Expr y) { return 1.0 / (1.0 + x * x); });
  attachRule<math::Atan2Op>(context,
                            [](const ElementwiseRule &rule, Cotangents &cotangents) { atan2Rule(rule, cotangents); });
  attachUnary<math::SinhOp>(context, [](Expr x, Expr y) { return cosh(x); });
  attachUnary<math::CoshOp>(context, [](Expr x, Expr y) { return sinh(x); });
  attachUnary<math::TanhOp>(context, [](Expr x, Expr y) { return 1.0 - y * y; });
  attachUnary<math::AsinhOp>(context, [](Expr x, Expr y) { return 1.0 / sqrt(x * x + 1.0); });
  // Two roots: x * x - 1 would cancel near 1 and overflow far from it.
  attachUnary<math::AcoshOp>(context, [](Expr x, Expr y) { return 1.0 / (sqrt(x - 1.0) * sqrt(x + 1.0)); });
  attachUnary<math::AtanhOp>(context, [](Expr x, Expr y) { return 1.0 / ((1.0 - x) * (1.0 + x)); });
}

void attachExponentials(MLIRContext *context) {
  attachUnary<math::ExpOp>(context, [](Expr x, Expr y) { return y; });
  attachUnary<math::Exp2Op>(context, [](Expr x, Expr y) { return kLn2 * y; });
  attachUnary<math::ExpM1Op>(context, [](Expr x, Expr y) { return exp(x); });
  attachUnary<math::LogOp>(context, [](Expr x, Expr y) { return 1.0 / x; });
  attachUnary<math::Log2Op>(context, [](Expr x, Expr y) { return (1 / kLn2) / x; });
  attachUnary<math::Log10Op>(context, [](Expr x, Expr y) { return (1 / kLn10) / x; });
  attachUnary<math::Log1pOp>(context, [](Expr x, Expr y) { return 1.0 / (x + 1.0); });
  attachUnary<math::SqrtOp>(context, [](Expr x, Expr y) { return 0.5 / y; });
  attachUnary<math::RsqrtOp>(context, [](Expr x, Expr y) { return -0.5 * (y / x); });
  attachUnary<math::CbrtOp>(context, [](Expr x, Expr y) { return (1.0 / 3.0) / (y * y); });
  attachUnary<math::ErfOp>(context, [](Expr x, Expr y) { return kTwoOverSqrtPi * exp(-(x * x)); });
  attachUnary<math::ErfcOp>(context, [](Expr x, Expr y) { return -kTwoOverSqrtPi * exp(-(x * x)); });
  attachRule<math::PowFOp>(context,
                           [](const ElementwiseRule &rule, Cotangents &cotangents) { powRule(rule, cotangents); });
  attachRule<math::FPowIOp>(
      context, [](const ElementwiseRule &rule, Cotangents &cotangents) { integerPowRule(rule, cotangents); });
}

void attachPiecewise(MLIRContext *context) {
  attachUnary<math::AbsFOp>(context, [](Expr x, Expr y) { return sign(x); });
  attachRule<math::CopySignOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr x = rule.operand(0), one = x.number(1);
    Expr flipped = one.apply<math::CopySignOp>(x) * one.apply<math::CopySignOp>(rule.operand(1));
    cotangents.append({rule.scaled(flipped), Value()});
  });
  attachRule<math::FmaOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    cotangents.append({rule.scaled(rule.operand(1)), rule.scaled(rule.operand(0)), rule.cotangent});
  });
  attachRule<math::ClampFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr ct = rule.cotangent, zero = ct.number(0), x = rule.operand(0);
    Expr below = x.compare(OLT, rule.operand(1)), above = x.compare(OGT, rule.operand(2));
    cotangents.append({select(below, zero, select(above, zero, ct)), select(below, ct, zero), select(above, ct, zero)});
  });
  attachZero<math::FloorOp>(context);
  attachZero<math::CeilOp>(context);
  attachZero<math::RoundOp>(context);
  attachZero<math::RoundEvenOp>(context);
  attachZero<math::TruncOp>(context);
}

} // namespace

void pmap::registerMathModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachTrigonometry(context);
    attachExponentials(context);
    attachPiecewise(context);
  });
}
