// Reading parts of arrays: elements, slices, gathers by integer arrays, rows.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/IndexPlan.h"

using namespace llvm;

namespace pmap::sema {

/// `x[i, j]` with integer arrays: the points that they pick.
static Value gatherPoints(Elaborator &e, const Plan &plan, mlir::Value part, ArrayRef<Size> partSizes, DType dtype,
                          const VarySet &vary, SourceRange range) {
  mlir::Location at = e.loc(range);
  mlir::OpBuilder &builder = e.builder;
  std::optional<PickedPoints> picked = pickedPoints(e, plan, range);
  if (!picked)
    return Value::error();
  const auto &[indices, gathered, points, neighbours] = *picked;
  SmallVector<Size> rest;
  SmallVector<unsigned> restDims;
  for (auto [dim, size] : enumerate(partSizes))
    if (plan.dimensions[dim].kind != Dimension::Gather) {
      rest.push_back(size);
      restDims.push_back(dim);
    }
  SmallVector<mlir::Value> bounds;
  for (const Size &size : points)
    bounds.push_back(e.indexOf(size, range));
  VarySet all = unionOf(vary, e.varyOf(indices.front()));
  mlir::Value source = e.widen(part, all);
  SmallVector<Size> sizes(points);
  append_range(sizes, rest);
  auto op = ForEachOp::create(builder, at, mlir::TypeRange{e.tensorType(dtype, sizes, all)}, bounds);
  mlir::Block &body = op.getBody().front();
  e.inBlock(&body, [&] {
    SmallVector<mlir::Value> offsets(partSizes.size());
    for (auto [index, dim] : zip(indices, gathered)) {
      mlir::Value array = e.widen(index.as<ArrayValue>()->ssa, all);
      mlir::Value one = ExtractOp::create(builder, at, array, mlir::ValueRange(body.getArguments()));
      mlir::Value position =
          ToIndexOp::create(builder, at, builder.getIndexType(), one, isUnsigned(index.as<ArrayValue>()->dtype));
      offsets[dim] = checkedIndex(e, position, partSizes[dim], dim, range);
    }
    SmallVector<Size> sliceSizes(partSizes);
    for (unsigned dim : gathered)
      sliceSizes[dim] = Size(1);
    for (mlir::Value &offset : offsets)
      if (!offset)
        offset = e.indexOf(Size(0), range);
    mlir::Value element;
    if (rest.empty()) {
      element = ExtractOp::create(builder, at, source, offsets);
    } else {
      element = SliceOp::create(builder, at, e.tensorType(dtype, sliceSizes, all), source, offsets, /*inBounds=*/true);
      element = ReshapeOp::create(builder, at, e.tensorType(dtype, rest, all), element);
    }
    YieldOp::create(builder, at, element);
  });
  mlir::Value result = op.getResult(0);

  // A dimension that one index takes away stands between its neighbours without parting them, as the plan says in
  // order.
  size_t before = neighbours ? count_if(restDims, [&](unsigned dim) { return dim < gathered.front(); }) : 0;
  if (before > 0) {
    SmallVector<int64_t> perm;
    for (size_t i = 0; i < before; ++i)
      perm.push_back(points.size() + i);
    for (size_t i = 0; i < points.size(); ++i)
      perm.push_back(i);
    for (size_t i = before; i < rest.size(); ++i)
      perm.push_back(points.size() + i);
    result = TransposeOp::create(builder, at, result, perm);
  }
  // What single indices took away and `newaxis` added.
  SmallVector<Size> finalSizes;
  bool placed = false;
  if (!neighbours)
    append_range(finalSizes, points);
  for (int dim : plan.result) {
    bool isGather = dim >= 0 && plan.dimensions[dim].kind == Dimension::Gather;
    if (dim < 0)
      finalSizes.push_back(Size(1));
    else if (!isGather)
      finalSizes.push_back(partSizes[dim]);
    else if (neighbours && !std::exchange(placed, true))
      append_range(finalSizes, points);
  }
  auto type = e.tensorType(dtype, finalSizes, all);
  if (result.getType() != type)
    result = ReshapeOp::create(builder, at, type, result);
  return Value::array(result, dtype, range);
}

/// The place of an element where a literal, or a name of one, is the only subscript.
static std::optional<int64_t> literalPlace(Elaborator &e, ArrayRef<ast::Subscript> subscripts) {
  if (subscripts.size() != 1 || subscripts.front().kind != ast::Subscript::At)
    return std::nullopt;
  const ast::Expr *index = subscripts.front().index.get();
  const auto *negated = dyn_cast<ast::UnaryExpr>(index);
  const ast::Expr *number = negated ? negated->operand.get() : index;
  const auto *name = dyn_cast<ast::NameExpr>(number);
  if (!isa<ast::NumberExpr>(number) && !(name && lookup(e.scope, name->name)))
    return std::nullopt;
  Value position = e.expression(*index);
  const auto *literal = position.as<IntValue>();
  return literal ? std::optional<int64_t>(literal->value) : std::nullopt;
}

/// An element of `shape_of(x)`, or of any list of sizes and whole numbers, is that size still. Empty for other lists.
static Value elementOfSizes(Elaborator &e, const ListValue &list, ArrayRef<ast::Subscript> subscripts,
                            SourceRange range) {
  if (!all_of(list.elements, [](const Value &v) { return v.is(ValueKind::Size) || v.is(ValueKind::Int); }))
    return {};
  std::optional<int64_t> place = literalPlace(e, subscripts);
  int64_t count = list.elements.size();
  if (!place || *place >= count || *place < -count)
    return {};
  return e.atUse(list.elements[*place < 0 ? *place + count : *place], range);
}

Value Elaborator::index(const Value &base, ArrayRef<ast::Subscript> subscripts, SourceRange range) {
  if (base.isError())
    return base;
  if (const auto *tuple = base.as<TupleValue>())
    return indexTuple(*tuple, subscripts, range);
  if (const auto *list = base.as<ListValue>())
    if (Value element = elementOfSizes(*this, *list, subscripts, range))
      return element;
  if (const auto *list = base.as<ListValue>(); list && !isArrayLike(base))
    return error(Code::E0303, range, "expected an array to index, got " + describeKind(base));
  if (!isArrayLike(base))
    return error(Code::E0303, range, "expected an array to index, got " + describeKind(base));
  Value made = claimable(base);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  SmallVector<Size> sizes = sizesOf(made);
  Resolver resolver{*this, sizes, range};
  std::optional<Plan> plan = resolver.plan(subscripts, render(made));
  if (!plan)
    return Value::error();

  mlir::Location at = loc(range);
  VarySet vary = unionOf(varyOf(made), plan->vary);
  mlir::Value value = widen(array->ssa, vary);
  auto finish = [&](mlir::Value result) { return Value::array(result, array->dtype, range, array->weak); };

  bool allAt = plan->result.empty();
  if (allAt) {
    if (plan->dimensions.empty())
      return finish(value);
    SmallVector<mlir::Value> positions;
    for (const Dimension &d : plan->dimensions)
      positions.push_back(d.offset);
    return finish(ExtractOp::create(builder, at, value, positions));
  }

  SmallVector<int64_t> reversed;
  bool needsSlice = false;
  SmallVector<Size> partSizes;
  for (auto [i, d] : enumerate(plan->dimensions)) {
    if (d.reversed)
      reversed.push_back(i);
    needsSlice |= d.kind == Dimension::At || (d.kind == Dimension::Slice && (d.size != sizes[i] || !d.reversed));
    partSizes.push_back(d.kind == Dimension::Gather ? sizes[i] : d.size);
  }
  if (!reversed.empty())
    value = ReverseOp::create(builder, at, value.getType(), value, reversed);
  if (needsSlice) {
    SmallVector<mlir::Value> offsets;
    SmallVector<int64_t> strides;
    bool inBounds;
    rectangle(*this, *plan, range, offsets, strides, inBounds);
    auto slice = SliceOp::create(builder, at, tensorType(array->dtype, partSizes, vary), value, offsets, inBounds);
    slice.setStrides(strides);
    value = slice;
    noteDimensions(partSizes);
    // A part that is there is no larger than what it is of.
    for (auto [part, whole] : zip(partSizes, sizes))
      noteDimensions(whole - part);
  }

  // Integer arrays, each along its own dimension, last first so that the others keep their place.
  unsigned gathers = count_if(plan->dimensions, [](const Dimension &d) { return d.kind == Dimension::Gather; });
  if (gathers > 1)
    return gatherPoints(*this, *plan, value, partSizes, array->dtype, vary, range);
  SmallVector<SmallVector<Size>> shapes; // of each dimension after gathering
  for (const Size &size : partSizes)
    shapes.push_back({size});
  for (int i = static_cast<int>(plan->dimensions.size()) - 1; i >= 0; --i) {
    const Dimension &d = plan->dimensions[i];
    if (d.kind != Dimension::Gather)
      continue;
    const auto *indices = d.indices.as<ArrayValue>();
    value = GatherOp::create(builder, at, value, widen(indices->ssa, vary), i, isUnsigned(indices->dtype));
    shapes[i] = sizesOf(indices->ssa);
  }

  SmallVector<Size> finalSizes;
  for (int dim : plan->result) {
    if (dim < 0)
      finalSizes.push_back(Size(1));
    else
      append_range(finalSizes, shapes[dim]);
  }
  auto type = tensorType(array->dtype, finalSizes, vary);
  if (value.getType() != type)
    value = ReshapeOp::create(builder, at, type, value);
  return finish(value);
}

Value Elaborator::indexTuple(const TupleValue &tuple, ArrayRef<ast::Subscript> subscripts, SourceRange range) {
  const ast::Subscript *only = subscripts.size() == 1 ? &subscripts.front() : nullptr;
  Value position = only && only->kind == ast::Subscript::At ? expression(*only->index) : Value();
  if (position && position.isError())
    return position;
  const auto *literal = position ? position.as<IntValue>() : nullptr;
  int64_t count = tuple.elements.size();
  if (!literal)
    return error(Code::E0415, range, "a tuple is indexed by one integer literal");
  if (literal->value >= count || literal->value < -count)
    return error(Code::E0410, only->range,
                 "the index " + Twine(literal->value) + " is outside of a tuple of " + Twine(count));
  return tuple.elements[literal->value < 0 ? literal->value + count : literal->value];
}

Value Elaborator::indexExpression(const ast::IndexExpr &e) { return index(expression(*e.base), e.subscripts, e.range); }

Value Elaborator::row(const Value &base, const Size &position, SourceRange range) {
  Value made = claimable(base);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  SmallVector<Size> sizes = sizesOf(made);
  VarySet vary = unionOf(varyOf(made), varyOf(position));
  mlir::Value value = widen(array->ssa, vary);
  mlir::Value first = indexOf(position, range);
  if (!provablyNonNegative(position) || !provablyLess(position, sizes.front()))
    first = checkedIndex(*this, first, sizes.front(), 0, range);
  if (sizes.size() == 1)
    return Value::array(ExtractOp::create(builder, loc(range), value, mlir::ValueRange{first}), array->dtype, range,
                        array->weak);
  SmallVector<mlir::Value> offsets{first};
  for (size_t i = 1; i < sizes.size(); ++i)
    offsets.push_back(indexOf(Size(0), range));
  SmallVector<Size> part(sizes);
  part.front() = Size(1);
  mlir::Value slice = SliceOp::create(builder, loc(range), tensorType(array->dtype, part, vary), value, offsets, true);
  sizes.erase(sizes.begin());
  return Value::array(ReshapeOp::create(builder, loc(range), tensorType(array->dtype, sizes, vary), slice),
                      array->dtype, range, array->weak);
}

} // namespace pmap::sema
