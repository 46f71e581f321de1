// jacobian and hessian (G4): a vmap of jvp, or of a pullback, over the rows of a unit matrix.

#include "compiler/Sema/Derivatives.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

class JacobianBuilder {
public:
  JacobianBuilder(Elaborator &e, const DerivativeRequest &request, SourceRange range)
      : e(e), request(request), range(range), wrt(e, request, range) {}

  Value run(ArrayRef<Value> arguments) {
    if (!wrt.read(arguments))
      return Value::error();
    std::optional<bool> forward = looksForward(arguments);
    if (!forward)
      return Value::error();
    return *forward ? runForward(arguments) : runReverse(arguments);
  }

private:
  /// Elaborates the function once, for what it returns, and chooses: forward where the arguments are provably no larger
  /// than the results; reverse otherwise. A `while` has only a forward derivative, a custom_vjp only a reverse one, and
  /// a collective over an axis along which something varies makes the two differ, of which (G1) means the reverse one.
  /// Nothing (reported) on an error.
  std::optional<bool> looksForward(ArrayRef<Value> arguments) {
    auto probe =
        JvpOp::create(e.builder, e.loc(range), mlir::TypeRange(), wrt.inputs(), mlir::ValueRange(), wrt.positions());
    mlir::Block *body = &probe.getBody().front();
    std::optional<bool> forward;
    {
      DiagnosticTrial trial(e.diagnostics);
      bool good = false;
      e.inBlock(body, [&] {
        Value value = e.callBound(request.function, wrt.replaced(arguments, body->getArguments()), range);
        good = !value.isError() && result.read(e, value) && isFloatingOnly();
      });
      if (good)
        forward = choose(probe);
      else
        trial.keep();
      probe.erase();
    }
    return forward;
  }

  bool isFloatingOnly() {
    if (result.floating().size() == result.leaves.size() && !result.leaves.empty())
      return true;
    e.error(Code::E0802, request.range,
            "'" + request.name + "' needs floating results, got " + e.render(result.form) + " from " +
                request.function.as<FunctionValue>()->name);
    return false;
  }

  bool choose(JvpOp probe) {
    bool hasWhile = false, hasCustom = false;
    probe->walk([&](mlir::Operation *op) {
      hasWhile |= mlir::isa<mlir::scf::WhileOp>(op);
      hasCustom |= mlir::isa<CustomVjpOp>(op);
    });
    VarySet vary = result.vary();
    for (const Operand &operand : wrt.operands)
      vary = unionOf(vary, e.varyOf(operand.ssa));
    if (hasCustom || findCollective(probe, vary))
      return false;
    if (hasWhile)
      return true;
    Size in(0), out(0);
    for (const Operand &operand : wrt.operands)
      in += elementCountOf(operand.ssa.getType());
    for (mlir::RankedTensorType type : result.types)
      out += elementCountOf(type);
    return e.provablyNonNegative(out - in);
  }

  /// The unit matrix whose rows have the shape of `like`: `[count, sizes…]`.
  mlir::Value unitRows(mlir::RankedTensorType like, DType dtype) {
    Emit m(e, range);
    Size count = elementCountOf(like);
    SmallVector<Size> shape = pmap::sizesOf(like);
    SmallVector<mlir::Value, 2> indices = {m.iota(DType::I64, {count, count}, 0),
                                           m.iota(DType::I64, {count, count}, 1)};
    m.unifyVary(indices);
    mlir::Value unit = m.convert(m.equal(indices[0], indices[1]), DType::Bool, dtype);
    shape.insert(shape.begin(), count);
    return m.reshape(unit, shape);
  }

  /// vmap of a function of one row.
  Value mapRows(FunctionValue::Callee perRow, mlir::Value rows, DType dtype) {
    Value function = makeFunction("a row of " + request.name, {Parameter{"row"}}, std::move(perRow), range);
    const Builtin &vmap = *BuiltinTable::get().find("vmap");
    SmallVector<Value, 8> given(vmap.parameters.size());
    given[0] = function;
    CallContext inside{e, vmap, given, range};
    Value mapped = vmap.handler(inside);
    return mapped.isError() ? mapped : e.apply(mapped, {Value::array(rows, dtype, range)}, range);
  }

  Value zeros(mlir::RankedTensorType type, DType dtype) {
    mlir::Value scalar = e.constant(0, dtype, range);
    return Value::array(e.widen(e.broadcastTo(scalar, pmap::sizesOf(type), range), VarySet(pmap::varyOf(type))), dtype,
                        range);
  }

  /// Directions or cotangents: `row` in the place of one, zeros elsewhere.
  SmallVector<Value, 8> oneOf(ArrayRef<DerivativeLeaf> leaves, size_t which, const Value &row) {
    SmallVector<Value, 8> values;
    for (auto [k, leaf] : llvm::enumerate(leaves))
      values.push_back(k == which ? row : zeros(leaf.type, leaf.dtype));
    return values;
  }

  SmallVector<DerivativeLeaf, 8> inputLeaves() {
    SmallVector<DerivativeLeaf, 8> leaves;
    for (const Operand &operand : wrt.operands)
      leaves.push_back({mlir::cast<mlir::RankedTensorType>(operand.ssa.getType()), operand.dtype, ""});
    return leaves;
  }

  /// `blocks[j][k]`, the derivative of result j by argument k, as a nest of arguments in a nest of results.
  Value nested(ArrayRef<SmallVector<Value, 4>> blocks) {
    SmallVector<Value, 4> rows;
    for (const SmallVector<Value, 4> &row : blocks)
      rows.push_back(wrt.derivatives(ArrayRef<Value>(row), range));
    return result.derivatives(e, rows, range);
  }

  /// The array of a block, of shape out ++ in.
  Value block(mlir::Value array, const DerivativeLeaf &out, const DerivativeLeaf &in) {
    SmallVector<Size> shape = pmap::sizesOf(out.type);
    llvm::append_range(shape, pmap::sizesOf(in.type));
    return Value::array(Emit(e, range).reshape(array, shape), out.dtype, range);
  }

  Value runForward(ArrayRef<Value> arguments) {
    SmallVector<DerivativeLeaf, 8> ins = inputLeaves();
    SmallVector<DerivativeLeaf, 4> outs = result.floating();
    SmallVector<SmallVector<Value, 4>> blocks(outs.size());
    for (auto [k, in] : llvm::enumerate(ins)) {
      Value rows = mapRows(
          [&, k = k](Elaborator &e, ArrayRef<Value> given, SourceRange at) {
            SmallVector<Value, 8> directions = oneOf(ins, k, given[0]);
            Value nest = wrt.derivatives(ArrayRef<Value>(directions), at);
            SmallVector<Value, 4> tangents = {nest};
            if (request.wrtIsTuple)
              tangents = nest.as<TupleValue>()->elements;
            Value pair = buildJvp(e, request, arguments, tangents, at);
            const auto *both = pair.as<TupleValue>();
            return both ? both->elements[1] : Value::error();
          },
          unitRows(in.type, in.dtype), in.dtype);
      if (rows.isError())
        return rows;
      SmallVector<Value, 4> leaves;
      e.flatten(rows, leaves);
      for (auto [j, leaf] : llvm::enumerate(leaves)) {
        mlir::Value array = e.tensorOf(leaf);
        if (!array)
          return Value::error();
        // The rows are the argument's elements: they go last.
        SmallVector<int64_t, 4> perm;
        for (int64_t dim = 1, rank = e.rankOf(leaf); dim < rank; ++dim)
          perm.push_back(dim);
        perm.push_back(0);
        blocks[j].push_back(block(Emit(e, range).transpose(array, perm), outs[j], in));
      }
    }
    return nested(blocks);
  }

  Value runReverse(ArrayRef<Value> arguments) {
    Value pair = buildVjp(e, request, arguments, range);
    const auto *both = pair.as<TupleValue>();
    if (!both)
      return Value::error();
    Value pullback = both->elements[1];
    SmallVector<DerivativeLeaf, 8> ins = inputLeaves();
    SmallVector<DerivativeLeaf, 4> outs = result.floating();
    // The vjp may have widened what the first look had not (G1).
    SmallVector<Value, 4> values;
    e.flatten(both->elements[0], values);
    for (auto [out, value] : llvm::zip_equal(outs, values))
      out.type = mlir::cast<mlir::RankedTensorType>(value.as<ArrayValue>()->ssa.getType());
    SmallVector<SmallVector<Value, 4>> blocks(outs.size());
    for (auto [j, out] : llvm::enumerate(outs)) {
      Value rows = mapRows(
          [&, j = j](Elaborator &e, ArrayRef<Value> given, SourceRange at) {
            SmallVector<Value, 8> cotangents = oneOf(outs, j, given[0]);
            return e.apply(pullback, {result.derivatives(e, cotangents, at)}, at);
          },
          unitRows(out.type, out.dtype), out.dtype);
      if (rows.isError())
        return rows;
      SmallVector<Value, 4> leaves;
      e.flatten(rows, leaves);
      for (auto [leaf, in] : llvm::zip_equal(leaves, ins)) {
        mlir::Value array = e.tensorOf(leaf);
        if (!array)
          return Value::error();
        blocks[j].push_back(block(array, out, in));
      }
    }
    return nested(blocks);
  }

  Elaborator &e;
  const DerivativeRequest &request;
  SourceRange range;
  WrtArguments wrt;
  RegionResult result;
};

Value makeJacobian(const DerivativeRequest &request) {
  const auto &function = *request.function.as<FunctionValue>();
  return makeTransformed<JacobianBuilder>(request.name, function, request, request.range);
}

std::optional<DerivativeRequest> readRequest(CallContext &c) {
  const FunctionValue *function = readFunction(c);
  DerivativeRequest request;
  if (!function || !readWrt(c, *function, request))
    return std::nullopt;
  request.function = c["f"];
  request.name = c.builtin.name;
  request.range = c.range;
  return request;
}

Value jacobianBuiltin(CallContext &c) {
  auto request = readRequest(c);
  return request ? makeJacobian(*request) : Value::error();
}

/// The jacobian of the gradient: forward over reverse.
Value hessianBuiltin(CallContext &c) {
  auto request = readRequest(c);
  if (!request)
    return Value::error();
  const Builtin &grad = *BuiltinTable::get().find("grad");
  SmallVector<Value, 3> given = {c["f"], c["wrt"], Value()};
  CallContext inside{c.e, grad, given, c.range};
  request->function = grad.handler(inside);
  return request->function.isError() ? Value::error() : makeJacobian(*request);
}

} // namespace

void sema::registerJacobianBuiltins(BuiltinTable &table) {
  table.add("jacobian", "f, wrt:?", jacobianBuiltin);
  table.add("hessian", "f, wrt:?", hessianBuiltin);
}
