// What a program shows and checks on the host: print and assert_close.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

namespace {

/// A line to print under construction: its text, with `{}` for each array in it.
struct Line {
  Elaborator &e;
  SourceRange range;
  std::string format;
  SmallVector<mlir::Value> values;
  SmallVector<StringRef> dtypes;

  void text(StringRef s) { format += s; }

  bool add(const Value &value) {
    if (const auto *string = value.as<StringValue>()) {
      text(string->text);
      return true;
    }
    if (const auto *tuple = value.as<TupleValue>()) {
      format += "(";
      for (auto [i, element] : enumerate(tuple->elements)) {
        text((i ? ", " : "") + (tuple->isRecord() ? tuple->names[i] + ": " : ""));
        if (!add(element))
          return false;
      }
      format += tuple->elements.size() == 1 && !tuple->isRecord() ? ",)" : ")";
      return true;
    }
    if (!e.isArrayLike(value)) {
      e.error(Code::E0303, value.range().isValid() ? value.range() : range,
              "`print` shows arrays and strings, got " + describeKind(value));
      return false;
    }
    // A size prints in full, whatever fits 32 bits.
    Value made = e.materialize(
        value, value.is(ValueKind::Size) || value.is(ValueKind::Int) ? std::optional<DType>(DType::I64) : std::nullopt);
    const auto *array = made.as<ArrayValue>();
    if (!array)
      return false;
    format += "{}";
    values.push_back(array->ssa);
    dtypes.push_back(dtypeName(array->dtype));
    return true;
  }
};

} // namespace

/// `print("loss", l)` puts spaces between; `print("loss {} after {}", l, k)` fills the holes of its first string.
static Value print(CallContext &c) {
  Line line{c.e, c.range, "", {}, {}};
  ArrayRef<Value> values = c["values"].as<TupleValue>()->elements;
  const auto *format = values.empty() ? nullptr : values.front().as<StringValue>();
  if (format && StringRef(format->text).contains("{}")) {
    size_t holes = StringRef(format->text).count("{}");
    if (holes != values.size() - 1)
      return c.e.error(Code::E0501, c.range,
                       "`print`: expected " + Twine(holes) + " values for the holes `{}` of '" + format->text +
                           "', got " + Twine(values.size() - 1));
    StringRef rest = format->text;
    for (const Value &value : values.drop_front()) {
      auto [before, after] = rest.split("{}");
      line.text(before);
      if (!line.add(value))
        return Value::error();
      rest = after;
    }
    line.text(rest);
    values = {};
  }
  for (const Value &value : values)
    if (const auto *string = value.as<StringValue>(); string && StringRef(string->text).contains("{}"))
      return c.e.error(Code::E0501, value.range().isValid() ? value.range() : c.range,
                       "`print`: holes `{}` stand in the first string only");
  for (auto [i, value] : enumerate(values)) {
    if (i)
      line.format += " ";
    if (!line.add(value))
      return Value::error();
  }
  PrintOp::create(c.e.builder, c.e.loc(c.range), c.e.builder.getStringAttr(line.format), line.values,
                  c.e.builder.getStrArrayAttr(line.dtypes));
  return Value::unit(c.range);
}

/// |a - b| <= atol + rtol * |b| for every element, as numpy.testing has it: infinities of one sign and NaNs are equal.
static Value assertClose(CallContext &c) {
  using namespace mlir::arith;
  Elaborator &e = c.e;
  mlir::Location at = e.loc(c.range);
  auto tolerance = [&](StringRef name, double fallback) -> std::optional<double> {
    const Value &value = c[name];
    if (!value)
      return fallback;
    if (const auto *floating = value.as<FloatValue>())
      return floating->value;
    if (const auto *integer = value.as<IntValue>())
      return static_cast<double>(integer->value);
    e.error(Code::E0303, value.range(),
            "'" + name + "' of 'assert_close' is a number literal, got " +
                (e.isArrayLike(value) ? e.render(value) : describeKind(value)));
    return std::nullopt;
  };
  std::optional<double> rtol = tolerance("rtol", 1e-5), atol = tolerance("atol", 1e-8);
  if (!rtol || !atol)
    return Value::error();
  if (!e.sameForm(c["a"], c["b"]))
    return e.error(Code::E0312, c.range,
                   "'assert_close' compares values of one form: expected " + e.render(c["a"]) + ", got " +
                       e.render(c["b"]));
  SmallVector<Value> left, right;
  SmallVector<std::string> names;
  e.flatten(c["a"], left);
  e.flatten(c["b"], right);
  e.leafNames(c["a"], "", names);
  for (auto [a, b, name] : zip(left, right, names)) {
    Value operands[2] = {a, b};
    if (!e.unifyForElementwise(operands, c.range, "'assert_close'"))
      return Value::error();
    DType dtype = operands[0].as<ArrayValue>()->dtype;
    mlir::Value equal;
    if (isFloat(dtype)) {
      // Compared in f64, so that the tolerance means the same for every dtype.
      for (Value &operand : operands)
        operand = e.convert(operand, DType::F64, c.range);
      mlir::Value x = operands[0].as<ArrayValue>()->ssa, y = operands[1].as<ArrayValue>()->ssa;
      auto constantLike = [&](double v) {
        return e.broadcastTo(e.widen(e.constant(v, DType::F64, c.range), e.varyOf(x)), e.sizesOf(x), c.range);
      };
      mlir::Value difference = mlir::math::AbsFOp::create(e.builder, at, SubFOp::create(e.builder, at, x, y));
      mlir::Value bound = AddFOp::create(
          e.builder, at, constantLike(*atol),
          MulFOp::create(e.builder, at, constantLike(*rtol), mlir::math::AbsFOp::create(e.builder, at, y)));
      mlir::Value near = CmpFOp::create(e.builder, at, CmpFPredicate::OLE, difference, bound);
      mlir::Value same = CmpFOp::create(e.builder, at, CmpFPredicate::OEQ, x, y);
      mlir::Value bothNaN = AndIOp::create(e.builder, at, CmpFOp::create(e.builder, at, CmpFPredicate::UNO, x, x),
                                           CmpFOp::create(e.builder, at, CmpFPredicate::UNO, y, y));
      // A bound that is infinite would let anything pass.
      mlir::Value finite = CmpFOp::create(e.builder, at, CmpFPredicate::OLT, bound, constantLike(INFINITY));
      equal = OrIOp::create(e.builder, at, OrIOp::create(e.builder, at, same, bothNaN),
                            AndIOp::create(e.builder, at, near, finite));
    } else {
      equal = CmpIOp::create(e.builder, at, CmpIPredicate::eq, operands[0].as<ArrayValue>()->ssa,
                             operands[1].as<ArrayValue>()->ssa);
    }
    SmallVector<int64_t> dims;
    for (size_t i = 0; i < e.sizesOf(equal).size(); ++i)
      dims.push_back(i);
    if (!dims.empty())
      equal = ReduceOp::create(e.builder, at, ReductionKind::And, equal, dims);
    std::string message = "values are not close: " + e.sourceText(c.rangeOf("a")) + (name.empty() ? "" : "." + name) +
                          " and " + e.sourceText(c.rangeOf("b")) + (name.empty() ? "" : "." + name);
    AssertOp::create(e.builder, at, equal, message);
  }
  return Value::unit(c.range);
}

void registerHostBuiltins(BuiltinTable &table) {
  table.add("print", "*values", print);
  table.add("assert_close", "a, b, rtol:?, atol:?", assertClose);
}

} // namespace pmap::sema
