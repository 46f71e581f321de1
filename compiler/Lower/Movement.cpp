// Ops that move parts of arrays: reshape, concat, pad, slices, single elements.
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace pmap {

static SmallVector<ReassociationIndices> oneGroup(int64_t rank) {
  SmallVector<ReassociationIndices> groups(1);
  for (int64_t dim = 0; dim < rank; ++dim)
    groups[0].push_back(dim);
  return groups;
}

/// Groups of dimensions of `from` that make up each dimension of `to`, when every dimension of `to` is a product of
/// neighbouring ones of `from`.
static std::optional<SmallVector<ReassociationIndices>> collapseGroups(ArrayRef<Size> from, ArrayRef<Size> to) {
  SmallVector<ReassociationIndices> groups;
  size_t next = 0;
  for (auto [index, target] : llvm::enumerate(to)) {
    ReassociationIndices group;
    Size product(1);
    while (next < from.size() && (group.empty() || product != target)) {
      group.push_back(next);
      product *= from[next++];
    }
    if (group.empty() || product != target)
      return std::nullopt;
    groups.push_back(group);
  }
  // What is left must be of size 1 and goes with the last group.
  for (; next < from.size(); ++next) {
    if (!from[next].isConstant(1) || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

/// True when no group makes more than one dynamic dimension: then the sizes follow from the one that is split.
static bool splitsSimply(RankedTensorType to, ArrayRef<ReassociationIndices> groups) {
  return llvm::all_of(groups, [&](const ReassociationIndices &group) {
    return llvm::count_if(group, [&](int64_t dim) { return to.isDynamicDim(dim); }) <= 1;
  });
}

void Translator::translateReshape(ReshapeOp op) {
  Location loc = op.getLoc();
  auto from = cast<RankedTensorType>(op.getInput().getType()), to = cast<RankedTensorType>(op.getType());
  Size fromCount = elementCountOf(from), toCount = elementCountOf(to);
  if (fromCount != toCount) {
    Value have = size(fromCount, loc), want = size(toCount, loc);
    failIf(b, loc, arith::CmpIOp::create(b, loc, CmpIPredicate::ne, have, want), PMAP_FAIL_RESHAPE, {have, want});
  }
  View source = view(op.getInput());
  if (!isa<TensorType>(source.base.getType()))
    return setView(op, source.base, AffineMap::get(to.getRank(), 0, {}, b.getContext()));
  // Only dimensions of size 1 come or go: a view.
  Kept keptFrom = keptDims(from), keptTo = keptDims(to);
  bool same = keptFrom.dims.size() == keptTo.dims.size();
  for (size_t i = 0; same && i < keptFrom.dims.size(); ++i)
    same = sizeOf(from, keptFrom.dims[i]) == sizeOf(to, keptTo.dims[i]);
  if (same) {
    SmallVector<AffineExpr> exprs(from.getRank(), b.getAffineConstantExpr(0));
    for (auto [f, t] : llvm::zip(keptFrom.dims, keptTo.dims))
      exprs[f] = b.getAffineDimExpr(t);
    if (to.getRank() == 0)
      return setView(op, operandFor(op.getInput(), 0, exprs, loc).base, AffineMap::get(b.getContext()));
    auto outer = AffineMap::get(to.getRank(), 0, exprs, b.getContext());
    return setView(op, source.base, source.map.compose(outer));
  }
  Value array = tensor(op.getInput());
  SmallVector<Size> fromSizes = sizesOf(from), toSizes = sizesOf(to);
  SmallVector<OpFoldResult> shape = mixedSizes(to, loc);
  auto target = cast<RankedTensorType>(convert(to));
  if (to.getRank() > 0)
    if (auto groups = collapseGroups(fromSizes, toSizes)) {
      // Dynamic sizes may make a static one, as @a and 6/@a do: the types meet in a cast.
      auto source = cast<RankedTensorType>(array.getType());
      RankedTensorType collapsed = tensor::CollapseShapeOp::inferCollapsedType(source, *groups);
      Value flat = tensor::CollapseShapeOp::create(b, loc, collapsed, array, *groups);
      return set(op, collapsed == target ? flat : tensor::CastOp::create(b, loc, target, flat));
    }
  if (auto groups = collapseGroups(toSizes, fromSizes); groups && splitsSimply(target, *groups))
    return set(op, tensor::ExpandShapeOp::create(b, loc, target, array, *groups, shape));
  if (to.getRank() > 1 && !splitsSimply(target, oneGroup(to.getRank()))) {
    SmallVector<Value> extents;
    for (OpFoldResult extent : shape)
      extents.push_back(getValueOrCreateConstantIndexOp(b, loc, extent));
    Value extentArray = tensor::FromElementsOp::create(b, loc, extents);
    return set(op, tensor::ReshapeOp::create(b, loc, target, array, extentArray));
  }
  // Through one dimension. Where that one's size is constant on one side only, the types meet in a cast.
  auto countOf = [&](RankedTensorType type) {
    return type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
  };
  Value flat = array;
  if (from.getRank() != 1)
    flat = tensor::CollapseShapeOp::create(b, loc, RankedTensorType::get({countOf(from)}, target.getElementType()),
                                           array, oneGroup(from.getRank()));
  auto flatType = RankedTensorType::get({countOf(to)}, target.getElementType());
  if (flat.getType() != flatType)
    flat = tensor::CastOp::create(b, loc, flatType, flat);
  if (to.getRank() == 0)
    return set(op, fromStored(b, loc, tensor::ExtractOp::create(b, loc, flat, index(0, loc)), to.getElementType()));
  if (to.getRank() == 1)
    return set(op, flat);
  set(op, tensor::ExpandShapeOp::create(b, loc, target, flat, oneGroup(to.getRank()), shape));
}

// True for an array that is known to have no elements. Such a part may stand at the end of an array, where the dialects
// below allow no slice to begin.
static bool isNone(RankedTensorType type) { return llvm::is_contained(type.getShape(), 0); }

void Translator::translateConcat(ConcatOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t dim = op.getDim(), rank = type.getRank();
  auto isElement = [&](Value part) { return cast<RankedTensorType>(part.getType()).getDimSize(0) == 1; };
  if (rank == 1 && llvm::all_of(op.getInputs(), isElement)) {
    // A literal `[a, b, c]`.
    SmallVector<Value> elements;
    for (Value part : op.getInputs())
      elements.push_back(toStored(b, loc, operandFor(part, 0, b.getAffineConstantExpr(0), loc).base));
    return set(op, tensor::FromElementsOp::create(b, loc, cast<RankedTensorType>(convert(type)), elements));
  }
  Value result = emptyLike(type, loc);
  if (isNone(type))
    return set(op, result);
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1));
  Size offset(0);
  for (Value part : op.getInputs()) {
    if (isNone(cast<RankedTensorType>(part.getType())))
      continue;
    Value array = tensor(part);
    offsets[dim] = mixedSize(offset, loc);
    result = tensor::InsertSliceOp::create(b, loc, array, result, offsets, mixedSizes(part.getType(), loc), strides);
    offset += sizeOf(part.getType(), dim);
  }
  set(op, result);
}

// The end of the array, then its beginning: two copies, which readers of the result may skip as those of any array that
// is put together.
void Translator::translateRotate(RotateOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t dim = op.getDim(), rank = type.getRank();
  Value array = tensor(op.getInput());
  if (isNone(type) || type.getDimSize(dim) == 1)
    return set(op, array);
  Value zero = index(0, loc), length = dimSize(type, dim, loc);
  // offset mod length, not negative; 0 where there is nothing to turn.
  Value divisor = b.createOrFold<arith::MaxSIOp>(loc, length, index(1, loc));
  Value rest = b.createOrFold<arith::RemSIOp>(loc, plain(op.getOffset()), divisor);
  Value isNegative = b.createOrFold<arith::CmpIOp>(loc, CmpIPredicate::slt, rest, zero);
  Value above = b.createOrFold<arith::AddIOp>(loc, rest, divisor);
  Value begin = b.createOrFold<arith::SelectOp>(loc, isNegative, above, rest);
  if (getConstantIntValue(begin) == 0)
    return set(op, array);
  Value left = b.createOrFold<arith::SubIOp>(loc, length, begin);
  Value result = emptyLike(type, loc);
  auto move = [&](Value from, Value to, Value count) {
    SmallVector<OpFoldResult> source(rank, b.getIndexAttr(0)), target = source, strides(rank, b.getIndexAttr(1));
    SmallVector<OpFoldResult> counts = mixedSizes(type, loc);
    source[dim] = getAsOpFoldResult(from);
    target[dim] = getAsOpFoldResult(to);
    counts[dim] = getAsOpFoldResult(count);
    Value part = tensor::ExtractSliceOp::create(b, loc, array, source, counts, strides);
    result = tensor::InsertSliceOp::create(b, loc, part, result, target, counts, strides);
  };
  move(begin, zero, left);
  move(zero, left, begin);
  set(op, result);
}

void Translator::translatePad(PadOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value margin = toStored(b, loc, scalar(op.getValue()));
  Value array = tensor(op.getInput());
  Value filled = linalg::FillOp::create(b, loc, margin, emptyLike(type, loc)).getResult(0);
  SmallVector<OpFoldResult> offsets, strides(type.getRank(), b.getIndexAttr(1));
  for (StringRef low : op.getLow().getAsValueRange<StringAttr>())
    offsets.push_back(dimension(*Size::parse(low), loc));
  for (StringRef high : op.getHigh().getAsValueRange<StringAttr>())
    (void)dimension(*Size::parse(high), loc);
  if (isNone(cast<RankedTensorType>(op.getInput().getType())))
    return set(op, filled);
  set(op,
      tensor::InsertSliceOp::create(b, loc, array, filled, offsets, mixedSizes(op.getInput().getType(), loc), strides));
}

static SmallVector<OpFoldResult> constants(OpBuilder &b, ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [&](int64_t value) { return OpFoldResult(b.getIndexAttr(value)); });
}

RankedTensorType Translator::keptType(RankedTensorType type, const Kept &kept) {
  auto shape = llvm::map_to_vector(kept.dims, [&](int64_t dim) { return type.getDimSize(dim); });
  return RankedTensorType::get(shape, stored(type.getElementType()));
}

void Translator::translateSlice(SliceOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  if (!op.getInBounds())
    checkSlice(op, op.getInput(), type, op.getOffsets(), op.getStrides());
  if (isPrefixOfSort(op))
    return translateSort(op.getInput().getDefiningOp(), op);
  // A slice within bounds has no negative size.
  for (const Size &size : sizesOf(type))
    (void)sizes.takeUncheckedSign(size);
  View source = view(op.getInput());
  if (!isa<TensorType>(source.base.getType()))
    return setView(op, source.base, AffineMap::get(type.getRank(), 0, {}, b.getContext()));
  if (isNone(type))
    return set(op, emptyLike(type, loc));
  // Dimensions of which one index is taken are dropped, so that a row of a matrix is a vector without gaps.
  Kept kept = keptDims(type);
  Value array = tensor(op.getInput());
  if (kept.dims.empty()) {
    Value element =
        fromStored(b, loc, tensor::ExtractOp::create(b, loc, array, plain(op.getOffsets())), type.getElementType());
    return setView(op, element, AffineMap::get(type.getRank(), 0, {}, b.getContext()));
  }
  SmallVector<OpFoldResult> offsets = getAsOpFoldResult(plain(op.getOffsets()));
  Value part = tensor::ExtractSliceOp::create(b, loc, keptType(type, kept), array, offsets, mixedSizes(type, loc),
                                              pmap::constants(b, op.getStrides()));
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : kept.dims)
    exprs.push_back(b.getAffineDimExpr(dim));
  auto map = AffineMap::get(type.getRank(), 0, exprs, b.getContext());
  map.isIdentity() ? set(op, part) : setView(op, part, map);
}

void Translator::translateUpdateSlice(UpdateSliceOp op) {
  Location loc = op.getLoc();
  Type part = op.getUpdate().getType();
  if (!op.getInBounds())
    checkSlice(op, op.getInput(), part, op.getOffsets(), op.getStrides());
  SmallVector<OpFoldResult> offsets = getAsOpFoldResult(plain(op.getOffsets()));
  auto type = cast<RankedTensorType>(part);
  Value array = tensor(op.getInput());
  if (isNone(type))
    return set(op, array);
  if (type.hasStaticShape() && type.getNumElements() == 1) {
    // One element needs no array of its own.
    SmallVector<AffineExpr> zeros(type.getRank(), b.getAffineConstantExpr(0));
    Value element = toStored(b, loc, operandFor(op.getUpdate(), 0, zeros, loc).base);
    return set(op, tensor::InsertOp::create(b, loc, element, array, plain(op.getOffsets())));
  }
  // The update without its dimensions of size 1, which is the form that rows are computed in.
  Kept kept = keptDims(type);
  Operand update = inOrder(operandFor(op.getUpdate(), kept.dims.size(), kept.exprs, loc), loc);
  Value source = update.isScalar() || !update.map.isIdentity() ? tensor(op.getUpdate()) : update.base;
  set(op, tensor::InsertSliceOp::create(b, loc, source, array, offsets, mixedSizes(part, loc),
                                        pmap::constants(b, op.getStrides())));
}

void Translator::translateExtract(ExtractOp op) {
  Location loc = op.getLoc();
  View source = view(op.getInput());
  if (!isa<TensorType>(source.base.getType()))
    return set(op, source.base);
  SmallVector<Value> indices = plain(op.getIndices()), point;
  for (AffineExpr expr : source.map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      point.push_back(indices[dim.getPosition()]);
    else
      point.push_back(index(0, loc));
  }
  Value element = tensor::ExtractOp::create(b, loc, source.base, point);
  set(op, fromStored(b, loc, element, cast<RankedTensorType>(op.getType()).getElementType()));
}

void Translator::translateCast(CastOp op) {
  Location loc = op.getLoc();
  auto from = cast<RankedTensorType>(op.getInput().getType()), to = cast<RankedTensorType>(op.getType());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (sizeOf(from, dim) == sizeOf(to, dim))
      continue;
    Value have = dimSize(from, dim, loc), want = dimSize(to, dim, loc);
    failIf(b, loc, arith::CmpIOp::create(b, loc, CmpIPredicate::ne, have, want), PMAP_FAIL_CAST,
           {want, have, index(dim, loc)});
  }
  View source = view(op.getInput());
  // A size may become constant or cease to be: then the array's type changes, otherwise nothing does.
  if (convert(from) == convert(to))
    return setView(op, source.base, source.map);
  set(op, tensor::CastOp::create(b, loc, convert(to), tensor(op.getInput())));
}

} // namespace pmap
