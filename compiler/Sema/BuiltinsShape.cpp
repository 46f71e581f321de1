// Shapes: reshape, transpose, joining, splitting.

#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

using Sizes = SmallVector<Size, 4>;

Value arrayOf(CallContext &c, mlir::Value ssa, const Operand &like) { return Value::array(ssa, like.dtype, c.range); }

//===--- reshape and its kin ----------------------------------------------------------------------------------===//

/// A shape in which `_` is written for -1, the size that follows from the others.
Value withOpenSize(const Value &shape) {
  auto asNumber = [](const Value &size) { return size.is(ValueKind::Hole) ? Value::integer(-1, size.range()) : size; };
  const auto *list = shape ? shape.as<ListValue>() : nullptr;
  if (!list)
    return shape ? asNumber(shape) : shape;
  return Value::list(llvm::map_to_vector<4>(list->elements, asNumber), shape.range());
}

Value reshape(CallContext &c) {
  Operand x = Arguments(c).array("x");
  auto shape = c.e.shapeOf(withOpenSize(c["shape"]), "`reshape`");
  if (!x || !shape)
    return Value::error();
  Sizes sizes(shape->begin(), shape->end());
  Size count = countOf(c.e.sizesOf(x.ssa)), known(1);
  int64_t open = -1;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    if (!size.isConstant(-1)) {
      known *= size;
      continue;
    }
    if (open >= 0)
      return c.e.error(Code::E0406, c["shape"].range(), "`reshape`: only one size may be left open, got two");
    open = int64_t(i);
  }
  if (open >= 0) {
    if (known.isConstant(0))
      return c.e.error(Code::E0406, c["shape"].range(), "`reshape`: a size cannot be left open beside a size of 0");
    sizes[open] = Size::exactQuotient(count, known);
    auto literal = sizes[open].asQuotient();
    if (literal.first.isConstant() && literal.second.isConstant() && !literal.second.isConstant(1))
      return c.e.error(Code::E0406, c["shape"].range(),
                       "`reshape` keeps the number of elements: " + c.e.render(count) + " does not divide by " +
                           c.e.render(known));
  } else if (known.provablyDiffers(count)) {
    Report report = c.e.error(Code::E0406, c.range,
                              "`reshape` keeps the number of elements: expected " + c.e.render(count) + " of " +
                                  shown(c, x) + ", got " + c.e.render(known) + " for " + c.e.render(sizes));
    c.e.noteBirths(report, count);
    return report;
  }
  for (const Size &size : sizes)
    if ((-size).provablyPositive())
      return c.e.error(Code::E0408, c["shape"].range(), "a size is at least 0, got " + c.e.render(size));
  Emit m(c);
  // Whether the size left open is whole is known where the sizes are, and told of this dimension.
  if (open >= 0 && !sizes[open].asQuotient().second.isConstant(1)) {
    std::string given = c.e.render(sizes[open]);
    m.loc = toldAs(m.loc, "E1103",
                   "`reshape`: dimension " + std::to_string(open) + " would have the size " + given +
                       ", and {a} does not divide by {b}");
  }
  return arrayOf(c, m.reshape(widenBySizes(c, x.ssa, sizes), sizes), x);
}

Value ravelArray(CallContext &c) {
  Operand x = Arguments(c).array("x");
  if (!x)
    return Value::error();
  return arrayOf(c, Emit(c).reshape(x.ssa, {countOf(c.e.sizesOf(x.ssa))}), x);
}

Value squeeze(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  Sizes sizes = c.e.sizesOf(x.ssa), left;
  auto dims = arguments.axes(x.rank());
  if (!dims)
    return Value::error();
  for (auto [i, size] : llvm::enumerate(sizes)) {
    bool named = llvm::is_contained(*dims, int64_t(i));
    if (named && c.has("axis") && !size.isConstant(1))
      return c.e.error(Code::E0401, c.range,
                       "`squeeze` drops dimensions of literal size 1, but dimension " + std::to_string(i) + " of " +
                           shown(c, x) + " has size " + c.e.render(size));
    if (!named || !size.isConstant(1))
      left.push_back(size);
  }
  return arrayOf(c, Emit(c).reshape(x.ssa, left), x);
}

Value expandDims(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  auto dim = arguments.dimension(c["axis"], x.rank() + 1);
  if (!dim)
    return Value::error();
  Sizes sizes = c.e.sizesOf(x.ssa);
  sizes.insert(sizes.begin() + *dim, Size(1));
  return arrayOf(c, Emit(c).reshape(x.ssa, sizes), x);
}

/// transpose(x) reverses the dimensions; transpose(x, [1, 0, 2]) permutes them.
Value transpose(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  SmallVector<int64_t, 4> permutation;
  if (!c.has("axes")) {
    for (int64_t i = x.rank(); i-- > 0;)
      permutation.push_back(i);
    return arrayOf(c, Emit(c).transpose(x.ssa, permutation), x);
  }
  for (const Value &element : arguments.sequence(c["axes"])) {
    auto dim = arguments.dimension(element, x.rank());
    if (!dim)
      return Value::error();
    if (llvm::is_contained(permutation, *dim))
      return c.e.error(Code::E0405, element.range(),
                       "`transpose`: dimension " + std::to_string(*dim) + " is named twice");
    permutation.push_back(*dim);
  }
  if (int64_t(permutation.size()) != x.rank())
    return c.e.error(Code::E0411, c["axes"].range(),
                     "`transpose` needs each of the " + std::to_string(x.rank()) + " dimensions once, got " +
                         std::to_string(permutation.size()));
  return arrayOf(c, Emit(c).transpose(x.ssa, permutation), x);
}

Value swapAxes(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  auto a = arguments.dimension(c["a"], x.rank()), b = arguments.dimension(c["b"], x.rank());
  if (!a || !b)
    return Value::error();
  SmallVector<int64_t, 4> permutation;
  for (int64_t i = 0; i < x.rank(); ++i)
    permutation.push_back(i == *a ? *b : i == *b ? *a : i);
  return arrayOf(c, Emit(c).transpose(x.ssa, permutation), x);
}

Value broadcastTo(CallContext &c) {
  Operand x = Arguments(c).array("x");
  auto shape = c.e.shapeOf(c["shape"], "`broadcast_to`");
  if (!x || !shape)
    return Value::error();
  Sizes sizes = c.e.sizesOf(x.ssa), wanted(shape->begin(), shape->end());
  int64_t shift = int64_t(wanted.size()) - x.rank();
  bool fits = shift >= 0;
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = sizes[i].isConstant(1) || sizes[i] == wanted[i + shift];
  if (!fits) {
    if (c.e.assumedToFit(sizes, wanted))
      return Value::error();
    Report report = c.e.error(Code::E0402, c.range, "cannot broadcast " + shown(c, x) + " to " + c.e.render(wanted));
    for (const Size &size : sizes)
      c.e.noteBirths(report, size);
    return report;
  }
  mlir::Value array = widenBySizes(c, x.ssa, wanted);
  return arrayOf(c, c.e.broadcastTo(array, wanted, c.range), x);
}

//===--- Joining and splitting --------------------------------------------------------------------------------===//

/// The elements of a tuple or list as arrays of one dtype.
std::optional<SmallVector<Operand, 4>> readArrays(CallContext &c, StringRef parameter) {
  const Value &all = c[parameter];
  if (!all || all.isError())
    return std::nullopt;
  if (!all.is(ValueKind::Tuple) && !all.is(ValueKind::List)) {
    Report report = c.e.error(Code::E0520, all.range(),
                              "`" + c.builtin.name + "` takes a tuple of arrays, as in `" + c.builtin.name +
                                  "((a, b))`, got " + describeKind(all));
    // NumPy's habit, a list of arrays, is one array here.
    StringRef text = all.range().isValid() ? all.range().text() : StringRef();
    if (text.consume_front("[") && text.consume_back("]"))
      report.fix(all.range(), "(" + text + ")");
    return report;
  }
  SmallVector<Value, 4> values = Arguments(c).sequence(all);
  if (values.empty())
    return c.e.error(Code::E0520, all.range(), "`" + c.builtin.name + "` needs at least one array, got none");
  auto dtype = c.e.commonDType(values, c.range, "`" + c.builtin.name + "`");
  if (!dtype)
    return std::nullopt;
  SmallVector<Operand, 4> arrays;
  for (const Value &value : values) {
    Operand operand = Arguments(c).asArray(value, *dtype);
    if (!operand)
      return std::nullopt;
    arrays.push_back(operand);
  }
  return arrays;
}

Value concat(CallContext &c) {
  auto arrays = readArrays(c, "arrays");
  if (!arrays)
    return Value::error();
  const Operand &first = arrays->front();
  auto dim = Arguments(c).axis(first.rank(), 0);
  if (!dim)
    return Value::error();
  Sizes sizes = c.e.sizesOf(first.ssa);
  SmallVector<mlir::Value, 4> parts;
  for (const Operand &x : *arrays) {
    Sizes mine = c.e.sizesOf(x.ssa);
    if (mine.size() != sizes.size())
      return c.e.error(Code::E0403, x.range,
                       "`concat` joins arrays of one rank: expected " + std::to_string(sizes.size()) +
                           " dimensions as in " + shown(c, first) + ", got " + shown(c, x));
    for (size_t i = 0; i < sizes.size(); ++i)
      if (int64_t(i) != *dim && !c.e.expectEqual(sizes[i], mine[i], x.range,
                                                 "`concat` along dimension " + std::to_string(*dim) +
                                                     " needs the other sizes "
                                                     "equal, got " +
                                                     shown(c, first) + " and " + shown(c, x)))
        return Value::error();
    parts.push_back(x.ssa);
  }
  return arrayOf(c, Emit(c).concat(parts, *dim), first);
}

Value stack(CallContext &c) {
  auto arrays = readArrays(c, "arrays");
  if (!arrays)
    return Value::error();
  const Operand &first = arrays->front();
  int64_t dim = 0;
  if (c.has("axis")) {
    auto given = Arguments(c).dimension(c["axis"], first.rank() + 1);
    if (!given)
      return Value::error();
    dim = *given;
  }
  Sizes sizes = c.e.sizesOf(first.ssa);
  Emit m(c);
  SmallVector<mlir::Value, 4> parts;
  for (const Operand &x : *arrays) {
    Sizes mine = c.e.sizesOf(x.ssa);
    bool same = mine.size() == sizes.size();
    for (size_t i = 0; same && i < sizes.size(); ++i)
      same = mine[i] == sizes[i];
    if (!same) {
      if (c.e.assumedEqual(sizes, mine))
        return Value::error();
      Report report =
          c.e.error(Code::E0401, x.range,
                    "`stack` joins arrays of one shape: expected " + shown(c, first) + ", got " + shown(c, x));
      for (const Sizes *list : {&sizes, &mine})
        for (const Size &size : *list)
          c.e.noteBirths(report, size);
      return report;
    }
    mine.insert(mine.begin() + dim, Size(1));
    parts.push_back(m.reshape(x.ssa, mine));
  }
  return arrayOf(c, m.concat(parts, dim), first);
}

/// split(x, 3): equal parts; split(x, [a, b]): cuts before a and b. A tuple either way.
Value split(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  auto dim = arguments.axis(x.rank(), 0);
  const Value &parts = c["parts"];
  if (!dim || !parts || parts.isError())
    return Value::error();
  Size whole = c.e.sizesOf(x.ssa)[*dim];
  Sizes edges = {Size(0)};
  if (const auto *list = parts.as<ListValue>()) {
    for (const Value &cut : list->elements) {
      auto size = c.e.sizeOf(cut, "a cut of `split`");
      if (!size)
        return Value::error();
      edges.push_back(*size);
    }
    edges.push_back(whole);
  } else {
    const auto *literal = parts.as<IntValue>();
    if (!literal || literal->value < 1)
      return c.e.error(Code::E0412, parts.range(),
                       "`split` needs a literal number of parts, or a list of cuts, got " +
                           (literal ? std::to_string(literal->value) : describeKind(parts)));
    if (auto size = whole.constant(); size && *size % literal->value)
      return c.e.error(Code::E0412, parts.range(),
                       "`split`: dimension " + std::to_string(*dim) + " of " + shown(c, x) + " does not divide by " +
                           std::to_string(literal->value));
    Size part = Size::exactQuotient(whole, Size(literal->value));
    for (int64_t i = 1; i <= literal->value; ++i)
      edges.push_back(part * Size(i));
  }
  Emit m(c);
  SmallVector<Value, 4> results;
  for (size_t i = 0; i + 1 < edges.size(); ++i)
    results.push_back(arrayOf(c, m.slice(x.ssa, *dim, edges[i], edges[i + 1] - edges[i]), x));
  return Value::tuple(results, c.range);
}

} // namespace

void sema::registerShapeBuiltins(BuiltinTable &table) {
  table.add("reshape", "x, shape", reshape);
  table.add("flatten", "x", ravelArray);
  table.add("squeeze", "x, axis:?", squeeze);
  table.add("expand_dims", "x, axis", expandDims);
  table.add("transpose", "x, axes?", transpose);
  table.add("swapaxes", "x, a, b", swapAxes);
  table.add("broadcast_to", "x, shape", broadcastTo);
  table.add("concat", "arrays, axis:?", concat);
  table.add("stack", "arrays, axis:?", stack);
  table.add("split", "x, parts, axis:?", split);
}
