// checkpoint: a function whose reverse derivative computes it again. custom_vjp: a function with a reverse derivative
// of the program's own (G3, G4).

#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Sema/Derivatives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

//===--- checkpoint
//-------------------------------------------------------------------------------------------------===//

/// Whether a size of a result is known only inside of `region`.
bool hasInnerSizes(Elaborator &e, const RegionResult &result, mlir::Region &region) {
  for (mlir::RankedTensorType type : result.types)
    for (const Size &size : pmap::sizesOf(type))
      for (const std::string &name : size.symbols())
        if (SizeSymbol *symbol = e.findSymbol(name);
            symbol && symbol->ssa && region.isAncestor(symbol->ssa.getParentRegion()))
          return true;
  return false;
}

Value callCheckpointed(Elaborator &e, const Value &function, ArrayRef<Value> arguments, SourceRange range) {
  auto op = CheckpointOp::create(e.builder, e.loc(range), mlir::TypeRange());
  RegionResult result;
  bool good = false, known = true;
  {
    DiagnosticTrial trial(e.diagnostics);
    e.inBlock(&op.getBody().emplaceBlock(), [&] {
      Value value = e.callBound(function, arguments, range);
      good = !value.isError() && result.read(e, value);
      if (good)
        YieldOp::create(e.builder, e.loc(range), result.yielded);
    });
    known = !good || !hasInnerSizes(e, result, op.getBody());
    if (known)
      trial.keep();
  }
  if (!good || !known) {
    op.erase();
    // Arrays of sizes that only the run knows are part of the program around them, and are kept.
    return known ? Value::error() : e.callBound(function, arguments, range);
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  auto finished = CheckpointOp::create(e.builder, e.loc(range), mlir::TypeRange(mlir::ValueRange(result.yielded)));
  finished.getBody().takeBody(op.getBody());
  op.erase();
  return result.rebuilt(e, finished.getResults(), range);
}

Value checkpointBuiltin(CallContext &c) {
  const FunctionValue *function = readFunction(c);
  if (!function)
    return Value::error();
  return makeFunction(
      "checkpoint(" + function->name + ")", function->parameters,
      [f = c["f"]](Elaborator &e, ArrayRef<Value> arguments, SourceRange range) {
        return callCheckpointed(e, f, arguments, range);
      },
      c.range, function->defaultOf);
}

//===--- custom_vjp
//-------------------------------------------------------------------------------------------------===//

struct CustomRequest {
  Value function, forward, backward;
  SourceRange range;
};

class CustomBuilder {
public:
  CustomBuilder(Elaborator &e, const CustomRequest &request, SourceRange range)
      : e(e), request(request), range(range) {}

  Value run(ArrayRef<Value> given) {
    if (!readOperands(given))
      return Value::error();
    // G3: the arguments vary as the results do, so that the rule is per device.
    bool settled = false;
    while (!settled) {
      DiagnosticTrial trial(e.diagnostics);
      op = CustomVjpOp::create(e.builder, e.loc(range), mlir::TypeRange(), mlir::ValueRange());
      bool good = elaboratePrimal() && elaborateForward();
      settled = !good || !widenOperands();
      good = good && (!settled || elaborateBackward());
      if (settled)
        trial.keep();
      if (!good || !settled)
        op.erase();
      if (!good)
        return Value::error();
    }
    SmallVector<mlir::Type, 4> types(primal.types.begin(), primal.types.end());
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPoint(op);
    auto finished = CustomVjpOp::create(e.builder, e.loc(range), types, inputs());
    for (auto [from, to] : llvm::zip_equal(op->getRegions(), finished->getRegions()))
      to.takeBody(from);
    op.erase();
    return primal.rebuilt(e, finished.getResults(), range);
  }

private:
  bool readOperands(ArrayRef<Value> given) {
    for (const Value &argument : given) {
      arguments.push_back(argument);
      if (!argument)
        continue;
      SmallVector<Value, 4> leaves;
      e.flatten(argument, leaves);
      for (Value leaf : leaves) {
        if (leaf.is(ValueKind::Array) || leaf.is(ValueKind::List))
          leaf = e.materialize(leaf);
        if (leaf.isError())
          return false;
        const auto *array = leaf.as<ArrayValue>();
        if (array)
          operands.push_back({array->ssa, array->dtype, leaf.range()});
        isOperand.push_back(array != nullptr);
      }
    }
    return true;
  }

  SmallVector<mlir::Value, 8> inputs() const {
    return SmallVector<mlir::Value, 8>(llvm::map_range(operands, [](const Operand &operand) { return operand.ssa; }));
  }

  /// The arguments over other arrays.
  SmallVector<Value, 8> replaced(mlir::ValueRange arrays) const {
    SmallVector<Value, 8> result;
    size_t leaf = 0, next = 0;
    for (const Value &argument : arguments) {
      if (!argument) {
        result.push_back(argument);
        continue;
      }
      SmallVector<Value, 4> leaves;
      e.flatten(argument, leaves);
      for (Value &value : leaves)
        if (isOperand[leaf++]) {
          value = Value::array(arrays[next], operands[next].dtype, operands[next].range);
          ++next;
        }
      result.push_back(e.rebuild(argument, leaves));
    }
    return result;
  }

  /// A block of `region` with an argument per operand.
  mlir::Block *addBlock(mlir::Region &region) {
    mlir::Block *block = &region.emplaceBlock();
    for (const Operand &operand : operands)
      block->addArgument(operand.ssa.getType(), e.loc(range));
    return block;
  }

  bool elaboratePrimal() {
    mlir::Block *block = addBlock(op.getPrimal());
    primal = RegionResult();
    bool good = false;
    e.inBlock(block, [&] {
      Value value = e.callBound(request.function, replaced(block->getArguments()), range);
      good = !value.isError() && primal.read(e, value);
      shown = good ? e.render(value) : "";
    });
    return good;
  }

  bool elaborateForward() {
    mlir::Block *block = addBlock(op.getForward());
    bool good = false;
    e.inBlock(block, [&] {
      Value value = e.apply(request.forward, withoutAbsent(replaced(block->getArguments())), range);
      if (value.isError())
        return;
      const auto *pair = value.as<TupleValue>();
      if (!pair || pair->elements.size() != 2 || pair->isRecord() || !e.sameForm(primal.form, pair->elements[0])) {
        e.error(Code::E0807, request.forward.range(),
                "expected `fwd` to return a pair of the result, " + shown + ", and residuals, got " + e.render(value));
        return;
      }
      SmallVector<Value, 4> leaves;
      e.flatten(pair->elements[0], leaves);
      forward.clear();
      for (auto [k, place] : llvm::enumerate(primal.places)) {
        DerivativeLeaf leaf{primal.types[k], primal.dtype(k), primal.names[place]};
        forward.push_back(readDerivative(e, leaves[place], leaf, "value", "the result of `fwd`", range, Code::E0807));
        if (!forward.back())
          return;
      }
      residuals = RegionResult();
      good = residuals.read(e, pair->elements[1]);
    });
    return good;
  }

  /// Widens everything by what the results vary over; true when the operands changed, so that all is to be elaborated
  /// anew.
  bool widenOperands() {
    VarySet vary;
    for (auto [type, value] : llvm::zip_equal(primal.types, forward))
      vary = unionOf(vary, unionOf(pmap::varyOf(type), e.varyOf(value)));
    bool changed = false;
    for (Operand &operand : operands) {
      changed |= !isSubset(vary, e.varyOf(operand.ssa));
      operand.ssa = e.widen(operand.ssa, vary);
    }
    if (changed)
      return true;
    // Both ways of computing a result give it one type.
    for (auto [k, value] : llvm::enumerate(forward)) {
      VarySet both = unionOf(pmap::varyOf(primal.types[k]), e.varyOf(value));
      value = e.widen(value, both);
      primal.yielded[k] = e.widen(primal.yielded[k], both);
      primal.types[k] = withVary(primal.types[k], both);
    }
    e.inBlock(&op.getPrimal().front(), [&] { YieldOp::create(e.builder, e.loc(range), primal.yielded); });
    e.inBlock(&op.getForward().front(), [&] {
      SmallVector<mlir::Value, 8> yielded(forward.begin(), forward.end());
      llvm::append_range(yielded, residuals.yielded);
      YieldOp::create(e.builder, e.loc(range), yielded);
    });
    return false;
  }

  bool elaborateBackward() {
    mlir::Block *block = &op.getBackward().emplaceBlock();
    for (mlir::Type type : residuals.types)
      block->addArgument(type, e.loc(range));
    SmallVector<Value, 4> cotangents;
    for (const DerivativeLeaf &leaf : primal.floating())
      cotangents.push_back(Value::array(block->addArgument(leaf.type, e.loc(range)), leaf.dtype, range));
    bool good = false;
    e.inBlock(block, [&] {
      Value kept = residuals.rebuilt(e, block->getArguments().take_front(residuals.types.size()), range);
      Value value = e.apply(request.backward, {kept, primal.derivatives(e, cotangents, range)}, range);
      if (!value.isError())
        good = readCotangents(value);
    });
    return good;
  }

  bool readCotangents(const Value &value) {
    SmallVector<Value, 8> present = withoutAbsent(arguments), nests = {value};
    if (present.size() != 1) {
      const auto *tuple = value.as<TupleValue>();
      if (!tuple || tuple->isRecord() || tuple->elements.size() != present.size()) {
        e.error(Code::E0807, request.backward.range(),
                "expected `bwd` to return a cotangent for each of the " + std::to_string(present.size()) +
                    " arguments, got " + e.render(value));
        return false;
      }
      nests.assign(tuple->elements.begin(), tuple->elements.end());
    }
    const auto &function = *request.function.as<FunctionValue>();
    SmallVector<mlir::Value, 8> yielded;
    size_t place = 0, next = 0, position = 0;
    for (auto [argument, nest] : llvm::zip_equal(present, nests)) {
      while (!arguments[position])
        ++position;
      std::string name = function.parameters[position++].name;
      if (!e.sameForm(argument, nest)) {
        e.error(Code::E0807, request.backward.range(),
                "expected `bwd` to return a cotangent of the form of '" + name + "', " + e.render(argument) + ", got " +
                    e.render(nest));
        return false;
      }
      SmallVector<Value, 4> leaves;
      SmallVector<std::string, 4> names;
      e.flatten(nest, leaves);
      e.leafNames(argument, name, names);
      for (auto [leaf, leafName] : llvm::zip_equal(leaves, names)) {
        if (!isOperand[place++])
          continue;
        const Operand &operand = operands[next++];
        if (!isFloat(operand.dtype))
          continue; // integers have no cotangent, and what stands there is not looked at
        auto type = mlir::cast<mlir::RankedTensorType>(operand.ssa.getType());
        mlir::Value array =
            readDerivative(e, leaf, {type, operand.dtype, leafName}, "cotangent", "the argument", range, Code::E0807);
        if (!array)
          return false;
        // What varies more than the argument is the devices' share of it.
        yielded.push_back(pmap::withVarianceOf(e.builder, e.loc(range), array, type));
      }
    }
    YieldOp::create(e.builder, e.loc(range), yielded);
    return true;
  }

  static SmallVector<Value, 8> withoutAbsent(ArrayRef<Value> values) {
    return SmallVector<Value, 8>(llvm::make_filter_range(values, [](const Value &value) { return bool(value); }));
  }

  Elaborator &e;
  const CustomRequest &request;
  SourceRange range;
  SmallVector<Value, 8> arguments;  // one per parameter; null where the callee copes without
  SmallVector<bool, 8> isOperand;   // per leaf of the arguments
  SmallVector<Operand, 8> operands; // the leaves that are arrays
  CustomVjpOp op;
  RegionResult primal, residuals;
  SmallVector<mlir::Value, 4> forward; // the results as `fwd` computes them
  std::string shown;                   // the result, for messages
};

Value customBuiltin(CallContext &c) {
  const FunctionValue *function = readFunction(c);
  if (!function || !readFunction(c, "fwd") || !readFunction(c, "bwd"))
    return Value::error();
  CustomRequest request{c["f"], c["fwd"], c["bwd"], c.range};
  return makeTransformed<CustomBuilder>(c.builtin.name, *function, request, c.range);
}

} // namespace

void sema::registerCheckpointBuiltins(BuiltinTable &table) {
  table.add("checkpoint", "f", checkpointBuiltin);
  table.add("custom_vjp", "f, fwd, bwd", customBuiltin);
}
