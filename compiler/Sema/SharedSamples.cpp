// P9: a replicated key gives every device, and every row of a vmap, the same numbers. Where such a sample meets data
// that varies that is hardly ever meant.
//
// Module random marks the ops that make samples, and `replicated(key)` marks keys that are the same everywhere on
// purpose. A widening (V2) is where a value that is the same everywhere meets one that is not; what it widens is
// followed back to a sample.

#include "compiler/Sema/SharedSamples.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Builtins.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <set>

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

constexpr StringRef kSample = "pmap.sample", kReplicated = "pmap.replicated";

//===--- The marks --------------------------------------------------------------------------------------------===//

/// sampled(x): marks the op that makes a sample, and remembers the call that wanted it.
Value sampled(CallContext &c) {
  const auto *array = c["x"].as<ArrayValue>();
  mlir::Operation *op = array ? array->ssa.getDefiningOp() : nullptr;
  SourceRange call = c.e.callOfUser();
  if (op && call.isValid())
    op->setAttr(kSample, mlir::LocationAttr(c.e.loc(call)));
  return c["x"];
}

/// replicated(key): the same key, and the same numbers everywhere are meant.
Value replicated(CallContext &c) {
  if (!c["key"] || c["key"].isError())
    return Value::error();
  Operand key = Arguments(c).array("key");
  if (!key)
    return Value::error();
  if (key.dtype != DType::Key)
    return Arguments(c).badDType(key, "random keys");
  auto op = StopGradientOp::create(c.e.builder, c.e.loc(c.range), key.ssa.getType(), key.ssa);
  op->setAttr(kReplicated, c.e.builder.getUnitAttr());
  return Value::array(op, DType::Key, c.range);
}

//===--- Following values -------------------------------------------------------------------------------------===//

bool variesOver(mlir::Value value, StringRef axis) {
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && contains(pmap::varyOf(type), axis);
}

/// The values that a value was computed from.
void addSources(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &sources) {
  if (mlir::Operation *op = value.getDefiningOp()) {
    llvm::append_range(sources, op->getOperands());
    for (mlir::Region &region : op->getRegions())
      if (!region.empty())
        llvm::append_range(sources, region.back().getTerminator()->getOperands());
    return;
  }
  auto argument = mlir::cast<mlir::BlockArgument>(value);
  mlir::Operation *parent = argument.getOwner()->getParentOp();
  // What a loop carries comes from any of its operands; an argument of a pmap, a vmap or a derivative is the operand at
  // the same place. An argument of a function is an input.
  if (mlir::isa<mlir::LoopLikeOpInterface>(parent))
    llvm::append_range(sources, parent->getOperands());
  else if (argument.getArgNumber() < parent->getNumOperands())
    sources.push_back(parent->getOperand(argument.getArgNumber()));
}

/// Looks for an op that has an attribute among those that made `value` and are the same along `axis`.
mlir::Operation *findMarked(mlir::Value value, StringRef attribute, StringRef axis) {
  SmallVector<mlir::Value, 16> open = {value};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (!seen.insert(next).second || variesOver(next, axis))
      continue;
    mlir::Operation *op = next.getDefiningOp();
    if (op && op->hasAttr(attribute))
      return op;
    addSources(next, open);
  }
  return nullptr;
}

/// Whether a value is there to vary: not one that was only widened to fit, as constants are.
bool isVaryingData(mlir::Value value, StringRef axis) {
  while (true) {
    if (!variesOver(value, axis))
      return false;
    mlir::Operation *op = value.getDefiningOp();
    if (!op || !mlir::isa<WidenOp, BroadcastOp, ReshapeOp>(op))
      return true;
    value = op->getOperand(0);
  }
}

/// What an operand of an op with regions is inside of them; null when it is nothing there.
mlir::Value insideOf(mlir::OpOperand &use) {
  mlir::Operation *owner = use.getOwner();
  if (auto loop = mlir::dyn_cast<mlir::LoopLikeOpInterface>(owner))
    return loop.getTiedLoopRegionIterArg(&use);
  if (owner->getNumRegions() != 1 || owner->getRegion(0).empty() ||
      use.getOperandNumber() >= owner->getRegion(0).getNumArguments())
    return nullptr;
  return owner->getRegion(0).getArgument(use.getOperandNumber());
}

/// The op in which a widened value meets data that varies over `axis`; null when there is none.
mlir::Operation *meeting(mlir::Value widened, StringRef axis) {
  SmallVector<mlir::Value, 8> open = {widened};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (mlir::OpOperand &use : next.getUses()) {
      mlir::Operation *user = use.getOwner();
      if (mlir::isa<CollectiveOp>(user) || user->hasTrait<mlir::OpTrait::IsTerminator>())
        continue;
      bool meets = llvm::any_of(user->getOperands(),
                                [&](mlir::Value other) { return other != next && isVaryingData(other, axis); });
      if (meets)
        return user;
      if (mlir::Value inside = insideOf(use))
        open.push_back(inside);
      llvm::append_range(open, user->getResults());
    }
  }
  return nullptr;
}

/// The pmap or vmap around `op` that brings `axis`.
mlir::Operation *bringerOf(mlir::Operation *op, mlir::StringAttr axis) {
  for (mlir::Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    auto map = mlir::dyn_cast<MapOp>(parent);
    auto vmap = mlir::dyn_cast<VmapOp>(parent);
    if ((map && llvm::is_contained(map.getMesh().getAxes(), axis)) || (vmap && vmap.getAxisAttr() == axis))
      return parent;
  }
  return nullptr;
}

//===--- The warning ------------------------------------------------------------------------------------------===//

/// The first argument in the text of a call, `key` in `random.normal(key, [n])`; invalid where the text does not tell.
SourceRange firstArgument(SourceRange call) {
  StringRef text = call.text();
  size_t start = text.find('(');
  bool isPiped = SourceRange(call.file, 0, call.begin).text().rtrim().ends_with("|>");
  if (start == StringRef::npos || isPiped)
    return {};
  ++start;
  int depth = 0;
  for (size_t at = start; at < text.size(); ++at) {
    char c = text[at];
    if (depth == 0 && (c == ',' || c == ')')) {
      StringRef argument = text.slice(start, at);
      size_t blank = argument.size() - argument.ltrim().size();
      if (argument.trim().empty() || argument.contains(':') || argument.contains('"'))
        return {};
      uint32_t begin = call.begin + uint32_t(start + blank);
      return {call.file, begin, begin + uint32_t(argument.trim().size())};
    }
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
  }
  return {};
}

void warn(Elaborator &e, SourceRange call, SourceRange met, const std::string &axis) {
  // An axis that has a dot in its name is that of a vmap without `axis:`, which a program cannot name.
  bool isUnnamed = StringRef(axis).contains('.');
  Report report =
      e.warning(Code::E0722, call,
                isUnnamed ? std::string("this sample is the same in all rows of a vmap, and meets data that "
                                        "differs: expected a key for each row, got a replicated one")
                          : "this sample is the same everywhere along \"" + axis +
                                "\", and meets data that differs: expected a key for each device or row, got "
                                "a replicated one");
  if (met.isValid() && met != call)
    report.note(met, "the data is met here");
  SourceRange key = firstArgument(call);
  if (isUnnamed)
    report.note({},
                "map over an array of keys, `random.split(key, n)`, or give the vmap an `axis:` and fold its index in");
  else if (key.isValid())
    report.fix(key, "random.fold_in(" + key.text() + ", axis_index(\"" + axis + "\"))");
  else
    report.note({}, "`random.fold_in(key, axis_index(\"" + axis + "\"))` is a key of its own for each");
  report.note({}, "`replicated(key)` says that the same numbers are meant");
}

} // namespace

void sema::warnOfSharedSamples(Elaborator &e, mlir::ModuleOp module) {
  std::set<std::pair<uint32_t, std::string>> told;
  bool anySample = false;
  module.walk([&](mlir::Operation *op) { anySample |= op->hasAttr(kSample); });
  if (anySample)
    module.walk([&](WidenOp op) {
      for (mlir::StringAttr axis : pmap::varyOf(op.getType())) {
        if (variesOver(op.getInput(), axis))
          continue;
        mlir::Operation *sample = findMarked(op.getInput(), kSample, axis);
        // One that was drawn outside is a value that all share, as initial weights are.
        mlir::Operation *bringer = bringerOf(op, axis);
        if (!sample || !bringer || !bringer->isProperAncestor(sample))
          continue;
        mlir::Operation *met = meeting(op, axis);
        if (!met || llvm::any_of(sample->getOperands(), [&](mlir::Value operand) {
              return findMarked(operand, kReplicated, axis) != nullptr;
            }))
          continue;
        SourceRange call = e.rangeOf(mlir::cast<mlir::LocationAttr>(sample->getAttr(kSample)));
        if (call.isValid() && told.insert({call.begin, axis.str()}).second)
          warn(e, call, e.rangeOf(met->getLoc()), axis.str());
      }
    });
  module.walk([](mlir::Operation *op) {
    op->removeAttr(kSample);
    op->removeAttr(kReplicated);
  });
}

void sema::registerSampleBuiltins(BuiltinTable &table) {
  table.add("sampled", "x", sampled);
  table.add("replicated", "key", replicated);
}
