// The forward derivatives of the whole-array ops. A linear op applies itself to the tangent.
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

namespace {

using Tangents = SmallVectorImpl<Value>;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

} // namespace

Value pmap::tangentOrZeros(OpBuilder &builder, Value tangent, Value primal) {
  return tangent ? tangent : splat(builder, primal.getLoc(), typeOf(primal), 0);
}

LogicalResult pmap::applyToTangents(Operation *op, OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  SmallVector<Value> operands(op->getOperands());
  for (auto [operand, tangent] : llvm::zip_equal(operands, tangents))
    if (tangent) // a distributed value's too
      operand = tangent;
    else if (auto type = dyn_cast<RankedTensorType>(operand.getType()); type && isa<FloatType>(type.getElementType()))
      operand = tangentOrZeros(builder, tangent, operand);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  llvm::append_range(results, copy->getResults());
  return success();
}

//===- Shapes
//-------------------------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult TransposeOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ReshapeOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ConcatOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ReverseOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult RotateOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult PadOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult CastOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult StopGradientOp::pushforward(OpBuilder &, ArrayRef<Value>, Tangents &results) {
  results.push_back(Value());
  return success();
}

//===- Contractions
//-------------------------------------------------------------------------------------------------===//

// Bilinear.
LogicalResult DotOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  auto dot = [&](Value lhs, Value rhs) {
    return Expr(
        builder, getLoc(),
        DotOp::create(builder, getLoc(), lhs, rhs, getLhsBatch(), getRhsBatch(), getLhsContract(), getRhsContract()));
  };
  if (tangents[0] && tangents[1])
    results.push_back(dot(tangents[0], getRhs()) + dot(getLhs(), tangents[1]));
  else
    results.push_back(tangents[0] ? dot(tangents[0], getRhs()) : dot(getLhs(), tangents[1]));
  return success();
}

//===- Along dimensions
//---------------------------------------------------------------------------------------------===//

LogicalResult ReduceOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  Location loc = getLoc();
  Expr tangent(builder, loc, tangents.front());
  auto sum = [&](Value value) {
    return tangent.with(ReduceOp::create(builder, loc, ReductionKind::Sum, value, getDims()));
  };
  switch (getKind()) {
  case ReductionKind::Sum:
    results.push_back(sum(tangent));
    return success();
  case ReductionKind::Max:
  case ReductionKind::Min: {
    // The mean of the tangents of all elements that equal the extremum.
    Expr x = tangent.with(getInput()), extremum = x.with(stretch(builder, loc, getResult(), x.type(), getDims()));
    Expr wins = x.compare(arith::CmpFPredicate::OEQ, extremum);
    Expr total = sum(select(wins, tangent, x.number(0))), count = sum(select(wins, x.number(1), x.number(0)));
    results.push_back(total / count);
    return success();
  }
  case ReductionKind::Prod: {
    // No element is in two products: the gradient of their sum is that of each by its own elements.
    SmallVector<Value> gradient;
    Value one = splat(builder, loc, typeOf(getResult()), 1);
    if (failed(pullback(builder, one, gradient)))
      return failure();
    results.push_back(sum(tangent * tangent.with(gradient.front())));
    return success();
  }
  default:
    return failure();
  }
}

LogicalResult ScanOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  if (getKind() == ReductionKind::Sum)
    return applyToTangents(*this, builder, tangents, results);
  // y_i = x_i y_(i-1), so y'_i = x'_i y_(i-1) + x_i y'_(i-1). A loop, exact where x is zero.
  Location loc = getLoc();
  RankedTensorType type = typeOf(getResult());
  int64_t dim = getDim();
  SmallVector<Size> sizes = sizesOf(type);
  Value count = indexOf(builder, loc, sizes[dim]);
  sizes[dim] = Size(1);
  RankedTensorType row = withSizes(type, sizes);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(
      builder, loc, zero, count, one,
      ValueRange{splat(builder, loc, type, 0), splat(builder, loc, row, 1), splat(builder, loc, row, 0)});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> offsets = zeroOffsets(builder, loc, type.getRank());
    offsets[dim] = loop.getInductionVar();
    auto rowOf = [&](Value value) {
      return Expr(builder, loc, SliceOp::create(builder, loc, row, value, offsets, /*inBounds=*/true));
    };
    Expr before = rowOf(getInput()).with(loop.getRegionIterArg(1)), tangent = before.with(loop.getRegionIterArg(2));
    Expr next = rowOf(tangents.front()) * before + rowOf(getInput()) * tangent;
    Value all = UpdateSliceOp::create(builder, loc, loop.getRegionIterArg(0), next, offsets, /*inBounds=*/true);
    scf::YieldOp::create(builder, loc, ValueRange{all, rowOf(getResult()), next});
  }
  results.push_back(loop.getResult(0));
  return success();
}
