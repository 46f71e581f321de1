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

// The casts between floats, which change the type and are linear.
template <typename CastOp> struct CastModel : DifferentiableOp::ExternalModel<CastModel<CastOp>, CastOp> {
  using Inverse = std::conditional_t<std::is_same_v<CastOp, arith::ExtFOp>, arith::TruncFOp, arith::ExtFOp>;

  LogicalResult pullback(Operation *op, OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) const {
    Type source = op->getOperand(0).getType();
    result.push_back(Inverse::create(builder, op->getLoc(), source, cotangents.front()));
    return success();
  }
  LogicalResult pushforward(Operation *op, OpBuilder &builder, ArrayRef<Value> tangents,
                            SmallVectorImpl<Value> &result) const {
    result.push_back(CastOp::create(builder, op->getLoc(), op->getResult(0).getType(), tangents.front()));
    return success();
  }
};

// `where`: each side gets the cotangent where it was taken. Forward, the tangent of the side not taken is not looked
// at, so that a NaN in it goes no further.
struct SelectModel : DifferentiableOp::ExternalModel<SelectModel, arith::SelectOp> {
  LogicalResult pullback(Operation *op, OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) const {
    Expr ct(builder, op->getLoc(), cotangents.front()), condition = ct.with(op->getOperand(0)), zero = ct.number(0);
    result.append({Value(), select(condition, ct, zero), select(condition, zero, ct)});
    return success();
  }
  LogicalResult pushforward(Operation *op, OpBuilder &builder, ArrayRef<Value> tangents,
                            SmallVectorImpl<Value> &result) const {
    Expr condition(builder, op->getLoc(), op->getOperand(0));
    Expr any = condition.with(tangents[1] ? tangents[1] : tangents[2]);
    auto side = [&](Value tangent) { return tangent ? any.with(tangent) : any.number(0); };
    result.push_back(select(condition, side(tangents[1]), side(tangents[2])));
    return success();
  }
};

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
  // Bits are no function that has a derivative: a sample depends on its key in no way that a gradient could follow.
  attachRule<arith::BitcastOp>(context,
                               [](const ElementwiseRule &, Cotangents &cotangents) { cotangents.push_back(Value()); });
  arith::SelectOp::attachInterface<SelectModel>(*context);
  arith::ExtFOp::attachInterface<CastModel<arith::ExtFOp>>(*context);
  arith::TruncFOp::attachInterface<CastModel<arith::TruncFOp>>(*context);
}

} // namespace

void pmap::registerArithModels(DialectRegistry &registry) { registry.addExtension(attachArith); }
