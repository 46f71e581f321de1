// The forward derivatives of the indexing ops. They read and write the same places of the tangents, and check the
// bounds where the op itself does: when only the tangent is wanted, the op is gone.
#include "compiler/Dialect/IR/Pullbacks.h"

using namespace mlir;
using namespace pmap;

namespace {
using Tangents = SmallVectorImpl<Value>;
}

LogicalResult ExtractOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult SliceOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult UpdateSliceOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult GatherOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  return applyToTangents(*this, builder, tangents, results);
}

LogicalResult ScatterOp::pushforward(OpBuilder &builder, ArrayRef<Value> tangents, Tangents &results) {
  if (getKind() == ReductionKind::Sum)
    return applyToTangents(*this, builder, tangents, results);
  if (getKind() != ReductionKind::Max && getKind() != ReductionKind::Min)
    return failure();
  // The mean of the tangents of all that equal the extremum, the old element included.
  Location loc = getLoc();
  Expr old(builder, loc, getInput()), updates = old.with(getUpdates());
  Value gathered = GatherOp::create(builder, loc, getResult(), getIndices(), getDim(), getIsUnsigned());
  Expr oldWins = old.compare(arith::CmpFPredicate::OEQ, old.with(getResult()));
  Expr updateWins = updates.compare(arith::CmpFPredicate::OEQ, updates.with(gathered));
  auto sum = [&](Expr ofOld, Expr ofUpdates) {
    Expr kept = select(oldWins, ofOld, old.number(0)), added = select(updateWins, ofUpdates, updates.number(0));
    return old.with(
        ScatterOp::create(builder, loc, ReductionKind::Sum, kept, getIndices(), added, getDim(), getIsUnsigned()));
  };
  Expr total = sum(old.with(tangentOrZeros(builder, tangents[0], getInput())),
                   old.with(tangentOrZeros(builder, tangents[2], getUpdates())));
  results.push_back(total / sum(old.number(1), updates.number(1)));
  return success();
}
