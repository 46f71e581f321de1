// grad and value_and_grad (G1).

#include "compiler/Sema/Derivatives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What was written in `grad(f, ...)`.
struct GradRequest : DerivativeRequest {
  bool aux = false;
  bool withValue = false; // value_and_grad
};

/// Builds one `pmap.grad`: the body is elaborated into the region of an op without results, which the finished op takes
/// over once the types are known.
class GradBuilder {
public:
  GradBuilder(Elaborator &e, const GradRequest &request, SourceRange range)
      : e(e), request(request), range(range), wrt(e, request, range) {}
  Value run(ArrayRef<Value> arguments);

private:
  bool elaborateBody(ArrayRef<Value> arguments);
  bool checkValue(const Value &value);

  Elaborator &e;
  const GradRequest &request;
  SourceRange range;
  WrtArguments wrt;
  GradOp op;
  Value value; // inside the region
  RegionResult aux;
  SmallVector<mlir::Value, 4> yielded;
};

/// G1: the result of the function is a floating scalar.
bool GradBuilder::checkValue(const Value &result) {
  const auto &function = *request.function.as<FunctionValue>();
  value = result;
  if (request.aux) {
    const auto *pair = result.as<TupleValue>();
    if (!pair || pair->elements.size() != 2) {
      e.error(Code::E0804, request.range,
              "with `aux: true` a function returns a pair (value, aux), got " + e.render(result));
      return false;
    }
    value = pair->elements[0];
    if (!aux.read(e, pair->elements[1]))
      return false;
  }
  if (value.isError())
    return false;
  if (!e.isArrayLike(value)) {
    Report report = e.error(Code::E0801, request.range,
                            "'" + request.name + "' needs a function with a scalar result, got " + e.render(value) +
                                " from " + function.name);
    const auto *pair = value.as<TupleValue>();
    if (pair && pair->elements.size() == 2 && !request.aux)
      report.note({}, "if the second part is not to be differentiated, say `aux: true`");
    return false;
  }
  value = e.materialize(value);
  const auto *data = value.as<ArrayValue>();
  if (!data)
    return false;
  SmallVector<Size, 4> sizes = e.sizesOf(data->ssa);
  if (!sizes.empty()) {
    Report report = e.error(Code::E0801, request.range,
                            "'" + request.name + "' needs a function with a scalar result, got " +
                                e.renderArray(data->dtype, sizes) + " from " + function.name);
    report.note(result.range(), "the result is computed here");
    report.note({}, "take a sum or a mean of it");
    return false;
  }
  if (!isFloat(data->dtype)) {
    e.error(Code::E0802, request.range,
            "'" + request.name + "' needs a floating result, got " + dtypeName(data->dtype) + " from " + function.name)
        .note(result.range(), "the result is computed here");
    return false;
  }
  return true;
}

/// Calls the function on the region's arguments. Fills `yielded`.
bool GradBuilder::elaborateBody(ArrayRef<Value> arguments) {
  op = GradOp::create(e.builder, e.loc(range), mlir::TypeRange(), wrt.inputs(), wrt.positions());
  mlir::Block *body = &op.getBody().front();
  yielded.clear();
  aux = RegionResult();
  bool good = false;
  e.inBlock(body, [&] {
    Value result = e.callBound(request.function, wrt.replaced(arguments, body->getArguments()), range);
    if (result.isError() || !checkValue(result))
      return;
    yielded.push_back(value.as<ArrayValue>()->ssa);
    llvm::append_range(yielded, aux.yielded);
    YieldOp::create(e.builder, e.loc(range), yielded);
    good = true;
  });
  return good;
}

Value GradBuilder::run(ArrayRef<Value> arguments) {
  if (!wrt.read(arguments))
    return Value::error();
  {
    // G1: a result that varies is differentiated with respect to each device's own copy. Whether it does is known only
    // once the body is there, so a first attempt may be taken back.
    DiagnosticTrial trial(e.diagnostics);
    bool good = elaborateBody(arguments);
    bool changed = good && wrt.widen(e.varyOf(yielded.front()));
    if (!changed)
      trial.keep();
    if (!good || changed)
      op.erase();
    if (!good)
      return Value::error();
    if (changed)
      op = GradOp();
  }
  if (!op && !elaborateBody(arguments)) {
    op.erase();
    return Value::error();
  }
  noteCollectives(e, op, e.varyOf(yielded.front()), request.range);

  SmallVector<mlir::Type, 8> types;
  for (mlir::Value result : yielded)
    types.push_back(result.getType());
  SmallVector<mlir::Value, 8> inputs = wrt.inputs();
  for (mlir::Value input : inputs)
    types.push_back(input.getType());
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  auto finished = GradOp::create(e.builder, e.loc(range), types, inputs, wrt.positions());
  finished.getBody().takeBody(op.getBody());
  op.erase();

  // Outside, the value, the auxiliary values and the gradients are the op's results.
  Value outsideValue = Value::array(finished.getValue(), value.as<ArrayValue>()->dtype, range);
  Value outsideAux = request.aux ? aux.rebuilt(e, finished.getAuxiliaries(), range) : Value();
  Value gradient = wrt.derivatives(finished.getGradients(), range);
  if (request.withValue)
    return Value::tuple({request.aux ? Value::tuple({outsideValue, outsideAux}, range) : outsideValue, gradient},
                        range);
  return request.aux ? Value::tuple({gradient, outsideAux}, range) : gradient;
}

Value gradBuiltin(CallContext &c) {
  GradRequest request;
  const FunctionValue *function = readFunction(c);
  if (!function)
    return Value::error();
  request.function = c["f"];
  auto aux = Arguments(c).flag("aux", false);
  if (!aux || !readWrt(c, *function, request))
    return Value::error();
  request.aux = *aux;
  request.withValue = c.builtin.name == "value_and_grad";
  request.name = c.builtin.name;
  request.range = c.range;
  return makeTransformed<GradBuilder>(c.builtin.name, *function, request, c.range);
}

} // namespace

void sema::registerGradientBuiltins(BuiltinTable &table) {
  table.add("grad", "f, wrt:?, aux:?", gradBuiltin);
  table.add("value_and_grad", "f, wrt:?, aux:?", gradBuiltin);
}
