// `x[i, :] = row`: pure updates of parts, which the compiler does in place where the old array is dead.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/IndexPlan.h"

using namespace llvm;

namespace pmap::sema {

/// `x[ids, :] = rows`: one row after the other, so that of repeated indices the last wins, as in NumPy. Only whole
/// dimensions may stand beside the array of indices.
Value Elaborator::updateRows(const Value &base, const Value &made, ArrayRef<ast::Subscript> subscripts, unsigned dim,
                             const Value &indices, const Value &update, SourceRange range) {
  unsigned positions = count_if(subscripts, [](const ast::Subscript &s) { return s.kind == ast::Subscript::At; });
  bool othersWhole = all_of(subscripts, [](const ast::Subscript &s) {
    return s.kind == ast::Subscript::At || s.kind == ast::Subscript::Ellipsis ||
           (s.kind == ast::Subscript::Slice && !s.lower && !s.upper && !s.stride);
  });
  if (positions != 1 || !othersWhole)
    return error(Code::E0901, range,
                 "an assignment by an integer array together with other indices is not compiled yet: expected whole "
                 "dimensions beside it");
  const auto *array = made.as<ArrayValue>();
  const auto *ids = indices.as<ArrayValue>();
  SmallVector<Size> sizes = sizesOf(made), idSizes = sizesOf(indices);
  if (idSizes.size() != 1)
    return error(Code::E0901, range,
                 "an assignment by an integer array of rank " + Twine(idSizes.size()) +
                     " is not compiled yet: expected a vector of indices");
  std::optional<DType> given = dtypeOf(update);
  if (given && *given != array->dtype)
    return error(Code::E0604, update.range(),
                 "'" + sourceText(range) + "': expected " + dtypeName(array->dtype) + ", got " + render(update))
        .fix(update.range(), dtypeName(array->dtype) + "(" + update.range().text() + ")");
  Value rows = materialize(update, array->dtype);
  if (rows.isError())
    return rows;
  SmallVector<Size> wanted(sizes);
  wanted[dim] = idSizes[0];
  SmallVector<Size> mine = sizesOf(rows);
  bool fits = mine.size() <= wanted.size();
  for (size_t i = 0; fits && i < mine.size(); ++i)
    fits = mine[i] == wanted[wanted.size() - mine.size() + i] || mine[i].isConstant(1);
  if (!fits)
    return error(Code::E0402, update.range(),
                 "'" + sourceText(range) + "': expected " + renderArray(array->dtype, wanted) + ", got " +
                     render(rows));
  mlir::Location at = loc(range);
  VarySet vary = unionOf(unionOf(varyOf(made), varyOf(indices)), varyOf(rows));
  mlir::Value x = widen(array->ssa, vary), index = widen(ids->ssa, vary);
  mlir::Value u = broadcastTo(widen(rows.as<ArrayValue>()->ssa, vary), wanted, range);
  mlir::Value zero = indexOf(Size(0), range), one = mlir::arith::ConstantIndexOp::create(builder, at, 1);
  auto loop = mlir::scf::ForOp::create(builder, at, zero, indexOf(idSizes[0], range), one, mlir::ValueRange{x});
  inBlock(loop.getBody(), [&] {
    mlir::Value k = loop.getInductionVar();
    mlir::Value id = ExtractOp::create(builder, at, index, mlir::ValueRange{k});
    mlir::Value position = ToIndexOp::create(builder, at, builder.getIndexType(), id, isUnsigned(ids->dtype));
    position = checkedIndex(*this, position, sizes[dim], dim, range);
    SmallVector<mlir::Value> from(sizes.size(), zero), to(sizes.size(), zero);
    from[dim] = k;
    to[dim] = position;
    SmallVector<Size> rowSizes(sizes);
    rowSizes[dim] = Size(1);
    mlir::Value row = SliceOp::create(builder, at, tensorType(array->dtype, rowSizes, vary), u, from, true);
    mlir::Value next = UpdateSliceOp::create(builder, at, loop.getRegionIterArg(0), row, to, /*inBounds=*/true);
    mlir::scf::YieldOp::create(builder, at, next);
  });
  return Value::array(loop.getResult(0), array->dtype, base.range());
}

/// `x[ids, j] = u`, an array of indices beside others: of the part that the others take, which has the array's rank,
/// with the dimension of the indices whole, the rows are updated; then the part goes back.
static Value updateRowsOfPart(Elaborator &e, const Value &base, const Value &made, ArrayRef<ast::Subscript> subscripts,
                              const Plan &plan, unsigned dim, const Value &update, SourceRange range) {
  const auto *array = made.as<ArrayValue>();
  SmallVector<Size> sizes = e.sizesOf(made), partSizes, rowSizes, shown;
  SmallVector<int64_t> reversed;
  for (auto [i, d] : enumerate(plan.dimensions)) {
    if (d.kind == Dimension::Gather && i != dim)
      return e.error(Code::E0901, range, "an assignment by several integer arrays is not compiled yet: expected one");
    partSizes.push_back(i == dim ? sizes[i] : d.size);
    rowSizes.push_back(i == dim ? e.sizesOf(d.indices)[0] : d.size);
    if (d.reversed)
      reversed.push_back(i);
  }
  for (int i : plan.result)
    shown.push_back(i < 0 ? Size(1) : rowSizes[i]);
  Value rows = e.isArrayLike(update) ? e.materialize(update, array->dtype) : update;
  const auto *data = rows.as<ArrayValue>();
  SmallVector<Size> mine = data ? e.sizesOf(rows) : SmallVector<Size>();
  bool fits = data && data->dtype == array->dtype && mine.size() <= shown.size();
  for (size_t i = 0; fits && i < mine.size(); ++i)
    fits = mine[i] == shown[shown.size() - mine.size() + i] || mine[i].isConstant(1);
  if (!fits)
    return rows.isError() ? rows
                          : e.error(Code::E0402, update.range(),
                                    "'" + e.sourceText(range) + "': expected " + e.renderArray(array->dtype, shown) +
                                        ", got " + (data ? e.render(rows) : describeKind(update)));
  mlir::Location at = e.loc(range);
  VarySet vary = unionOf(unionOf(e.varyOf(made), plan.vary), e.varyOf(rows));
  mlir::Value u = e.broadcastTo(e.widen(data->ssa, vary), shown, update.range());
  auto rowsType = e.tensorType(array->dtype, rowSizes, vary), partType = e.tensorType(array->dtype, partSizes, vary);
  if (u.getType() != rowsType)
    u = ReshapeOp::create(e.builder, at, rowsType, u);
  mlir::Value x = e.widen(array->ssa, vary);
  if (!reversed.empty())
    x = ReverseOp::create(e.builder, at, x.getType(), x, reversed);
  SmallVector<mlir::Value> offsets;
  SmallVector<int64_t> strides;
  bool inBounds;
  rectangle(e, plan, range, offsets, strides, inBounds);
  mlir::UnitAttr proved = inBounds ? e.builder.getUnitAttr() : mlir::UnitAttr();
  mlir::Value part =
      SliceOp::create(e.builder, at, partType, x, offsets, e.builder.getDenseI64ArrayAttr(strides), proved);
  // Of the part, all dimensions beside that of the indices are whole.
  const ast::Subscript *one = find_if(subscripts, [](const ast::Subscript &s) { return s.kind == ast::Subscript::At; });
  Value updated = e.updateRows(base, Value::array(part, array->dtype, made.range()), ArrayRef<ast::Subscript>(one, 1),
                               dim, plan.dimensions[dim].indices, Value::array(u, array->dtype, update.range()), range);
  const auto *result = updated.as<ArrayValue>();
  if (!result)
    return updated;
  VarySet all = unionOf(vary, e.varyOf(updated));
  x = UpdateSliceOp::create(e.builder, at, e.widen(x, all), e.widen(result->ssa, all), offsets, strides, inBounds);
  if (!reversed.empty())
    x = ReverseOp::create(e.builder, at, x.getType(), x, reversed);
  return Value::array(x, array->dtype, base.range());
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
  SmallVector<Size> partSizes, shownSizes;
  for (auto [dim, d] : enumerate(plan->dimensions)) {
    if (d.kind == Dimension::Gather) {
      bool alone = !is_contained(plan->result, -1) && all_of(enumerate(plan->dimensions), [dim = dim](auto other) {
        return other.index() == dim || other.value().kind == Dimension::Whole;
      });
      // A matrix of indices is reported there.
      return alone || rankOf(d.indices) != 1
                 ? updateRows(base, made, subscripts, dim, d.indices, update, range)
                 : updateRowsOfPart(*this, base, made, subscripts, *plan, dim, update, range);
    }
    partSizes.push_back(d.size);
  }
  for (int dim : plan->result)
    shownSizes.push_back(dim < 0 ? Size(1) : plan->dimensions[dim].size);

  std::optional<DType> given = dtypeOf(update);
  if (!isArrayLike(update))
    return error(Code::E0303, update.range(), "expected an array to assign, got " + describeKind(update));
  if (given && *given != array->dtype) {
    Report report = error(Code::E0604, update.range(),
                          "'" + sourceText(range) + "': expected " + renderArray(array->dtype, shownSizes) + ", got " +
                              render(update));
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
    Report report = error(Code::E0402, update.range(),
                          "'" + sourceText(range) + "': expected " + renderArray(array->dtype, shownSizes) + ", got " +
                              render(part));
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
