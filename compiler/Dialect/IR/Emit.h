// Helpers for code that emits pmap ops: splats, sizes as values, and elementwise expressions that read like formulas.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace pmap {

/// A tensor of one value, whatever its sizes: a constant where they are static, else a broadcast scalar constant.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, double value);
/// The value of a size polynomial, as an index.
mlir::Value indexOf(mlir::OpBuilder &builder, mlir::Location loc, const Size &size);
/// An index as a tensor of one value.
mlir::Value splatIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, mlir::Value index);
/// A scalar as a tensor of one value.
mlir::Value splatScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type, mlir::Value scalar);
/// The value with exactly this V: widened by what it lacks, summed over what it has too much of. What a cotangent needs
/// to have its primal's variance (G2).
mlir::Value withVarianceOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);
/// `rank` zeros.
llvm::SmallVector<mlir::Value> zeroOffsets(mlir::OpBuilder &builder, mlir::Location loc, int64_t rank);

/// A floating tensor in a formula. Numbers become splats of the other operand's type.
class Expr {
public:
  Expr(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) : builder(&builder), loc(loc), value(value) {}
  operator mlir::Value() const { return value; }
  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  /// The number as a splat of this type.
  Expr number(double number) const { return {*builder, loc, splat(*builder, loc, type(), number)}; }
  /// Another value at the same place.
  Expr with(mlir::Value other) const { return {*builder, loc, other}; }
  /// The result of an elementwise op on this and other operands.
  template <typename OpTy, typename... Operands> Expr apply(Operands... operands) const {
    return with(OpTy::create(*builder, loc, value, mlir::Value(operands)...));
  }
  Expr compare(mlir::arith::CmpFPredicate predicate, double number) const;
  Expr compare(mlir::arith::CmpFPredicate predicate, Expr other) const;

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
inline Expr operator+(Expr a, double b) { return a + a.number(b); }
inline Expr operator-(Expr a, double b) { return a - a.number(b); }
inline Expr operator*(Expr a, double b) { return a * a.number(b); }
inline Expr operator/(Expr a, double b) { return a / a.number(b); }
inline Expr operator+(double a, Expr b) { return b.number(a) + b; }
inline Expr operator-(double a, Expr b) { return b.number(a) - b; }
inline Expr operator*(double a, Expr b) { return b.number(a) * b; }
inline Expr operator/(double a, Expr b) { return b.number(a) / b; }
/// `condition` (of i1) chooses element by element.
Expr select(Expr condition, Expr a, Expr b);

/// On an op that `pmap-transform` is about to ask for its pullback: its result reaches a `where` that may not take
/// it, so that a zero cotangent must give zero whatever the derivative is (it may be infinite or NaN there).
constexpr llvm::StringLiteral kMaskedAttr = "pmap.masked";
/// `condition`, or that x is finite, element by element.
Expr orFinite(Expr condition, Expr x);
/// cotangent * derivative; zero where the cotangent is zero if `op` is marked as masked.
mlir::Value scaleCotangent(mlir::Operation *op, Expr cotangent, Expr derivative);

} // namespace pmap
