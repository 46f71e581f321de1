// Resolving `x[i, 2:n, a:b:s, :, ..., -1, newaxis]`: what each subscript asks, proved in range where the sizes show it.
#include "compiler/Sema/IndexPlan.h"
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Dialect/IR/PmapOps.h"

using namespace llvm;

namespace pmap::sema {

mlir::Value checkedIndex(Elaborator &e, mlir::Value position, const Size &n, unsigned dim, SourceRange range) {
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
    e.error(Code::E0415, s.range,
            "an index is an integer, a slice or an integer array, got " +
                (e.isArrayLike(value) ? e.render(value) : describeKind(value)));
    return std::nullopt;
  }
  if (const auto *literal = value.as<IntValue>()) {
    int64_t k = literal->value;
    std::optional<int64_t> size = n.constant();
    if (size && (k >= *size || k < -*size)) {
      Report report = e.error(Code::E0410, s.range,
                              "the index " + Twine(k) + " is outside of dimension " + Twine(dim) + ", whose size is " +
                                  Twine(*size));
      if (*size > 0)
        report.note(SourceRange(),
                    "indices run from 0 to " + Twine(*size - 1) + ", or from -1 back to " + Twine(-*size));
      return std::nullopt;
    }
    Size position = k < 0 ? n + Size(k) : Size(k);
    d.offset = e.indexOf(position, s.range);
    if (!e.provablyNonNegative(position) || !e.provablyLess(position, n))
      d.offset = checkedIndex(e, d.offset, n, dim, s.range);
    return d;
  }
  std::optional<Size> known = e.pureSizeOf(value);
  // A quotient of sizes is exact here, as it is in a slice.
  if (const auto *computed = value.as<ArrayValue>(); computed && computed->recipe && isFloat(computed->dtype))
    known = e.sizeOf(value, "an index");
  if (known) {
    const Size &position = *known;
    // An index that runs over nothing is never used.
    bool neverUsed = any_of(position.symbols(), [&](const std::string &name) {
      const SizeSymbol *symbol = e.findSymbol(name);
      return symbol && symbol->low && symbol->high && e.provablyAtMost(*symbol->high, *symbol->low);
    });
    if (!neverUsed && e.provablyNonNegative(-position - Size(1))) {
      e.error(Code::E0410, s.range, "the index " + e.render(position) + " is always below zero")
          .fix(s.index->range.startPoint(), e.render(n));
      return std::nullopt;
    }
    if (!neverUsed && (position - n).provablyNonNegative() && e.provablyNonNegative(position)) {
      Report report = e.error(Code::E0410, s.range,
                              "the index " + e.render(position) + " is always past the end of dimension " + Twine(dim) +
                                  ", whose size is " + e.render(n));
      e.noteBirths(report, n);
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
    Report report =
        e.error(Code::E0415, s.range, "an index is an integer, a slice or an integer array, got " + e.render(value));
    if (isBool(array->dtype) && e.rankOf(made) > 0)
      report.note(SourceRange(),
                  "how many elements a mask picks depends on data: compress(mask, x) does, where(mask, x, y) chooses");
    else if (isFloat(array->dtype))
      report.fix(s.range, "i32(" + s.range.text() + ")");
    return std::nullopt;
  }
  if (e.rankOf(made) > 0) {
    d.kind = Dimension::Gather;
    d.indices = made;
    return d;
  }
  mlir::Value position =
      ToIndexOp::create(e.builder, e.loc(s.range), e.builder.getIndexType(), array->ssa, isUnsigned(array->dtype));
  d.offset = checkedIndex(e, position, n, dim, s.range);
  return d;
}

std::optional<Size> Resolver::bound(const ast::Expr *expr, const Size &n, const Size &otherwise, unsigned dim,
                                    bool isEnd, VarySet &vary) {
  if (!expr)
    return otherwise;
  Value value = e.expression(*expr);
  if (value.isError())
    return std::nullopt;
  vary = unionOf(vary, e.varyOf(value));
  if (const auto *literal = value.as<IntValue>()) {
    Size position = literal->value < 0 ? n + Size(literal->value) : Size(literal->value);
    if (std::optional<int64_t> size = n.constant(); size && (literal->value > *size || literal->value < -*size)) {
      e.error(Code::E0410, expr->range,
              "the slice " + std::string(isEnd ? "ends" : "starts") + " at " + Twine(literal->value) +
                  ", outside of dimension " + Twine(dim) + ", whose size is " + Twine(*size));
      return std::nullopt;
    }
    return position;
  }
  std::optional<Size> position = e.sizeOf(value, "a slice bound");
  // What is computed is a position from the front, and NumPy's reader may mean one from the end.
  const SizeSymbol *symbol =
      position && position->symbols().size() == 1 ? e.findSymbol(*position->symbols().begin()) : nullptr;
  auto check = symbol && symbol->ssa ? symbol->ssa.getDefiningOp<BindSizeOp>() : BindSizeOp();
  if (check && check.getLoc() == e.loc(expr->range)) {
    std::string text = e.sourceText(expr->range), whole = e.render(n);
    const auto *minus = dyn_cast<ast::UnaryExpr>(expr);
    std::string counted = minus && minus->op == ast::UnaryOp::Neg
                              ? "; write '" + whole + "-" + e.sourceText(minus->operand->range) + "'"
                              : std::string();
    check->setLoc(
        toldAs(check.getLoc(), "E1106",
               "a slice bound is negative: '" + text + "' is {a}, and only literals count from the end" + counted));
  }
  return position;
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
      e.error(Code::E0415, s.stride->range,
              "the step of a slice is an integer literal other than 0, got " +
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
    Report report = e.error(Code::E0408, s.range,
                            "the slice '" + e.sourceText(s.range) + "' has " + e.render(length) +
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
    // NumPy's name of a new dimension.
    const auto *name = s.kind == ast::Subscript::At ? dyn_cast<ast::NameExpr>(s.index.get()) : nullptr;
    if (name && name->name == "None" && !lookup(e.scope, name->name)) {
      e.error(Code::E0201, s.range, "no name 'None' is known here: a new dimension is 'newaxis'")
          .fix(s.range, "newaxis");
      return std::nullopt;
    }
    consumed += s.kind == ast::Subscript::At || s.kind == ast::Subscript::Slice;
    ellipses += s.kind == ast::Subscript::Ellipsis;
  }
  if (ellipses > 1) {
    e.error(Code::E0415, range, "an index holds '...' at most once");
    return std::nullopt;
  }
  if (consumed > sizes.size()) {
    e.error(Code::E0403, range,
            "too many indices: expected at most " + Twine(sizes.size()) + " for " + shown + ", got " + Twine(consumed));
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

void rectangle(Elaborator &e, const Plan &plan, SourceRange range, SmallVectorImpl<mlir::Value> &offsets,
               SmallVectorImpl<int64_t> &strides, bool &inBounds) {
  inBounds = true;
  for (const Dimension &d : plan.dimensions) {
    bool positioned = d.kind == Dimension::At || d.kind == Dimension::Slice;
    offsets.push_back(positioned && d.offset ? d.offset : e.indexOf(Size(0), range));
    strides.push_back(d.stride);
    inBounds &= d.inBounds;
  }
}

std::optional<PickedPoints> pickedPoints(Elaborator &e, const Plan &plan, SourceRange range) {
  PickedPoints picked;
  for (auto [dim, d] : enumerate(plan.dimensions))
    if (d.kind == Dimension::Gather) {
      picked.indices.push_back(d.indices);
      picked.gathered.push_back(dim);
    }
  if (!e.unifyForElementwise(picked.indices, range, "an index of several arrays", /*keepDTypes=*/true))
    return std::nullopt;
  picked.sizes = e.sizesOf(picked.indices.front());
  picked.neighbours = picked.gathered.back() - picked.gathered.front() + 1 == picked.gathered.size();
  return picked;
}

} // namespace pmap::sema
