// Views: what old values have become, and how they turn into arrays and operands.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Lower/RuntimeOps.h"
#include "compiler/Lower/Translator.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "pmap/runtime.h"

using namespace mlir;

namespace pmap {

Type Translator::stored(Type element) {
  return element.isInteger(1) ? Type(IntegerType::get(element.getContext(), 8)) : element;
}

Value Translator::toStored(OpBuilder &builder, Location loc, Value element) {
  if (!element.getType().isInteger(1))
    return element;
  return arith::ExtUIOp::create(builder, loc, builder.getI8Type(), element);
}

Value Translator::fromStored(OpBuilder &builder, Location loc, Value element, Type type) {
  if (!type.isInteger(1) || element.getType().isInteger(1))
    return element;
  return arith::TruncIOp::create(builder, loc, type, element);
}

Type Translator::convert(Type type) {
  if (isa<DistType>(type))
    return LLVM::LLVMPointerType::get(type.getContext());
  auto array = dyn_cast<RankedTensorType>(type);
  if (!array)
    return type;
  if (array.getRank() == 0)
    return array.getElementType();
  return RankedTensorType::get(array.getShape(), stored(array.getElementType()));
}

SmallVector<Type> Translator::convert(TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) { return convert(type); });
}

void Translator::setView(Value old, Value base, AffineMap map) {
  // Making the array later, at this place, must find its sizes above this place.
  if (auto type = dyn_cast<RankedTensorType>(old.getType());
      type && !(isa<TensorType>(base.getType()) && map.isIdentity()))
    (void)mixedSizes(type, old.getLoc());
  Block *block = b.getInsertionBlock();
  Operation *anchor = b.getInsertionPoint() == block->begin() ? nullptr : &*std::prev(b.getInsertionPoint());
  views[old] = View{base, map, nullptr, block, anchor};
}

void Translator::set(Value old, Value value) {
  auto type = dyn_cast<RankedTensorType>(old.getType());
  setView(old, value, AffineMap::getMultiDimIdentityMap(type ? type.getRank() : 0, old.getContext()));
  views[old].whole = value;
}

View &Translator::view(Value old) {
  auto found = views.find(old);
  if (found == views.end())
    llvm::report_fatal_error("a value is used before it is translated");
  return found->second;
}

Value Translator::scalar(Value old) { return view(old).base; }

Value Translator::plain(Value old) {
  auto type = dyn_cast<RankedTensorType>(old.getType());
  return type && type.getRank() > 0 ? tensor(old) : view(old).base;
}

SmallVector<Value> Translator::plain(ValueRange old) {
  return llvm::map_to_vector(old, [&](Value value) { return plain(value); });
}

Translator::Kept Translator::keptDims(RankedTensorType type) {
  Kept kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (type.getDimSize(dim) == 1) {
      kept.exprs.push_back(b.getAffineConstantExpr(0));
    } else {
      kept.exprs.push_back(b.getAffineDimExpr(kept.dims.size()));
      kept.dims.push_back(dim);
    }
  }
  return kept;
}

/// Groups the dimensions of `shape` so that each group holds one dimension of `kept`, in order; the rest have size 1.
static SmallVector<ReassociationIndices> groupsAround(int64_t rank, ArrayRef<int64_t> kept) {
  SmallVector<ReassociationIndices> groups(kept.size());
  if (kept.empty())
    return groups;
  size_t group = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    groups[group].push_back(dim);
    if (dim == kept[group] && group + 1 < kept.size())
      ++group;
  }
  return groups;
}

Translator::Operand Translator::operandFor(Value old, unsigned dimCount, ArrayRef<AffineExpr> exprs, Location loc) {
  View &v = view(old);
  MLIRContext *context = b.getContext();
  if (!isa<TensorType>(v.base.getType()))
    return {v.base, AffineMap::get(dimCount, 0, context)};
  auto type = cast<RankedTensorType>(v.base.getType());
  SmallVector<AffineExpr> results;
  SmallVector<int64_t> kept;
  for (auto [dim, expr] : llvm::enumerate(v.map.getResults())) {
    AffineExpr result = expr.replaceDims(exprs);
    if (isa<AffineConstantExpr>(result))
      continue;
    results.push_back(result);
    kept.push_back(dim);
  }
  auto map = AffineMap::get(dimCount, 0, results, context);
  if (kept.size() == static_cast<size_t>(type.getRank()))
    return {v.base, map};
  if (kept.empty()) {
    SmallVector<Value> zeros(type.getRank(), index(0, loc));
    Value element = tensor::ExtractOp::create(b, loc, v.base, zeros);
    return {fromStored(b, loc, element, cast<RankedTensorType>(old.getType()).getElementType()), map};
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : kept)
    shape.push_back(type.getDimSize(dim));
  auto collapsed = RankedTensorType::get(shape, type.getElementType());
  return {tensor::CollapseShapeOp::create(b, loc, collapsed, v.base, groupsAround(type.getRank(), kept)), map};
}

/// True when the map's dimensions come in their own order.
static bool isIncreasing(AffineMap map) {
  int64_t last = -1;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      continue;
    if (dim.getPosition() <= last)
      return false;
    last = dim.getPosition();
  }
  return true;
}

Translator::Operand Translator::inOrder(Operand operand, Location loc) {
  if (operand.isScalar() || isIncreasing(operand.map))
    return operand;
  auto type = cast<RankedTensorType>(operand.base.getType());
  auto perm = llvm::to_vector(llvm::seq<int32_t>(0, type.getRank()));
  auto position = [&](int32_t dim) { return operand.map.getDimPosition(dim); };
  llvm::sort(perm, [&](int32_t x, int32_t y) { return position(x) < position(y); });
  SmallVector<OpFoldResult> extents;
  SmallVector<AffineExpr> exprs;
  for (int32_t dim : perm) {
    exprs.push_back(operand.map.getResult(dim));
    extents.push_back(tensor::getMixedSize(b, loc, operand.base, dim));
  }
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  SmallVector<Value> scalars{i32(type.getElementTypeBitWidth() / 8), i32(type.getRank()),
                             constants.table(b, loc, perm)};
  Value destination = empty(loc, extents, type.getElementType());
  stateFact(loc, fact::kCopy, "a transposed array is brought into the order of its dimensions");
  Value result =
      rt::CallOp::create(b, loc, destination.getType(), "pmap_rt_permute", scalars, operand.base, destination)
          .getResult(0);
  return {result, AffineMap::get(operand.map.getNumDims(), 0, exprs, b.getContext())};
}

void Translator::straighten(Value old) {
  auto type = dyn_cast<RankedTensorType>(old.getType());
  if (!type || isIncreasing(view(old).map))
    return;
  Value whole = tensor(old);
  View &v = view(old);
  v.base = whole;
  v.map = b.getMultiDimIdentityMap(type.getRank());
}

Value Translator::tensor(Value old) {
  View &v = view(old);
  if (v.whole)
    return v.whole;
  auto type = cast<RankedTensorType>(old.getType());
  Location loc = v.base.getLoc();
  OpBuilder::InsertionGuard guard(b);
  if (v.anchor)
    b.setInsertionPointAfter(v.anchor);
  else
    b.setInsertionPointToStart(v.block);
  if (!isa<TensorType>(v.base.getType())) {
    Value fill = toStored(b, loc, v.base);
    Value destination = emptyLike(type, loc);
    return views[old].whole = linalg::FillOp::create(b, loc, fill, destination).getResult(0);
  }
  // Over the dimensions that are not of size 1, then those are put back.
  Kept kept = keptDims(type);
  Operand operand = inOrder(operandFor(old, kept.dims.size(), kept.exprs, loc), loc);
  Value value = operand.base;
  SmallVector<OpFoldResult> all = mixedSizes(type, loc), some;
  for (int64_t dim : kept.dims)
    some.push_back(all[dim]);
  if (operand.isScalar()) {
    value = linalg::FillOp::create(b, loc, toStored(b, loc, value), emptyLike(type, loc)).getResult(0);
    return views[old].whole = value;
  }
  if (!operand.map.isIdentity()) {
    Value destination = empty(loc, some, stored(type.getElementType()));
    SmallVector<AffineMap> maps{operand.map, b.getMultiDimIdentityMap(kept.dims.size())};
    SmallVector<utils::IteratorType> iterators(kept.dims.size(), utils::IteratorType::parallel);
    value = linalg::GenericOp::create(b, loc, destination.getType(), operand.base, destination, maps, iterators,
                                      [](OpBuilder &body, Location at, ValueRange elements) {
                                        linalg::YieldOp::create(body, at, elements[0]);
                                      })
                .getResult(0);
  }
  if (kept.dims.size() < static_cast<size_t>(type.getRank()))
    value = tensor::ExpandShapeOp::create(b, loc, convert(type), value, groupsAround(type.getRank(), kept.dims), all);
  return views[old].whole = value;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Sizes
//===--------------------------------------------------------------------------------------------------------------===//

Value Translator::size(const Size &size, Location loc) {
  // The sizes of mesh axes are asked for where they are first needed.
  for (const std::string &symbol : size.symbols())
    if (StringRef(symbol).starts_with("@") && !sizes.isBound(symbol))
      axisSize(StringRef(symbol).drop_front(), loc);
  for (const SizeValues::Division &division : sizes.takeUnchecked(size, loc)) {
    Value zero = index(0, loc), one = index(1, loc);
    Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, division.denominator, zero);
    Value divisor = arith::SelectOp::create(b, loc, isZero, one, division.denominator);
    Value rest = arith::RemSIOp::create(b, loc, division.numerator, divisor);
    Value uneven = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, rest, zero);
    failIf(b, loc, arith::OrIOp::create(b, loc, isZero, uneven), PMAP_FAIL_INEXACT,
           {division.numerator, division.denominator});
  }
  return sizes.get(size, loc);
}

Value Translator::index(int64_t value, Location loc) { return arith::ConstantIndexOp::create(b, loc, value); }

OpFoldResult Translator::mixedSize(const Size &text, Location loc) {
  if (auto constant = text.constant())
    return b.getIndexAttr(*constant);
  return size(text, loc);
}

OpFoldResult Translator::dimension(const Size &size, Location loc) {
  OpFoldResult result = mixedSize(size, loc);
  if (!sizes.takeUncheckedSign(size))
    return result;
  Value value = getValueOrCreateConstantIndexOp(b, loc, result);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, value, index(0, loc));
  failIf(b, loc, negative, PMAP_FAIL_NEGATIVE_SIZE, {value}, readableSize(size.str()));
  return result;
}

SmallVector<OpFoldResult> Translator::mixedSizes(Type oldType, Location loc) {
  return llvm::map_to_vector(sizesOf(oldType), [&](const Size &size) { return dimension(size, loc); });
}

Value Translator::dimSize(Type oldType, int64_t dim, Location loc) {
  return getValueOrCreateConstantIndexOp(b, loc, dimension(sizeOf(oldType, dim), loc));
}

Value Translator::empty(Location loc, ArrayRef<OpFoldResult> mixed, Type element) {
  return tensor::EmptyOp::create(b, loc, mixed, element);
}

Value Translator::emptyLike(Type oldType, Location loc) {
  return empty(loc, mixedSizes(oldType, loc), stored(cast<RankedTensorType>(oldType).getElementType()));
}

} // namespace pmap
