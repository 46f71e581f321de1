// The external model through which an elementwise upstream op becomes a DifferentiableOp. Internal to this library.
#pragma once

#include "compiler/Dialect/IR/Emit.h"

namespace pmap {

/// What a rule of an elementwise op sees: the op's operands, its result, and the cotangent of that.
struct ElementwiseRule {
  mlir::Operation *op;
  Expr cotangent;

  Expr operand(unsigned i) const { return cotangent.with(op->getOperand(i)); }
  Expr result() const { return cotangent.with(op->getResult(0)); }
  /// The cotangent times a derivative, safe on the sides of a `where` not taken.
  mlir::Value scaled(Expr derivative) const { return scaleCotangent(op, cotangent, derivative); }
};

/// `Rule` is a captureless lambda (ElementwiseRule, SmallVectorImpl<Value> &operandCotangents).
///
/// The Jacobian of an elementwise op by one operand is diagonal, hence its own transpose: the rule that scales a
/// cotangent scales a tangent as well. What a rule makes for operands without a tangent has no use and is dropped
/// later.
template <typename OpTy, typename Rule>
struct ElementwiseModel : DifferentiableOp::ExternalModel<ElementwiseModel<OpTy, Rule>, OpTy> {
  mlir::LogicalResult pullback(mlir::Operation *op, mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> cotangents,
                               llvm::SmallVectorImpl<mlir::Value> &operandCotangents) const {
    Rule{}(ElementwiseRule{op, Expr(builder, op->getLoc(), cotangents.front())}, operandCotangents);
    return mlir::success();
  }
  mlir::LogicalResult pushforward(mlir::Operation *op, mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> tangents,
                                  llvm::SmallVectorImpl<mlir::Value> &resultTangents) const {
    mlir::Value total;
    for (auto [i, tangent] : llvm::enumerate(tangents)) {
      if (!tangent)
        continue;
      Expr given(builder, op->getLoc(), tangent);
      llvm::SmallVector<mlir::Value> scaled;
      Rule{}(ElementwiseRule{op, given}, scaled);
      if (scaled[i])
        total = total ? given.with(total) + given.with(scaled[i]) : given.with(scaled[i]);
    }
    resultTangents.push_back(total);
    return mlir::success();
  }
};

template <typename OpTy, typename Rule> void attachRule(mlir::MLIRContext *context, Rule) {
  OpTy::template attachInterface<ElementwiseModel<OpTy, Rule>>(*context);
}

/// For an op of one operand: `Derivative` is a captureless lambda (Expr x, Expr y) -> dy/dx, y being the result.
template <typename Derivative> struct UnaryRule {
  void operator()(const ElementwiseRule &rule, llvm::SmallVectorImpl<mlir::Value> &cotangents) const {
    cotangents.push_back(rule.scaled(Derivative{}(rule.operand(0), rule.result())));
  }
};

template <typename OpTy, typename Derivative> void attachUnary(mlir::MLIRContext *context, Derivative) {
  attachRule<OpTy>(context, UnaryRule<Derivative>{});
}

/// For an op whose derivative is zero wherever it has one.
template <typename OpTy> void attachZero(mlir::MLIRContext *context) {
  attachRule<OpTy>(context, [](const ElementwiseRule &rule, llvm::SmallVectorImpl<mlir::Value> &cotangents) {
    cotangents.append(rule.op->getNumOperands(), mlir::Value());
  });
}

} // namespace pmap
