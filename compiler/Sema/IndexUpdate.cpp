// `x[i, :] = row`: pure updates of parts, which the compiler does in place where the old array is dead.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/IndexPlan.h"

using namespace llvm;

namespace pmap::sema {

/// What is assigned to a part of `shown` sizes: of the array's dtype, and of a shape that broadcasts to the part, which
/// never stretches.
static Value fitted(Elaborator &e, const Value &made, const Value &update, ArrayRef<Size> shown, SourceRange range) {
  DType dtype = made.as<ArrayValue>()->dtype;
  if (!e.isArrayLike(update))
    return e.error(Code::E0303, update.range(), "expected an array to assign, got " + describeKind(update));
  std::optional<DType> given = e.dtypeOf(update);
  if (given && *given != dtype) {
    Report report =
        e.error(Code::E0604, update.range(),
                "'" + e.sourceText(range) + "': expected " + e.renderArray(dtype, shown) + ", got " + e.render(update));
    e.noteDType(report, made);
    e.noteDType(report, update);
    if (update.range().isValid())
      report.fix(update.range(), dtypeName(dtype) + "(" + update.range().text() + ")");
    return report;
  }
  Value part = e.materialize(update, dtype);
  if (part.isError())
    return part;
  SmallVector<Size> sizes = e.sizesOf(part);
  bool fits = sizes.size() <= shown.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = sizes[i] == shown[shown.size() - sizes.size() + i] || sizes[i].isConstant(1);
  if (fits)
    return part;
  if (e.assumedToFit(sizes, shown))
    return Value::error();
  Report report =
      e.error(Code::E0402, update.range(),
              "'" + e.sourceText(range) + "': expected " + e.renderArray(dtype, shown) + ", got " + e.render(part));
  for (ArrayRef<Size> list : {shown, ArrayRef<Size>(sizes)})
    for (const Size &size : list)
      e.noteBirths(report, size);
  return report;
}

/// The part of an array that a plan's single places and slices take; gathered dimensions are whole.
struct Part {
  Elaborator &e;
  const Plan &plan;
  SourceRange range;
  SmallVector<int64_t> reversed, strides;
  SmallVector<mlir::Value> offsets;
  bool inBounds = true;

  Part(Elaborator &e, const Plan &plan, SourceRange range) : e(e), plan(plan), range(range) {
    for (auto [i, d] : enumerate(plan.dimensions))
      if (d.reversed)
        reversed.push_back(i);
    rectangle(e, plan, range, offsets, strides, inBounds);
  }

  bool isWhole() const {
    return all_of(plan.dimensions,
                  [](const Dimension &d) { return d.kind == Dimension::Whole || d.kind == Dimension::Gather; });
  }
  mlir::Value reverse(mlir::Value x) const {
    return reversed.empty() ? x : ReverseOp::create(e.builder, e.loc(range), x.getType(), x, reversed).getResult();
  }
  mlir::Value put(mlir::Value x, mlir::Value u) const {
    return reverse(UpdateSliceOp::create(e.builder, e.loc(range), reverse(x), u, offsets, strides, inBounds));
  }
  mlir::Value take(mlir::Value x, mlir::RankedTensorType type) const {
    mlir::UnitAttr proved = inBounds ? e.builder.getUnitAttr() : mlir::UnitAttr();
    return SliceOp::create(e.builder, e.loc(range), type, reverse(x), offsets, e.builder.getDenseI64ArrayAttr(strides),
                           proved);
  }
};

/// Runs `body` with the index of every point of a shape, in row-major order; what it gives is carried on.
static mlir::Value forPoints(Elaborator &e, ArrayRef<Size> shape, mlir::Value carried, SourceRange range,
                             SmallVectorImpl<mlir::Value> &point, function_ref<mlir::Value(mlir::Value)> body) {
  if (shape.empty())
    return body(carried);
  mlir::Location at = e.loc(range);
  mlir::Value zero = e.indexOf(Size(0), range), one = mlir::arith::ConstantIndexOp::create(e.builder, at, 1);
  auto loop = mlir::scf::ForOp::create(e.builder, at, zero, e.indexOf(shape.front(), range), one, carried);
  e.inBlock(loop.getBody(), [&] {
    point.push_back(loop.getInductionVar());
    mlir::Value next = forPoints(e, shape.drop_front(), loop.getRegionIterArg(0), range, point, body);
    mlir::scf::YieldOp::create(e.builder, at, next);
    point.pop_back();
  });
  return loop.getResult(0);
}

/// `x[i, j] = u` with integer arrays assigns the points (i[k], j[k]), as reading them picks them (Indexing.cpp): one
/// after the other, so that of a point that comes twice the last one wins, as in NumPy.
static Value assignPoints(Elaborator &e, const Value &base, const Value &made, const Plan &plan, const Value &update,
                          SourceRange range) {
  const auto *array = made.as<ArrayValue>();
  SmallVector<Size> sizes = e.sizesOf(made);
  std::optional<PickedPoints> picked = pickedPoints(e, plan, range);
  if (!picked)
    return Value::error();
  const auto &[indices, gathered, points, neighbours] = *picked;

  // What is assigned, as it is written (`shown`), and with a dimension for every place that an index takes away: the
  // points where the first array of indices stands, or in front. `row` is what one point gets.
  SmallVector<Size> shown, laid, partSizes, rowSizes, laidRow;
  size_t firstPoint = 0;
  auto layPoints = [&] {
    firstPoint = laid.size();
    append_range(laid, points);
    laidRow.append(points.size(), Size(1));
  };
  if (!neighbours) {
    append_range(shown, points);
    layPoints();
  }
  for (auto [dim, d] : enumerate(plan.dimensions)) {
    bool isGather = d.kind == Dimension::Gather;
    partSizes.push_back(isGather ? sizes[dim] : d.size);
    rowSizes.push_back(isGather ? Size(1) : d.size);
    if (!isGather) {
      laid.push_back(d.size);
      laidRow.push_back(d.size);
    } else if (neighbours && dim == gathered.front()) {
      layPoints();
    }
  }
  for (int dim : plan.result) {
    if (dim < 0)
      shown.push_back(Size(1));
    else if (plan.dimensions[dim].kind != Dimension::Gather)
      shown.push_back(plan.dimensions[dim].size);
    else if (neighbours && static_cast<unsigned>(dim) == gathered.front())
      append_range(shown, points);
  }
  Value rows = fitted(e, made, update, shown, range);
  const auto *data = rows.as<ArrayValue>();
  if (!data)
    return rows;

  mlir::Location at = e.loc(range);
  VarySet vary = unionOf(unionOf(e.varyOf(made), plan.vary), e.varyOf(rows));
  for (const Value &index : indices)
    vary = unionOf(vary, e.varyOf(index));
  auto typeOf = [&](ArrayRef<Size> shape) { return e.tensorType(array->dtype, shape, vary); };
  mlir::Value u = e.broadcastTo(e.widen(data->ssa, vary), shown, update.range());
  if (u.getType() != typeOf(laid))
    u = ReshapeOp::create(e.builder, at, typeOf(laid), u);
  SmallVector<mlir::Value> positions;
  for (const Value &index : indices)
    positions.push_back(e.widen(index.as<ArrayValue>()->ssa, vary));
  mlir::Value x = e.widen(array->ssa, vary), zero = e.indexOf(Size(0), range);
  Part part(e, plan, range);
  mlir::Value updated = part.isWhole() ? x : part.take(x, typeOf(partSizes));
  SmallVector<mlir::Value> point;
  updated = forPoints(e, points, updated, range, point, [&](mlir::Value carried) -> mlir::Value {
    SmallVector<mlir::Value> from(laid.size(), zero), to(partSizes.size(), zero);
    std::copy(point.begin(), point.end(), from.begin() + firstPoint);
    for (auto [position, index, dim] : zip(positions, indices, gathered)) {
      mlir::Value one = ExtractOp::create(e.builder, at, position, point);
      bool isUnsignedIndex = isUnsigned(index.as<ArrayValue>()->dtype);
      one = ToIndexOp::create(e.builder, at, e.builder.getIndexType(), one, isUnsignedIndex);
      to[dim] = checkedIndex(e, one, sizes[dim], dim, range);
    }
    mlir::Value row = SliceOp::create(e.builder, at, typeOf(laidRow), u, from, /*inBounds=*/true);
    if (row.getType() != typeOf(rowSizes))
      row = ReshapeOp::create(e.builder, at, typeOf(rowSizes), row);
    return UpdateSliceOp::create(e.builder, at, carried, row, to, /*inBounds=*/true);
  });
  return Value::array(part.isWhole() ? updated : part.put(x, updated), array->dtype, base.range());
}

/// `x[mask] = v` is where(mask, v, x): every element that the mask picks becomes v.
static std::optional<Value> updateMasked(Elaborator &e, const Value &made, const Value &mask, const Value &update,
                                         SourceRange range) {
  const auto *array = made.as<ArrayValue>();
  std::optional<DType> given = e.dtypeOf(update);
  if (!e.isArrayLike(update) || e.rankOf(update) != 0 || (given && *given != array->dtype) ||
      e.sizesOf(mask) != e.sizesOf(made))
    return std::nullopt;
  mlir::Value v = e.tensorOf(update, array->dtype);
  if (!v)
    return Value::error();
  mlir::Value m = mask.as<ArrayValue>()->ssa;
  VarySet vary = unionOf(unionOf(e.varyOf(array->ssa), e.varyOf(m)), e.varyOf(v));
  mlir::Value x = e.widen(array->ssa, vary);
  v = e.broadcastTo(e.widen(v, vary), e.sizesOf(x), range);
  return Value::array(mlir::arith::SelectOp::create(e.builder, e.loc(range), e.widen(m, vary), v, x), array->dtype,
                      made.range());
}

Value Elaborator::updateIndex(const Value &base, ArrayRef<ast::Subscript> subscripts, const Value &update,
                              SourceRange range) {
  if (base.is(ValueKind::Tuple)) {
    const auto *tuple = base.as<TupleValue>();
    Value position =
        subscripts.size() == 1 && subscripts[0].kind == ast::Subscript::At ? expression(*subscripts[0].index) : Value();
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
  if (subscripts.size() == 1 && subscripts[0].kind == ast::Subscript::At && !sizes.empty()) {
    bool isMask = false;
    dryRun([&] {
      Value index = expression(*subscripts[0].index);
      isMask = isArrayLike(index) && dtypeOf(index) == DType::Bool && rankOf(index) > 0;
    });
    if (isMask)
      if (std::optional<Value> updated =
              updateMasked(*this, made, materialize(expression(*subscripts[0].index)), update, range))
        return *updated;
  }
  Resolver resolver{*this, sizes, range};
  std::optional<Plan> plan = resolver.plan(subscripts, render(made));
  if (!plan)
    return Value::error();
  if (any_of(plan->dimensions, [](const Dimension &d) { return d.kind == Dimension::Gather; }))
    return assignPoints(*this, base, made, *plan, update, range);
  SmallVector<Size> partSizes, shown;
  for (const Dimension &d : plan->dimensions)
    partSizes.push_back(d.size);
  for (int dim : plan->result)
    shown.push_back(dim < 0 ? Size(1) : plan->dimensions[dim].size);
  Value value = fitted(*this, made, update, shown, range);
  const auto *data = value.as<ArrayValue>();
  if (!data)
    return value;
  VarySet vary = unionOf(unionOf(varyOf(made), plan->vary), varyOf(value));
  mlir::Value u = broadcastTo(widen(data->ssa, vary), shown, update.range());
  auto partType = tensorType(array->dtype, partSizes, vary);
  if (u.getType() != partType)
    u = ReshapeOp::create(builder, loc(range), partType, u);
  return Value::array(Part(*this, *plan, range).put(widen(array->ssa, vary), u), array->dtype, base.range());
}

} // namespace pmap::sema
