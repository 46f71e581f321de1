// Making values, and showing their types.
#include "compiler/Sema/Value.h"
#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/Parallel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace pmap::sema {

namespace {

struct ErrorData : ValueData {
  ErrorData() : ValueData(ValueKind::Error, SourceRange()) {}
};
struct HoleData : ValueData {
  explicit HoleData(SourceRange range) : ValueData(ValueKind::Hole, range) {}
};

template <typename T, typename... Args> Value make(Args &&...args) {
  return Value(std::make_shared<const T>(std::forward<Args>(args)...));
}

} // namespace

bool contains(ArrayRef<mlir::StringAttr> set, StringRef axis) {
  return any_of(set, [&](mlir::StringAttr a) { return a.getValue() == axis; });
}

ValueKind Value::kind() const { return data->kind; }
SourceRange Value::range() const { return data ? data->range : SourceRange(); }

Value Value::error() {
  static const Value one = make<ErrorData>();
  return one;
}
Value Value::array(mlir::Value ssa, DType dtype, SourceRange range, bool weak) {
  return ssa ? make<ArrayValue>(ssa, dtype, weak, range) : error();
}
Value Value::withFacts(const Value &boolean, std::shared_ptr<const SizeFacts> facts) {
  const auto *array = boolean.as<ArrayValue>();
  if (!array || !facts)
    return boolean;
  auto data = std::make_shared<ArrayValue>(array->ssa, array->dtype, array->weak, array->range);
  data->facts = std::move(facts);
  return Value(std::shared_ptr<const ValueData>(std::move(data)));
}
Value Value::integer(int64_t v, SourceRange range) { return make<IntValue>(v, range); }
Value Value::floating(double v, SourceRange range, bool isQuotient) {
  auto data = std::make_shared<FloatValue>(v, range);
  data->isQuotient = isQuotient;
  return Value(std::shared_ptr<const ValueData>(std::move(data)));
}
Value Value::scalar(mlir::Value ssa, DType dtype, SourceRange range, bool weak,
                    std::shared_ptr<const SizeRecipe> recipe) {
  if (!ssa)
    return error();
  auto data = std::make_shared<ArrayValue>(ssa, dtype, weak, range);
  data->recipe = std::move(recipe);
  return Value(std::shared_ptr<const ValueData>(std::move(data)));
}
Value Value::boolean(bool v, SourceRange range) { return make<BoolValue>(v, range); }
Value Value::size(Size polynomial, SourceRange range) {
  if (std::optional<int64_t> constant = polynomial.constant())
    return integer(*constant, range);
  return make<SizeValue>(std::move(polynomial), range);
}
Value Value::string(std::string text, SourceRange range) { return make<StringValue>(std::move(text), range); }
Value Value::list(SmallVector<Value, 4> elements, SourceRange range) {
  return make<ListValue>(std::move(elements), range);
}
Value Value::tuple(SmallVector<Value, 4> elements, SourceRange range) { return record(std::move(elements), {}, range); }
Value Value::record(SmallVector<Value, 4> elements, SmallVector<std::string, 4> names, SourceRange range,
                    std::string typeName) {
  return make<TupleValue>(std::move(elements), std::move(names), std::move(typeName), range);
}
Value Value::rangeOf(Value low, Value high, SourceRange range) {
  return make<RangeValue>(std::move(low), std::move(high), range);
}
Value Value::dtype(DType dtype, SourceRange range) { return make<TypeValue>(dtype, nullptr, nullptr, range); }
Value Value::typeDecl(const ast::TypeItem *decl, LoadedModule *module, SourceRange range) {
  return make<TypeValue>(std::nullopt, decl, module, range);
}
Value Value::module(LoadedModule *module, SourceRange range) { return make<ModuleValue>(module, range); }
Value Value::hole(SourceRange range) { return make<HoleData>(range); }

int TupleValue::find(StringRef name) const {
  for (auto [i, n] : enumerate(names))
    if (n == name)
      return i;
  return -1;
}

Value makeFunction(std::string name, SmallVector<Parameter, 4> parameters, FunctionValue::Callee call,
                   SourceRange range, std::function<Value(Elaborator &, unsigned)> defaultOf) {
  auto data = std::make_shared<FunctionValue>(std::move(name), std::move(parameters), std::move(call), range);
  data->defaultOf = std::move(defaultOf);
  return Value(std::shared_ptr<const ValueData>(std::move(data)));
}

static std::string renderWith(const Value &value, function_ref<std::string(ArrayRef<Size>)> sizes) {
  if (const auto *array = value.as<ArrayValue>()) {
    std::string text =
        array->weak ? (isFloat(array->dtype) ? "weak float" : "weak integer") : dtypeName(array->dtype).str();
    SmallVector<Size> shape = sizesOf(array->ssa.getType());
    if (!shape.empty())
      text += sizes(shape);
    auto vary = varyOf(array->ssa.getType());
    if (!vary.empty()) {
      text += " varying over ";
      for (auto [i, axis] : enumerate(vary))
        text += std::string(i ? ", \"" : "\"") + axis.getValue().str() + "\"";
    }
    auto dist = dyn_cast<DistType>(array->ssa.getType());
    if (dist && isOnOneDevice(dist)) {
      text += " on device " + std::to_string(dist.getMesh().getDevices().front());
    } else if (dist) {
      text += " split by [";
      for (int64_t dim = 0; dim < dist.getSpec().getRank(); ++dim) {
        SmallVector<mlir::StringAttr> axes = dist.getSpec().getAxes(dim);
        text += dim ? ", " : "";
        text += axes.empty() ? "_" : axes.size() > 1 ? "(" : "";
        for (auto [i, axis] : enumerate(axes))
          text += std::string(i ? ", \"" : "\"") + axis.getValue().str() + "\"";
        text += axes.size() > 1 ? ")" : "";
      }
      text += "]";
    }
    return text;
  }
  if (const auto *integer = value.as<IntValue>())
    return "the literal " + std::to_string(integer->value);
  if (const auto *floating = value.as<FloatValue>()) {
    std::string text;
    raw_string_ostream(text) << format("the literal %g", floating->value);
    return text;
  }
  if (const auto *boolean = value.as<BoolValue>())
    return boolean->value ? "the literal true" : "the literal false";
  if (const auto *size = value.as<SizeValue>()) {
    std::string text = sizes(size->polynomial);
    return "the size " + text.substr(1, text.size() - 2);
  }
  if (const auto *tuple = value.as<TupleValue>()) {
    std::string text = "(";
    for (auto [i, element] : enumerate(tuple->elements))
      text += (i ? ", " : "") + (tuple->isRecord() ? tuple->names[i] + ": " : "") + renderWith(element, sizes);
    return text + (tuple->elements.size() == 1 && !tuple->isRecord() ? ",)" : ")");
  }
  if (const auto *list = value.as<ListValue>()) {
    std::string text = "[";
    for (auto [i, element] : enumerate(list->elements))
      text += (i ? ", " : "") + renderWith(element, sizes);
    return text + "]";
  }
  if (const auto *function = value.as<FunctionValue>())
    return "the function " + function->name;
  return describeKind(value);
}

std::string renderType(const Value &value) {
  return renderWith(value, [](ArrayRef<Size> sizes) {
    return "[" + join(map_range(sizes, [](const Size &size) { return size.str(); }), ", ") + "]";
  });
}

std::string Elaborator::render(const Value &value) {
  return renderWith(value, [&](ArrayRef<Size> sizes) { return render(sizes); });
}

std::string describeKind(const Value &value) {
  if (!value)
    return "nothing";
  switch (value.kind()) {
  case ValueKind::Error:
    return "an erroneous value";
  case ValueKind::Array:
    return "an array";
  case ValueKind::Int:
    return "the number " + std::to_string(value.as<IntValue>()->value);
  case ValueKind::Float: {
    llvm::SmallString<24> text;
    llvm::raw_svector_ostream(text) << llvm::format("%.9g", value.as<FloatValue>()->value);
    return "the number " + text.str().str();
  }
  case ValueKind::Bool:
    return value.as<BoolValue>()->value ? "`true`" : "`false`";
  case ValueKind::Size:
    return "a size";
  case ValueKind::String:
    return "a string";
  case ValueKind::List:
    return value.as<ListValue>()->elements.empty() ? "an empty list" : "a list";
  case ValueKind::Tuple: {
    const auto *tuple = value.as<TupleValue>();
    return tuple->isRecord() ? "a record" : tuple->elements.empty() ? "no value" : "a tuple";
  }
  case ValueKind::Range:
    return "a range";
  case ValueKind::Function:
    return "a function";
  case ValueKind::Type:
    return "a type";
  case ValueKind::Module:
    return "a module";
  case ValueKind::Hole:
    return "`_`";
  }
  return "a value";
}

bool isWeakFloat(const Value &value) {
  if (value.is(ValueKind::Float))
    return true;
  if (const auto *array = value.as<ArrayValue>())
    return array->weak && isFloat(array->dtype);
  if (const auto *list = value.as<ListValue>())
    return any_of(list->elements, isWeakFloat);
  return false;
}

} // namespace pmap::sema
