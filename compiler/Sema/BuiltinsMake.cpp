// Arrays made from nothing: zeros, iota, eye and their kin.

#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// The scalar that fills an array, of the dtype asked for.
mlir::Value filler(CallContext &c, const Value &value, DType dtype) {
  Value scalar = c.e.convert(value, dtype, c.range);
  const auto *array = scalar.as<ArrayValue>();
  if (!array)
    return nullptr;
  if (!c.e.sizesOf(array->ssa).empty()) {
    c.e.error(Code::E0403, value.range(), "`" + c.builtin.name + "` fills with a scalar, got " + c.e.render(value));
    return nullptr;
  }
  return array->ssa;
}

/// A scalar over a shape whose sizes may themselves vary (V10).
Value filled(CallContext &c, mlir::Value scalar, llvm::ArrayRef<Size> shape, DType dtype) {
  VarySet vary = c.e.varyOf(scalar);
  for (const Size &size : shape)
    vary = unionOf(vary, c.e.varyOf(size));
  return Value::array(c.e.splat(c.e.widen(scalar, vary), shape, c.range), dtype, c.range);
}

Value makeFilled(CallContext &c) {
  auto shape = c.e.shapeOf(c["shape"], "`" + c.builtin.name + "`");
  if (!shape)
    return Value::error();
  Arguments arguments(c);
  if (c.builtin.name == "full") {
    const Value &value = c["value"];
    if (!value || value.isError())
      return Value::error();
    auto own = c.e.dtypeOf(value);
    auto dtype = arguments.dtype(own ? *own : c.e.defaultDType(value));
    mlir::Value scalar = dtype ? filler(c, value, *dtype) : nullptr;
    return scalar ? filled(c, scalar, *shape, *dtype) : Value::error();
  }
  auto dtype = arguments.dtype(DType::F32);
  if (!dtype)
    return Value::error();
  if (*dtype == DType::Key)
    return c.e.error(Code::E0320, c.range, "`" + c.builtin.name + "` makes numbers, got dtype key");
  mlir::Value scalar = filler(c, Value::integer(c.builtin.name == "ones", c.range), *dtype);
  return scalar ? filled(c, scalar, *shape, *dtype) : Value::error();
}

/// zeros_like and its kin take any nest of records and tuples, leaf by leaf.
Value makeLike(CallContext &c) {
  StringRef name = c.builtin.name;
  if (!c["x"] || c["x"].isError())
    return Value::error();
  SmallVector<Value, 4> leaves, results;
  c.e.flatten(c["x"], leaves);
  Arguments arguments(c);
  for (const Value &leaf : leaves) {
    Operand x = arguments.asArray(leaf);
    if (!x)
      return Value::error();
    auto dtype = arguments.dtype(x.dtype);
    if (!dtype)
      return Value::error();
    Value value = name == "full_like" ? c["value"] : Value::integer(name == "ones_like", c.range);
    mlir::Value scalar = filler(c, value, *dtype);
    if (!scalar)
      return Value::error();
    results.push_back(filled(c, scalar, c.e.sizesOf(x.ssa), *dtype));
  }
  return c.e.rebuild(c["x"], results);
}

Value iota(CallContext &c) {
  auto shape = c.e.shapeOf(c["n"], "`iota`");
  auto dtype = Arguments(c).dtype(DType::I32);
  if (!shape || !dtype)
    return Value::error();
  if (shape->size() != 1)
    return c.e.error(Code::E0407, c["n"].range(),
                     "`iota` makes a vector and takes one size, got " + std::to_string(shape->size()));
  if (!isNumeric(*dtype))
    return c.e.error(Code::E0320, c.range, "`iota` makes numbers, got dtype " + dtypeName(*dtype));
  return Value::array(Emit(c).iota(*dtype, *shape, 0), *dtype, c.range);
}

/// linspace(start, stop, n): start + i * (stop - start) / (n - 1), the last element exactly stop.
Value linspace(CallContext &c) {
  auto count = c.e.sizeOf(c["n"], "the number of points");
  if (!count || !c[0] || !c[1])
    return Value::error();
  SmallVector<Value, 2> ends = {c[0], c[1]};
  if (!c.e.dtypeOf(ends[0]) && !c.e.dtypeOf(ends[1]))
    for (Value &end : ends)
      end = c.e.convert(end, DType::F32, c.range);
  if (!c.e.unifyForElementwise(ends, c.range, "`linspace`"))
    return Value::error();
  const auto *start = ends[0].as<ArrayValue>(), *stop = ends[1].as<ArrayValue>();
  DType t = start->dtype;
  if (!isFloat(t))
    return Arguments(c).badDType({start->ssa, t, c[0].range()}, "floats", "f32");
  if (!c.e.sizesOf(start->ssa).empty())
    return c.e.error(Code::E0403, c.range, "`linspace` is between scalars, got " + c.e.render(ends[0]));
  Emit m(c);
  SmallVector<Size, 1> shape = {*count};
  SmallVector<mlir::Value, 3> parts = {m.iota(t, shape, 0), start->ssa, stop->ssa};
  m.unifyVary(parts);
  mlir::Value index = parts[0];
  mlir::Value first = c.e.splat(parts[1], shape, c.range), last = c.e.splat(parts[2], shape, c.range);
  mlir::Value steps = m.sizeLike(index, *count - Size(1), t);
  mlir::Value one = m.like(index, 1, t);
  mlir::Value fraction = m.div(index, m.maximum(steps, one, t));
  mlir::Value inner = m.add(m.mul(first, m.sub(one, fraction)), m.mul(last, fraction));
  return Value::array(inner, t, c.range);
}

/// Ones where row index + offset == column index.
Value eye(CallContext &c) {
  auto rows = c.e.sizeOf(c["n"], "a dimension");
  auto columns = c.has("m") ? c.e.sizeOf(c["m"], "a dimension") : rows;
  auto dtype = Arguments(c).dtype(DType::F32);
  if (!rows || !columns || !dtype)
    return Value::error();
  Emit m(c);
  SmallVector<Size, 2> shape = {*rows, *columns};
  SmallVector<mlir::Value, 2> indices = {m.iota(DType::I64, shape, 0), m.iota(DType::I64, shape, 1)};
  m.unifyVary(indices);
  return Value::array(m.convert(m.equal(indices[0], indices[1]), DType::Bool, *dtype), *dtype, c.range);
}

/// one_hot(ids, k): a new last dimension of size k; an id outside gives zeros.
Value oneHot(CallContext &c) {
  Operand ids = Arguments(c).integers("ids");
  auto classes = c.e.sizeOf(c["k"], "a dimension");
  auto dtype = Arguments(c).dtype(DType::F32);
  if (!ids || !classes || !dtype)
    return Value::error();
  Emit m(c);
  SmallVector<Size, 4> shape = c.e.sizesOf(ids.ssa);
  SmallVector<int64_t, 4> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    dims.push_back(int64_t(i));
  shape.push_back(*classes);
  mlir::Value wide = m.convert(ids.ssa, ids.dtype, DType::I64);
  SmallVector<mlir::Value, 2> sides = {m.broadcast(wide, shape, dims),
                                       m.iota(DType::I64, shape, int64_t(shape.size()) - 1)};
  m.unifyVary(sides);
  return Value::array(m.convert(m.equal(sides[0], sides[1]), DType::Bool, *dtype), *dtype, c.range);
}

/// tril(x, k): zeros above diagonal k of the last two dimensions; triu: below.
Value triangle(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.notKeys("x");
  if (!x)
    return Value::error();
  if (x.rank() < 2)
    return c.e.error(Code::E0403, x.range,
                     "`" + c.builtin.name + "` needs a matrix, got " + c.e.renderArray(x.dtype, c.e.sizesOf(x.ssa)));
  int64_t diagonal = 0;
  if (c.has("k")) {
    auto literal = arguments.integer(c["k"], "the diagonal");
    if (!literal)
      return Value::error();
    diagonal = *literal;
  }
  Emit m(c);
  SmallVector<Size, 4> shape = c.e.sizesOf(x.ssa);
  SmallVector<mlir::Value, 3> parts = {m.iota(DType::I64, shape, x.rank() - 2), m.iota(DType::I64, shape, x.rank() - 1),
                                       x.ssa};
  m.unifyVary(parts);
  mlir::Value edge = m.add(parts[0], m.likeInt(parts[0], diagonal, DType::I64));
  mlir::Value kept =
      c.builtin.name == "tril" ? m.lessEqual(parts[1], edge, DType::I64) : m.lessEqual(edge, parts[1], DType::I64);
  mlir::Value zero = isFloat(x.dtype) ? m.like(parts[2], 0, x.dtype) : m.likeInt(parts[2], 0, x.dtype);
  return Value::array(m.select(kept, parts[2], zero), x.dtype, c.range);
}

} // namespace

void sema::registerMakeBuiltins(BuiltinTable &table) {
  table.add("zeros", "shape, dtype:?", makeFilled);
  table.add("ones", "shape, dtype:?", makeFilled);
  table.add("full", "shape, value, dtype:?", makeFilled);
  table.add("zeros_like", "x, dtype:?", makeLike);
  table.add("ones_like", "x, dtype:?", makeLike);
  table.add("full_like", "x, value, dtype:?", makeLike);
  table.add("iota", "n, dtype:?", iota);
  table.add("linspace", "start, stop, n", linspace);
  table.add("eye", "n, m?, dtype:?", eye);
  table.add("one_hot", "ids, k, dtype:?", oneHot);
  table.add("tril", "x, k?", triangle);
  table.add("triu", "x, k?", triangle);
}
