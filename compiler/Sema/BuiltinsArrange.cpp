// Arrangements along a dimension: padding, moving around, repeating, sorting, windows.

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

//===--- Padding, moving, repeating ---------------------------------------------------------------------------===//

/// pad(x, 1), pad(x, [1, 2]) for all dimensions, pad(x, [[1, 2], [0, 0]]) one pair per dimension.
Value pad(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.notKeys("x");
  if (!x || !c["widths"])
    return Value::error();
  if (x.rank() == 0)
    return c.e.error(Code::E0403, x.range, "`pad` needs an array with at least one dimension, got a scalar");
  SmallVector<Value, 4> outer = arguments.sequence(c["widths"]);
  auto isList = [](const Value &v) { return v.is(ValueKind::List) || v.is(ValueKind::Tuple); };
  bool perDimension = isList(c["widths"]) && !outer.empty() && isList(outer[0]);
  if (perDimension && int64_t(outer.size()) != x.rank())
    return c.e.error(Code::E0520, c["widths"].range(),
                     "`pad` needs one pair of widths per dimension, " + std::to_string(x.rank()) + ", got " +
                         std::to_string(outer.size()));
  Sizes sizes = c.e.sizesOf(x.ssa), low, high;
  for (int64_t i = 0; i < x.rank(); ++i) {
    SmallVector<Value, 4> pair = perDimension ? arguments.sequence(outer[i]) : outer;
    if (pair.size() > 2 || pair.empty())
      return c.e.error(Code::E0520, c["widths"].range(),
                       "`pad` needs a width, or a pair of them, got " + std::to_string(pair.size()));
    auto before = c.e.sizeOf(pair.front(), "a width of `pad`"), after = c.e.sizeOf(pair.back(), "a width of `pad`");
    if (!before || !after)
      return Value::error();
    for (const Size &width : {*before, *after})
      if ((-width).provablyPositive())
        return c.e.error(Code::E0408, c["widths"].range(), "`pad`: a width is at least 0, got " + c.e.render(width));
    low.push_back(*before);
    high.push_back(*after);
    sizes[i] = *before + sizes[i] + *after;
  }
  Emit m(c);
  Value filler = c.has("value") ? c.e.materialize(c["value"], x.dtype) : Value();
  mlir::Value scalar = filler ? c.e.tensorOf(filler) : c.e.constantInt(0, x.dtype, c.range);
  if (!scalar)
    return Value::error();
  if (filler && filler.as<ArrayValue>()->dtype != x.dtype)
    return c.e.error(Code::E0320, c["value"].range(),
                     "`pad` of " + shown(c, x) + " needs a value of that dtype, got " + c.e.render(filler));
  if (!c.e.sizesOf(scalar).empty())
    return c.e.error(Code::E0403, c["value"].range(), "`pad` fills with a scalar, got " + c.e.render(filler));
  SmallVector<mlir::Value, 2> parts = {widenBySizes(c, x.ssa, sizes), scalar};
  m.unifyVary(parts);
  auto texts = [&](const Sizes &list) {
    SmallVector<mlir::Attribute, 4> attributes;
    for (const Size &size : list)
      attributes.push_back(m.builder.getStringAttr(size.str()));
    return m.builder.getArrayAttr(attributes);
  };
  auto type = withSizes(mlir::cast<mlir::RankedTensorType>(parts[0].getType()), sizes);
  return arrayOf(c, PadOp::create(m.builder, m.loc, type, parts[0], parts[1], texts(low), texts(high)), x);
}

Value flip(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  auto dims = arguments.axes(x.rank());
  if (!dims)
    return Value::error();
  if (dims->empty())
    return arrayOf(c, x.ssa, x);
  Emit m(c);
  return arrayOf(c, ReverseOp::create(m.builder, m.loc, x.ssa.getType(), x.ssa, m.builder.getDenseI64ArrayAttr(*dims)),
                 x);
}

/// roll(x, k, axis:): element i goes to i + k, around the end. A literal shift by a known size is two slices.
Value roll(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x || !c["shift"] || c["shift"].isError())
    return Value::error();
  Emit m(c);
  Sizes original = c.e.sizesOf(x.ssa);
  mlir::Value array = x.ssa;
  int64_t dim = 0;
  bool flat = !c.has("axis") && x.rank() != 1;
  if (flat) {
    array = m.reshape(array, {countOf(original)});
  } else {
    auto given = arguments.axis(x.rank(), 0);
    if (!given)
      return Value::error();
    dim = *given;
  }
  Sizes sizes = m.sizes(array);
  if (sizes[dim].isConstant(0))
    return arrayOf(c, flat ? m.reshape(array, original) : array, x);
  mlir::Value result;
  const auto *literal = c["shift"].as<IntValue>();
  auto whole = sizes[dim].constant();
  if (literal && whole) {
    int64_t shift = *whole ? ((literal->value % *whole) + *whole) % *whole : 0;
    mlir::Value head = m.slice(array, dim, Size(*whole - shift), Size(shift));
    mlir::Value tail = m.slice(array, dim, Size(0), Size(*whole - shift));
    result = shift ? m.concat({head, tail}, dim) : array;
  } else if (literal) {
    mlir::Value offset = mlir::arith::ConstantIndexOp::create(m.builder, m.loc, -literal->value);
    result = RotateOp::create(m.builder, m.loc, array.getType(), array, offset, dim);
  } else {
    Value wide = c.e.convert(c["shift"], DType::I64, c.range);
    const auto *shift = wide.as<ArrayValue>();
    if (!shift)
      return Value::error();
    if (!c.e.sizesOf(shift->ssa).empty())
      return c.e.error(Code::E0403, c["shift"].range(), "`roll` needs a scalar shift, got " + c.e.render(wide));
    SmallVector<mlir::Value, 2> parts = {array, shift->ssa};
    m.unifyVary(parts);
    mlir::Type index = m.builder.getIndexType();
    mlir::Value by = ToIndexOp::create(m.builder, m.loc, index, shift->ssa, /*is_unsigned=*/false);
    // Element i of the result is element i - shift.
    mlir::Value zero = mlir::arith::ConstantIndexOp::create(m.builder, m.loc, 0);
    mlir::Value offset = mlir::arith::SubIOp::create(m.builder, m.loc, zero, by);
    result = RotateOp::create(m.builder, m.loc, parts[0].getType(), parts[0], offset, dim);
  }
  return arrayOf(c, flat ? m.reshape(result, original) : result, x);
}

/// repeat(x, k, axis:): each element k times; without an axis of the flattened array, as in NumPy.
Value repeat(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto times = c.e.sizeOf(c["k"], "the number of repeats");
  if (!x || !times)
    return Value::error();
  Emit m(c);
  mlir::Value array = widenBySizes(c, x.ssa, {*times});
  int64_t dim = 0;
  if (c.has("axis")) {
    auto given = arguments.axis(x.rank(), std::nullopt);
    if (!given)
      return Value::error();
    dim = *given;
  } else {
    array = m.reshape(array, {countOf(m.sizes(array))});
  }
  Sizes sizes = m.sizes(array), spread = sizes;
  spread.insert(spread.begin() + dim + 1, *times);
  SmallVector<int64_t, 4> dims;
  for (int64_t i = 0; i < int64_t(sizes.size()); ++i)
    dims.push_back(i <= dim ? i : i + 1);
  sizes[dim] *= *times;
  return arrayOf(c, m.reshape(m.broadcast(array, spread, dims), sizes), x);
}

/// tile(x, reps): the whole array repeated along each dimension.
Value tile(CallContext &c) {
  Operand x = Arguments(c).array("x");
  auto repeats = c.e.shapeOf(c["reps"], "`tile`");
  if (!x || !repeats)
    return Value::error();
  Emit m(c);
  Sizes reps(repeats->begin(), repeats->end());
  mlir::Value array = widenBySizes(c, x.ssa, reps);
  Sizes sizes = m.sizes(array);
  while (reps.size() < sizes.size())
    reps.insert(reps.begin(), Size(1));
  while (sizes.size() < reps.size())
    sizes.insert(sizes.begin(), Size(1));
  array = m.reshape(array, sizes);
  Sizes spread, joined;
  SmallVector<int64_t, 4> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    spread.push_back(reps[i]);
    spread.push_back(sizes[i]);
    dims.push_back(int64_t(2 * i + 1));
    joined.push_back(reps[i] * sizes[i]);
  }
  return arrayOf(c, m.reshape(m.broadcast(array, spread, dims), joined), x);
}

//===--- Sorting and windows ----------------------------------------------------------------------------------===//

/// sort and argsort, along the last dimension unless told; a bool sorts as an integer.
Value sort(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto descending = arguments.flag("descending", false);
  if (!x || !descending)
    return Value::error();
  if (x.dtype == DType::Key)
    return arguments.badDType(x, "numbers");
  auto dim = arguments.axis(x.rank(), x.rank() - 1);
  if (!dim)
    return Value::error();
  Emit m(c);
  DType dtype = isBool(x.dtype) ? DType::U8 : x.dtype;
  mlir::Value array = m.convert(x.ssa, x.dtype, dtype);
  auto down = *descending ? m.builder.getUnitAttr() : mlir::UnitAttr();
  auto sign = isUnsigned(dtype) ? m.builder.getUnitAttr() : mlir::UnitAttr();
  auto dimAttr = m.builder.getI64IntegerAttr(*dim);
  if (c.builtin.name == "sort") {
    mlir::Value sorted = SortOp::create(m.builder, m.loc, array.getType(), array, dimAttr, down, sign);
    return arrayOf(c, m.convert(sorted, dtype, x.dtype), x);
  }
  auto type = withElementType(mlir::cast<mlir::RankedTensorType>(array.getType()), c.e.elementType(DType::I32));
  return Value::array(ArgSortOp::create(m.builder, m.loc, type, array, dimAttr, down, sign), DType::I32, c.range);
}

/// top_k(x, k): the k largest of the last dimension and their positions, as a tuple.
Value topK(CallContext &c) {
  Operand x = Arguments(c).array("x");
  auto k = c.e.sizeOf(c["k"], "the number of elements");
  if (!x || !k)
    return Value::error();
  if (!isNumeric(x.dtype))
    return Arguments(c).badDType(x, "numbers");
  if (x.rank() == 0)
    return c.e.error(Code::E0403, x.range, "`top_k` needs an array with at least one dimension, got a scalar");
  Emit m(c);
  if (Size whole = m.sizes(x.ssa).back(); (*k - whole).provablyPositive())
    return c.e.error(Code::E0408, c.range,
                     "`top_k` takes " + c.e.render(*k) + " elements of a dimension of size " + c.e.render(whole));
  int64_t last = x.rank() - 1;
  auto sign = isUnsigned(x.dtype) ? m.builder.getUnitAttr() : mlir::UnitAttr();
  auto type = withElementType(mlir::cast<mlir::RankedTensorType>(x.ssa.getType()), c.e.elementType(DType::I32));
  mlir::Value order = ArgSortOp::create(m.builder, m.loc, type, x.ssa, m.builder.getI64IntegerAttr(last),
                                        m.builder.getUnitAttr(), sign);
  // A k that only the run knows shows to be too large, or negative, where the order is cut.
  Emit told(c);
  told.loc = toldAs(m.loc, "E1104",
                    "`top_k`: expected k of at most {c}, the size of dimension " + llvm::Twine(last) + " of '" +
                        c.e.sourceText(x.range) + "', got {b}");
  order = told.slice(order, last, Size(0), *k);
  // The elements at these places of the flattened array, so that a derivative scatters k elements of a line, not all.
  mlir::Value places = order, array = x.ssa;
  if (last > 0) {
    Sizes sizes = m.sizes(x.ssa), picked = m.sizes(order), lines(sizes.begin(), sizes.end() - 1);
    Size count = countOf(sizes), length = sizes.back();
    mlir::Value line = m.iota(DType::I64, {countOf(lines)}, 0);
    mlir::Value start = mlir::arith::MulIOp::create(m.builder, m.loc, line, m.sizeLike(line, length, DType::I64));
    SmallVector<int64_t, 4> dims;
    for (int64_t i = 0; i < last; ++i)
      dims.push_back(i);
    SmallVector<mlir::Value, 2> parts = {m.broadcast(m.reshape(start, lines), picked, dims),
                                         m.convert(order, DType::I32, DType::I64)};
    m.unifyVary(parts);
    places = m.add(parts[0], parts[1]);
    array = m.reshape(array, {count});
  }
  SmallVector<mlir::Value, 2> operands = {array, places};
  m.unifyVary(operands);
  mlir::Value values = GatherOp::create(m.builder, m.loc, operands[0], operands[1], /*dim=*/0);
  return Value::tuple({arrayOf(c, values, x), Value::array(order, DType::I32, c.range)}, c.range);
}

/// windows(x, k): dimension `axis` of size n becomes n - k + 1 windows, and a new last dimension of size k.
Value windows(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto width = c.e.sizeOf(c["k"], "the width of a window");
  if (!x || !width)
    return Value::error();
  auto dim = arguments.axis(x.rank(), 0);
  if (!dim)
    return Value::error();
  Emit m(c);
  Size whole = m.sizes(x.ssa)[*dim], count = whole - *width + Size(1);
  if ((-count).provablyPositive())
    return c.e.error(Code::E0408, c.range,
                     "`windows` of width " + c.e.render(*width) + " do not fit dimension " + std::to_string(*dim) +
                         " of " + shown(c, x));
  Sizes grid = {count, *width};
  SmallVector<mlir::Value, 3> parts = {m.iota(DType::I64, grid, 0), m.iota(DType::I64, grid, 1), x.ssa};
  m.unifyVary(parts);
  mlir::Value gathered = GatherOp::create(m.builder, m.loc, parts[2], m.add(parts[0], parts[1]), *dim);
  // The gather puts both dimensions where `dim` was; the window's goes last.
  SmallVector<int64_t, 4> permutation;
  for (int64_t i = 0; i <= x.rank(); ++i)
    if (i != *dim + 1)
      permutation.push_back(i);
  permutation.push_back(*dim + 1);
  return arrayOf(c, m.transpose(gathered, permutation), x);
}

} // namespace

void sema::registerArrangeBuiltins(BuiltinTable &table) {
  table.add("pad", "x, widths, value:?", pad);
  table.add("flip", "x, axis:?", flip);
  table.add("roll", "x, shift, axis:?", roll);
  table.add("repeat", "x, k, axis:?", repeat);
  table.add("tile", "x, reps", tile);
  table.add("sort", "x, axis:?, descending:?", sort);
  table.add("argsort", "x, axis:?, descending:?", sort);
  table.add("top_k", "x, k", topK);
  table.add("windows", "x, k, axis:?", windows);
}
