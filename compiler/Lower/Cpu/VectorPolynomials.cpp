// exp and tanh on vectors of f32. Both write x = n ln 2 + r with |r| <= ln 2 / 2 and e^r - 1 = r + r^2 P(r), P being
// the polynomial of the Cephes library's expf. The fused multiply-adds are explicit, since the reduction to r needs
// them.

#include "compiler/Lower/Cpu/VectorPolynomials.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

class Expander {
public:
  Expander(OpBuilder &builder, Location loc, VectorType type, VectorTarget target)
      : builder(builder), loc(loc), type(type), target(target) {}

  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, builder.getF32FloatAttr(value)));
  }
  Value integer(int32_t value) {
    auto integers = type.clone(builder.getI32Type());
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(integers, builder.getI32IntegerAttr(value)));
  }
  Value add(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }
  Value subtract(Value a, Value b) { return arith::SubFOp::create(builder, loc, a, b); }
  Value multiply(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value divide(Value a, Value b) { return arith::DivFOp::create(builder, loc, a, b); }
  Value fma(Value a, Value b, Value c) { return math::FmaOp::create(builder, loc, a, b, c); }

  // To [low, high]; NaN stays NaN, and each comparison with its selection is one instruction.
  Value clamp(Value x, float low, float high) {
    Value most = constant(high), least = constant(low);
    Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, most, x);
    x = arith::SelectOp::create(builder, loc, above, most, x);
    Value below = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, least, x);
    return arith::SelectOp::create(builder, loc, below, least, x);
  }

  // n = the integer nearest to x / ln 2, as a float.
  Value nearestPower(Value x, float overLn2) {
    return math::RoundEvenOp::create(builder, loc, multiply(x, constant(overLn2)));
  }

  // r = x - n ln 2, with ln 2 in two parts, of which n times the first is exact.
  Value reduce(Value x, Value n) {
    Value r = fma(n, constant(-0.693145751953125f), x);
    return fma(n, constant(-1.42860677e-6f), r);
  }

  // e^r - 1
  Value expm1OfReduced(Value r) {
    Value p = fma(constant(1.9875691500e-4f), r, constant(1.3981999507e-3f));
    for (float coefficient : {8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f})
      p = fma(p, r, constant(coefficient));
    return fma(p, multiply(r, r), r);
  }

  bool hasScale() { return target.bits == 512 && type.getNumElements() == 16; }

  // x 2^n for any n that a float can be scaled by, down to subnormal results and up to infinity.
  Value scale(Value x, Value n) {
    if (hasScale())
      return scaleInstruction(x, n);
    Value power = toInteger(n);
    Value half = arith::ShRSIOp::create(builder, loc, power, integer(1));
    Value rest = arith::SubIOp::create(builder, loc, power, half);
    return multiply(multiply(x, powerOfTwo(half)), powerOfTwo(rest));
  }

  // 2^n for |n| < 127.
  Value powerOfTwoFloat(Value n) {
    if (hasScale())
      return scaleInstruction(constant(1), n);
    return powerOfTwo(toInteger(n));
  }

private:
  // vscalefps
  Value scaleInstruction(Value x, Value n) {
    Value mask = arith::ConstantIntOp::create(builder, loc, -1, 16);
    Value rounding = arith::ConstantIntOp::create(builder, loc, 4, 32);
    return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                         builder.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                         ValueRange{x, n, x, mask, rounding})
        .getResults();
  }

  // A small integer held in a float; adding 1.5 * 2^23 puts it into the low bits. NaN gives something, where a
  // conversion would give poison.
  Value toInteger(Value n) {
    auto integers = type.clone(builder.getI32Type());
    Value bits = arith::BitcastOp::create(builder, loc, integers, add(n, constant(12582912.0f)));
    return arith::SubIOp::create(builder, loc, bits, integer(0x4B400000));
  }

  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(builder, loc, n, integer(127));
    return arith::BitcastOp::create(builder, loc, type,
                                    arith::ShLIOp::create(builder, loc, biased, integer(23)).getResult());
  }

  OpBuilder &builder;
  Location loc;
  VectorType type;
  VectorTarget target;
};

} // namespace

Value expandExp(OpBuilder &builder, Location loc, Value x, VectorTarget target) {
  Expander e(builder, loc, cast<VectorType>(x.getType()), target);
  // Below -104 every result is 0, above 89 infinite.
  x = e.clamp(x, -104.0f, 89.0f);
  Value n = e.nearestPower(x, 1.44269504f);
  Value power = e.add(e.expm1OfReduced(e.reduce(x, n)), e.constant(1));
  return e.scale(power, n);
}

// tanh(x) = m / (m + 2) with m = e^(2x) - 1 = 2^n (e^r - 1) + (2^n - 1). Small x has n = 0, and nothing cancels.
Value expandTanh(OpBuilder &builder, Location loc, Value x, VectorTarget target) {
  Expander e(builder, loc, cast<VectorType>(x.getType()), target);
  x = e.clamp(x, -9.5f, 9.5f);
  Value n = e.nearestPower(x, 2.88539008f);
  Value p = e.expm1OfReduced(e.reduce(e.add(x, x), n));
  Value power = e.powerOfTwoFloat(n);
  Value m = e.fma(power, p, e.subtract(power, e.constant(1)));
  return e.divide(m, e.add(m, e.constant(2)));
}

} // namespace pmap
