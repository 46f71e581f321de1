// Reductions and contractions.
#include "compiler/Dialect/IR/NeedsElements.h"
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;
using utils::IteratorType;

namespace pmap {

TypedAttr reductionIdentity(OpBuilder &builder, ReductionKind kind, Type type) {
  auto floating = dyn_cast<FloatType>(type);
  unsigned width = type.getIntOrFloatBitWidth();
  auto infinity = [&](bool negative) {
    return builder.getFloatAttr(type, APFloat::getInf(floating.getFloatSemantics(), negative));
  };
  switch (kind) {
  case ReductionKind::Prod:
  case ReductionKind::And:
    return floating ? TypedAttr(builder.getFloatAttr(type, 1.0)) : TypedAttr(builder.getIntegerAttr(type, 1));
  case ReductionKind::Max:
    return floating ? TypedAttr(infinity(true))
                    : TypedAttr(builder.getIntegerAttr(type, APInt::getSignedMinValue(width)));
  case ReductionKind::Min:
    return floating ? TypedAttr(infinity(false))
                    : TypedAttr(builder.getIntegerAttr(type, APInt::getSignedMaxValue(width)));
  case ReductionKind::MinU:
    return builder.getIntegerAttr(type, APInt::getMaxValue(width));
  default:
    return cast<TypedAttr>(builder.getZeroAttr(type));
  }
}

Value combine(OpBuilder &b, Location loc, ReductionKind kind, Value lhs, Value rhs) {
  bool floating = isa<FloatType>(lhs.getType());
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Mean:
    return floating ? Value(arith::AddFOp::create(b, loc, lhs, rhs)) : Value(arith::AddIOp::create(b, loc, lhs, rhs));
  case ReductionKind::Prod:
    return floating ? Value(arith::MulFOp::create(b, loc, lhs, rhs)) : Value(arith::MulIOp::create(b, loc, lhs, rhs));
  case ReductionKind::Max:
    return floating ? Value(arith::MaximumFOp::create(b, loc, lhs, rhs))
                    : Value(arith::MaxSIOp::create(b, loc, lhs, rhs));
  case ReductionKind::Min:
    return floating ? Value(arith::MinimumFOp::create(b, loc, lhs, rhs))
                    : Value(arith::MinSIOp::create(b, loc, lhs, rhs));
  case ReductionKind::MaxU:
    return arith::MaxUIOp::create(b, loc, lhs, rhs);
  case ReductionKind::MinU:
    return arith::MinUIOp::create(b, loc, lhs, rhs);
  case ReductionKind::And:
    return arith::AndIOp::create(b, loc, lhs, rhs);
  case ReductionKind::Or:
    return arith::OrIOp::create(b, loc, lhs, rhs);
  }
  llvm_unreachable("a reduction kind without a combination");
}

Type accumulatorType(ReductionKind kind, Type element) {
  bool narrow = element.isF16() || element.isBF16();
  bool adds = kind == ReductionKind::Sum || kind == ReductionKind::Prod;
  return narrow && adds ? Type(Float32Type::get(element.getContext())) : element;
}

Value extendTo(OpBuilder &b, Location loc, Value value, Type type) {
  return value.getType() == type ? value : Value(arith::ExtFOp::create(b, loc, type, value));
}

namespace {

/// A reduction: `dims` loops, of which those in `reduced` are combined into an accumulator of type `element`.
struct Reduction {
  unsigned dims;
  SmallVector<unsigned> reduced;
  bool isReduced(unsigned dim) const { return llvm::is_contained(reduced, dim); }

  SmallVector<IteratorType> iterators() const {
    return llvm::map_to_vector(llvm::seq(dims), [&](unsigned dim) {
      return isReduced(dim) ? IteratorType::reduction : IteratorType::parallel;
    });
  }
  AffineMap resultMap(MLIRContext *context) const {
    SmallVector<AffineExpr> exprs;
    for (unsigned dim = 0; dim < dims; ++dim)
      if (!isReduced(dim))
        exprs.push_back(getAffineDimExpr(dim, context));
    return AffineMap::get(dims, 0, exprs, context);
  }
};

} // namespace

/// True when every one of `dims` loops shows in one of the maps, so that its bound is known.
static bool coversLoops(unsigned dims, ArrayRef<AffineMap> maps) {
  llvm::SmallBitVector seen(dims);
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        seen.set(dim.getPosition());
  return seen.all();
}

void Translator::checkHasElements(ReduceOp op, ArrayRef<Value> reduced, ArrayRef<Value> kept) {
  Location loc = op.getLoc();
  auto product = [&](ArrayRef<Value> sizes) {
    Value count = index(1, loc);
    for (Value size : sizes)
      count = arith::MulIOp::create(b, loc, count, size);
    return count;
  };
  Value bad = arith::CmpIOp::create(b, loc, CmpIPredicate::eq, product(reduced), index(0, loc));
  if (!kept.empty()) {
    Value some = arith::CmpIOp::create(b, loc, CmpIPredicate::ne, product(kept), index(0, loc));
    bad = arith::AndIOp::create(b, loc, bad, some);
  }
  failIf(b, loc, bad, PMAP_FAIL_EMPTY, {}, nameOfExtremum(op));
}

void Translator::translateReduce(ReduceOp op) {
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  auto type = cast<RankedTensorType>(op.getInput().getType()), resultType = cast<RankedTensorType>(op.getType());
  Type element = stored(type.getElementType()), running = accumulatorType(kind, element);
  if (needsElements(op) &&
      llvm::any_of(op.getDims(), [&](int64_t dim) { return !sizeOf(type, dim).provablyPositive(); })) {
    SmallVector<Value> reduced, left;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      (llvm::is_contained(op.getDims(), dim) ? reduced : left).push_back(dimSize(type, dim, loc));
    checkHasElements(op, reduced, left);
  }
  // Loops over dimensions of size 1 are left out.
  Kept kept = keptDims(type);
  Reduction loops{static_cast<unsigned>(kept.dims.size()), {}};
  for (auto [loop, dim] : llvm::enumerate(kept.dims))
    if (llvm::is_contained(op.getDims(), dim))
      loops.reduced.push_back(loop);

  if (loops.reduced.empty()) {
    // Nothing to combine: the value with some dimensions of size 1 dropped.
    SmallVector<AffineExpr> exprs;
    unsigned next = 0;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      exprs.push_back(llvm::is_contained(op.getDims(), dim) ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(next++));
    View source = view(op.getInput());
    auto outer = AffineMap::get(resultType.getRank(), 0, exprs, b.getContext());
    if (resultType.getRank() == 0 && isa<TensorType>(source.base.getType()))
      set(op, operandFor(op.getInput(), 0, exprs, loc).base);
    else
      setView(op, source.base, source.map.compose(outer));
    return;
  }

  Operand input = operandFor(op.getInput(), loops.dims, kept.exprs, loc);
  if (input.isScalar() || !coversLoops(loops.dims, input.map)) {
    Value whole = tensor(op.getInput());
    views[op.getInput()].base = whole;
    views[op.getInput()].map = b.getMultiDimIdentityMap(type.getRank());
    input = operandFor(op.getInput(), loops.dims, kept.exprs, loc);
  }
  // The loops run in the order of the array's memory: reducing a transposed array reduces the array along other
  // dimensions.
  AffineMap resultMap = loops.resultMap(b.getContext());
  if (input.map.isPermutation()) {
    AffineMap toLoops = inversePermutation(input.map);
    resultMap = resultMap.compose(toLoops);
    for (unsigned &loop : loops.reduced)
      loop = toLoops.getDimPosition(loop);
    input.map = b.getMultiDimIdentityMap(loops.dims);
  } else {
    input = inOrder(input, loc);
  }
  SmallVector<OpFoldResult> sizesLeft, all = mixedSizes(type, loc);
  for (int64_t dim : kept.dims)
    if (!llvm::is_contained(op.getDims(), dim))
      sizesLeft.push_back(all[dim]);
  Value identity = arith::ConstantOp::create(b, loc, reductionIdentity(b, kind, running));
  Value init = linalg::FillOp::create(b, loc, identity, empty(loc, sizesLeft, running)).getResult(0);
  SmallVector<AffineMap> maps{input.map, resultMap};
  auto generic =
      linalg::GenericOp::create(b, loc, init.getType(), input.base, init, maps, loops.iterators(),
                                [&](OpBuilder &builder, Location at, ValueRange elements) {
                                  Value value = extendTo(builder, at, elements[0], running);
                                  linalg::YieldOp::create(builder, at, combine(builder, at, kind, value, elements[1]));
                                });
  Value result = generic.getResult(0);
  Type logical = resultType.getElementType();
  // The result's dimensions of size 1 were no loops.
  Kept keptResult = keptDims(resultType);
  if (sizesLeft.empty()) {
    Value value = tensor::ExtractOp::create(b, loc, result, ValueRange());
    if (running != element)
      value = arith::TruncFOp::create(b, loc, element, value);
    setView(op, fromStored(b, loc, value, logical), AffineMap::get(resultType.getRank(), 0, {}, b.getContext()));
    return;
  }
  if (running != element) {
    SmallVector<AffineMap> both(2, b.getMultiDimIdentityMap(sizesLeft.size()));
    SmallVector<IteratorType> parallel(sizesLeft.size(), IteratorType::parallel);
    Value destination = empty(loc, sizesLeft, element);
    result = linalg::GenericOp::create(b, loc, destination.getType(), result, destination, both, parallel,
                                       [&](OpBuilder &builder, Location at, ValueRange elements) {
                                         Value narrow = arith::TruncFOp::create(builder, at, element, elements[0]);
                                         linalg::YieldOp::create(builder, at, narrow);
                                       })
                 .getResult(0);
  }
  if (keptResult.dims.size() == static_cast<size_t>(resultType.getRank()))
    return set(op, result);
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : keptResult.dims)
    exprs.push_back(b.getAffineDimExpr(dim));
  setView(op, result, AffineMap::get(resultType.getRank(), 0, exprs, b.getContext()));
}

// The extremum, then the lowest position that holds it: two reductions that both vectorize. An extremum that is NaN is
// held where the element is NaN.
void Translator::translateArgReduce(ArgReduceOp op) {
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t rank = type.getRank(), reducedDim = op.getDim();
  Type element = type.getElementType(), i32 = b.getI32Type();
  Value array = tensor(op.getInput());
  Value length = dimSize(type, reducedDim, loc);
  bool isMax = kind == ReductionKind::Max || kind == ReductionKind::MaxU;
  if (!sizeOf(type, reducedDim).provablyPositive())
    failIf(b, loc, arith::CmpIOp::create(b, loc, CmpIPredicate::eq, length, index(0, loc)), PMAP_FAIL_EMPTY, {},
           isMax ? "argmax" : "argmin");
  Reduction loops{static_cast<unsigned>(rank), {static_cast<unsigned>(reducedDim)}};
  SmallVector<OpFoldResult> left = mixedSizes(type, loc);
  left.erase(left.begin() + reducedDim);
  auto fill = [&](TypedAttr value) {
    Value constant = arith::ConstantOp::create(b, loc, value);
    return linalg::FillOp::create(b, loc, constant, empty(loc, left, value.getType())).getResult(0);
  };
  AffineMap full = b.getMultiDimIdentityMap(rank), reducedMap = loops.resultMap(b.getContext());
  Value init = fill(reductionIdentity(b, kind, stored(element)));
  Value extremum =
      linalg::GenericOp::create(b, loc, init.getType(), array, init, ArrayRef{full, reducedMap}, loops.iterators(),
                                [&](OpBuilder &builder, Location at, ValueRange e) {
                                  linalg::YieldOp::create(builder, at, combine(builder, at, kind, e[0], e[1]));
                                })
          .getResult(0);
  Value none = fill(b.getI32IntegerAttr(std::numeric_limits<int32_t>::max()));
  Value position =
      linalg::GenericOp::create(
          b, loc, none.getType(), ValueRange{array, extremum}, none, ArrayRef{full, reducedMap, reducedMap},
          loops.iterators(),
          [&](OpBuilder &builder, Location at, ValueRange e) {
            Value here = isa<FloatType>(element)
                             // Unordered or equal: an ordinary element never compares so with an extremum that is a
                             // number, and a NaN extremum does so with every element, hence the second test.
                             ? Value(arith::CmpFOp::create(builder, at, arith::CmpFPredicate::UEQ, e[0], e[1]))
                             : Value(arith::CmpIOp::create(builder, at, CmpIPredicate::eq, e[0], e[1]));
            if (isa<FloatType>(element)) {
              Value extremumIsNumber = arith::CmpFOp::create(builder, at, arith::CmpFPredicate::ORD, e[1], e[1]);
              Value elementIsNan = arith::CmpFOp::create(builder, at, arith::CmpFPredicate::UNO, e[0], e[0]);
              here = arith::AndIOp::create(builder, at, here,
                                           arith::OrIOp::create(builder, at, extremumIsNumber, elementIsNan));
            }
            Value i = arith::IndexCastOp::create(builder, at, i32, linalg::IndexOp::create(builder, at, reducedDim));
            Value candidate = arith::SelectOp::create(
                builder, at, here, i,
                arith::ConstantIntOp::create(builder, at, std::numeric_limits<int32_t>::max(), 32));
            linalg::YieldOp::create(builder, at, Value(arith::MinSIOp::create(builder, at, candidate, e[2])));
          })
          .getResult(0);
  if (rank == 1)
    position = tensor::ExtractOp::create(b, loc, position, ValueRange());
  set(op, position);
}

void Translator::translateDot(DotOp op) {
  Location loc = op.getLoc();
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType()), rhsType = cast<RankedTensorType>(op.getRhs().getType());
  auto resultType = cast<RankedTensorType>(op.getType());
  Type element = stored(lhsType.getElementType());
  Type running = accumulatorType(ReductionKind::Sum, element);
  // Loops: the result's dimensions, then the contracted ones.
  SmallVector<AffineExpr> lhsExprs(lhsType.getRank()), rhsExprs(rhsType.getRank());
  unsigned next = 0;
  for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch()))
    lhsExprs[l] = rhsExprs[r] = b.getAffineDimExpr(next++);
  for (int64_t dim = 0; dim < lhsType.getRank(); ++dim)
    if (!llvm::is_contained(op.getLhsBatch(), dim) && !llvm::is_contained(op.getLhsContract(), dim))
      lhsExprs[dim] = b.getAffineDimExpr(next++);
  for (int64_t dim = 0; dim < rhsType.getRank(); ++dim)
    if (!llvm::is_contained(op.getRhsBatch(), dim) && !llvm::is_contained(op.getRhsContract(), dim))
      rhsExprs[dim] = b.getAffineDimExpr(next++);
  Reduction loops{0, {}};
  for (auto [l, r] : llvm::zip(op.getLhsContract(), op.getRhsContract())) {
    loops.reduced.push_back(next);
    lhsExprs[l] = rhsExprs[r] = b.getAffineDimExpr(next++);
  }
  loops.dims = next;
  if (next == 0) {
    // The product of two scalars.
    Value lhs = scalar(op.getLhs()), rhs = scalar(op.getRhs());
    return set(op, combine(b, loc, ReductionKind::Prod, lhs, rhs));
  }
  // A broadcast is read as what it was made from, unless that hides the bound of a contracted loop.
  Operand lhs = operandFor(op.getLhs(), next, lhsExprs, loc), rhs = operandFor(op.getRhs(), next, rhsExprs, loc);
  AffineMap resultMap = loops.resultMap(b.getContext());
  if (!coversLoops(next, {lhs.map, rhs.map, resultMap}) && lhsType.getRank() > 0)
    lhs = {tensor(op.getLhs()), AffineMap::get(next, 0, lhsExprs, b.getContext())};
  if (!coversLoops(next, {lhs.map, rhs.map, resultMap}))
    rhs = {tensor(op.getRhs()), AffineMap::get(next, 0, rhsExprs, b.getContext())};
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Operand *side : {&lhs, &rhs})
    if (!side->isScalar()) {
      inputs.push_back(side->base);
      maps.push_back(side->map);
    }
  SmallVector<OpFoldResult> resultSizes = mixedSizes(resultType, loc);
  // Without a contracted dimension nothing is summed: it is an elementwise product.
  bool sums = !loops.reduced.empty();
  Value init = empty(loc, resultSizes, sums ? running : element);
  if (sums) {
    Value zero = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(running)));
    init = linalg::FillOp::create(b, loc, zero, init).getResult(0);
  } else {
    running = element;
  }
  maps.push_back(resultMap);
  Value result = linalg::GenericOp::create(
                     b, loc, init.getType(), inputs, init, maps, loops.iterators(),
                     [&](OpBuilder &builder, Location at, ValueRange elements) {
                       unsigned input = 0;
                       Value l = extendTo(builder, at, lhs.isScalar() ? lhs.base : elements[input++], running);
                       Value r = extendTo(builder, at, rhs.isScalar() ? rhs.base : elements[input++], running);
                       Value value = combine(builder, at, ReductionKind::Prod, l, r);
                       if (sums)
                         value = combine(builder, at, ReductionKind::Sum, elements.back(), value);
                       linalg::YieldOp::create(builder, at, value);
                     })
                     .getResult(0);
  if (resultType.getRank() == 0) {
    Value value = tensor::ExtractOp::create(b, loc, result, ValueRange());
    return set(op, running == element ? value : Value(arith::TruncFOp::create(b, loc, element, value)));
  }
  if (running != element) {
    SmallVector<AffineMap> both(2, b.getMultiDimIdentityMap(resultType.getRank()));
    SmallVector<IteratorType> parallel(resultType.getRank(), IteratorType::parallel);
    result = linalg::GenericOp::create(b, loc, convert(resultType), result, emptyLike(resultType, loc), both, parallel,
                                       [&](OpBuilder &builder, Location at, ValueRange elements) {
                                         Value narrow = arith::TruncFOp::create(builder, at, element, elements[0]);
                                         linalg::YieldOp::create(builder, at, narrow);
                                       })
                 .getResult(0);
  }
  set(op, result);
}

} // namespace pmap
