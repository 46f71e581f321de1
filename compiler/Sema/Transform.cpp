// Transformations of functions: grad and value_and_grad (G1), stop_gradient; the others say that they are not built
// yet.

#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What was written in `grad(f, ...)`.
struct GradRequest {
  Value function;
  SmallVector<unsigned, 2> wrt;
  bool wrtIsTuple = false;
  bool aux = false;
  bool withValue = false; // value_and_grad
  std::string name;       // grad or value_and_grad
  SourceRange range;      // of the `grad(...)` itself
};

/// Builds one `pmap.grad`: the body is elaborated into the region of an op without results, which the finished op takes
/// over once the types are known.
class GradBuilder {
public:
  GradBuilder(Elaborator &e, const GradRequest &request, SourceRange range) : e(e), request(request), range(range) {}
  Value run(ArrayRef<Value> arguments);

private:
  bool readOperands(ArrayRef<Value> arguments);
  bool elaborateBody(ArrayRef<Value> arguments);
  bool checkValue(const Value &value);
  void noteCollectives();

  Elaborator &e;
  const GradRequest &request;
  SourceRange range;
  SmallVector<Operand, 8> operands;      // the leaves of all wrt arguments
  SmallVector<unsigned, 4> firstOperand; // per wrt argument, where its leaves begin
  SmallVector<Value, 4> wrtArguments;
  GradOp op;
  Value value, aux; // inside the region
  SmallVector<mlir::Value, 4> yielded;
  SmallVector<size_t, 4> auxPlaces; // the leaves of aux that are arrays
  SmallVector<Value, 4> auxLeaves;
};

bool GradBuilder::readOperands(ArrayRef<Value> arguments) {
  const auto &function = *request.function.as<FunctionValue>();
  for (unsigned position : request.wrt) {
    Value argument = position < arguments.size() ? arguments[position] : Value();
    std::string name = function.parameters[position].name;
    if (!argument) {
      e.error(Code::E0803, range,
              "'" + request.name + "' differentiates with respect to '" + name +
                  "', which this call leaves to its default");
      return false;
    }
    if (argument.isError())
      return false;
    firstOperand.push_back(operands.size());
    wrtArguments.push_back(argument);
    SmallVector<Value, 4> leaves;
    SmallVector<std::string, 4> names;
    e.flatten(argument, leaves);
    e.leafNames(argument, name, names);
    for (auto [leaf, leafName] : llvm::zip(leaves, names)) {
      if (!e.isArrayLike(leaf)) {
        e.error(Code::E0802, leaf.range(),
                "the gradient with respect to '" + leafName + "' needs floats, got " + describeKind(leaf));
        return false;
      }
      // A literal is differentiated as a float: grad(f)(3) is f'(3.0).
      Value array = e.materialize(leaf, e.dtypeOf(leaf) ? std::nullopt : std::optional(DType::F32));
      const auto *data = array.as<ArrayValue>();
      if (!data)
        return false;
      if (!isFloat(data->dtype)) {
        Report report = e.error(Code::E0802, leaf.range(),
                                "the gradient with respect to '" + leafName + "' needs floats, got " +
                                    e.renderArray(data->dtype, e.sizesOf(data->ssa)));
        if (leaf.range().isValid() && isInteger(data->dtype) && leafName == name) {
          report.fix(leaf.range().startPoint(), "f32(");
          report.fix(leaf.range().endPoint(), ")");
        }
        return false;
      }
      operands.push_back({data->ssa, data->dtype, leaf.range()});
    }
  }
  return true;
}

/// G1: the result of the function is a floating scalar.
bool GradBuilder::checkValue(const Value &result) {
  const auto &function = *request.function.as<FunctionValue>();
  value = result;
  aux = Value();
  if (request.aux) {
    const auto *pair = result.as<TupleValue>();
    if (!pair || pair->elements.size() != 2) {
      e.error(Code::E0804, request.range,
              "with `aux: true` a function returns a pair (value, aux), got " + e.render(result));
      return false;
    }
    value = pair->elements[0];
    aux = pair->elements[1];
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
  SmallVector<mlir::Value, 8> inputs;
  SmallVector<int64_t, 8> positions;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    inputs.push_back(operand.ssa);
    positions.push_back(int64_t(i));
  }
  op = GradOp::create(e.builder, e.loc(range), mlir::TypeRange(), inputs, positions);
  mlir::Block *body = &op.getBody().front();
  SmallVector<Value, 8> inside(arguments.begin(), arguments.end());
  for (auto [k, position] : llvm::enumerate(request.wrt)) {
    SmallVector<Value, 4> leaves;
    unsigned first = firstOperand[k];
    unsigned end = k + 1 < firstOperand.size() ? firstOperand[k + 1] : operands.size();
    for (unsigned i = first; i < end; ++i)
      leaves.push_back(Value::array(body->getArgument(i), operands[i].dtype, operands[i].range));
    inside[position] = e.rebuild(wrtArguments[k], leaves);
  }
  yielded.clear();
  auxPlaces.clear();
  auxLeaves.clear();
  bool good = false;
  e.inBlock(body, [&] {
    Value result = e.callBound(request.function, inside, range);
    if (result.isError() || !checkValue(result))
      return;
    yielded.push_back(value.as<ArrayValue>()->ssa);
    if (aux) {
      e.flatten(aux, auxLeaves);
      for (auto [i, leaf] : llvm::enumerate(auxLeaves)) {
        if (leaf.isError())
          return;
        if (const auto *array = leaf.as<ArrayValue>()) {
          auxPlaces.push_back(i);
          yielded.push_back(array->ssa);
        }
      }
    }
    YieldOp::create(e.builder, e.loc(range), yielded);
    good = true;
  });
  return good;
}

/// A result that varies over an axis though a collective over it was used is most often a loss that was not summed.
void GradBuilder::noteCollectives() {
  VarySet vary = e.varyOf(yielded.front());
  op.walk([&](CollectiveOp collective) {
    for (mlir::StringAttr axis : collective.getCollectiveAxes())
      if (contains(vary, axis.getValue())) {
        Report report =
            e.warning(Code::E0805, request.range,
                      "this function holds a collective over \"" + axis.str() +
                          "\", but its result varies over it: the gradient is that of the sum over the devices, "
                          "with respect to each device's own argument");
        SourceRange at = e.rangeOf(collective->getLoc());
        if (at.isValid())
          report.note(at, "the collective is here");
        report.note({}, "end the function with psum or pmean if one shared value is meant");
        return mlir::WalkResult::interrupt();
      }
    return mlir::WalkResult::advance();
  });
}

Value GradBuilder::run(ArrayRef<Value> arguments) {
  if (!readOperands(arguments))
    return Value::error();
  {
    // G1: a result that varies is differentiated with respect to each device's own copy. Whether it does is known only
    // once the body is there, so a first attempt may be taken back.
    DiagnosticTrial trial(e.diagnostics);
    if (!elaborateBody(arguments)) {
      trial.keep();
      op.erase();
      return Value::error();
    }
    VarySet vary = e.varyOf(yielded.front());
    bool widened = true;
    for (Operand &operand : operands) {
      widened &= isSubset(vary, e.varyOf(operand.ssa));
      operand.ssa = e.widen(operand.ssa, vary);
    }
    if (widened)
      trial.keep();
    else
      op.erase();
    if (!widened)
      op = GradOp();
  }
  if (!op && !elaborateBody(arguments)) {
    op.erase();
    return Value::error();
  }
  noteCollectives();

  SmallVector<mlir::Type, 8> types;
  for (mlir::Value result : yielded)
    types.push_back(result.getType());
  SmallVector<mlir::Value, 8> inputs;
  SmallVector<int64_t, 8> positions;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    types.push_back(operand.ssa.getType());
    inputs.push_back(operand.ssa);
    positions.push_back(int64_t(i));
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  auto finished = GradOp::create(e.builder, e.loc(range), types, inputs, positions);
  finished.getBody().takeBody(op.getBody());
  op.erase();

  // Outside, the value, the auxiliary values and the gradients are the op's results.
  Value outsideValue = Value::array(finished.getValue(), value.as<ArrayValue>()->dtype, range);
  Value outsideAux;
  if (aux) {
    for (auto [k, place] : llvm::enumerate(auxPlaces)) {
      const auto *inside = auxLeaves[place].as<ArrayValue>();
      auxLeaves[place] = Value::array(finished.getResult(1 + k), inside->dtype, range, inside->weak);
    }
    outsideAux = e.rebuild(aux, auxLeaves);
  }
  SmallVector<Value, 4> gradients;
  for (size_t k = 0; k < wrtArguments.size(); ++k) {
    unsigned first = firstOperand[k];
    unsigned end = k + 1 < firstOperand.size() ? firstOperand[k + 1] : operands.size();
    SmallVector<Value, 4> leaves;
    for (unsigned i = first; i < end; ++i)
      leaves.push_back(Value::array(finished.getGradients()[i], operands[i].dtype, range));
    gradients.push_back(e.rebuild(wrtArguments[k], leaves));
  }
  Value gradient = request.wrtIsTuple ? Value::tuple(gradients, range) : gradients.front();
  if (request.withValue)
    return Value::tuple({aux ? Value::tuple({outsideValue, outsideAux}, range) : outsideValue, gradient}, range);
  return aux ? Value::tuple({gradient, outsideAux}, range) : gradient;
}

/// `wrt:` as positions of parameters: names, positions, or a tuple of either.
bool readWrt(CallContext &c, const FunctionValue &function, GradRequest &request) {
  const Value &wrt = c["wrt"];
  if (!wrt) {
    if (function.parameters.empty()) {
      c.e.error(Code::E0803, c.range,
                "`" + c.builtin.name + "` needs a function with a parameter, got " + function.name);
      return false;
    }
    request.wrt.push_back(0);
    return true;
  }
  if (wrt.isError())
    return false;
  request.wrtIsTuple = wrt.is(ValueKind::Tuple) || wrt.is(ValueKind::List);
  for (const Value &element : Arguments(c).sequence(wrt)) {
    int64_t position = -1;
    std::string shown;
    if (const auto *name = element.as<StringValue>()) {
      shown = "'" + name->text + "'";
      for (auto [i, parameter] : llvm::enumerate(function.parameters))
        if (parameter.name == name->text)
          position = int64_t(i);
    } else {
      auto literal = Arguments(c).integer(element, "`wrt:`");
      if (!literal)
        return false;
      shown = std::to_string(*literal);
      position = *literal < 0 ? *literal + int64_t(function.parameters.size()) : *literal;
    }
    if (position < 0 || position >= int64_t(function.parameters.size())) {
      std::string names;
      for (const Parameter &parameter : function.parameters)
        names += (names.empty() ? "'" : ", '") + parameter.name + "'";
      c.e.error(Code::E0803, element.range(),
                "`wrt:` must name a parameter of " + function.name + ", " + names + ", got " + shown);
      return false;
    }
    if (llvm::is_contained(request.wrt, unsigned(position))) {
      c.e.error(Code::E0803, element.range(), "`wrt:` names " + shown + " twice");
      return false;
    }
    request.wrt.push_back(unsigned(position));
  }
  if (request.wrt.empty()) {
    c.e.error(Code::E0803, wrt.range(), "`wrt:` names no parameter");
    return false;
  }
  return true;
}

Value gradBuiltin(CallContext &c) {
  GradRequest request;
  request.function = c["f"];
  if (!request.function || request.function.isError())
    return Value::error();
  const auto *function = request.function.as<FunctionValue>();
  if (!function)
    return c.e.error(Code::E0520, c["f"].range(),
                     "`" + c.builtin.name + "` needs a function, got " + describeKind(c["f"]));
  auto aux = Arguments(c).flag("aux", false);
  if (!aux || !readWrt(c, *function, request))
    return Value::error();
  request.aux = *aux;
  request.withValue = c.builtin.name == "value_and_grad";
  request.name = c.builtin.name;
  request.range = c.range;
  return makeFunction(
      c.builtin.name + "(" + function->name + ")", function->parameters,
      [request](Elaborator &e, ArrayRef<Value> arguments, SourceRange range) {
        return GradBuilder(e, request, range).run(arguments);
      },
      c.range, function->defaultOf);
}

/// The value as a constant to derivatives; takes any nest of records and tuples.
Value stopGradient(CallContext &c) {
  if (!c["x"] || c["x"].isError())
    return Value::error();
  SmallVector<Value, 4> leaves, results;
  c.e.flatten(c["x"], leaves);
  for (const Value &leaf : leaves) {
    if (!leaf.is(ValueKind::Array)) {
      results.push_back(leaf); // literals and sizes have no derivative anyway
      continue;
    }
    const auto *array = leaf.as<ArrayValue>();
    mlir::Value ssa = array->ssa;
    if (c.e.isDistributed(leaf))
      ssa = c.e.tensorOf(leaf);
    if (!isFloat(array->dtype)) {
      results.push_back(Value::array(ssa, array->dtype, c.range, array->weak));
      continue;
    }
    auto stopped = StopGradientOp::create(c.e.builder, c.e.loc(c.range), ssa.getType(), ssa);
    results.push_back(Value::array(stopped, array->dtype, c.range, array->weak));
  }
  return c.e.rebuild(c["x"], results);
}

Value notYet(CallContext &c) { return notBuiltYet(c.e, c.range, "`" + c.builtin.name + "`"); }

} // namespace

void sema::registerTransformBuiltins(BuiltinTable &table) {
  table.add("grad", "f, wrt:?, aux:?", gradBuiltin);
  table.add("value_and_grad", "f, wrt:?, aux:?", gradBuiltin);
  table.add("stop_gradient", "x", stopGradient);
  table.add("vjp", "f, *x", notYet);
  table.add("jvp", "f, x, dx", notYet);
  table.add("jacobian", "f, wrt:?", notYet);
  table.add("hessian", "f, wrt:?", notYet);
  table.add("vmap", "f, in:?, out:?, axis:?, chunk:?", notYet);
  table.add("checkpoint", "f", notYet);
  table.add("custom_vjp", "f, fwd, bwd", notYet);
}
