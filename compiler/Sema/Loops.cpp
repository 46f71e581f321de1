// What loops carry, and the scf operations they become.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/LoopBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

bool LoopBuilder::addVariable(VarId id, StringRef name, SourceRange at) {
  Value initial = e.store.lookup(id);
  if (!initial || initial.isError())
    return false;
  initial = e.seenFromHere(initial);
  Variable variable{id, name.str(), at, initial, initialLeaves.size(), 0};
  SmallVector<Value> leaves;
  e.flatten(initial, leaves);
  for (const Value &leaf : leaves) {
    if (!e.isArrayLike(leaf)) {
      e.error(Code::E0508, at,
              "a loop cannot assign '" + name + "': it holds " + describeKind(leaf) +
                  ", which exists only at compile time");
      return false;
    }
    Elaborator::LeafType type;
    std::optional<DType> strong = e.dtypeOf(leaf);
    type.weak = !strong;
    type.dtype = strong ? *strong : isFloat(e.defaultDType(leaf)) ? DType::F64 : DType::I64;
    type.sizes = e.sizesOf(leaf);
    type.vary = e.varyOf(leaf);
    if (e.isDistributed(leaf))
      type.split = leaf.as<ArrayValue>()->ssa.getType();
    types.push_back(std::move(type));
    initialLeaves.push_back(leaf);
  }
  variable.leafCount = leaves.size();
  variables.push_back(std::move(variable));
  return true;
}

bool LoopBuilder::collect(std::optional<VarId> flag) {
  bool ok = true;
  if (flag)
    addVariable(*flag, "break", range);
  for (const ast::Ident &name : ast::assignedVariables(body)) {
    const ScopeNode *node = lookup(e.scope, name.text);
    if (!node || !node->var || *node->var < e.firstAssignable)
      continue; // the assignment itself reports it
    ok &= addVariable(*node->var, name.text, name.range);
  }
  // An outer loop's `break` inside this body would have to leave both; the flag of each loop is its own, so none is
  // carried.
  return ok;
}

SmallVector<mlir::Type> LoopBuilder::mlirTypes() {
  SmallVector<mlir::Type> list;
  for (const Elaborator::LeafType &type : types)
    list.push_back(type.split ? type.split : e.tensorType(type.dtype, type.sizes, type.vary));
  return list;
}

void LoopBuilder::enter(ArrayRef<mlir::BlockArgument> arguments) {
  SmallVector<Value> leaves;
  for (auto [i, argument] : enumerate(arguments))
    leaves.push_back(Value::array(argument, types[i].dtype, initialLeaves[i].range(), types[i].weak));
  for (const Variable &variable : variables)
    e.store[variable.id] =
        e.rebuild(variable.initial, ArrayRef<Value>(leaves).slice(variable.firstLeaf, variable.leafCount));
}

/// Whether both are laid out alike on the same devices, or neither is on devices. What they vary over is another
/// matter.
static bool sameSplit(mlir::Type a, mlir::Type b) {
  auto x = dyn_cast_or_null<DistType>(a), y = dyn_cast_or_null<DistType>(b);
  return x && y ? x.getSpec() == y.getSpec() && x.getMesh() == y.getMesh() : !x && !y;
}

static void setVary(Elaborator::LeafType &type, const VarySet &vary) {
  type.vary = vary;
  if (auto dist = dyn_cast_or_null<DistType>(type.split))
    type.split = DistType::get(dist.getContext(), withVary(dist.getTensor(), vary), dist.getSpec(), dist.getMesh());
}

bool LoopBuilder::leave(bool &changed, SmallVectorImpl<Value> &finalLeaves) {
  bool ok = true;
  for (const Variable &variable : variables) {
    Value after = e.store.lookup(variable.id);
    if (!after || after.isError())
      return false;
    if (!e.sameForm(variable.initial, after)) {
      e.error(Code::E0604, variable.range,
              "the loop changes the form of '" + variable.name + "': expected " + e.render(variable.initial) +
                  ", got " + e.render(after));
      return false;
    }
    SmallVector<Value> leaves;
    e.flatten(after, leaves);
    for (auto [k, leaf] : enumerate(leaves)) {
      Elaborator::LeafType &type = types[variable.firstLeaf + k];
      if (!e.isArrayLike(leaf)) {
        e.error(Code::E0508, variable.range,
                "a loop cannot assign " + describeKind(leaf) + " to '" + variable.name + "'");
        return false;
      }
      finalLeaves.push_back(leaf);
      std::optional<DType> strong = e.dtypeOf(leaf);
      bool isFraction = isFloat(e.defaultDType(leaf));
      if (strong && (type.weak || *strong == type.dtype)) {
        // A weak beginning takes the dtype that the body gives it, unless it is a fraction and the body an integer.
        if (type.weak) {
          if ((isFloat(type.dtype) && !isFloat(*strong)) || !isNumeric(*strong)) {
            e.error(Code::E0604, variable.range,
                    "the loop changes the dtype of '" + variable.name + "': it begins as " +
                        e.render(initialLeaves[variable.firstLeaf + k]) + " and ends as " + e.render(leaf));
            ok = false;
            continue;
          }
          type.weak = false;
          type.dtype = *strong;
          changed = true;
        }
      } else if (strong) {
        e.error(Code::E0604, variable.range,
                "the loop changes the dtype of '" + variable.name + "': expected " + dtypeName(type.dtype) + ", got " +
                    dtypeName(*strong));
        ok = false;
        continue;
      } else if (type.weak && isFraction && !isFloat(type.dtype)) {
        type.dtype = DType::F64;
        changed = true;
      }
      SmallVector<Size> sizes = e.sizesOf(leaf);
      if (sizes != type.sizes && e.assumedEqual(sizes, type.sizes)) {
        ok = false;
        continue;
      }
      if (sizes != type.sizes) {
        Report report = e.error(Code::E0604, variable.range,
                                "the loop changes the shape of '" + variable.name + "': it begins as " +
                                    e.render(initialLeaves[variable.firstLeaf + k]) + " and ends as " + e.render(leaf));
        for (const Size &size : sizes)
          e.noteBirths(report, size);
        if (type.sizes.empty() && initialLeaves[variable.firstLeaf + k].range().isValid())
          report.note(initialLeaves[variable.firstLeaf + k].range(),
                      "begin with an array of the final shape, as zeros(" + e.render(sizes) + ") makes");
        ok = false;
        continue;
      }
      changed |= settleSplit(variable.firstLeaf + k, leaf);
      VarySet vary = unionOf(type.vary, e.varyOf(leaf));
      changed |= vary != type.vary;
      setVary(type, vary);
    }
  }
  return ok;
}

/// A value that the body leaves on devices stays on them from trip to trip (P5): it is carried as the body leaves it.
/// One that has no such fixpoint (the body gathers what it was given distributed) is carried whole. True for a change.
bool LoopBuilder::settleSplit(size_t number, const Value &leaf) {
  Elaborator::LeafType &type = types[number];
  mlir::Type after = e.isDistributed(leaf) ? leaf.as<ArrayValue>()->ssa.getType() : mlir::Type();
  if (sameSplit(after, type.split) || carriedWhole.contains(number))
    return false;
  if (!splitChanged.insert(number).second) {
    carriedWhole.insert(number);
    after = {};
  }
  type.split = after;
  return true;
}

void LoopBuilder::widenAll(const VarySet &vary) {
  for (Elaborator::LeafType &type : types)
    setVary(type, unionOf(type.vary, vary));
}

/// What is still weak when nothing changes any more is alone, and becomes i32 or f32. True when there was any.
bool LoopBuilder::settleWeak() {
  bool any = false;
  for (Elaborator::LeafType &type : types) {
    if (!type.weak)
      continue;
    any = true;
    type.weak = false;
    type.dtype = isFloat(type.dtype) ? DType::F32 : DType::I32;
  }
  return any;
}

SmallVector<mlir::Value> LoopBuilder::valuesOf(ArrayRef<Value> leaves) {
  SmallVector<mlir::Value> values;
  for (auto [leaf, type] : zip(leaves, types)) {
    mlir::Value value = e.leafAs(leaf, type, range);
    if (!value)
      return {};
    values.push_back(value);
  }
  return values;
}

void LoopBuilder::exit(mlir::ValueRange results) {
  SmallVector<Value> leaves;
  for (auto [i, result] : enumerate(results))
    leaves.push_back(Value::array(result, types[i].dtype, initialLeaves[i].range()));
  for (const Variable &variable : variables)
    e.store[variable.id] =
        e.rebuild(variable.initial, ArrayRef<Value>(leaves).slice(variable.firstLeaf, variable.leafCount));
}

void LoopBuilder::abandon() {
  for (const Variable &variable : variables)
    e.store[variable.id] = Value::error();
}

/// Enough rounds for any program: every round makes a dtype strong or adds an axis to some V.
static constexpr int kMaxRounds = 64;

//===----------------------------------------------------------------------===//
// for
//===----------------------------------------------------------------------===//

void LoopBuilder::buildFor(const Size &low, const Size &high, mlir::Value lowIndex, mlir::Value highIndex,
                           SourceRange boundRange, BindIndex bindIndex) {
  VarySet tripVary = unionOf(e.varyOf(low), e.varyOf(high));
  bool carried = collect(std::nullopt);
  Store before = e.store;
  Scope savedScope = e.scope;
  for (int round = 0; round < kMaxRounds; ++round) {
    widenAll(tripVary);
    mlir::Operation *container = e.scratch(range);
    mlir::Region &region = container->getRegion(0);
    mlir::Block &block = region.emplaceBlock();
    mlir::Location at = e.loc(range);
    block.addArgument(e.builder.getIndexType(), at);
    for (mlir::Type type : mlirTypes())
      block.addArgument(type, at);

    DiagnosticTrial trial(e.diagnostics);
    e.store = before;
    e.scope = savedScope;
    enter(block.getArguments().drop_front());
    if (!tripVary.empty())
      e.varyingRegions.push_back({&region, tripVary, boundRange, "the trip count of this loop", mlir::Value()});
    SmallVector<Value> leaves;
    bool changed = false, ok = false;
    SmallVector<mlir::Value> yields;
    size_t factsBefore = e.facts.size();
    e.inBlock(&block, [&] {
      e.facts.push_back(high - low - Size(1)); // the body runs only where there is an iteration
      bindIndex(block.getArgument(0), tripVary);
      e.blockExpression(body, /*asStatement=*/true);
      ok = leave(changed, leaves);
      if (ok && !changed)
        changed = settleWeak();
      if (ok && !changed)
        yields = valuesOf(leaves);
    });
    e.facts.truncate(factsBefore);
    if (!tripVary.empty())
      e.varyingRegions.pop_back();
    e.store = before;
    e.scope = savedScope;
    bool failed = !ok || !carried || trial.hasErrors() || yields.size() != types.size();
    if (changed || failed) {
      if (!changed)
        trial.keep();
      region.dropAllReferences();
      e.eraseScratch(container);
      if (changed)
        continue;
      return abandon();
    }
    trial.keep();
    e.inBlock(&block, [&] { mlir::scf::YieldOp::create(e.builder, at, yields); });
    e.builder.setInsertionPoint(container);
    SmallVector<mlir::Value> inits = valuesOf(initialLeaves);
    mlir::Value step = mlir::arith::ConstantIndexOp::create(e.builder, at, 1);
    auto loop = mlir::scf::ForOp::create(e.builder, at, lowIndex, highIndex, step, inits);
    loop.getRegion().takeBody(region);
    e.builder.setInsertionPointAfter(container);
    e.eraseScratch(container);
    return exit(loop.getResults());
  }
  abandon();
}

//===----------------------------------------------------------------------===//
// while, and loops with break
//===----------------------------------------------------------------------===//

void LoopBuilder::buildWhile(const ast::Expr *condition, mlir::Value lowIndex, mlir::Value highIndex, VarySet boundVary,
                             SourceRange boundRange, BindIndex bindIndex) {
  std::optional<VarId> flag;
  if (mayBreak(&body)) {
    flag = e.nextVar++;
    e.store[*flag] = Value::boolean(false, range);
  }
  bool counts = lowIndex != nullptr;
  bool carried = collect(flag);
  std::optional<VarId> outerFlag = std::exchange(e.breakFlag, flag);
  Store before = e.store;
  Scope savedScope = e.scope;
  VarySet conditionVary = boundVary;
  for (int round = 0; round < kMaxRounds; ++round) {
    widenAll(conditionVary);
    mlir::Operation *container = e.scratch(range);
    mlir::Region &test = container->getRegion(0), &work = container->getRegion(1);
    mlir::Location at = e.loc(range);
    mlir::Block &testBlock = test.emplaceBlock(), &workBlock = work.emplaceBlock();
    for (mlir::Block *block : {&testBlock, &workBlock}) {
      if (counts)
        block->addArgument(e.builder.getIndexType(), at);
      for (mlir::Type type : mlirTypes())
        block->addArgument(type, at);
    }

    DiagnosticTrial trial(e.diagnostics);
    // The condition: there are more indices, no break, and what the user wrote.
    e.scope = savedScope;
    e.store = before;
    enter(testBlock.getArguments().drop_front(counts));
    mlir::Value decision, cause;
    VarySet breakVary;
    std::shared_ptr<const SizeFacts> says;
    VarySet vary = boundVary;
    // A condition that varies is evaluated a different number of times on each device, so no collective may be in it
    // either.
    if (!conditionVary.empty())
      e.varyingRegions.push_back({&test, conditionVary, condition ? condition->range : boundRange,
                                  condition ? "this condition" : "the trip count of this loop", mlir::Value()});
    e.inBlock(&testBlock, [&] {
      auto both = [&](mlir::Value a, mlir::Value b) {
        return a ? mlir::arith::AndIOp::create(e.builder, at, a, b).getResult() : b;
      };
      if (counts)
        decision = mlir::arith::CmpIOp::create(e.builder, at, mlir::arith::CmpIPredicate::slt, testBlock.getArgument(0),
                                               highIndex);
      if (flag) {
        Value stopped = e.store[*flag];
        mlir::Value tensor = stopped.as<ArrayValue>()->ssa;
        breakVary = e.varyOf(tensor);
        vary = unionOf(vary, breakVary);
        cause = tensor;
        mlir::Value stop = ToBoolOp::create(e.builder, at, e.builder.getI1Type(), tensor);
        mlir::Value yes = mlir::arith::ConstantOp::create(e.builder, at, e.builder.getBoolAttr(true));
        decision = both(decision, mlir::arith::XOrIOp::create(e.builder, at, stop, yes));
      }
      if (condition) {
        Value written = e.expression(*condition);
        says = written.is(ValueKind::Array) ? written.as<ArrayValue>()->facts : nullptr;
        mlir::Value test = e.condition(written, condition->range, "the condition of `while`");
        if (test) {
          mlir::Value tensor = test.getDefiningOp()->getOperand(0);
          if (!e.varyOf(tensor).empty() || !cause)
            cause = tensor;
          vary = unionOf(vary, e.varyOf(tensor));
          decision = both(decision, test);
        } else {
          decision = {};
        }
      }
      if (decision)
        mlir::scf::ConditionOp::create(e.builder, at, decision, testBlock.getArguments());
    });
    if (!conditionVary.empty())
      e.varyingRegions.pop_back();

    e.scope = savedScope;
    e.store = before;
    enter(workBlock.getArguments().drop_front(counts));
    VarySet regionVary = unionOf(vary, conditionVary);
    SourceRange why = condition ? condition->range : boundRange;
    if (!regionVary.empty())
      e.varyingRegions.push_back(
          {&work, regionVary, why, condition ? "this condition" : "the trip count of this loop", cause});
    // A loop that a `break` ends early on some devices: the reader is shown that.
    if (VarySet other = differenceOf(vary, breakVary); !breakVary.empty() && other.empty()) {
      VaryingRegion &shown = e.varyingRegions.back();
      shown.range = firstBreak(&body);
      shown.what = "whether this `break` is reached";
      shown.cause = {};
    }
    SmallVector<Value> leaves;
    bool changed = regionVary != conditionVary, ok = false;
    SmallVector<mlir::Value> yields;
    size_t factsBefore = e.facts.size();
    if (says)
      append_range(e.facts, says->whenTrue);
    e.inBlock(&workBlock, [&] {
      if (counts)
        bindIndex(workBlock.getArgument(0), regionVary);
      e.blockExpression(body, /*asStatement=*/true);
      ok = leave(changed, leaves);
      if (ok && !changed)
        changed = settleWeak();
      if (ok && !changed) {
        SmallVector<mlir::Value> values = valuesOf(leaves);
        if (values.size() == types.size()) {
          if (counts) {
            mlir::Value one = mlir::arith::ConstantIndexOp::create(e.builder, at, 1);
            yields.push_back(mlir::arith::AddIOp::create(e.builder, at, workBlock.getArgument(0), one));
          }
          append_range(yields, values);
        } else {
          ok = false;
        }
      }
    });
    e.facts.truncate(factsBefore);
    if (!regionVary.empty())
      e.varyingRegions.pop_back();
    conditionVary = regionVary;
    e.store = before;
    e.scope = savedScope;
    if (changed || !ok || !carried || !decision || trial.hasErrors()) {
      if (!changed)
        trial.keep();
      test.dropAllReferences();
      work.dropAllReferences();
      e.eraseScratch(container);
      if (changed)
        continue;
      break;
    }
    trial.keep();
    e.inBlock(&workBlock, [&] { mlir::scf::YieldOp::create(e.builder, at, yields); });
    e.builder.setInsertionPoint(container);
    SmallVector<mlir::Value> inits;
    if (counts)
      inits.push_back(lowIndex);
    append_range(inits, valuesOf(initialLeaves));
    auto loop = mlir::scf::WhileOp::create(e.builder, at, mlir::ValueRange(inits).getTypes(), inits);
    if (counts)
      loop->setAttr("pmap.break", e.builder.getUnitAttr());
    loop.getBefore().takeBody(test);
    loop.getAfter().takeBody(work);
    e.builder.setInsertionPointAfter(container);
    e.eraseScratch(container);
    exit(loop.getResults().drop_front(counts));
    e.breakFlag = outerFlag;
    if (flag)
      e.store.erase(*flag);
    return;
  }
  abandon();
  e.breakFlag = outerFlag;
  if (flag)
    e.store.erase(*flag);
}

} // namespace pmap::sema
