#include "compiler/Dialect/IR/Emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

Value pmap::splat(OpBuilder &builder, Location loc, RankedTensorType type, double value) {
  if (!type.hasStaticShape()) {
    Value scalar = splat(builder, loc, scalarOf(type), value);
    return splatScalar(builder, loc, type, scalar);
  }
  Type element = type.getElementType();
  Attribute attribute = isa<FloatType>(element)
                            ? Attribute(builder.getFloatAttr(element, value))
                            : Attribute(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attribute));
}

Value pmap::splatScalar(OpBuilder &builder, Location loc, RankedTensorType type, Value scalar) {
  if (scalar.getType() == type)
    return scalar;
  return BroadcastOp::create(builder, loc, type, scalar, ArrayRef<int64_t>());
}

Value pmap::indexOf(OpBuilder &builder, Location loc, const Size &size) {
  if (std::optional<int64_t> constant = size.constant())
    return arith::ConstantIndexOp::create(builder, loc, *constant);
  return SizeOp::create(builder, loc, builder.getIndexType(), size.str());
}

Value pmap::splatIndex(OpBuilder &builder, Location loc, RankedTensorType type, Value index) {
  Value scalar = FromIndexOp::create(builder, loc, scalarOf(type), index, /*is_unsigned=*/false);
  return splatScalar(builder, loc, type, scalar);
}

Value pmap::withVarianceOf(OpBuilder &builder, Location loc, Value value, Type type) {
  Axes surplus = differenceOf(varyOf(value.getType()), varyOf(type));
  if (!surplus.empty())
    value = AllReduceOp::create(builder, loc, ReductionKind::Sum, value, surplus).getResult(0);
  Axes missing = differenceOf(varyOf(type), varyOf(value.getType()));
  if (!missing.empty())
    value = WidenOp::create(builder, loc, value, missing);
  return value;
}

SmallVector<Value> pmap::zeroOffsets(OpBuilder &builder, Location loc, int64_t rank) {
  if (rank == 0)
    return {};
  return SmallVector<Value>(rank, arith::ConstantIndexOp::create(builder, loc, 0));
}

Expr Expr::compare(arith::CmpFPredicate predicate, double constant) const {
  return compare(predicate, number(constant));
}

Expr Expr::compare(arith::CmpFPredicate predicate, Expr other) const {
  return with(arith::CmpFOp::create(*builder, loc, predicate, value, other.value));
}

Expr pmap::operator+(Expr a, Expr b) { return a.apply<arith::AddFOp>(b); }
Expr pmap::operator-(Expr a, Expr b) { return a.apply<arith::SubFOp>(b); }
Expr pmap::operator*(Expr a, Expr b) { return a.apply<arith::MulFOp>(b); }
Expr pmap::operator/(Expr a, Expr b) { return a.apply<arith::DivFOp>(b); }
Expr pmap::operator-(Expr a) { return a.apply<arith::NegFOp>(); }
Expr pmap::select(Expr condition, Expr a, Expr b) { return condition.apply<arith::SelectOp>(a, b); }

Value pmap::scaleCotangent(Operation *op, Expr cotangent, Expr derivative) {
  if (!op->hasAttr(kMaskedAttr))
    return cotangent * derivative;
  // A finite derivative stays: the product's own derivative by the cotangent is it, at zero as well.
  Expr taken = cotangent.compare(arith::CmpFPredicate::UNE, 0);
  return cotangent * select(orFinite(taken, derivative), derivative, derivative.number(0));
}

Expr pmap::orFinite(Expr condition, Expr x) {
  // x - x is NaN where x is infinite or NaN.
  return condition.apply<arith::OrIOp>((x - x).compare(arith::CmpFPredicate::OEQ, 0));
}
