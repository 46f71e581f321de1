#include "compiler/Evaluate/Interpreter.h"
#include "compiler/Dialect/IR/FailureText.h"

#include "mlir/IR/BuiltinOps.h"
#include "pmap/runtime.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pmap::evaluate {

//===-- Values -------------------------------------------------------------------------------------------------------//

const NDArray &Interpreter::get(Value value, unsigned device) {
  auto found = values.find(value);
  assert(found != values.end() && device < found->second.size() && "a value is used before it is made");
  return found->second[device];
}

void Interpreter::set(Value value, unsigned device, NDArray array) {
  PerDevice &slots = values[value];
  if (slots.size() <= device)
    slots.resize(std::max<size_t>(deviceCount(), device + 1));
  slots[device] = std::move(array);
}

void Interpreter::assign(ValueRange targets, ValueRange sources, ArrayRef<unsigned> active) {
  // All are read before any is set. A distributed value, which only the host carries, is its blocks of all devices.
  SmallVector<PerDevice> blocks;
  for (Value source : sources)
    blocks.push_back(isa<DistType>(source.getType()) && !active.empty() ? values[source] : PerDevice());
  for (unsigned device : active) {
    SmallVector<NDArray, 4> arrays;
    for (Value source : sources)
      arrays.push_back(isa<DistType>(source.getType()) ? NDArray() : get(source, device));
    for (auto [target, array] : llvm::zip_equal(targets, arrays))
      if (!isa<DistType>(target.getType()))
        set(target, device, std::move(array));
  }
  for (auto [target, whole] : llvm::zip_equal(targets, blocks))
    if (isa<DistType>(target.getType()) && !active.empty())
      values[target] = std::move(whole);
}

SmallVector<NDArray, 4> Interpreter::operandsOf(Operation *op, unsigned device) {
  SmallVector<NDArray, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand, device));
  return operands;
}

//===-- Failures -----------------------------------------------------------------------------------------------------//

/// The place in the source that an operation comes from: the innermost one, where calls were inlined.
static FileLineColLoc placeOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place;
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return placeOf(call.getCallee());
  if (auto named = dyn_cast<NameLoc>(location))
    return placeOf(named.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = placeOf(part))
        return place;
  return {};
}

static Failure failureAt(Operation *op) {
  Failure failure;
  if (FileLineColLoc place = placeOf(op->getLoc())) {
    failure.file = place.getFilename().str();
    failure.line = place.getLine();
    failure.column = place.getColumn();
  }
  return failure;
}

void Interpreter::fail(Operation *op, unsigned device, int32_t kind, int64_t a, int64_t b, int64_t c, StringRef text) {
  if (failures[device])
    return;
  Failure failure = failureAt(op);
  failure.kind = kind;
  failure.a = a;
  failure.b = b;
  failure.c = c;
  // A kind whose format names no text takes the one that the operation was given (FailureText.h).
  StringRef told = failureText(op->getLoc());
  bool isNegative = kind == PMAP_FAIL_NEGATIVE_SIZE && told.starts_with("E1106");
  bool takes = isNegative || kind == PMAP_FAIL_ASSERT || kind == PMAP_FAIL_INDEX || kind == PMAP_FAIL_INEXACT ||
               kind == PMAP_FAIL_SLICE || kind == PMAP_FAIL_CAST;
  if (!told.empty() && takes) {
    failure.kind = isNegative || kind == PMAP_FAIL_ASSERT ? PMAP_FAIL_TOLD : kind;
    text = told;
  }
  failure.text = text.str();
  failures[device] = std::move(failure);
}

void Interpreter::failWith(Operation *op, unsigned device, StringRef code, const Twine &message, const Twine &note) {
  if (failures[device])
    return;
  Failure failure = failureAt(op);
  failure.code = code.str();
  failure.text = message.str();
  failure.note = note.str();
  failures[device] = std::move(failure);
}

void Interpreter::failOfInput(Operation *op, const rt::FailureMessage &words) {
  failWith(op, 0, words.code, words.message, words.note);
  if (failures[0])
    failures[0]->ofInput = !anyDeviceRan;
}

void Interpreter::dropFailed(Devices &active) {
  llvm::erase_if(active, [&](unsigned device) { return failures[device].has_value(); });
}

//===-- Sizes --------------------------------------------------------------------------------------------------------//

void Interpreter::bindSymbol(StringRef symbol, unsigned device, int64_t value) {
  SmallVector<int64_t, 1> &slots = symbols[symbol];
  if (slots.size() < deviceCount())
    slots.resize(deviceCount());
  slots[device] = value;
}

std::optional<int64_t> Interpreter::evaluateSize(StringRef polynomial, Operation *op, unsigned device) {
  int64_t literal = 0;
  if (!polynomial.getAsInteger(10, literal))
    return literal;

  auto [entry, isNew] = polynomials.try_emplace(polynomial);
  if (isNew) {
    std::optional<Size> parsed = Size::parse(polynomial);
    if (!parsed) {
      failWith(op, device, "", "malformed size '" + polynomial + "'");
      return std::nullopt;
    }
    entry->second = *parsed;
  }
  const Size &size = entry->second;

  auto lookup = [&](StringRef symbol) -> std::optional<int64_t> {
    if (symbol.consume_front("@")) {
      if (mesh && llvm::is_contained(mesh->axes, symbol))
        return mesh->axisSize(symbol);
      return symbol == "devices" ? std::optional(options.devices) : std::nullopt;
    }
    auto found = symbols.find(symbol);
    if (found == symbols.end() || device >= found->second.size())
      return std::nullopt;
    return found->second[device];
  };
  SizeStatus status = SizeStatus::Ok;
  std::optional<int64_t> value = size.evaluate(lookup, &status);
  if (value)
    return value;
  switch (status) {
  case SizeStatus::NotExact:
  case SizeStatus::DivideByZero: {
    auto [numerator, denominator] = size.asQuotient();
    if (std::optional<int64_t> by = denominator.evaluate(lookup))
      fail(op, device, PMAP_FAIL_INEXACT, numerator.evaluate(lookup).value_or(0), *by);
    else
      fail(op, device, PMAP_FAIL_DIVIDE_BY_ZERO);
    break;
  }
  case SizeStatus::Overflow:
    failWith(op, device, "", "size " + polynomial + " does not fit 64 bits");
    break;
  default:
    failWith(op, device, "", "size " + polynomial + " has a symbol without a value");
    break;
  }
  return std::nullopt;
}

std::optional<SmallVector<int64_t, 4>> Interpreter::shapeOf(Type type, Operation *op, unsigned device) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return SmallVector<int64_t, 4>();
  auto layout = dyn_cast_or_null<LayoutAttr>(tensor.getEncoding());
  SmallVector<int64_t, 4> shape;
  for (int64_t d = 0; d < tensor.getRank(); ++d) {
    if (!tensor.isDynamicDim(d)) {
      shape.push_back(tensor.getDimSize(d));
      continue;
    }
    StringRef polynomial = layout.getSizes()[d].getValue();
    std::optional<int64_t> size = evaluateSize(polynomial, op, device);
    if (!size)
      return std::nullopt;
    // A slice that ends before it begins is told by its bounds.
    if (*size < 0 && !isa<SliceOp>(op)) {
      fail(op, device, PMAP_FAIL_NEGATIVE_SIZE, *size, 0, 0, readableSize(polynomial));
      return std::nullopt;
    }
    shape.push_back(*size);
  }
  return shape;
}

//===-- Blocks and control flow --------------------------------------------------------------------------------------//

void Interpreter::runBlock(Block &block, Devices &active) {
  for (Operation &op : block) {
    if (active.empty())
      return;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return;
    runOp(&op, active);
    dropFailed(active);
  }
}

void Interpreter::runOp(Operation *op, Devices &active) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](scf::IfOp op) { runIf(op, active); })
      .Case([&](scf::ForOp op) { runFor(op, active); })
      .Case([&](scf::WhileOp op) { runWhile(op, active); })
      .Case([&](ForEachOp op) { runForEach(op, active); })
      .Case([&](func::CallOp op) { runCall(op, active); })
      .Case([&](MapOp op) { runMap(op); })
      .Case([&](MoveOp op) { runMove(op); })
      .Case([&](ShardsOp op) { runShards(op); })
      .Case([&](ToShardsOp op) { runToShards(op); })
      .Case([&](AllReduceOp op) { runAllReduce(op, active); })
      .Case([&](AllGatherOp op) { runAllGather(op, active); })
      .Case([&](ReduceScatterOp op) { runReduceScatter(op, active); })
      .Case([&](AllToAllOp op) { runAllToAll(op, active); })
      .Case([&](PermuteOp op) { runPermute(op, active); })
      .Default([&](Operation *op) {
        for (unsigned device : active) {
          SmallVector<NDArray> results;
          runLocal(op, device, results);
          if (failures[device])
            continue;
          for (auto [result, array] : llvm::zip_equal(op->getResults(), results))
            set(result, device, std::move(array));
        }
      });
}

void Interpreter::runIf(scf::IfOp op, Devices &active) {
  Devices taken, other;
  for (unsigned device : active)
    (get(op.getCondition(), device).integer() ? taken : other).push_back(device);

  auto runBranch = [&](Region &region, Devices devices) {
    if (region.empty() || devices.empty())
      return;
    runBlock(region.front(), devices);
    assign(op.getResults(), region.front().getTerminator()->getOperands(), devices);
  };
  runBranch(op.getThenRegion(), taken);
  runBranch(op.getElseRegion(), other);
}

void Interpreter::runFor(scf::ForOp op, Devices &active) {
  Block &body = *op.getBody();
  ValueRange carried = body.getArguments().drop_front();
  assign(carried, op.getInitArgs(), active);
  SmallVector<int64_t> induction(deviceCount());
  for (unsigned device : active)
    induction[device] = getIndex(op.getLowerBound(), device);

  Element element = elementOf(op.getInductionVar().getType());
  while (true) {
    Devices inside;
    for (unsigned device : active)
      if (induction[device] < getIndex(op.getUpperBound(), device))
        inside.push_back(device);
    if (inside.empty())
      break;
    for (unsigned device : inside)
      set(op.getInductionVar(), device, NDArray::ofInteger(element, induction[device]));
    runBlock(body, inside);
    assign(carried, body.getTerminator()->getOperands(), inside);
    for (unsigned device : inside)
      induction[device] += getIndex(op.getStep(), device);
    dropFailed(active);
  }
  assign(op.getResults(), carried, active);
}

void Interpreter::runWhile(scf::WhileOp op, Devices &active) {
  Block &before = *op.getBeforeBody(), &after = *op.getAfterBody();
  assign(before.getArguments(), op.getInits(), active);
  Devices inside = active;
  while (!inside.empty()) {
    runBlock(before, inside);
    scf::ConditionOp condition = op.getConditionOp();
    Devices goingOn, done;
    for (unsigned device : inside)
      (get(condition.getCondition(), device).integer() ? goingOn : done).push_back(device);
    assign(op.getResults(), condition.getArgs(), done);
    assign(after.getArguments(), condition.getArgs(), goingOn);
    runBlock(after, goingOn);
    assign(before.getArguments(), after.getTerminator()->getOperands(), goingOn);
    inside = goingOn;
  }
}

void Interpreter::runForEach(ForEachOp op, Devices &active) {
  Block &body = op.getBody().front();
  // Devices whose bounds agree go through the points together, as a collective in the body would need; others apart.
  SmallVector<std::pair<SmallVector<int64_t>, Devices>> parties;
  for (unsigned device : active) {
    SmallVector<int64_t> bounds;
    for (Value bound : op.getBounds())
      bounds.push_back(std::max<int64_t>(0, getIndex(bound, device)));
    auto *party = llvm::find_if(parties, [&](const auto &candidate) { return candidate.first == bounds; });
    if (party == parties.end())
      parties.push_back({bounds, {device}});
    else
      party->second.push_back(device);
  }

  for (auto &[bounds, devices] : parties) {
    for (Value result : op.getResults())
      for (unsigned device : devices)
        if (auto shape = shapeOf(result.getType(), op, device))
          set(result, device, NDArray(elementOf(result.getType()), *shape));
    dropFailed(devices);
    forEachPosition(bounds, [&](ArrayRef<int64_t> position, int64_t point) {
      if (devices.empty())
        return;
      for (unsigned device : devices)
        for (auto [argument, index] : llvm::zip_equal(body.getArguments(), position))
          set(argument, device, NDArray::ofIndex(index));
      Devices inside = devices;
      runBlock(body, inside);
      for (unsigned device : inside)
        for (auto [result, yielded] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands())) {
          const NDArray &part = get(yielded, device);
          NDArray &whole = values[result][device];
          for (int64_t i = 0; i < part.count(); ++i)
            whole.copyElement(point * part.count() + i, part, i);
        }
      dropFailed(devices);
    });
  }
}

void Interpreter::runCall(func::CallOp op, Devices &active) {
  auto module = op->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (!callee || callee.isExternal()) {
    for (unsigned device : active)
      failWith(op, device, "", "the reference evaluator cannot call '" + op.getCallee() + "'");
    return;
  }
  Block &body = callee.getBody().front();
  assign(body.getArguments(), op.getOperands(), active);
  runBlock(body, active);
  assign(op.getResults(), body.getTerminator()->getOperands(), active);
}

//===-- Entry --------------------------------------------------------------------------------------------------------//

LogicalResult Interpreter::run(func::FuncOp entry, ArrayRef<NDArray> inputs, SmallVectorImpl<NDArray> &results,
                               Failure &failure) {
  Block &body = entry.getBody().front();
  assert(body.getNumArguments() == inputs.size() && "one input per argument");
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    set(argument, 0, input);
  if (auto sizes = entry->getAttrOfType<ArrayAttr>("pmap.sizes"))
    for (auto [symbol, input] : llvm::zip(sizes.getAsRange<StringAttr>(), inputs))
      bindSymbol(symbol.getValue(), 0, input.integer());

  Devices host = {0};
  runBlock(body, host);
  if (failures[0]) {
    failure = *failures[0];
    return llvm::failure();
  }
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(isa<DistType>(result.getType()) ? gathered(result, body.getTerminator()) : get(result, 0));
  if (failures[0]) {
    failure = *failures[0];
    return llvm::failure();
  }
  return success();
}

LogicalResult evaluate(func::FuncOp entry, ArrayRef<NDArray> inputs, const EvaluateOptions &options,
                       SmallVectorImpl<NDArray> &results, Failure &failure) {
  return Interpreter(options).run(entry, inputs, results, failure);
}

} // namespace pmap::evaluate
