// vjp: the value of a function, and a pullback that may be called any number of times. jvp: the value, and its
// derivative along a direction.

#include "compiler/Sema/Derivatives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What a pullback knows of its vjp.
struct Pulled {
  DerivativeRequest request;
  SmallVector<Value, 8> arguments; // of the call, as they were given
  WrtArguments wrt;
  RegionResult result;
  mlir::Value residuals;
  Value value; // the result, as it is seen outside
};

/// The axes of `type` beyond those of `primal`.
VarySet beyond(mlir::Value derivative, mlir::Type primal) {
  return differenceOf(pmap::varyOf(derivative.getType()), pmap::varyOf(primal));
}

/// A cotangent as one array per floating result; nothing (reported) when it does not fit.
std::optional<SmallVector<mlir::Value, 4>> readCotangent(Elaborator &e, const Pulled &pulled, const Value &cotangent,
                                                         SourceRange range) {
  if (!e.sameForm(pulled.result.form, cotangent))
    return e.error(Code::E0806, cotangent.range().isValid() ? cotangent.range() : range,
                   "expected a cotangent of the form of the result, " + e.render(pulled.value) + ", got " +
                       e.render(cotangent));
  SmallVector<Value, 4> leaves;
  e.flatten(cotangent, leaves);
  SmallVector<mlir::Value, 4> arrays;
  SmallVector<DerivativeLeaf, 4> primals = pulled.result.floating();
  size_t next = 0;
  for (auto [k, place] : llvm::enumerate(pulled.result.places))
    if (pulled.result.isFloating(k)) {
      arrays.push_back(readDerivative(e, leaves[place], primals[next++], "cotangent", "the result", range));
      if (!arrays.back())
        return std::nullopt;
    }
  return arrays;
}

Value callPullback(Elaborator &e, const std::shared_ptr<Pulled> &pulled, const Value &cotangent, SourceRange range) {
  auto vjp = pulled->residuals.getDefiningOp<VjpOp>();
  if (!e.isolations.empty() && !e.isolations.back().region->isAncestor(vjp->getParentRegion())) {
    // A device cannot reach what was computed outside of its pmap: it computes the function itself, on what it
    // captures.
    SmallVector<Value, 8> captured;
    for (const Value &argument : pulled->arguments)
      captured.push_back(argument ? e.seenFromHere(argument) : argument);
    Value pair = buildVjp(e, pulled->request, captured, range);
    const auto *both = pair.as<TupleValue>();
    return both ? e.apply(both->elements[1], {cotangent}, range) : Value::error();
  }
  auto cotangents = readCotangent(e, *pulled, cotangent, range);
  if (!cotangents)
    return Value::error();
  VarySet added;
  for (auto [array, primal] : llvm::zip_equal(*cotangents, pulled->result.floating()))
    added = unionOf(added, beyond(array, primal.type));
  if (CollectiveOp collective = findCollective(vjp, added)) {
    std::string axis;
    for (mlir::StringAttr name : collective.getCollectiveAxes())
      if (llvm::is_contained(added, name))
        axis = name.str();
    return e
        .error(Code::E0806, cotangent.range().isValid() ? cotangent.range() : range,
               "expected a cotangent that is the same over \"" + axis +
                   "\", as the result is, got one that varies over it (G2)")
        .note(e.rangeOf(collective->getLoc()), "the result is shared by this collective")
        .note({}, "take a psum or pmean of the cotangent over \"" + axis + "\"");
  }
  SmallVector<mlir::Type, 8> types;
  for (mlir::Value input : pulled->wrt.inputs())
    types.push_back(
        withVary(mlir::cast<mlir::RankedTensorType>(input.getType()), unionOf(pmap::varyOf(input.getType()), added)));
  auto op = PullbackOp::create(e.builder, e.loc(range), types, pulled->residuals, *cotangents);
  return pulled->wrt.derivatives(op.getResults(), range);
}

/// Builds one `pmap.vjp`: the body is elaborated into the region of an op without results, which the finished op takes
/// over once the types are known.
class VjpBuilder {
public:
  VjpBuilder(Elaborator &e, const DerivativeRequest &request, SourceRange range)
      : e(e), request(request), range(range), wrt(e, request, range) {}

  Value run(ArrayRef<Value> arguments) {
    if (!wrt.read(arguments))
      return Value::error();
    // G1: as for grad, a result that varies widens the arguments, and is known only once the body is there.
    bool settled = false;
    while (!settled) {
      DiagnosticTrial trial(e.diagnostics);
      bool good = elaborateBody(arguments);
      settled = !good || !wrt.widen(result.vary());
      if (settled)
        trial.keep();
      if (!good || !settled)
        op.erase();
      if (!good)
        return Value::error();
    }
    noteCollectives(e, op, result.vary(), request.range);

    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPoint(op);
    auto finished = VjpOp::create(e.builder, e.loc(range), mlir::TypeRange(mlir::ValueRange(result.yielded)),
                                  wrt.inputs(), wrt.positions());
    finished.getBody().takeBody(op.getBody());
    op.erase();
    Value y = result.rebuilt(e, finished.getValues(), range);
    auto pulled = std::make_shared<Pulled>(
        Pulled{request, SmallVector<Value, 8>(arguments), wrt, result, finished.getResiduals(), y});
    const auto &function = *request.function.as<FunctionValue>();
    Value pullback = makeFunction(
        "the pullback of " + function.name, {Parameter{"ct"}},
        [pulled](Elaborator &e, ArrayRef<Value> given, SourceRange at) {
          return callPullback(e, pulled, given[0], at);
        },
        range);
    return Value::tuple({y, pullback}, range);
  }

private:
  bool elaborateBody(ArrayRef<Value> arguments) {
    op = VjpOp::create(e.builder, e.loc(range), mlir::TypeRange(), wrt.inputs(), wrt.positions());
    mlir::Block *body = &op.getBody().front();
    bool good = result.elaborate(e, body, request.function, wrt.replaced(arguments, body->getArguments()), range);
    if (good && result.floating().empty()) {
      e.error(Code::E0802, request.range,
              "'" + request.name + "' needs a floating result, got " + e.render(result.form));
      good = false;
    }
    return good;
  }

  Elaborator &e;
  const DerivativeRequest &request;
  SourceRange range;
  WrtArguments wrt;
  VjpOp op;
  RegionResult result;
};

/// Builds one `pmap.jvp`.
class JvpBuilder {
public:
  JvpBuilder(Elaborator &e, const DerivativeRequest &request, SourceRange range)
      : e(e), request(request), range(range), wrt(e, request, range) {}

  Value run(ArrayRef<Value> arguments, ArrayRef<Value> given) {
    if (!wrt.read(arguments) || !readTangents(arguments, given))
      return Value::error();
    // jvp is per device (G1). A direction that varies where its argument does not, and that meets a collective, makes
    // the argument each device's own; otherwise the value is computed once for all directions.
    bool settled = false;
    while (!settled) {
      DiagnosticTrial trial(e.diagnostics);
      bool good = elaborateBody(arguments);
      VarySet added = addedAxes();
      settled = !good || !findCollective(op, added);
      if (settled)
        trial.keep();
      if (!good || !settled)
        op.erase();
      if (!good)
        return Value::error();
      if (!settled) {
        wrt.widen(added);
        for (auto [tangent, operand] : llvm::zip_equal(tangents, wrt.operands))
          tangent = e.widen(tangent, e.varyOf(operand.ssa));
      }
    }
    VarySet added = addedAxes();
    SmallVector<mlir::Type, 8> types(mlir::TypeRange(mlir::ValueRange(result.yielded)));
    for (const DerivativeLeaf &leaf : result.floating())
      types.push_back(withVary(leaf.type, unionOf(pmap::varyOf(leaf.type), added)));
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPoint(op);
    auto finished = JvpOp::create(e.builder, e.loc(range), types, wrt.inputs(), tangents, wrt.positions());
    finished.getBody().takeBody(op.getBody());
    op.erase();
    Value y = result.rebuilt(e, finished.getResults().take_front(result.yielded.size()), range);
    SmallVector<Value, 4> leaves;
    for (auto [array, leaf] :
         llvm::zip_equal(finished.getResults().drop_front(result.yielded.size()), result.floating()))
      leaves.push_back(Value::array(array, leaf.dtype, range));
    return Value::tuple({y, result.derivatives(e, leaves, range)}, range);
  }

private:
  bool readTangents(ArrayRef<Value> arguments, ArrayRef<Value> given) {
    SmallVector<Value, 8> leaves;
    for (auto [position, tangent] : llvm::zip_equal(request.wrt, given)) {
      if (!e.sameForm(arguments[position], tangent)) {
        e.error(Code::E0806, tangent.range().isValid() ? tangent.range() : range,
                "expected a direction of the form of the argument, " + e.render(arguments[position]) + ", got " +
                    e.render(tangent));
        return false;
      }
      e.flatten(tangent, leaves);
    }
    for (auto [leaf, operand, name] : llvm::zip_equal(leaves, wrt.operands, wrt.names)) {
      DerivativeLeaf primal{mlir::cast<mlir::RankedTensorType>(operand.ssa.getType()), operand.dtype, name};
      tangents.push_back(readDerivative(e, leaf, primal, "direction", "the argument", range));
      if (!tangents.back())
        return false;
    }
    return true;
  }

  VarySet addedAxes() const {
    VarySet added;
    for (auto [tangent, operand] : llvm::zip_equal(tangents, wrt.operands))
      added = unionOf(added, beyond(tangent, operand.ssa.getType()));
    return added;
  }

  bool elaborateBody(ArrayRef<Value> arguments) {
    op = JvpOp::create(e.builder, e.loc(range), mlir::TypeRange(), wrt.inputs(), mlir::ValueRange(), wrt.positions());
    mlir::Block *body = &op.getBody().front();
    return result.elaborate(e, body, request.function, wrt.replaced(arguments, body->getArguments()), range);
  }

  Elaborator &e;
  const DerivativeRequest &request;
  SourceRange range;
  WrtArguments wrt;
  SmallVector<mlir::Value, 8> tangents;
  JvpOp op;
  RegionResult result;
};

/// A request to differentiate by all of the arguments that were given.
DerivativeRequest requestFor(CallContext &c, ArrayRef<Value> arguments) {
  DerivativeRequest request;
  request.function = c["f"];
  request.name = c.builtin.name;
  request.range = c.range;
  for (auto [position, argument] : llvm::enumerate(arguments))
    request.wrt.push_back(position);
  request.wrtIsTuple = arguments.size() > 1;
  return request;
}

/// The values given by position, as those of a call, with the defaults of the rest.
std::optional<SmallVector<Value, 4>> bind(CallContext &c, const FunctionValue &function, ArrayRef<Value> given) {
  SmallVector<Argument> written;
  for (const Value &value : given) {
    if (value.isError())
      return std::nullopt;
    written.push_back({"", value, value.range().isValid() ? value.range() : c.range, SourceRange()});
  }
  if (given.empty())
    return c.e.error(Code::E0803, c.range, "`" + c.builtin.name + "` needs an argument to differentiate by, got none");
  return c.e.bindArguments(function, written, c.range);
}

Value vjpBuiltin(CallContext &c) {
  const FunctionValue *function = readFunction(c);
  if (!function)
    return Value::error();
  SmallVector<Value, 4> given = c["x"].as<TupleValue>()->elements;
  auto bound = bind(c, *function, given);
  return bound ? buildVjp(c.e, requestFor(c, given), *bound, c.range) : Value::error();
}

/// A tuple stands for several arguments where the function needs several.
SmallVector<Value, 4> spreadArguments(const FunctionValue &function, const Value &x) {
  size_t needed = llvm::count_if(function.parameters, [](const Parameter &parameter) { return !parameter.optional; });
  const auto *tuple = x.as<TupleValue>();
  if (needed < 2 || !tuple || tuple->isRecord())
    return {x};
  return tuple->elements;
}

Value jvpBuiltin(CallContext &c) {
  const FunctionValue *function = readFunction(c);
  if (!function || !c["x"] || !c["dx"] || c["x"].isError() || c["dx"].isError())
    return Value::error();
  SmallVector<Value, 4> given = spreadArguments(*function, c["x"]), tangents = spreadArguments(*function, c["dx"]);
  if (given.size() != tangents.size())
    return c.e.error(Code::E0806, c["dx"].range(),
                     "expected a direction for each of the " + std::to_string(given.size()) + " arguments, got " +
                         c.e.render(c["dx"]));
  auto bound = bind(c, *function, given);
  return bound ? buildJvp(c.e, requestFor(c, given), *bound, tangents, c.range) : Value::error();
}

} // namespace

Value sema::buildVjp(Elaborator &e, const DerivativeRequest &request, ArrayRef<Value> arguments, SourceRange range) {
  return VjpBuilder(e, request, range).run(arguments);
}

Value sema::buildJvp(Elaborator &e, const DerivativeRequest &request, ArrayRef<Value> arguments,
                     ArrayRef<Value> tangents, SourceRange range) {
  return JvpBuilder(e, request, range).run(arguments, tangents);
}

void sema::registerVjpBuiltins(BuiltinTable &table) {
  table.add("vjp", "f, *x", vjpBuiltin);
  table.add("jvp", "f, x, dx", jvpBuiltin);
}
