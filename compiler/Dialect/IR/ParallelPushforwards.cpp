// The forward derivatives of the parallel ops: per device, by the tangents of all.
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Tangents = SmallVectorImpl<Value>;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// One all_reduce's rule for one operand x, result y and tangent, where it is not linear. A value that does not vary
// over an axis is widened first: it is then what each device holds.
struct AllReduceRule {
  AllReduceOp op;
  OpBuilder &builder;
  Value x, y, tangent;
  Location loc = op.getLoc();

  SmallVector<StringAttr> axes() { return op.getCollectiveAxes(); }
  RankedTensorType wide() { return withVary(typeOf(x), unionOf(varyOf(x.getType()), sorted(axes()))); }
  Expr widened(Value value) {
    if (value.getType() != wide())
      value = WidenOp::create(builder, loc, wide(), value);
    return Expr(builder, loc, value);
  }
  Expr sum(Value value) {
    return Expr(builder, loc,
                AllReduceOp::create(builder, loc, ReductionKind::Sum, value, axes(), op.getGroupsAttr()).getResult(0));
  }

  // The mean of the tangents of the devices that hold the extremum.
  Value extremum() {
    Expr mine = widened(x), wins = mine.compare(arith::CmpFPredicate::OEQ, widened(y));
    Expr total = sum(select(wins, widened(tangent), mine.number(0)));
    return total / sum(select(wins, mine.number(1), mine.number(0)));
  }

  // Each device's derivative of the product, by the reverse rule; then the sum over the devices.
  FailureOr<Value> product() {
    Value mine = widened(x);
    auto own = AllReduceOp::create(builder, loc, ReductionKind::Prod, mine, axes(), op.getGroupsAttr());
    SmallVector<Value> gradient;
    Value one = splat(builder, loc, typeOf(own.getResult(0)), 1);
    if (failed(own.pullback(builder, one, gradient)) || !gradient.front())
      return failure();
    Expr total = sum(widened(tangent) * widened(gradient.front()));
    if (own.getResult(0).use_empty())
      own.erase();
    // With groups every member's one has been pulled back.
    return op.getGroups() ? Value(total / sum(total.number(1))) : Value(total);
  }
};

} // namespace

LogicalResult AllReduceOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  switch (getKind()) {
  case ReductionKind::Sum:
  case ReductionKind::Mean: {
    // One collective for all that have a tangent.
    SmallVector<Value> given = llvm::filter_to_vector(tangents, [](Value tangent) { return bool(tangent); });
    SmallVector<StringAttr> axes = getCollectiveAxes();
    auto reduced = AllReduceOp::create(builder, getLoc(), getKind(), given, axes, getGroupsAttr());
    auto next = reduced.getResults().begin();
    for (Value tangent : tangents)
      results.push_back(tangent ? *next++ : Value());
    return success();
  }
  case ReductionKind::Max:
  case ReductionKind::Min:
  case ReductionKind::Prod:
    for (auto [x, y, tangent] : llvm::zip_equal(getInputs(), getResults(), tangents)) {
      if (!tangent) {
        results.push_back(Value());
        continue;
      }
      AllReduceRule rule{*this, builder, x, y, tangent};
      FailureOr<Value> value = getKind() == ReductionKind::Prod ? rule.product() : rule.extremum();
      if (failed(value))
        return failure();
      results.push_back(*value);
    }
    return success();
  default:
    return failure();
  }
}

LogicalResult AllGatherOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ReduceScatterOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult AllToAllOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult PermuteOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult WidenOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult MoveOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ShardsOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ToShardsOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}
