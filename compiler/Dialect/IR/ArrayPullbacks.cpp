// The derivatives of the whole-array ops.
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;

// The product of the elements before each along `dim`, 1 for the first: exact where elements are zero, unlike a
// division.
Value exclusiveProduct(OpBuilder &builder, Location loc, Value x, int64_t dim) {
  RankedTensorType type = cast<RankedTensorType>(x.getType());
  SmallVector<Size> sizes = sizesOf(type);
  SmallVector<StringRef> low(type.getRank(), "0"), high(type.getRank(), "0");
  low[dim] = "1";
  sizes[dim] += Size(1);
  Value one = splat(builder, loc, scalarOf(type), 1);
  RankedTensorType longer = withSizes(type, sizes);
  Value padded =
      PadOp::create(builder, loc, longer, x, one, builder.getStrArrayAttr(low), builder.getStrArrayAttr(high));
  Value products = ScanOp::create(builder, loc, longer, ReductionKind::Prod, padded, dim);
  return SliceOp::create(builder, loc, type, products, zeroOffsets(builder, loc, type.getRank()), /*inBounds=*/true);
}

} // namespace

SmallVector<int64_t> pmap::restOf(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      rest.push_back(dim);
  return rest;
}

Value pmap::stretch(OpBuilder &builder, Location loc, Value reduced, RankedTensorType type, ArrayRef<int64_t> dims) {
  return BroadcastOp::create(builder, loc, type, reduced, restOf(type.getRank(), dims));
}

Value pmap::pullProduct(Operation *op, OpBuilder &builder, Value x, int64_t dim, Value stretched) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(x.getType());
  auto reversed = [&](Value value) -> Value {
    return ReverseOp::create(builder, loc, type, value, builder.getDenseI64ArrayAttr(dim));
  };
  Expr before(builder, loc, exclusiveProduct(builder, loc, x, dim));
  Expr after(builder, loc, reversed(exclusiveProduct(builder, loc, reversed(x), dim)));
  return scaleCotangent(op, before.with(stretched), before * after);
}

LogicalResult BroadcastOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  RankedTensorType input = cast<RankedTensorType>(getInput().getType());
  RankedTensorType output = cast<RankedTensorType>(getType());
  SmallVector<int64_t> summed = restOf(output.getRank(), getDims()), kept;
  for (auto [from, to] : llvm::enumerate(getDims())) {
    bool stretches = input.getDimSize(from) == 1 && output.getDimSize(to) != 1;
    if (stretches)
      summed.push_back(to);
    else
      kept.push_back(from);
  }
  Value sum = cotangents.front();
  if (!summed.empty())
    sum = ReduceOp::create(builder, getLoc(), ReductionKind::Sum, sum, summed);
  // Dimensions of size 1 that stretched come back as such.
  if (sum.getType() != input)
    sum = BroadcastOp::create(builder, getLoc(), input, sum, kept);
  result.push_back(sum);
  return success();
}

LogicalResult ReduceOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  RankedTensorType type = cast<RankedTensorType>(getInput().getType());
  Value stretched = stretch(builder, loc, cotangents.front(), type, getDims());
  switch (getKind()) {
  case ReductionKind::Sum:
    result.push_back(stretched);
    return success();
  case ReductionKind::Max:
  case ReductionKind::Min: {
    // All elements that equal the extremum share the cotangent equally.
    Expr x(builder, loc, getInput()), extremum = x.with(stretch(builder, loc, getResult(), type, getDims()));
    Expr wins = select(x.compare(arith::CmpFPredicate::OEQ, extremum), x.number(1), x.number(0));
    Value count = ReduceOp::create(builder, loc, ReductionKind::Sum, wins, getDims());
    Expr share = wins / wins.with(stretch(builder, loc, count, type, getDims()));
    result.push_back(scaleCotangent(*this, x.with(stretched), share));
    return success();
  }
  case ReductionKind::Prod: {
    // The reduced dimensions are merged into a last one, along which the products before and after each element are
    // taken.
    SmallVector<int64_t> perm = restOf(type.getRank(), getDims());
    SmallVector<Size> sizes;
    for (int64_t dim : perm)
      sizes.push_back(sizeOf(type, dim));
    int64_t last = perm.size();
    Size merged(1);
    for (int64_t dim : getDims()) {
      perm.push_back(dim);
      merged *= sizeOf(type, dim);
    }
    sizes.push_back(merged);
    RankedTensorType mergedType = withSizes(type, sizes);
    Value moved = TransposeOp::create(builder, loc, getInput(), perm);
    Value x = ReshapeOp::create(builder, loc, mergedType, moved);
    Value ct = stretch(builder, loc, cotangents.front(), mergedType, last);
    Value dx = ReshapeOp::create(builder, loc, moved.getType(), pullProduct(*this, builder, x, last, ct));
    result.push_back(TransposeOp::create(builder, loc, dx, invertPermutation(perm)));
    return success();
  }
  default:
    return failure();
  }
}

LogicalResult ScanOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  RankedTensorType type = cast<RankedTensorType>(getType());
  int64_t dim = getDim();
  DenseI64ArrayAttr along = builder.getDenseI64ArrayAttr(dim);
  auto reversed = [&](Value value) -> Value { return ReverseOp::create(builder, loc, type, value, along); };
  if (getKind() == ReductionKind::Sum) {
    Value sum = ScanOp::create(builder, loc, type, ReductionKind::Sum, reversed(cotangents.front()), dim);
    result.push_back(reversed(sum));
    return success();
  }
  // y_i = x_i y_(i-1): backward, g_i = ct_i + x_(i+1) g_(i+1) and dx_i = g_i y_(i-1). A loop, exact where x is zero.
  SmallVector<Size> sizes = sizesOf(type);
  Value count = indexOf(builder, loc, sizes[dim]);
  sizes[dim] = Size(1);
  RankedTensorType row = withSizes(type, sizes);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, count, one);
  Value rowZero = splat(builder, loc, row, 0);
  auto loop =
      scf::ForOp::create(builder, loc, zero, count, one, ValueRange{splat(builder, loc, type, 0), rowZero, rowZero});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> offsets = zeroOffsets(builder, loc, type.getRank());
    offsets[dim] = arith::SubIOp::create(builder, loc, last, loop.getInductionVar());
    auto rowOf = [&](Value value) -> Value {
      return SliceOp::create(builder, loc, row, value, offsets, /*inBounds=*/true);
    };
    Expr g(builder, loc, loop.getRegionIterArg(1));
    Expr later = g.with(scaleCotangent(*this, g, g.with(loop.getRegionIterArg(2))));
    Expr next = g.with(rowOf(cotangents.front())) + later;
    Value sums = UpdateSliceOp::create(builder, loc, loop.getRegionIterArg(0), next, offsets, /*inBounds=*/true);
    scf::YieldOp::create(builder, loc, ValueRange{sums, next, rowOf(getInput())});
  }
  Expr g(builder, loc, loop.getResult(0));
  result.push_back(scaleCotangent(*this, g, g.with(exclusiveProduct(builder, loc, getInput(), dim))));
  return success();
}

namespace {

// In a contraction that a `where` may not take: `operand` with zeros for what is not finite where the cotangent is zero
// along all of `summed`, so that what is not taken adds nothing, NaN or not. Dimension `dims[i]` of the operand is what
// dimension i of the cotangent is once `summed` is dropped.
Value withoutMasked(OpBuilder &builder, Location loc, Value operand, Value cotangent, ArrayRef<int64_t> summed,
                    ArrayRef<int64_t> dims) {
  Expr ct(builder, loc, cotangent), x = ct.with(operand);
  Value taken = ct.compare(arith::CmpFPredicate::UNE, 0);
  if (!summed.empty())
    taken = ReduceOp::create(builder, loc, ReductionKind::Or, taken, summed);
  // A broadcast's dimensions increase: the kept ones are put in the operand's order first.
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(dims.size())), sorted(dims);
  llvm::sort(perm, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  llvm::sort(sorted);
  taken = TransposeOp::create(builder, loc, taken, perm);
  RankedTensorType mask = withElementType(x.type(), builder.getI1Type());
  taken = BroadcastOp::create(builder, loc, mask, taken, sorted);
  return select(orFinite(ct.with(taken), x), x, x.number(0));
}

// Whether any element of a value is infinite or NaN.
Value anyNotFinite(OpBuilder &builder, Location loc, Value value) {
  Expr x(builder, loc, value);
  Value found = (x - x).compare(arith::CmpFPredicate::UNE, 0);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(x.type().getRank()));
  if (!all.empty())
    found = ReduceOp::create(builder, loc, ReductionKind::Or, found, all);
  return ToBoolOp::create(builder, loc, builder.getI1Type(), found);
}

} // namespace

LogicalResult DotOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  Value ct = cotangents.front();
  int64_t lhsRank = cast<RankedTensorType>(getLhs().getType()).getRank();
  int64_t rhsRank = cast<RankedTensorType>(getRhs().getType()).getRank();
  auto concat = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    SmallVector<int64_t> all(a);
    llvm::append_range(all, b);
    return all;
  };
  SmallVector<int64_t> lhsRest = restOf(lhsRank, concat(getLhsBatch(), getLhsContract()));
  SmallVector<int64_t> rhsRest = restOf(rhsRank, concat(getRhsBatch(), getRhsContract()));
  // Where the result's batch, lhs and rhs dimensions are.
  int64_t batches = getLhsBatch().size(), split = batches + lhsRest.size();
  SmallVector<int64_t> ctBatch = llvm::to_vector(llvm::seq<int64_t>(0, batches));
  SmallVector<int64_t> ctLhs = llvm::to_vector(llvm::seq<int64_t>(batches, split));
  SmallVector<int64_t> ctRhs = llvm::to_vector(llvm::seq<int64_t>(split, split + rhsRest.size()));

  // A contraction leaves the contracted dimensions in the order of the side they are on: pair them by that order.
  auto pairedInOrder = [](ArrayRef<int64_t> order, ArrayRef<int64_t> paired) {
    SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (auto [key, value] : llvm::zip_equal(order, paired))
      pairs.push_back({key, value});
    llvm::sort(pairs);
    return llvm::map_to_vector(pairs, [](auto pair) { return pair.second; });
  };
  // `dims[i]` is the operand's dimension that dimension i of `value` is.
  auto inOperandOrder = [&](Value value, ArrayRef<int64_t> dims) -> Value {
    return TransposeOp::create(builder, loc, value, invertPermutation(dims));
  };

  Value lhs = getLhs(), rhs = getRhs();
  if ((*this)->hasAttr(kMaskedAttr)) {
    // An operand's infinity or NaN makes a whole row or column of the result one: where all of that is finite nothing
    // needs to be left out, and no operand is copied.
    auto branch = scf::IfOp::create(builder, loc, TypeRange{lhs.getType(), rhs.getType()},
                                    anyNotFinite(builder, loc, getResult()), /*withElseRegion=*/true);
    OpBuilder yes = OpBuilder::atBlockEnd(branch.thenBlock()), no = OpBuilder::atBlockEnd(branch.elseBlock());
    Value masked[] = {withoutMasked(yes, loc, lhs, ct, ctRhs, concat(getLhsBatch(), lhsRest)),
                      withoutMasked(yes, loc, rhs, ct, ctLhs, concat(getRhsBatch(), rhsRest))};
    scf::YieldOp::create(yes, loc, masked);
    scf::YieldOp::create(no, loc, ValueRange{lhs, rhs});
    lhs = branch.getResult(0);
    rhs = branch.getResult(1);
  }
  Value dLhs = DotOp::create(builder, loc, ct, rhs, ctBatch, getRhsBatch(), ctRhs, rhsRest);
  SmallVector<int64_t> lhsDims =
      concat(concat(getLhsBatch(), lhsRest), pairedInOrder(getRhsContract(), getLhsContract()));
  result.push_back(inOperandOrder(dLhs, lhsDims));

  Value dRhs = DotOp::create(builder, loc, lhs, ct, getLhsBatch(), ctBatch, lhsRest, ctLhs);
  SmallVector<int64_t> rhsDims =
      concat(concat(getRhsBatch(), pairedInOrder(getLhsContract(), getRhsContract())), rhsRest);
  result.push_back(inOperandOrder(dRhs, rhsDims));
  return success();
}

LogicalResult TransposeOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(TransposeOp::create(builder, getLoc(), cotangents.front(), invertPermutation(getPerm())));
  return success();
}

LogicalResult ReshapeOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(ReshapeOp::create(builder, getLoc(), getInput().getType(), cotangents.front()));
  return success();
}

LogicalResult ConcatOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  int64_t dim = getDim();
  Size offset(0);
  for (Value input : getInputs()) {
    SmallVector<Value> offsets = zeroOffsets(builder, getLoc(), cast<RankedTensorType>(getType()).getRank());
    offsets[dim] = indexOf(builder, getLoc(), offset);
    result.push_back(
        SliceOp::create(builder, getLoc(), input.getType(), cotangents.front(), offsets, /*inBounds=*/true));
    offset += sizeOf(input.getType(), dim);
  }
  return success();
}

LogicalResult ReverseOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(ReverseOp::create(builder, getLoc(), getType(), cotangents.front(), getDimsAttr()));
  return success();
}

LogicalResult RotateOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Value zero = arith::ConstantIndexOp::create(builder, getLoc(), 0);
  Value back = arith::SubIOp::create(builder, getLoc(), zero, getOffset());
  result.append({RotateOp::create(builder, getLoc(), getType(), cotangents.front(), back, getDimAttr()), Value()});
  return success();
}

LogicalResult PadOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Value ct = cotangents.front();
  SmallVector<Value> offsets;
  for (StringRef low : getLow().getAsValueRange<StringAttr>())
    offsets.push_back(indexOf(builder, getLoc(), *Size::parse(low)));
  result.push_back(SliceOp::create(builder, getLoc(), getInput().getType(), ct, offsets, /*inBounds=*/true));
  // The margins' sum: the difference of two sums would lose digits.
  Value hole = splat(builder, getLoc(), cast<RankedTensorType>(getInput().getType()), 0);
  Value margins = UpdateSliceOp::create(builder, getLoc(), ct, hole, offsets, /*inBounds=*/true);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(offsets.size()));
  result.push_back(ReduceOp::create(builder, getLoc(), ReductionKind::Sum, margins, all));
  return success();
}

LogicalResult CastOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(CastOp::create(builder, getLoc(), getInput().getType(), cotangents.front()));
  return success();
}

LogicalResult StopGradientOp::pullback(OpBuilder &, ArrayRef<Value>, Cotangents &result) {
  result.push_back(Value());
  return success();
}
