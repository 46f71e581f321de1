// What is known of an array as values of compile time, and the bits of elements: what module random is written with,
// and little else needs.

#include "compiler/Sema/ParallelMap.h"
#include "compiler/Sema/SharedSamples.h"

using namespace pmap;
using namespace pmap::sema;

namespace {

/// dtype_of(x): the dtype of an array, a value of compile time: `zeros([n], dtype: dtype_of(x))`,
/// `if dtype_of(x) == f64 { … }`.
Value dtypeOf(CallContext &c) {
  const Value &x = c["x"];
  if (!x || x.isError())
    return Value::error();
  if (!c.e.isArrayLike(x))
    return c.e.error(Code::E0303, x.range(), "`dtype_of` needs an array, got " + describeKind(x));
  auto known = c.e.dtypeOf(x);
  return Value::dtype(known ? *known : c.e.defaultDType(x), c.range);
}

/// The same bits under another dtype, element by element.
Value reinterpret(CallContext &c, const Operand &x, DType target) {
  Emit m(c);
  auto type = withElementType(mlir::cast<mlir::RankedTensorType>(x.ssa.getType()), c.e.elementType(target));
  // The IR's integers have no sign and a key is one of them: only floats change their type.
  if (type == x.ssa.getType())
    return Value::array(x.ssa, target, c.range);
  return Value::array(mlir::arith::BitcastOp::create(m.builder, m.loc, type, x.ssa), target, c.range);
}

/// float_dtype(dtype): the same, which must be one of floats.
Value floatDType(CallContext &c) {
  auto dtype = Arguments(c).dtype(DType::F32);
  if (!dtype)
    return Value::error();
  if (!isFloat(*dtype))
    return c.e.error(Code::E0320, c.rangeOf("dtype"),
                     "expected a dtype of floats, f32, f64, f16 or bf16, got " + dtypeName(*dtype));
  return c["dtype"];
}

/// bitcast(x, u32): numbers of as many bits.
Value bitcast(CallContext &c) {
  if (auto split = elementwiseOnBlocks(c))
    return *split;
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto target = arguments.dtype(DType::U32);
  if (!x || !target)
    return Value::error();
  if (!isNumeric(x.dtype) || !isNumeric(*target) || dtypeBits(x.dtype) != dtypeBits(*target))
    return c.e.error(Code::E0320, c.range,
                     "`bitcast` needs two dtypes of numbers with as many bits, got " + dtypeName(x.dtype) + " for " +
                         dtypeName(*target));
  return reinterpret(c, x, *target);
}

/// key_data(k): the two words of a random key as one u64, the first in the upper half.
Value keyData(CallContext &c) {
  Operand keys = Arguments(c).array("keys");
  if (!keys)
    return Value::error();
  if (keys.dtype != DType::Key)
    return Arguments(c).badDType(keys, "random keys");
  return reinterpret(c, keys, DType::U64);
}

/// wrap_key_data(bits): its inverse.
Value wrapKeyData(CallContext &c) {
  Operand bits = Arguments(c).array("bits", DType::U64);
  if (!bits)
    return Value::error();
  if (bits.dtype != DType::U64)
    return Arguments(c).badDType(bits, "u64", "u64");
  return reinterpret(c, bits, DType::Key);
}

/// shape_of(x): the sizes of an array as a list, which is what `shape` parameters take.
Value shapeOf(CallContext &c) {
  const Value &x = c["x"];
  if (!x || x.isError())
    return Value::error();
  if (!c.e.isArrayLike(x))
    return c.e.error(Code::E0303, x.range(), "`shape_of` needs an array, got " + describeKind(x));
  llvm::SmallVector<Value, 4> sizes;
  for (const Size &size : c.e.sizesOf(x))
    sizes.push_back(Value::size(size, c.range));
  return Value::list(sizes, c.range);
}

/// rank_of(x): how many dimensions an array has.
Value rankOf(CallContext &c) {
  const Value &x = c["x"];
  if (!x || x.isError())
    return Value::error();
  if (!c.e.isArrayLike(x))
    return c.e.error(Code::E0303, x.range(), "`rank_of` needs an array, got " + describeKind(x));
  return Value::integer(c.e.rankOf(x), c.range);
}

/// count(shape): the number of elements of an array of that shape.
Value count(CallContext &c) {
  auto shape = c.e.shapeOf(c["shape"], "`count`");
  return shape ? Value::size(countOf(*shape), c.range) : Value::error();
}

} // namespace

void sema::registerBitsBuiltins(BuiltinTable &table) {
  table.add("dtype_of", "x", dtypeOf);
  table.add("shape_of", "x", shapeOf);
  table.add("rank_of", "x", rankOf);
  table.add("float_dtype", "dtype", floatDType);
  table.add("bitcast", "x, dtype", bitcast);
  table.add("key_data", "keys", keyData);
  table.add("wrap_key_data", "bits", wrapKeyData);
  table.add("count", "shape", count);
  registerSampleBuiltins(table);
}
