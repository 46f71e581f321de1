// Integer powers, on scalars and vectors.

#include "compiler/Lower/Cpu/VectorPolynomials.h"

using namespace mlir;

namespace pmap {

// Square and multiply, one step per bit of the exponent; products wrap. A negative exponent divides 1 by the power: 1
// and -1 have such powers, all other bases give 0.
Value expandIntegerPower(OpBuilder &builder, Location loc, Value base, Value exponent) {
  Type type = base.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto constant = [&](int64_t value) -> Value {
    TypedAttr attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, static_cast<Attribute>(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  auto equal = [&](OpBuilder &b, Value left, Value right) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, left, right);
  };
  Value zero = constant(0), one = constant(1), minusOne = constant(-1);
  Value first = arith::ConstantIndexOp::create(builder, loc, 0), step = arith::ConstantIndexOp::create(builder, loc, 1);
  Value bits = arith::ConstantIndexOp::create(builder, loc, width);
  auto loop = scf::ForOp::create(builder, loc, first, bits, step, ValueRange{one, base, exponent},
                                 [&](OpBuilder &b, Location at, Value, ValueRange carried) {
                                   Value isEven = equal(b, arith::AndIOp::create(b, at, carried[2], one), zero);
                                   Value product = arith::MulIOp::create(b, at, carried[0], carried[1]);
                                   Value power = arith::SelectOp::create(b, at, isEven, carried[0], product);
                                   Value square = arith::MulIOp::create(b, at, carried[1], carried[1]);
                                   Value rest = arith::ShRUIOp::create(b, at, carried[2], one);
                                   scf::YieldOp::create(b, at, ValueRange{power, square, rest});
                                 });
  Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, exponent, zero);
  Value isEven = equal(builder, arith::AndIOp::create(builder, loc, exponent, one), zero);
  Value ofMinusOne = arith::SelectOp::create(builder, loc, isEven, one, minusOne);
  Value inverse = arith::SelectOp::create(builder, loc, equal(builder, base, minusOne), ofMinusOne, zero);
  inverse = arith::SelectOp::create(builder, loc, equal(builder, base, one), one, inverse);
  return arith::SelectOp::create(builder, loc, isNegative, inverse, loop.getResult(0));
}

} // namespace pmap
