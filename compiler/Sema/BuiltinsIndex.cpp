// Reading and adding by integer indices: take, scatter, segment_sum, histogram, searchsorted.

#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

using Sizes = SmallVector<Size, 4>;

/// take(x, indices, axis:): without an axis from the flattened array, as in NumPy.
Value take(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x"), indices = arguments.integers("indices");
  if (!x || !indices)
    return Value::error();
  Emit m(c);
  mlir::Value array = x.ssa;
  int64_t dim = 0;
  if (c.has("axis")) {
    auto given = arguments.axis(x.rank(), std::nullopt);
    if (!given)
      return Value::error();
    dim = *given;
  } else if (x.rank() != 1) {
    Size count(1);
    for (const Size &size : m.sizes(array))
      count *= size;
    array = m.reshape(array, {count});
  }
  SmallVector<mlir::Value, 2> parts = {array, indices.ssa};
  m.unifyVary(parts);
  return Value::array(GatherOp::create(m.builder, m.loc, parts[0], parts[1], dim, isUnsigned(indices.dtype)), x.dtype,
                      c.range);
}

/// Combines updates into `array` along `dim`. The updates broadcast to what gathering would give.
Value scatterInto(CallContext &c, const Operand &x, const Operand &indices, const Value &updates, int64_t dim,
                  ReductionKind kind) {
  Emit m(c);
  Value given = c.e.materialize(updates, x.dtype);
  const auto *data = given.as<ArrayValue>();
  if (!data)
    return Value::error();
  if (data->dtype != x.dtype)
    return c.e.error(Code::E0320, updates.range(),
                     "`" + c.builtin.name + "` needs updates of the array's dtype " + dtypeName(x.dtype) + ", got " +
                         c.e.render(given));
  Sizes sizes = m.sizes(x.ssa), wanted = m.sizes(indices.ssa);
  wanted.insert(wanted.begin(), sizes.begin(), sizes.begin() + dim);
  wanted.append(sizes.begin() + dim + 1, sizes.end());
  Sizes mine = m.sizes(data->ssa);
  int64_t shift = int64_t(wanted.size()) - int64_t(mine.size());
  bool fits = shift >= 0;
  for (size_t i = 0; fits && i < mine.size(); ++i)
    fits = mine[i].isConstant(1) || mine[i] == wanted[i + shift];
  if (!fits) {
    if (c.e.assumedToFit(mine, wanted))
      return Value::error();
    Report report = c.e.error(Code::E0401, updates.range(),
                              "`" + c.builtin.name + "` needs updates of shape " + c.e.render(wanted) + ", got " +
                                  c.e.render(mine));
    for (const Sizes *list : {&wanted, &mine})
      for (const Size &size : *list)
        c.e.noteBirths(report, size);
    return report;
  }
  SmallVector<mlir::Value, 3> parts = {x.ssa, indices.ssa, c.e.broadcastTo(data->ssa, wanted, c.range)};
  m.unifyVary(parts);
  return Value::array(
      ScatterOp::create(m.builder, m.loc, kind, parts[0], parts[1], parts[2], dim, isUnsigned(indices.dtype)), x.dtype,
      c.range);
}

Value scatter(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x"), indices = arguments.integers("indices");
  if (!x || !indices || !c["updates"])
    return Value::error();
  if (!isNumeric(x.dtype))
    return arguments.badDType(x, "numbers");
  auto dim = arguments.axis(x.rank(), 0);
  if (!dim)
    return Value::error();
  auto kind = c.builtin.name == "scatter_add" ? ReductionKind::Sum : maxKind(x.dtype);
  return scatterInto(c, x, indices, c["updates"], *dim, kind);
}

/// segment_sum(values, ids, k): row j of the result is the sum of the rows whose id is j.
Value segmentSum(CallContext &c) {
  Arguments arguments(c);
  Operand values = arguments.notKeys("values"), ids = arguments.integers("ids");
  auto count = c.e.sizeOf(c["k"], "the number of segments");
  if (!values || !ids || !count)
    return Value::error();
  Emit m(c);
  Sizes sizes = m.sizes(values.ssa), idSizes = m.sizes(ids.ssa);
  if (idSizes.size() != 1 || sizes.empty())
    return c.e.error(Code::E0403, ids.range,
                     "`segment_sum` needs a vector of ids, one per row, got " + c.e.renderArray(ids.dtype, idSizes));
  if (!c.e.expectEqual(sizes[0], idSizes[0], c.range,
                       "`segment_sum` needs one id per row, got " + c.e.renderArray(values.dtype, sizes) + " and " +
                           c.e.renderArray(ids.dtype, idSizes)))
    return Value::error();
  DType dtype = dtypeOfSum(values.dtype);
  mlir::Value rows = m.convert(values.ssa, values.dtype, dtype);
  sizes[0] = *count;
  mlir::Value zeros = c.e.splat(c.e.constantInt(0, dtype, c.range), sizes, c.range);
  return scatterInto(c, {zeros, dtype, values.range}, ids, Value::array(rows, dtype, values.range), 0,
                     ReductionKind::Sum);
}

/// histogram(x, k, low:, high:): how many elements fall into each of k equal bins of [low, high]; others are left out.
/// For integers without bounds, how often each of 0 to k-1 occurs.
Value histogram(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto bins = c.e.sizeOf(c["k"], "the number of bins");
  if (!x || !bins)
    return Value::error();
  if (!isNumeric(x.dtype))
    return arguments.badDType(x, "numbers");
  Emit m(c);
  Size count(1);
  for (const Size &size : m.sizes(x.ssa))
    count *= size;
  mlir::Value flat = m.reshape(x.ssa, {count});
  mlir::Value ids, inside;
  if (!c.has("low") && !c.has("high") && isInteger(x.dtype)) {
    ids = m.convert(flat, x.dtype, DType::I64);
    mlir::Value zero = m.likeInt(ids, 0, DType::I64), last = m.sizeLike(ids, *bins, DType::I64);
    inside = m.logicalAnd(m.lessEqual(zero, ids, DType::I64), m.less(ids, last, DType::I64));
  } else {
    if (!c.has("low") || !c.has("high"))
      return c.e.error(Code::E0520, c.range, "`histogram` of floats needs its range, `low:` and `high:`");
    DType t = isFloat(x.dtype) ? x.dtype : DType::F32;
    Value values[] = {Value::array(m.convert(flat, x.dtype, t), t, x.range), c.e.convert(c["low"], t, c.range),
                      c.e.convert(c["high"], t, c.range)};
    if (!c.e.unifyForElementwise(values, c.range, "`histogram`"))
      return Value::error();
    mlir::Value v = values[0].as<ArrayValue>()->ssa, low = values[1].as<ArrayValue>()->ssa,
                high = values[2].as<ArrayValue>()->ssa;
    inside = m.logicalAnd(m.lessEqual(low, v, t), m.lessEqual(v, high, t));
    mlir::Value scaled = m.mul(m.div(m.sub(v, low), m.sub(high, low)), m.sizeLike(v, *bins, t));
    mlir::Value safe = m.select(inside, scaled, m.like(v, 0, t));
    ids = m.convert(mlir::math::FloorOp::create(m.builder, m.loc, safe), t, DType::I64);
    // The upper bound belongs to the last bin.
    mlir::Value last = m.sub(m.sizeLike(ids, *bins, DType::I64), m.likeInt(ids, 1, DType::I64));
    ids = m.minimum(ids, last, DType::I64);
  }
  ids = m.select(inside, ids, m.likeInt(ids, 0, DType::I64));
  mlir::Value ones = m.convert(inside, DType::Bool, DType::I32);
  mlir::Value zeros = c.e.splat(c.e.constantInt(0, DType::I32, c.range), {*bins}, c.range);
  return scatterInto(c, {zeros, DType::I32, c.range}, {ids, DType::I64, c.range},
                     Value::array(ones, DType::I32, c.range), 0, ReductionKind::Sum);
}

/// searchsorted(sorted, v): how many elements of the sorted vector are less than each of v (NumPy's side 'left'). A NaN
/// counts as larger than all numbers and equal to itself, as sorts have it.
Value searchSorted(CallContext &c) {
  Arguments arguments(c);
  auto right = arguments.flag("right", false);
  auto dtype = c.e.commonDType({c["sorted"], c["v"]}, c.range, "`searchsorted`");
  if (!right || !dtype)
    return Value::error();
  Operand sorted = arguments.notKeys("sorted", *dtype), v = arguments.array("v", *dtype);
  if (!sorted || !v)
    return Value::error();
  if (sorted.rank() != 1)
    return c.e.error(Code::E0403, sorted.range,
                     "`searchsorted` needs a sorted vector, got " +
                         c.e.renderArray(sorted.dtype, c.e.sizesOf(sorted.ssa)));
  Emit m(c);
  // A few edges are all compared, in vectors; among more, each element searches.
  constexpr int64_t fewEdges = 32;
  std::optional<int64_t> edgeCount = m.sizes(sorted.ssa)[0].constant();
  if (!edgeCount || *edgeCount > fewEdges) {
    SmallVector<Argument, 3> operands;
    for (const Value &value : {Value::array(sorted.ssa, *dtype, sorted.range), Value::array(v.ssa, *dtype, v.range),
                               Value::boolean(*right, c.range)})
      operands.push_back(Argument{"", value, value.range(), {}});
    return callPrelude(c, "search", operands);
  }
  Sizes grid = m.sizes(v.ssa);
  SmallVector<int64_t, 4> dims;
  for (int64_t i = 0; i < v.rank(); ++i)
    dims.push_back(i);
  grid.push_back(m.sizes(sorted.ssa)[0]);
  SmallVector<mlir::Value, 2> parts = {sorted.ssa, v.ssa};
  m.unifyVary(parts);
  mlir::Value edges = m.broadcast(parts[0], grid, {v.rank()}), values = m.broadcast(parts[1], grid, dims);
  mlir::Value before = *right ? m.lessEqual(edges, values, *dtype) : m.less(edges, values, *dtype);
  if (isFloat(*dtype)) {
    mlir::Value beyond = m.notEqual(values, values);
    before = m.logicalOr(before, *right ? beyond : m.logicalAnd(beyond, m.equal(edges, edges)));
  }
  return Value::array(m.reduce(ReductionKind::Sum, m.convert(before, DType::Bool, DType::I32), {v.rank()}), DType::I32,
                      c.range);
}

/// compress(mask, x): the parts of x along its first dimension where the mask is true, in order. How many there are
/// only the run knows: the length is a size of its own, which `let [k] y = ...` names.
Value compress(CallContext &c) {
  Arguments arguments(c);
  Operand mask = arguments.array("mask"), x = arguments.array("x");
  if (!mask || !x)
    return Value::error();
  if (!isBool(mask.dtype))
    return arguments.badDType(mask, "bool");
  if (mask.rank() != 1 || x.rank() == 0)
    return c.e.error(Code::E0403, c.range,
                     "`compress` needs a mask of one dimension and an array, got " + shown(c, mask) + " and " +
                         shown(c, x));
  Emit m(c);
  Size whole = m.sizes(mask.ssa)[0];
  if (!c.e.expectEqual(whole, m.sizes(x.ssa)[0], c.range,
                       "`compress` needs a mask as long as the array's first dimension, got " + shown(c, mask) +
                           " and " + shown(c, x)))
    return Value::error();
  mlir::Value count = m.reduce(ReductionKind::Sum, m.convert(mask.ssa, DType::Bool, DType::I64), {0});
  mlir::Value index = ToIndexOp::create(m.builder, m.loc, m.builder.getIndexType(), count, /*is_unsigned=*/false);
  Size length = c.e.bindSize("k", index, c.range, "how many elements of the mask are true", c.e.varyOf(count));
  c.e.findSymbol(*length.asSymbol())->dataDependent = true;
  // The true ones come first in a stable order that descends.
  mlir::Value bytes = m.convert(mask.ssa, DType::Bool, DType::U8);
  auto places = withElementType(mlir::cast<mlir::RankedTensorType>(bytes.getType()), c.e.elementType(DType::I32));
  mlir::UnitAttr yes = m.builder.getUnitAttr();
  mlir::Value order = ArgSortOp::create(m.builder, m.loc, places, bytes, m.builder.getI64IntegerAttr(0), yes, yes);
  mlir::Value zero = mlir::arith::ConstantIndexOp::create(m.builder, m.loc, 0);
  mlir::Value first = SliceOp::create(m.builder, m.loc, withSizes(places, length), order, mlir::ValueRange(zero),
                                      /*inBounds=*/true);
  SmallVector<mlir::Value, 2> parts = {x.ssa, first};
  m.unifyVary(parts);
  return Value::array(GatherOp::create(m.builder, m.loc, parts[0], parts[1], /*dim=*/0), x.dtype, c.range);
}

Value notYet(CallContext &c) { return notBuiltYet(c.e, c.range, "`" + c.builtin.name + "`"); }

} // namespace

void sema::registerIndexBuiltins(BuiltinTable &table) {
  table.add("take", "x, indices, axis:?", take);
  table.add("scatter_add", "x, indices, updates, axis:?", scatter);
  table.add("scatter_max", "x, indices, updates, axis:?", scatter);
  table.add("segment_sum", "values, ids, k", segmentSum);
  table.add("histogram", "x, k, low:?, high:?", histogram);
  table.add("searchsorted", "sorted, v, right:?", searchSorted);
  table.add("compress", "mask, x", compress);
}

void sema::registerArrayBuiltins(BuiltinTable &table) {
  registerMakeBuiltins(table);
  registerBitsBuiltins(table);
  registerMathBuiltins(table);
  registerReduceBuiltins(table);
  registerShapeBuiltins(table);
  registerArrangeBuiltins(table);
  registerLinearBuiltins(table);
  registerIndexBuiltins(table);
  registerPreludeBuiltins(table);
  // Of the language, and not compiled yet.
  table.add("load", "path", notYet);
  table.add("save", "path, x", notYet);
  table.add("progress", "x, *more", notYet);
}
