// `x[i, 2:n, a:b:s, :, ..., -1, newaxis]`: parts of arrays, proved in range where the sizes show it and checked otherwise.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

namespace {

/// What the subscripts ask of one dimension of the array.
struct Dimension {
  enum Kind { Whole, At, Slice, Gather } kind = Whole;
  mlir::Value offset; // index; null: 0
  Size size;          // of the part
  int64_t stride = 1;
  bool reversed = false; // the dimension is reversed before it is sliced
  bool inBounds = true;  // proved
  Value indices;         // of a Gather: an integer array
  VarySet vary;          // of the positions
};

/// A whole index expression, resolved against a shape.
struct Plan {
  SmallVector<Dimension> dimensions; // one per dimension of the array
  /// The result's dimensions in order: the array's dimension it comes from, or -1 for a `newaxis`.
  SmallVector<int> result;
  VarySet vary;
};

/// Resolves subscripts one by one.
struct Resolver {
  Elaborator &e;
  SmallVector<Size> sizes;
  SourceRange range;

  std::optional<Dimension> at(const ast::Subscript &s, unsigned dim);
  std::optional<Dimension> slice(const ast::Subscript &s, unsigned dim);
  std::optional<Plan> plan(ArrayRef<ast::Subscript> subscripts, const std::string &shown);
  std::optional<Size> bound(const ast::Expr *expr, const Size &n, const Size &otherwise, unsigned dim, bool isEnd,
                            VarySet &vary);
};

} // namespace

/// A position that is not proved in range: checked when the program runs.
static mlir::Value checkedIndex(Elaborator &e, mlir::Value position, const Size &n, unsigned dim, SourceRange range) {
  return CheckedIndexOp::create(e.builder, e.loc(range), position, e.indexOf(n, range), dim);
}

std::optional<Dimension> Resolver::at(const ast::Subscript &s, unsigned dim) {
  Value value = e.expression(*s.index);
  if (value.isError())
    return std::nullopt;
  const Size &n = sizes[dim];
  Dimension d;
  d.kind = Dimension::At;
  d.size = Size(1);
  d.vary = e.varyOf(value);
  if (!e.isArrayLike(value) || value.is(ValueKind::Float) || value.is(ValueKind::Bool)) {
    e.error(Code::E0415, s.range, "an index is an integer, a slice or an integer array, got " +
                                      (e.isArrayLike(value) ? e.render(value) : describeKind(value)));
    return std::nullopt;
  }
  if (const auto *literal = value.as<IntValue>()) {
    int64_t k = literal->value;
    std::optional<int64_t> size = n.constant();
    if (size && (k >= *size || k < -*size)) {
      Report report = e.error(Code::E0410, s.range, "the index " + Twine(k) + " is outside of dimension " + Twine(dim) +
                                                        ", whose size is " + Twine(*size));
      report.note(SourceRange(), "indices run from 0 to " + Twine(*size - 1) + ", or from -1 back to " + Twine(-*size));
      return std::nullopt;
    }
    Size position = k < 0 ? n + Size(k) : Size(k);
    d.offset = e.indexOf(position, s.range);
    if (!e.provablyNonNegative(position) || !e.provablyLess(position, n))
      d.offset = checkedIndex(e, d.offset, n, dim, s.range);
    return d;
  }
  if (const auto *size = value.as<SizeValue>()) {
    const Size &position = size->polynomial;
    if (e.provablyNonNegative(-position - Size(1))) {
      e.error(Code::E0410, s.range, "the index " + e.render(position) + " is always below zero")
          .fix(s.index->range.startPoint(), e.render(n));
      return std::nullopt;
    }
    d.offset = e.indexOf(position, s.range);
    if (!e.provablyNonNegative(position) || !e.provablyLess(position, n))
      d.offset = checkedIndex(e, d.offset, n, dim, s.range);
    return d;
  }
  Value made = e.materialize(value);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return std::nullopt;
  if (!isInteger(array->dtype)) {
    Report report = e.error(Code::E0415, s.range, "an index is an integer, a slice or an integer array, got " + e.render(value));
    if (isBool(array->dtype) && e.rankOf(made) > 0)
      report.note(SourceRange(), "how many elements a mask picks depends on data: compress(mask, x) does, where(mask, x, y) chooses");
    else if (isFloat(array->dtype))
      report.fix(s.range, "i32(" + s.range.text() + ")");
    return std::nullopt;
  }
  if (e.rankOf(made) > 0) {
    d.kind = Dimension::Gather;
    d.indices = made;
    return d;
  }
  mlir::Value position = ToIndexOp::create(e.builder, e.loc(s.range), e.builder.getIndexType(), array->ssa,
                                           isUnsigned(array->dtype));
  d.offset = checkedIndex(e, position, n, dim, s.range);
  return d;
}

std::optional<Size> Resolver::bound(const ast::Expr *expr, const Size &n, const Size &otherwise, unsigned dim, bool isEnd,
                                    VarySet &vary) {
  if (!expr)
    return otherwise;
  Value value = e.expression(*expr);
  if (value.isError())
    return std::nullopt;
  vary = unionOf(vary, e.varyOf(value));
  if (const auto *literal = value.as<IntValue>()) {
    Size position = literal->value < 0 ? n + Size(literal->value) : Size(literal->value);
    if (std::optional<int64_t> size = n.constant(); size && (literal->value > *size || literal->value < -*size)) {
      e.error(Code::E0410, expr->range, "the slice " + std::string(isEnd ? "ends" : "starts") + " at " +
                                            Twine(literal->value) + ", outside of dimension " + Twine(dim) +
                                            ", whose size is " + Twine(*size));
      return std::nullopt;
    }
    return position;
  }
  return e.sizeOf(value, "a slice bound");
}

std::optional<Dimension> Resolver::slice(const ast::Subscript &s, unsigned dim) {
  const Size &n = sizes[dim];
  Dimension d;
  if (!s.lower && !s.upper && !s.stride) {
    d.size = n;
    return d;
  }
  d.kind = Dimension::Slice;
  if (s.stride) {
    Value stride = e.expression(*s.stride);
    if (stride.isError())
      return std::nullopt;
    const auto *literal = stride.as<IntValue>();
    if (!literal || literal->value == 0) {
      e.error(Code::E0415, s.stride->range, "the step of a slice is an integer literal other than 0, got " +
                                                (e.isArrayLike(stride) ? e.render(stride) : describeKind(stride)));
      return std::nullopt;
    }
    d.stride = literal->value;
  }
  d.reversed = d.stride < 0;
  d.stride = std::abs(d.stride);
  // A step backwards is a step forwards through the reversed dimension, where position p is n-1-p.
  std::optional<Size> lower, upper;
  if (d.reversed) {
    lower = bound(s.lower.get(), n, n - Size(1), dim, false, d.vary);
    upper = bound(s.upper.get(), n, Size(-1), dim, true, d.vary);
    if (!lower || !upper)
      return std::nullopt;
    lower = n - Size(1) - *lower;
    upper = n - Size(1) - *upper;
  } else {
    lower = bound(s.lower.get(), n, Size(0), dim, false, d.vary);
    upper = bound(s.upper.get(), n, n, dim, true, d.vary);
    if (!lower || !upper)
      return std::nullopt;
  }
  Size length = *upper - *lower;
  if (e.provablyNonNegative(-length - Size(1))) {
    Report report = e.error(Code::E0408, s.range, "the slice '" + e.sourceText(s.range) + "' has " + e.render(length) +
                                                      " elements: it ends before it starts");
    if (!s.stride)
      report.note(SourceRange(), "a step of -1 counts backwards: x[a:b:-1]");
    return std::nullopt;
  }
  d.size = d.stride == 1 ? length : Size::ceilDiv(length, Size(d.stride));
  if (std::optional<int64_t> constant = d.size.constant(); constant && *constant < 0)
    d.size = Size(0);
  d.inBounds = e.provablyNonNegative(*lower) && e.provablyNonNegative(length) && e.provablyAtMost(*upper, n);
  e.bindSymbolsOf(d.size);
  d.offset = e.indexOf(*lower, s.range);
  return d;
}

std::optional<Plan> Resolver::plan(ArrayRef<ast::Subscript> subscripts, const std::string &shown) {
  size_t consumed = 0;
  int ellipses = 0;
  for (const ast::Subscript &s : subscripts) {
    consumed += s.kind == ast::Subscript::At || s.kind == ast::Subscript::Slice;
    ellipses += s.kind == ast::Subscript::Ellipsis;
  }
  if (ellipses > 1) {
    e.error(Code::E0415, range, "an index holds '...' at most once");
    return std::nullopt;
  }
  if (consumed > sizes.size()) {
    e.error(Code::E0403, range, "too many indices: expected at most " + Twine(sizes.size()) + " for " + shown + ", got " +
                                    Twine(consumed));
    return std::nullopt;
  }
  Plan plan;
  bool failed = false;
  unsigned dim = 0;
  auto whole = [&] {
    Dimension d;
    d.size = sizes[dim];
    plan.dimensions.push_back(d);
    plan.result.push_back(dim++);
  };
  for (const ast::Subscript &s : subscripts) {
    std::optional<Dimension> d;
    switch (s.kind) {
    case ast::Subscript::NewAxis:
      plan.result.push_back(-1);
      continue;
    case ast::Subscript::Ellipsis:
      for (size_t left = sizes.size() - consumed; left; --left)
        whole();
      continue;
    case ast::Subscript::At:
      d = at(s, dim);
      break;
    case ast::Subscript::Slice:
      d = slice(s, dim);
      break;
    }
    if (!d) {
      failed = true;
      d.emplace();
    }
    plan.vary = unionOf(plan.vary, d->vary);
    if (d->kind != Dimension::At)
      plan.result.push_back(dim);
    plan.dimensions.push_back(std::move(*d));
    ++dim;
  }
  while (dim < sizes.size())
    whole();
  if (failed)
    return std::nullopt;
  return plan;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Offsets and strides of the rectangular part of a plan; gathers take their dimension whole.
static void rectangle(Elaborator &e, const Plan &plan, SourceRange range, SmallVectorImpl<mlir::Value> &offsets,
                      SmallVectorImpl<int64_t> &strides, bool &inBounds) {
  inBounds = true;
  for (const Dimension &d : plan.dimensions) {
    bool positioned = d.kind == Dimension::At || d.kind == Dimension::Slice;
    offsets.push_back(positioned && d.offset ? d.offset : e.indexOf(Size(0), range));
    strides.push_back(d.stride);
    inBounds &= d.inBounds;
  }
}

Value Elaborator::index(const Value &base, ArrayRef<ast::Subscript> subscripts, SourceRange range) {
  if (base.isError())
    return base;
  if (const auto *tuple = base.as<TupleValue>())
    return indexTuple(*tuple, subscripts, range);
  if (const auto *list = base.as<ListValue>(); list && !isArrayLike(base))
    return error(Code::E0303, range, "expected an array to index, got " + describeKind(base));
  if (!isArrayLike(base))
    return error(Code::E0303, range, "expected an array to index, got " + describeKind(base));
  Value made = materialize(base);
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
  }

  // Integer arrays, each along its own dimension, last first so that the others keep their place.
  unsigned gathers = count_if(plan->dimensions, [](const Dimension &d) { return d.kind == Dimension::Gather; });
  if (gathers > 1)
    return error(Code::E0901, range, "an index with several integer arrays is not compiled yet; a comprehension reads x[i[k], j[k]]");
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
    return error(Code::E0410, only->range, "the index " + Twine(literal->value) + " is outside of a tuple of " + Twine(count));
  return tuple.elements[literal->value < 0 ? literal->value + count : literal->value];
}

Value Elaborator::indexExpression(const ast::IndexExpr &e) { return index(expression(*e.base), e.subscripts, e.range); }

Value Elaborator::row(const Value &base, const Size &position, SourceRange range) {
  Value made = materialize(base);
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
    return Value::array(ExtractOp::create(builder, loc(range), value, mlir::ValueRange{first}), array->dtype, range);
  SmallVector<mlir::Value> offsets{first};
  for (size_t i = 1; i < sizes.size(); ++i)
    offsets.push_back(indexOf(Size(0), range));
  SmallVector<Size> part(sizes);
  part.front() = Size(1);
  mlir::Value slice = SliceOp::create(builder, loc(range), tensorType(array->dtype, part, vary), value, offsets, true);
  sizes.erase(sizes.begin());
  return Value::array(ReshapeOp::create(builder, loc(range), tensorType(array->dtype, sizes, vary), slice), array->dtype,
                      range);
}

//===----------------------------------------------------------------------===//
// Updating
//===----------------------------------------------------------------------===//

Value Elaborator::updateIndex(const Value &base, ArrayRef<ast::Subscript> subscripts, const Value &update, SourceRange range) {
  if (base.is(ValueKind::Tuple)) {
    const auto *tuple = base.as<TupleValue>();
    Value position = subscripts.size() == 1 && subscripts[0].kind == ast::Subscript::At ? expression(*subscripts[0].index)
                                                                                       : Value();
    const auto *literal = position ? position.as<IntValue>() : nullptr;
    int64_t count = tuple->elements.size();
    if (!literal || literal->value >= count || literal->value < -count)
      return error(Code::E0415, range, "a tuple is indexed by one integer literal within its length");
    SmallVector<Value, 4> elements = tuple->elements;
    Value &slot = elements[literal->value < 0 ? literal->value + count : literal->value];
    slot = replacing(slot, update, update.range(), "'" + sourceText(range) + "'");
    return slot.isError() ? slot : Value::record(elements, tuple->names, base.range(), tuple->typeName);
  }
  // A weak array that gets an element of a definite dtype takes that dtype.
  Value made = materialize(base, dtypeOf(base) ? std::nullopt : dtypeOf(update));
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return made;
  SmallVector<Size> sizes = sizesOf(made);
  Resolver resolver{*this, sizes, range};
  std::optional<Plan> plan = resolver.plan(subscripts, render(made));
  if (!plan)
    return Value::error();
  SmallVector<Size> partSizes, shownSizes;
  for (const Dimension &d : plan->dimensions) {
    if (d.kind == Dimension::Gather)
      return error(Code::E0901, range, "an assignment to the elements that an integer array names is not compiled yet; scatter_add adds to them");
    partSizes.push_back(d.size);
  }
  for (int dim : plan->result)
    shownSizes.push_back(dim < 0 ? Size(1) : plan->dimensions[dim].size);

  std::optional<DType> given = dtypeOf(update);
  if (!isArrayLike(update))
    return error(Code::E0303, update.range(), "expected an array to assign, got " + describeKind(update));
  if (given && *given != array->dtype) {
    Report report = error(Code::E0604, update.range(), "'" + sourceText(range) + "': expected " +
                                                           renderArray(array->dtype, shownSizes) + ", got " + render(update));
    noteDType(report, made);
    noteDType(report, update);
    if (update.range().isValid())
      report.fix(update.range(), dtypeName(array->dtype) + "(" + update.range().text() + ")");
    return report;
  }
  Value part = materialize(update, array->dtype);
  if (part.isError())
    return part;
  // The update broadcasts to the part, which never stretches.
  SmallVector<Size> updateSizes = sizesOf(part);
  bool fits = updateSizes.size() <= shownSizes.size();
  size_t shift = fits ? shownSizes.size() - updateSizes.size() : 0;
  for (size_t i = 0; fits && i < updateSizes.size(); ++i)
    fits = updateSizes[i] == shownSizes[shift + i] || updateSizes[i].isConstant(1);
  if (!fits) {
    Report report = error(Code::E0402, update.range(), "'" + sourceText(range) + "': expected " +
                                                           renderArray(array->dtype, shownSizes) + ", got " + render(part));
    for (ArrayRef<Size> list : {ArrayRef<Size>(shownSizes), ArrayRef<Size>(updateSizes)})
      for (const Size &size : list)
        noteBirths(report, size);
    return report;
  }
  mlir::Location at = loc(range);
  VarySet vary = unionOf(unionOf(varyOf(made), plan->vary), varyOf(part));
  mlir::Value u = broadcastTo(widen(part.as<ArrayValue>()->ssa, vary), shownSizes, update.range());
  auto partType = tensorType(array->dtype, partSizes, vary);
  if (u.getType() != partType)
    u = ReshapeOp::create(builder, at, partType, u);
  mlir::Value x = widen(array->ssa, vary);
  SmallVector<int64_t> reversed;
  for (auto [i, d] : enumerate(plan->dimensions))
    if (d.reversed)
      reversed.push_back(i);
  if (!reversed.empty())
    x = ReverseOp::create(builder, at, x.getType(), x, reversed);
  SmallVector<mlir::Value> offsets;
  SmallVector<int64_t> strides;
  bool inBounds;
  rectangle(*this, *plan, range, offsets, strides, inBounds);
  x = UpdateSliceOp::create(builder, at, x, u, offsets, strides, inBounds);
  if (!reversed.empty())
    x = ReverseOp::create(builder, at, x.getType(), x, reversed);
  return Value::array(x, array->dtype, base.range());
}

} // namespace pmap::sema
