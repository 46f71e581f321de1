// The derivatives of arith's elementwise ops.
#include "compiler/Dialect/IR/ElementwiseModel.h"
#include "compiler/Dialect/IR/Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;

// For the greater or the lesser of two: the winner gets the cotangent, a tie is split.
template <arith::CmpFPredicate wins> void splitTies(const ElementwiseRule &rule, Cotangents &cotangents) {
  Expr ct = rule.cotangent, x = rule.operand(0), y = rule.operand(1);
  Expr half = select(x.compare(arith::CmpFPredicate::OEQ, y), ct * 0.5, ct.number(0));
  cotangents.push_back(select(x.compare(wins, y), ct, half));
  cotangents.push_back(select(y.compare(wins, x), ct, half));
}

template <typename CastOp> void attachCast(MLIRContext *context) {
  attachRule<CastOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr ct = rule.cotangent;
    Type source = rule.operand(0).type();
    using Inverse = std::conditional_t<std::is_same_v<CastOp, arith::ExtFOp>, arith::TruncFOp, arith::ExtFOp>;
    cotangents.push_back(Inverse::create(*ct.builder, ct.loc, source, ct.value));
  });
}

void attachArith(MLIRContext *context, arith::ArithDialect *) {
  attachRule<arith::AddFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    cotangents.append({rule.cotangent, rule.cotangent});
  });
  attachRule<arith::SubFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    cotangents.append({rule.cotangent, -rule.cotangent});
  });
  attachRule<arith::MulFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    cotangents.append({rule.scaled(rule.operand(1)), rule.scaled(rule.operand(0))});
  });
  attachRule<arith::DivFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr y = rule.operand(1);
    cotangents.append({rule.scaled(1.0 / y), rule.scaled(-(rule.result() / y))});
  });
  attachRule<arith::RemFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr quotient = (rule.operand(0) - rule.result()) / rule.operand(1);
    cotangents.append({rule.cotangent, rule.scaled(-quotient)});
  });
  attachRule<arith::NegFOp>(
      context, [](const ElementwiseRule &rule, Cotangents &cotangents) { cotangents.push_back(-rule.cotangent); });
  attachRule<arith::MaximumFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    splitTies<arith::CmpFPredicate::OGT>(rule, cotangents);
  });
  attachRule<arith::MaxNumFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    splitTies<arith::CmpFPredicate::OGT>(rule, cotangents);
  });
  attachRule<arith::MinimumFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    splitTies<arith::CmpFPredicate::OLT>(rule, cotangents);
  });
  attachRule<arith::MinNumFOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    splitTies<arith::CmpFPredicate::OLT>(rule, cotangents);
  });
  attachRule<arith::SelectOp>(context, [](const ElementwiseRule &rule, Cotangents &cotangents) {
    Expr ct = rule.cotangent, condition = ct.with(rule.op->getOperand(0)), zero = ct.number(0);
    cotangents.append({Value(), select(condition, ct, zero), select(condition, zero, ct)});
  });
  attachCast<arith::ExtFOp>(context);
  attachCast<arith::TruncFOp>(context);
}

} // namespace

void pmap::registerArithModels(DialectRegistry &registry) { registry.addExtension(attachArith); }
