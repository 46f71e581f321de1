// Builtins that are written in the language itself: functions of the library's module `prelude`.

#include "compiler/Sema/Builtins.h"
#include "compiler/Sema/Modules.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

Value sema::callPrelude(CallContext &c, StringRef function, llvm::ArrayRef<Argument> arguments) {
  LoadedModule *prelude = c.e.library("prelude", c.range);
  if (!prelude)
    return Value::error();
  return c.e.callFunction(c.e.item(*prelude, function, c.range), arguments, c.range);
}

namespace {

/// A function of the same name, called as it was written.
Value preludeBuiltin(CallContext &c) {
  SmallVector<Argument, 4> arguments;
  for (auto [parameter, value] : llvm::zip(c.builtin.parameters, c.arguments)) {
    if (!value)
      continue;
    if (value.isError())
      return Value::error();
    arguments.push_back(Argument{parameter.optional ? parameter.name : "", value, value.range(), {}});
  }
  return callPrelude(c, c.builtin.name, arguments);
}

/// solve, solve_triangular: two arrays of one dtype, which a literal takes from the other.
Value pairBuiltin(CallContext &c) {
  SmallVector<Value, 3> given(c.arguments.begin(), c.arguments.end());
  auto dtype = c.e.commonDType({given[0], given[1]}, c.range, "`" + c.builtin.name + "`");
  if (!dtype)
    return Value::error();
  for (Value &side : llvm::MutableArrayRef(given).take_front(2))
    if (side = c.e.materialize(side, isFloat(*dtype) ? *dtype : DType::F32); side.isError())
      return side;
  CallContext inner{c.e, c.builtin, given, c.range};
  return preludeBuiltin(inner);
}

/// lgamma, tgamma: the formulas are for floats.
Value floatingBuiltin(CallContext &c) {
  Operand x = Arguments(c).floating("x");
  if (!x)
    return Value::error();
  return callPrelude(c, c.builtin.name, Argument{"", Value::array(x.ssa, x.dtype, x.range), x.range, {}});
}

//===--- conv --------------------------------------------------------------------------------------------------===//

/// One stride per dimension, from one number for all or a tuple.
std::optional<Value> readStrides(CallContext &c, int64_t dimensions) {
  const Value &given = c["strides"];
  if (!given || given.is(ValueKind::Int)) {
    Value one = given ? given : Value::integer(1, c.range);
    return Value::tuple(SmallVector<Value, 4>(dimensions, one), one.range());
  }
  SmallVector<Value, 4> strides = Arguments(c).sequence(given);
  if (static_cast<int64_t>(strides.size()) != dimensions)
    return c.e.error(Code::E0520, given.range(),
                     "`conv`: `strides:` must be one number, or one for each of the " + std::to_string(dimensions) +
                         " dimensions of the kernel, got " + std::to_string(strides.size()));
  for (const Value &stride : strides)
    if (!Arguments(c).integer(stride, "a stride"))
      return std::nullopt;
  return Value::tuple(strides, given.range());
}

/// conv(x, kernel, strides: 1, padding: "valid"): [batch, n, channels] by [k, channels, out], or the same in two
/// dimensions. `padding:` is "valid", "same", or a margin for every side.
Value conv(CallContext &c) {
  // A literal takes the dtype of the other.
  auto dtypeOf = [&](StringRef parameter) { return c[parameter] ? c.e.dtypeOf(c[parameter]) : std::nullopt; };
  Operand x = Arguments(c).array("x", dtypeOf("kernel")), kernel = Arguments(c).array("kernel", dtypeOf("x"));
  if (!x || !kernel)
    return Value::error();
  int64_t dimensions = kernel.rank() - 2;
  if (dimensions != 1 && dimensions != 2)
    return c.e.error(Code::E0403, kernel.range,
                     "`conv` needs a kernel [k, channels, out] or [k, l, channels, out], got " + shown(c, kernel));
  if (x.rank() != kernel.rank())
    return c.e.error(Code::E0403, x.range,
                     "`conv` needs an array of the kernel's rank, [batch, ..., channels], got " + shown(c, x) +
                         " and " + shown(c, kernel));
  auto strides = readStrides(c, dimensions);
  if (!strides || strides->isError())
    return Value::error();
  const Value &padding = c["padding"];
  const auto *name = padding ? padding.as<StringValue>() : nullptr;
  if (name && name->text != "same" && name->text != "valid")
    return c.e.error(Code::E0520, padding.range(),
                     "`conv`: `padding:` must be \"valid\", \"same\" or a number, got \"" + name->text + "\"");
  bool same = name && name->text == "same";
  Value margin = padding && !name ? padding : Value::integer(0, c.range);
  // One sum runs over all places of the kernel: halves are added in f32 and rounded once, narrow integers in 32 bits.
  Emit m(c);
  auto wide = [&](const Operand &operand) {
    DType dtype = operand.dtype == DType::F16 || operand.dtype == DType::BF16 ? DType::F32 : dtypeOfSum(operand.dtype);
    return Value::array(m.convert(operand.ssa, operand.dtype, dtype), dtype, operand.range);
  };
  Value image = wide(x), filter = wide(kernel);
  if (x.dtype != kernel.dtype) {
    image = c["x"], filter = c["kernel"]; // Refused where they meet, by the names of their own dtypes.
  } else {
    // They vary alike before they meet, so that the derivative by a replicated one is summed over the devices once, and
    // not place by place.
    mlir::Value both[] = {image.as<ArrayValue>()->ssa, filter.as<ArrayValue>()->ssa};
    m.unifyVary(both);
    image = Value::array(both[0], image.as<ArrayValue>()->dtype, x.range);
    filter = Value::array(both[1], filter.as<ArrayValue>()->dtype, kernel.range);
  }
  SmallVector<Argument, 5> arguments;
  for (const Value &value : {image, filter, *strides, Value::boolean(same, c.range), margin})
    arguments.push_back(Argument{"", value, value.range(), {}});
  Value sum = callPrelude(c, dimensions == 1 ? "conv1" : "conv2", arguments);
  const auto *result = sum.as<ArrayValue>();
  bool half = x.dtype == DType::F16 || x.dtype == DType::BF16;
  if (!result || !half || x.dtype != kernel.dtype)
    return sum;
  return Value::array(m.convert(result->ssa, DType::F32, x.dtype), x.dtype, c.range);
}

} // namespace

void sema::registerPreludeBuiltins(BuiltinTable &table) {
  table.add("cholesky", "a", preludeBuiltin);
  table.add("solve", "a, b", pairBuiltin);
  table.add("solve_triangular", "a, b, lower:?", pairBuiltin);
  table.add("qr", "a", preludeBuiltin);
  table.add("lgamma", "x", floatingBuiltin);
  table.add("tgamma", "x", floatingBuiltin);
  table.add("conv", "x, kernel, strides:?, padding:?", conv);
}
