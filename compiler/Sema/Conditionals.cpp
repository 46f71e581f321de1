// `if`, `and`, `or`: two branches whose values become one.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace llvm;

namespace pmap::sema {

mlir::Value Elaborator::condition(const Value &value, SourceRange range, StringRef what) {
  if (!value || value.isError())
    return {};
  if (!isArrayLike(value)) {
    error(Code::E0606, range, what + ": expected a bool, got " + describeKind(value));
    return {};
  }
  Value made = materialize(value);
  const auto *array = made.as<ArrayValue>();
  if (!array)
    return {};
  if (!isBool(array->dtype)) {
    Report report = error(Code::E0606, range, what + ": expected bool, got " + render(value));
    if (rankOf(made) == 0)
      report.fix(range.endPoint(), " != 0");
    return {};
  }
  if (rankOf(made) != 0) {
    error(Code::E0606, range,
          what + ": expected a scalar, got " + render(made) +
              "; reduce it by all(…) or any(…), or choose element by element with where(…)");
    return {};
  }
  return ToBoolOp::create(builder, loc(range), builder.getI1Type(), array->ssa);
}

//===----------------------------------------------------------------------===//
// Two values as one
//===----------------------------------------------------------------------===//

std::optional<Elaborator::LeafType> Elaborator::meet(const Value &a, const Value &b, SourceRange range,
                                                     StringRef what) {
  LeafType type;
  std::optional<DType> x = dtypeOf(a), y = dtypeOf(b);
  bool floatA = isFloat(defaultDType(a)), floatB = isFloat(defaultDType(b));
  if (x && y && *x != *y) {
    Report report = error(Code::E0311, range, what + ": expected one type, got " + render(a) + " and " + render(b));
    noteDType(report, a);
    noteDType(report, b);
    return std::nullopt;
  }
  if (x || y) {
    type.dtype = x ? *x : *y;
    const Value &weak = x ? b : a;
    if (!(x && y) && (isFloat(defaultDType(weak)) && !isFloat(type.dtype))) {
      error(Code::E0302, range, what + ": expected one type, got " + render(a) + " and " + render(b));
      return std::nullopt;
    }
    if (!(x && y) && !isNumeric(type.dtype)) {
      error(Code::E0311, range, what + ": expected one type, got " + render(a) + " and " + render(b));
      return std::nullopt;
    }
  } else {
    type.weak = true;
    type.dtype = floatA || floatB ? DType::F64 : DType::I64;
  }
  type.sizes = sizesOf(a);
  SmallVector<Size> others = sizesOf(b);
  if (type.sizes != others && assumedEqual(type.sizes, others))
    return std::nullopt;
  if (type.sizes != others) {
    Report report = error(Code::E0311, range, what + ": expected one shape, got " + render(a) + " and " + render(b));
    for (ArrayRef<Size> part : {ArrayRef<Size>(type.sizes), ArrayRef<Size>(others)})
      for (const Size &size : part)
        noteBirths(report, size);
    return std::nullopt;
  }
  type.vary = unionOf(varyOf(a), varyOf(b));
  return type;
}

mlir::Value Elaborator::leafAs(const Value &value, const LeafType &type, SourceRange range) {
  Value made = value;
  const auto *array = made.as<ArrayValue>();
  if (type.split && array && array->ssa.getType() == type.split)
    return array->ssa;
  if (!array || array->dtype != type.dtype || isDistributed(made)) {
    made = dtypeOf(value) ? materialize(value) : convert(materialize(value, type.dtype), type.dtype, range);
    array = made.as<ArrayValue>();
    if (!array)
      return {};
  }
  if (type.split)
    return MoveOp::create(builder, loc(range), type.split, widen(array->ssa, VarySet(pmap::varyOf(type.split))));
  return widen(array->ssa, type.vary);
}

/// Whether two leaves are one and the same compile-time value, which needs no operation to choose between.
static bool sameCompileTimeValue(const Value &a, const Value &b) {
  if (a.sameAs(b))
    return true;
  if (a.kind() != b.kind())
    return false;
  if (const auto *x = a.as<IntValue>())
    return x->value == b.as<IntValue>()->value;
  if (const auto *x = a.as<BoolValue>())
    return x->value == b.as<BoolValue>()->value;
  if (const auto *x = a.as<FloatValue>())
    return x->value == b.as<FloatValue>()->value;
  if (const auto *x = a.as<SizeValue>())
    return x->polynomial == b.as<SizeValue>()->polynomial;
  if (const auto *x = a.as<StringValue>())
    return x->text == b.as<StringValue>()->text;
  if (const auto *x = a.as<ArrayValue>())
    return x->ssa == b.as<ArrayValue>()->ssa && x->weak == b.as<ArrayValue>()->weak;
  return false;
}

Value Elaborator::conditional(mlir::Value condition, const VarySet &vary, mlir::Value cause, SourceRange conditionRange,
                              StringRef what, SourceRange range, function_ref<Value()> thenBody,
                              function_ref<Value()> elseBody, bool wantsValue) {
  mlir::Operation *container = scratch(range);
  Store before = store;
  Scope savedScope = scope;
  Branch branches[2];
  for (int side = 0; side < 2; ++side) {
    Branch &branch = branches[side];
    mlir::Region &region = container->getRegion(side);
    branch.block = &region.emplaceBlock();
    store = before;
    scope = savedScope;
    if (!vary.empty())
      varyingRegions.push_back({&region, vary, conditionRange, what.str(), cause});
    inBlock(branch.block, [&] { branch.value = side == 0 ? thenBody() : elseBody(); });
    if (!vary.empty())
      varyingRegions.pop_back();
    branch.store = store;
  }
  scope = savedScope;
  store = before;

  // What leaves the conditional: its value, and each variable that a branch assigned.
  bool failed = false;
  SmallVector<Value> lefts, rights;
  SmallVector<std::pair<VarId, Value>> assigned; // the variable, and a value of its form
  Value form;
  auto collect = [&](const Value &a, const Value &b, const Twine &subject) {
    if (!a || !b || a.isError() || b.isError())
      return false;
    if (!sameForm(a, b)) {
      error(Code::E0311, range,
            subject + ": expected one type, got " +
                (isArrayLike(a) || a.is(ValueKind::Tuple) ? render(a) : describeKind(a)) + " and " +
                (isArrayLike(b) || b.is(ValueKind::Tuple) ? render(b) : describeKind(b)));
      return false;
    }
    flatten(a, lefts);
    flatten(b, rights);
    return true;
  };
  if (wantsValue) {
    form = branches[0].value;
    failed |= !collect(branches[0].value, branches[1].value, "the branches differ");
  }
  SmallVector<VarId> ids;
  for (const auto &entry : before)
    ids.push_back(entry.first);
  sort(ids); // so that the order of results does not depend on hashing
  size_t valueLeaves = lefts.size();
  SmallVector<std::string> subjects(valueLeaves, "the branches of `if`");
  for (VarId id : ids) {
    const Value &a = branches[0].store[id], &b = branches[1].store[id];
    if (a.sameAs(b))
      continue;
    if (!collect(a, b, "a variable that `if` assigns")) {
      store[id] = Value::error();
      continue;
    }
    assigned.push_back({id, a});
    subjects.resize(lefts.size(), "a variable that `if` assigns");
  }

  // One result for each leaf that is not the same in both branches anyhow.
  SmallVector<mlir::Type> types;
  SmallVector<mlir::Value> yields[2];
  SmallVector<LeafType> leafTypes(lefts.size());
  SmallVector<int> resultOf(lefts.size(), -1);
  for (size_t i = 0; i < lefts.size() && !failed; ++i) {
    Value a = lefts[i], b = rights[i];
    if (sameCompileTimeValue(a, b))
      continue;
    if (!isArrayLike(a) || !isArrayLike(b)) {
      error(Code::E0508, range,
            subjects[i] + ": a run-time condition cannot choose between " + describeKind(a) + " and " +
                describeKind(b) + ", which exist only at compile time");
      failed = true;
      break;
    }
    std::optional<LeafType> type = meet(a, b, range, subjects[i]);
    if (!type) {
      failed = true;
      break;
    }
    type->vary = unionOf(type->vary, vary);
    mlir::Value sides[2];
    for (int side = 0; side < 2; ++side)
      inBlock(branches[side].block, [&] { sides[side] = leafAs(side == 0 ? a : b, *type, range); });
    if (!sides[0] || !sides[1]) {
      failed = true;
      break;
    }
    resultOf[i] = types.size();
    leafTypes[i] = *type;
    types.push_back(sides[0].getType());
    yields[0].push_back(sides[0]);
    yields[1].push_back(sides[1]);
  }
  if (failed) {
    for (mlir::Region &region : container->getRegions())
      region.dropAllReferences();
    eraseScratch(container);
    for (auto &[id, value] : assigned)
      store[id] = Value::error();
    return Value::error();
  }

  for (int side = 0; side < 2; ++side)
    inBlock(branches[side].block, [&] { mlir::scf::YieldOp::create(builder, loc(range), yields[side]); });
  bool hasElse = !types.empty() || branches[1].block->getOperations().size() > 1;
  auto op = mlir::scf::IfOp::create(builder, loc(range), types, condition, /*withElseRegion=*/hasElse);
  op.getThenRegion().takeBody(container->getRegion(0));
  if (hasElse)
    op.getElseRegion().takeBody(container->getRegion(1));
  eraseScratch(container);

  SmallVector<Value> merged;
  for (size_t i = 0; i < lefts.size(); ++i)
    merged.push_back(resultOf[i] < 0
                         ? lefts[i]
                         : Value::array(op.getResult(resultOf[i]), leafTypes[i].dtype, range, leafTypes[i].weak));
  ArrayRef<Value> rest(merged);
  Value result = Value::unit(range);
  if (wantsValue) {
    result = rebuild(form, rest.take_front(valueLeaves));
    rest = rest.drop_front(valueLeaves);
  }
  for (auto &[id, value] : assigned) {
    SmallVector<Value> leaves;
    flatten(value, leaves);
    store[id] = rebuild(value, rest.take_front(leaves.size()));
    rest = rest.drop_front(leaves.size());
  }
  return result;
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

Value Elaborator::ifExpression(const ast::IfExpr &e, bool asStatement) {
  Value chosen = expression(*e.condition);
  auto branch = [&](const ast::Expr *body) -> Value {
    if (!body)
      return Value::unit(e.range);
    if (const auto *block = dyn_cast<ast::BlockExpr>(body))
      return blockExpression(*block, asStatement);
    return ifExpression(cast<ast::IfExpr>(*body), asStatement);
  };
  if (!asStatement && !e.elseBranch && !chosen.isError())
    return error(Code::E0610, e.range, "an `if` that is a value needs an `else`: expected both branches, got one");
  // A condition that is known now chooses now: generic functions ask about their literal arguments this way.
  if (const auto *known = chosen.as<BoolValue>()) {
    Scope saved = scope;
    Value value = branch(known->value ? e.thenBlock.get() : e.elseBranch.get());
    scope = saved;
    return asStatement ? Value::unit(e.range) : value;
  }
  mlir::Value test = condition(chosen, e.condition->range, "the condition of `if`");
  if (!test) {
    // Both branches are still looked at, for their own errors.
    Store saved = store;
    mlir::Operation *container = scratch(e.range);
    for (int side = 0; side < 2; ++side) {
      store = saved;
      Scope savedScope = scope;
      inBlock(&container->getRegion(side).emplaceBlock(),
              [&] { branch(side == 0 ? e.thenBlock.get() : e.elseBranch.get()); });
      scope = savedScope;
    }
    for (mlir::Region &region : container->getRegions())
      region.dropAllReferences();
    eraseScratch(container);
    store = saved;
    return Value::error();
  }
  mlir::Value cause = test.getDefiningOp()->getOperand(0);
  std::shared_ptr<const SizeFacts> says = chosen.is(ValueKind::Array) ? chosen.as<ArrayValue>()->facts : nullptr;
  auto branchUnder = [&](const ast::Expr *body, bool holds) {
    size_t before = facts.size();
    if (says)
      append_range(facts, holds ? says->whenTrue : says->whenFalse);
    Value value = branch(body);
    facts.truncate(before);
    return value;
  };
  return conditional(
      test, varyOf(cause), cause, e.condition->range, "this condition", e.range,
      [&] { return branchUnder(e.thenBlock.get(), true); }, [&] { return branchUnder(e.elseBranch.get(), false); },
      !asStatement);
}

//===----------------------------------------------------------------------===//
// and, or
//===----------------------------------------------------------------------===//

Value Elaborator::logicalExpression(const ast::BinaryExpr &e) {
  bool isAnd = e.op == ast::BinaryOp::And;
  std::string what = isAnd ? "`and`" : "`or`";
  Value lhs = expression(*e.lhs);
  if (lhs.isError()) {
    expression(*e.rhs);
    return lhs;
  }
  if (const auto *known = lhs.as<BoolValue>()) {
    // `false and x` never looks at x; it is still checked.
    if (known->value != isAnd) {
      mlir::Operation *container = scratch(e.range);
      Value ignored;
      inBlock(&container->getRegion(0).emplaceBlock(), [&] { ignored = expression(*e.rhs); });
      container->getRegion(0).dropAllReferences();
      eraseScratch(container);
      return ignored.isError() ? ignored : Value::boolean(!isAnd, e.range);
    }
    return expression(*e.rhs);
  }
  auto expectBool = [&](const Value &value, SourceRange range) -> Value {
    Value made = materialize(value);
    const auto *array = made.as<ArrayValue>();
    if (!array || isBool(array->dtype))
      return made;
    return error(Code::E0305, range, what + " is for bool: expected bool, got " + render(value))
        .fix(range, "(" + range.text() + " != 0)");
  };
  lhs = expectBool(lhs, e.lhs->range);
  if (lhs.isError()) {
    expression(*e.rhs);
    return lhs;
  }

  // The right side is built apart: where it can neither fail nor be seen to run, it simply runs, and no branch is
  // needed.
  mlir::Operation *container = scratch(e.range);
  mlir::Region &region = container->getRegion(0);
  mlir::Block &block = region.emplaceBlock();
  VarySet vary = varyOf(lhs);
  mlir::Value cause = lhs.as<ArrayValue>()->ssa;
  bool scalar = rankOf(lhs) == 0;
  if (scalar && !vary.empty())
    varyingRegions.push_back({&region, vary, e.lhs->range, "the left side of " + what, cause});
  // What the left side says of sizes holds where the right one is looked at, on scalars.
  std::shared_ptr<const SizeFacts> left = lhs.as<ArrayValue>()->facts;
  size_t factsBefore = facts.size();
  if (left && scalar)
    append_range(facts, isAnd ? left->whenTrue : left->whenFalse);
  Value rhs;
  inBlock(&block, [&] {
    rhs = expression(*e.rhs);
    if (!rhs.isError() && !(rhs.is(ValueKind::Bool) && rhs.as<BoolValue>()->value == isAnd))
      rhs = expectBool(rhs, e.rhs->range);
  });
  facts.truncate(factsBefore);
  if (scalar && !vary.empty())
    varyingRegions.pop_back();
  if (const auto *known = rhs.as<BoolValue>(); known && known->value == isAnd) {
    // Whatever the right side would have checked, `x and true` is x.
    region.dropAllReferences();
    eraseScratch(container);
    return lhs;
  }
  if (rhs.isError()) {
    region.dropAllReferences();
    eraseScratch(container);
    return rhs;
  }
  auto together = std::make_shared<SizeFacts>();
  for (const std::shared_ptr<const SizeFacts> &part :
       {left, rhs.is(ValueKind::Array) ? rhs.as<ArrayValue>()->facts : nullptr})
    if (part)
      append_range(isAnd ? together->whenTrue : together->whenFalse, isAnd ? part->whenTrue : part->whenFalse);
  bool pure = all_of(block, [](mlir::Operation &op) {
    // An index always fits 64 bits, and a float of some value.
    if (auto from = dyn_cast<FromIndexOp>(&op))
      return !from.getType().getElementType().isInteger() || from.getType().getElementTypeBitWidth() == 64;
    return mlir::isPure(&op);
  });
  mlir::Location at = loc(e.opRange);
  if (pure || !scalar || rankOf(rhs) != 0) {
    // Nested containers aside, everything moves out to here.
    builder.getInsertionBlock()->getOperations().splice(mlir::Block::iterator(container), block.getOperations());
    eraseScratch(container);
    Value operands[2] = {lhs, rhs};
    if (!unifyForElementwise(operands, e.range, what))
      return Value::error();
    mlir::Value x = operands[0].as<ArrayValue>()->ssa, y = operands[1].as<ArrayValue>()->ssa;
    mlir::Value both = isAnd ? mlir::arith::AndIOp::create(builder, at, x, y).getResult()
                             : mlir::arith::OrIOp::create(builder, at, x, y).getResult();
    return Value::withFacts(Value::array(both, DType::Bool, e.range), together);
  }
  VarySet all = unionOf(vary, varyOf(rhs));
  mlir::Value test = ToBoolOp::create(builder, at, builder.getI1Type(), cause);
  auto type = tensorType(DType::Bool, {}, all);
  auto op = mlir::scf::IfOp::create(builder, at, mlir::TypeRange{type}, test, /*withElseRegion=*/true);
  inBlock(&block, [&] { mlir::scf::YieldOp::create(builder, at, widen(rhs.as<ArrayValue>()->ssa, all)); });
  mlir::Value known = widen(constantInt(!isAnd, DType::Bool, e.opRange), all);
  known.getDefiningOp()->moveBefore(op);
  if (mlir::Operation *source = known.getDefiningOp<WidenOp>())
    source->getOperand(0).getDefiningOp()->moveBefore(known.getDefiningOp());
  mlir::Region &evaluated = isAnd ? op.getThenRegion() : op.getElseRegion();
  mlir::Region &other = isAnd ? op.getElseRegion() : op.getThenRegion();
  evaluated.takeBody(region);
  if (other.empty())
    other.emplaceBlock();
  other.front().clear();
  inBlock(&other.front(), [&] { mlir::scf::YieldOp::create(builder, at, known); });
  eraseScratch(container);
  return Value::withFacts(Value::array(op.getResult(0), DType::Bool, e.range), together);
}

} // namespace pmap::sema
