// A literal array is as weak as a literal: what is summed up, chosen or rearranged of it still takes the dtype of what
// it meets, as `1 + 2` does. It is held as i64 or f64 on the way.
#include "compiler/Sema/WeakCalls.h"
#include "compiler/Sema/Elaborator.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace pmap::sema {

/// The parameters whose dtype is that of the result, for builtins that have none of their own to give.
static ArrayRef<StringRef> dataOf(StringRef builtin) {
  static const StringRef x[] = {"x"}, pair[] = {"x", "y"}, sides[] = {"a", "b"}, arrays[] = {"arrays"};
  static const StringRef bounded[] = {"x", "min", "max"}, padded[] = {"x", "value"}, values[] = {"values"};
  static const StringRef three[] = {"x", "y", "z"}, many[] = {"operands"}, filled[] = {"x", "fill"};
  return StringSwitch<ArrayRef<StringRef>>(builtin)
      .Cases({"sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "cumsum", "cumprod"}, x)
      .Cases({"abs", "fabs", "sign", "sort", "flip", "roll", "repeat", "tile", "take", "windows", "tril", "triu"}, x)
      .Cases({"reshape", "flatten", "squeeze", "expand_dims", "transpose", "swapaxes", "broadcast_to", "split"}, x)
      .Cases({"trace", "compress", "stop_gradient"}, x)
      .Cases({"psum", "pprod", "pmean", "pmax", "pmin", "psum_scatter", "all_to_all", "all_gather", "pvary"}, x)
      .Cases({"pbroadcast", "assert_same", "shift"}, x)
      .Cases({"maximum", "minimum", "where", "pow", "atan2", "hypot", "copysign", "fdim", "fmod", "logaddexp"}, pair)
      .Cases({"dot", "outer", "matmul", "bitand", "bitor", "bitxor", "shl", "shr"}, sides)
      .Cases({"concat", "stack"}, arrays)
      .Case("clip", bounded)
      .Case("pad", padded)
      .Case("ppermute", filled)
      .Case("segment_sum", values)
      .Case("fma", three)
      .Case("einsum", many)
      .Default({});
}

std::optional<Value> callWeakly(CallContext &c) {
  ArrayRef<StringRef> data = dataOf(c.builtin.name);
  if (data.empty())
    return std::nullopt;
  auto partsOf = [](const Value &value) -> ArrayRef<Value> {
    const auto *tuple = value.as<TupleValue>();
    return tuple && !tuple->isRecord() ? ArrayRef<Value>(tuple->elements) : ArrayRef<Value>(value);
  };
  // Numbers alone fold to numbers; only `where` chooses between them at run time. (By a scalar: what it makes of an
  // array may be large, and has a dtype.)
  bool isArray = false, isFraction = false;
  if (c.builtin.name == "where") {
    if (!c.has("condition") || c.e.rankOf(c["condition"]) != 0)
      return std::nullopt;
    isArray = true;
  }
  for (StringRef name : data)
    if (const Value &value = c[name])
      for (const Value &part : partsOf(value)) {
        if (!c.e.isArrayLike(part) || c.e.dtypeOf(part))
          return std::nullopt;
        // The size of a ragged block differs between devices, so that a collective over it has work to do.
        bool varies = part.is(ValueKind::Size) && !c.e.varyOf(part).empty();
        isArray |= part.is(ValueKind::List) || part.is(ValueKind::Array) || varies;
        isFraction |= isFloat(c.e.defaultDType(part));
      }
  if (!isArray)
    return std::nullopt;
  DType wide = isFraction ? DType::F64 : DType::I64;
  auto hold = [&](const Value &part) {
    Value held = c.e.convert(c.e.claimable(part), wide, part.range());
    const auto *array = held.as<ArrayValue>();
    return array ? Value::scalar(array->ssa, wide, part.range(), /*weak=*/false, c.e.recipeOf(part)) : held;
  };
  SmallVector<Value, 4> arguments(c.arguments);
  for (StringRef name : data)
    for (auto [parameter, value] : zip(c.builtin.parameters, arguments))
      if (parameter.name == name && value) {
        if (!value.is(ValueKind::Tuple)) {
          value = hold(value);
          continue;
        }
        SmallVector<Value, 4> parts;
        for (const Value &part : partsOf(value))
          parts.push_back(hold(part));
        value = Value::tuple(std::move(parts), value.range());
      }
  CallContext inner{c.e, c.builtin, arguments, c.range};
  Value result = c.builtin.handler(inner);
  return c.e.mapLeavesOf(result, [&](const Value &leaf) -> Value {
    const auto *array = leaf.as<ArrayValue>();
    return array && array->dtype == wide ? Value::scalar(array->ssa, wide, leaf.range(), /*weak=*/true, array->recipe)
                                         : leaf;
  });
}

} // namespace pmap::sema
