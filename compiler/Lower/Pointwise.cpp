// Ops that compute each element of their result from elements of their operands: one `linalg.generic` each, or plain
// scalar ops where the result has a single element.
#include "compiler/Lower/Translator.h"
#include <cmath>

using namespace mlir;

namespace pmap {

/// The order that all arrays of the result's rank have in memory, when it is one and the same and not the result's own.
AffineMap Translator::commonOrder(ArrayRef<PointOperand> operands, RankedTensorType type) {
  AffineMap order;
  if (llvm::is_contained(type.getShape(), 1))
    return {};
  for (const PointOperand &operand : operands) {
    if (operand.map)
      return {};
    auto operandType = dyn_cast<RankedTensorType>(operand.old.getType());
    if (!operandType || !isa<TensorType>(view(operand.old).base.getType()))
      continue;
    AffineMap map = view(operand.old).map;
    if (map.getNumResults() < map.getNumDims())
      continue;
    if (!map.isPermutation() || map.isIdentity() || (order && order != map))
      return {};
    order = map;
  }
  return order;
}

void Translator::pointwise(Value oldResult, ArrayRef<PointOperand> operands, Body body) {
  Location loc = oldResult.getLoc();
  auto type = cast<RankedTensorType>(oldResult.getType());
  Kept kept = keptDims(type);
  unsigned dimCount = kept.dims.size();
  Type element = type.getElementType();

  // Memory is read in order. Where all arrays are transposed alike the loops follow them and the result is transposed
  // as well, which costs nothing until somebody wants it in its own order; otherwise transposed arrays are put in order
  // first.
  AffineMap followed = commonOrder(operands, type);
  if (followed)
    for (unsigned loop = 0; loop < dimCount; ++loop) {
      kept.dims[loop] = followed.getDimPosition(loop);
      kept.exprs[kept.dims[loop]] = b.getAffineDimExpr(loop);
    }
  for (const PointOperand &operand : operands)
    if (!operand.map && !followed)
      straighten(operand.old);

  // Scalars are captured, arrays become inputs, each pair of array and map once.
  struct Source {
    Value scalar;
    unsigned input = 0;
    Type type;
  };
  SmallVector<Source> sources;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const PointOperand &operand : operands) {
    auto operandType = dyn_cast<RankedTensorType>(operand.old.getType());
    if (!operandType) {
      sources.push_back({view(operand.old).base, 0, operand.old.getType()});
      continue;
    }
    SmallVector<AffineExpr> exprs = kept.exprs;
    if (operand.map) {
      exprs.clear();
      for (AffineExpr expr : operand.map.getResults())
        exprs.push_back(expr.replaceDims(kept.exprs));
    }
    Operand source = operandFor(operand.old, dimCount, exprs, loc);
    if (followed)
      source = inOrder(source, loc);
    if (source.isScalar()) {
      sources.push_back({source.base, 0, operandType.getElementType()});
      continue;
    }
    unsigned input = 0;
    while (input < inputs.size() && (inputs[input] != source.base || maps[input] != source.map))
      ++input;
    if (input == inputs.size()) {
      inputs.push_back(source.base);
      maps.push_back(source.map);
    }
    sources.push_back({nullptr, input, operandType.getElementType()});
  }

  auto compute = [&](OpBuilder &builder, Location at, ValueRange elements) {
    SmallVector<Value> values;
    for (const Source &source : sources)
      values.push_back(source.scalar ? source.scalar : fromStored(builder, at, elements[source.input], source.type));
    auto indexOf = [&](int64_t dim) -> Value {
      auto expr = dyn_cast<AffineDimExpr>(kept.exprs[dim]);
      if (!expr)
        return arith::ConstantIndexOp::create(builder, at, 0);
      return linalg::IndexOp::create(builder, at, expr.getPosition());
    };
    return body(builder, values, indexOf);
  };

  auto resultMap = AffineMap::get(type.getRank(), 0, {}, b.getContext());
  if (dimCount == 0) {
    setView(oldResult, compute(b, loc, {}), resultMap);
    return;
  }
  SmallVector<OpFoldResult> some;
  SmallVector<AffineExpr> resultExprs;
  SmallVector<OpFoldResult> all = mixedSizes(type, loc);
  for (int64_t dim : kept.dims) {
    some.push_back(all[dim]);
    resultExprs.push_back(b.getAffineDimExpr(dim));
  }
  Value destination = empty(loc, some, stored(element));
  maps.push_back(b.getMultiDimIdentityMap(dimCount));
  SmallVector<utils::IteratorType> iterators(dimCount, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(b, loc, destination.getType(), inputs, destination, maps, iterators,
                                           [&](OpBuilder &builder, Location at, ValueRange elements) {
                                             Value value = compute(builder, at, elements);
                                             linalg::YieldOp::create(builder, at, toStored(builder, at, value));
                                           });
  if (dimCount == type.getRank() && !followed)
    set(oldResult, generic.getResult(0));
  else
    setView(oldResult, generic.getResult(0), AffineMap::get(type.getRank(), 0, resultExprs, b.getContext()));
}

//===--------------------------------------------------------------------------------------------------------------===//
// arith and math
//===--------------------------------------------------------------------------------------------------------------===//

/// A float as an integer, toward zero. LLVM's conversion is undefined out of range; ours saturates, and NaN becomes 0.
static Value createToInteger(OpBuilder &b, Location loc, Value x, IntegerType type, bool isUnsigned) {
  if (x.getType().getIntOrFloatBitWidth() < 32)
    x = arith::ExtFOp::create(b, loc, b.getF32Type(), x);
  unsigned width = type.getWidth();
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt largest = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), value));
  };
  auto integer = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  // Powers of two, which every float type of 32 bits and more holds.
  Value above = real(std::ldexp(1.0, isUnsigned ? width : width - 1)),
        below = real(isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1));
  Value isLarge = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, above);
  Value fits = arith::AndIOp::create(b, loc, arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, below),
                                     arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, above));
  Value safe = arith::SelectOp::create(b, loc, fits, x, real(0.0));
  Value result = isUnsigned ? arith::FPToUIOp::create(b, loc, type, safe).getResult()
                            : arith::FPToSIOp::create(b, loc, type, safe).getResult();
  result = arith::SelectOp::create(b, loc, isLarge, integer(largest), result);
  if (isUnsigned)
    return result;
  Value isSmall = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, below);
  return arith::SelectOp::create(b, loc, isSmall, integer(least), result);
}

/// f64 to bf16, rounded once: by way of an f32 that is rounded to odd, which no tie survives. (LLVM would call a
/// function that the compiler libraries of many systems lack.)
static Value narrowToBf16(OpBuilder &b, Location loc, Value x) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value near = arith::TruncFOp::create(b, loc, f32, x), back = arith::ExtFOp::create(b, loc, x.getType(), near);
  Value inexact = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ONE, back, x);
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, loc, back),
                                      math::AbsFOp::create(b, loc, x));
  Value bits = arith::BitcastOp::create(b, loc, i32, near), one = arith::ConstantIntOp::create(b, loc, 1, 32);
  Value towardsZero = arith::SubIOp::create(b, loc, bits, arith::ExtUIOp::create(b, loc, i32, above));
  Value odd = arith::OrIOp::create(b, loc, towardsZero, one);
  Value chosen = arith::SelectOp::create(b, loc, inexact, odd, bits);
  return arith::TruncFOp::create(b, loc, b.getBF16Type(), arith::BitcastOp::create(b, loc, f32, chosen));
}

/// The op `op` on single elements. Where C and LLVM leave the result undefined, the language's own: overflow of a
/// division wraps, and shifting by the width or more shifts everything out. That a divisor is not 0 has been checked.
static Value createElement(OpBuilder &b, Operation *op, ValueRange operands, Type resultType) {
  Location loc = op->getLoc();
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  // INT_MIN / -1 traps on x86: divide by 1 instead and negate.
  auto signedDivision = [&](auto divide, bool isRest) -> Value {
    Value lhs = operands[0], rhs = operands[1];
    if (matchPattern(rhs, m_Constant()))
      return divide(lhs, rhs);
    Value minusOne = constant(rhs.getType(), -1), one = constant(rhs.getType(), 1), zero = constant(rhs.getType(), 0);
    Value negates = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rhs, minusOne);
    Value result = divide(lhs, arith::SelectOp::create(b, loc, negates, one, rhs));
    if (isRest)
      return result;
    return arith::SelectOp::create(b, loc, negates, arith::SubIOp::create(b, loc, zero, lhs), result);
  };
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return createToInteger(b, loc, operands[0], cast<IntegerType>(resultType), isa<arith::FPToUIOp>(op));
  if (isa<arith::DivSIOp>(op))
    return signedDivision([&](Value l, Value r) -> Value { return arith::DivSIOp::create(b, loc, l, r); }, false);
  if (isa<arith::RemSIOp>(op))
    return signedDivision([&](Value l, Value r) -> Value { return arith::RemSIOp::create(b, loc, l, r); }, true);
  if (isa<arith::FloorDivSIOp>(op))
    return signedDivision([&](Value l, Value r) { return createFloorDiv(b, loc, l, r); }, false);
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op)) {
    Type type = resultType;
    int64_t width = type.getIntOrFloatBitWidth();
    Value amount = operands[1], last = constant(type, width - 1), zero = constant(type, 0);
    APInt known;
    if (matchPattern(amount, m_ConstantInt(&known)) && known.ult(width)) {
      OperationState state(loc, op->getName().getStringRef(), operands, resultType);
      return b.create(state)->getResult(0);
    }
    Value within = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, amount, last);
    Value clamped = arith::SelectOp::create(b, loc, within, amount, last);
    if (isa<arith::ShRSIOp>(op))
      return arith::ShRSIOp::create(b, loc, operands[0], clamped);
    Value shifted = isa<arith::ShLIOp>(op) ? Value(arith::ShLIOp::create(b, loc, operands[0], clamped))
                                           : Value(arith::ShRUIOp::create(b, loc, operands[0], clamped));
    return arith::SelectOp::create(b, loc, within, shifted, zero);
  }
  if (isa<arith::TruncFOp>(op) && operands[0].getType().isF64() && resultType.isBF16())
    return narrowToBf16(b, loc, operands[0]);
  OperationState state(loc, op->getName().getStringRef(), operands, resultType, op->getAttrs());
  return b.create(state)->getResult(0);
}

// A whole array or another, handed on by a loop that carries one of them, as one with a `break` does: the loop then
// takes the buffer of either, where an elementwise choice would read both in each trip.
bool Translator::choosesCarried(arith::SelectOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || type.getRank() == 0 || !op.getCondition().getType().isInteger(1))
    return false;
  auto isArray = [&](Value side) { return isa<TensorType>(view(side).base.getType()); };
  auto isCarried = [&](Value side) {
    auto argument = dyn_cast<BlockArgument>(side);
    return argument && argument.getOwner() == op->getBlock();
  };
  return isArray(op.getTrueValue()) && isArray(op.getFalseValue()) &&
         (isCarried(op.getTrueValue()) || isCarried(op.getFalseValue())) &&
         llvm::any_of(op->getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); });
}

LogicalResult Translator::translateElementwise(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op); select && choosesCarried(select)) {
    Value condition = scalar(select.getCondition());
    set(op->getResult(0), arith::SelectOp::create(b, op->getLoc(), condition, tensor(select.getTrueValue()),
                                                  tensor(select.getFalseValue())));
    return success();
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp>(op))
    checkDivisor(op, op->getOperand(1));
  SmallVector<PointOperand> operands;
  for (Value operand : op->getOperands())
    operands.push_back({operand, {}});
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  pointwise(op->getResult(0), operands, [&](OpBuilder &builder, ValueRange elements, function_ref<Value(int64_t)>) {
    return createElement(builder, op, elements, element);
  });
  return success();
}

LogicalResult Translator::translateConstant(arith::ConstantOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type) {
    set(op, b.clone(*op)->getResult(0));
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitError("has a constant that is not dense");
  if (elements.isSplat()) {
    Value value = arith::ConstantOp::create(b, op.getLoc(), cast<TypedAttr>(elements.getSplatValue<Attribute>()));
    setView(op, value, AffineMap::get(type.getRank(), 0, {}, b.getContext()));
    return success();
  }
  auto plainType = RankedTensorType::get(type.getShape(), type.getElementType());
  DenseElementsAttr values = elements.reshape(plainType);
  if (type.getElementType().isInteger(1))
    values = DenseIntElementsAttr::get(plainType, SmallVector<bool>(elements.getValues<bool>()))
                 .mapValues(b.getI8Type(), [](const APInt &bit) { return bit.zext(8); });
  set(op, arith::ConstantOp::create(b, op.getLoc(), values));
  return success();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Ops that only change which element is meant
//===--------------------------------------------------------------------------------------------------------------===//

void Translator::translateBroadcast(BroadcastOp op) {
  auto from = cast<RankedTensorType>(op.getInput().getType()), to = cast<RankedTensorType>(op.getType());
  SmallVector<AffineExpr> exprs;
  for (auto [dim, target] : llvm::enumerate(op.getDims()))
    exprs.push_back(from.getDimSize(dim) == 1 && to.getDimSize(target) != 1 ? b.getAffineConstantExpr(0)
                                                                            : b.getAffineDimExpr(target));
  View source = view(op.getInput());
  auto outer = AffineMap::get(to.getRank(), 0, exprs, b.getContext());
  setView(op, source.base, source.map.compose(outer));
}

void Translator::translateTranspose(TransposeOp op) {
  ArrayRef<int64_t> perm = op.getPerm();
  SmallVector<AffineExpr> exprs(perm.size());
  for (auto [result, operand] : llvm::enumerate(perm))
    exprs[operand] = b.getAffineDimExpr(result);
  View source = view(op.getInput());
  setView(op, source.base, source.map.compose(AffineMap::get(perm.size(), 0, exprs, b.getContext())));
}

static Value indexAs(OpBuilder &b, Location loc, Value index, Type type) {
  if (type.isIndex())
    return index;
  if (isa<IntegerType>(type))
    return arith::IndexCastOp::create(b, loc, type, index);
  Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  return arith::SIToFPOp::create(b, loc, type, wide);
}

void Translator::translateIota(IotaOp op) {
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  pointwise(op, {}, [&](OpBuilder &builder, ValueRange, function_ref<Value(int64_t)> index) {
    return indexAs(builder, op.getLoc(), index(op.getDim()), element);
  });
}

void Translator::translateReverse(ReverseOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value source = tensor(op.getInput());
  Value one = index(1, loc);
  DenseMap<int64_t, Value> lasts;
  for (int64_t dim : op.getDims())
    lasts[dim] = arith::SubIOp::create(b, loc, dimSize(type, dim, loc), one);
  pointwise(op, {}, [&](OpBuilder &builder, ValueRange, function_ref<Value(int64_t)> index) {
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value i = index(dim);
      indices.push_back(lasts.contains(dim) ? Value(arith::SubIOp::create(builder, loc, lasts[dim], i)) : i);
    }
    return fromStored(builder, loc, tensor::ExtractOp::create(builder, loc, source, indices), type.getElementType());
  });
}

// Whole parts of the array, as large as what follows the dimension: each is copied in one piece.
void Translator::gatherRows(GatherOp op, Value source) {
  Location loc = op.getLoc();
  auto arrayType = cast<RankedTensorType>(op.getInput().getType());
  auto type = cast<RankedTensorType>(op.getType());
  int64_t indexRank = cast<RankedTensorType>(op.getIndices().getType()).getRank(), rank = type.getRank();
  Value indices = tensor(op.getIndices());
  SmallVector<OpFoldResult> all = mixedSizes(type, loc);
  auto loop = scf::ForallOp::create(b, loc, ArrayRef(all).take_front(indexRank), emptyLike(type, loc), std::nullopt);
  OpBuilder inner(loop.getTerminator());
  Value row = tensor::ExtractOp::create(inner, loc, indices, loop.getInductionVars());
  row = op.getIsUnsigned() ? Value(arith::IndexCastUIOp::create(inner, loc, b.getIndexType(), row))
                           : Value(arith::IndexCastOp::create(inner, loc, b.getIndexType(), row));
  SmallVector<OpFoldResult> zeros(arrayType.getRank() - 1, b.getIndexAttr(0)), ones(rank, b.getIndexAttr(1));
  SmallVector<OpFoldResult> rest(all.begin() + indexRank, all.end());
  SmallVector<OpFoldResult> offsets{row}, counts{b.getIndexAttr(1)};
  llvm::append_range(offsets, zeros);
  llvm::append_range(counts, rest);
  auto rowType = RankedTensorType::get(arrayType.getShape().drop_front(), stored(type.getElementType()));
  Value part = tensor::ExtractSliceOp::create(inner, loc, rowType, source, offsets, counts,
                                              SmallVector<OpFoldResult>(arrayType.getRank(), b.getIndexAttr(1)));
  SmallVector<OpFoldResult> places = getAsOpFoldResult(loop.getInductionVars()), lengths(indexRank, b.getIndexAttr(1));
  llvm::append_range(places, zeros);
  llvm::append_range(lengths, rest);
  OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(atEnd, loc, part, loop.getRegionIterArgs()[0], places, lengths, ones);
  set(op, loop.getResult(0));
}

void Translator::translateGather(GatherOp op) {
  Location loc = op.getLoc();
  auto arrayType = cast<RankedTensorType>(op.getInput().getType());
  auto indexType = cast<RankedTensorType>(op.getIndices().getType());
  auto type = cast<RankedTensorType>(op.getType());
  int64_t dim = op.getDim(), indexRank = indexType.getRank();
  Value source = tensor(op.getInput());
  checkIndices(op, op.getIndices(), op.getIsUnsigned(), dimSize(arrayType, dim, loc), dim);
  if (dim == 0 && arrayType.getRank() > 1 && indexRank > 0)
    return gatherRows(op, source);
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < indexRank; ++i)
    exprs.push_back(b.getAffineDimExpr(dim + i));
  PointOperand indices{op.getIndices(), AffineMap::get(type.getRank(), 0, exprs, b.getContext())};
  pointwise(op, indices, [&](OpBuilder &builder, ValueRange elements, function_ref<Value(int64_t)> index) {
    SmallVector<Value> point;
    for (int64_t i = 0; i < dim; ++i)
      point.push_back(index(i));
    Value row = elements[0];
    point.push_back(op.getIsUnsigned() ? Value(arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), row))
                                       : Value(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), row)));
    for (int64_t i = dim + indexRank; i < type.getRank(); ++i)
      point.push_back(index(i));
    return fromStored(builder, loc, tensor::ExtractOp::create(builder, loc, source, point), type.getElementType());
  });
}

} // namespace pmap
