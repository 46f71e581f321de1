// The elaborator's ground: places, blocks, trials, and how values look from inside regions.
#include "compiler/Sema/Elaborator.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Modules.h"

using namespace llvm;

namespace pmap::sema {

Elaborator::Elaborator(mlir::MLIRContext &context, SourceManager &sources, DiagnosticEngine &diagnostics,
                       const SemaOptions &options)
    : builder(&context), context(context), sources(sources), options(options), diagnostics(diagnostics) {}

Elaborator::~Elaborator() = default;

mlir::Location Elaborator::loc(SourceRange range) {
  if (!range.isValid())
    return mlir::UnknownLoc::get(&context);
  LineColumn at = range.file->lineColumn(range.begin);
  mlir::Location location = mlir::FileLineColLoc::get(&context, range.file->path(), at.line, at.column);
  // Of several expressions that begin at one place the largest is remembered: `f(x)`, not `f`.
  SourceRange &known = rangesOfLocations[location];
  if (!known.isValid() || known.size() < range.size())
    known = range;
  return location;
}

void Elaborator::inBlock(mlir::Block *block, function_ref<void()> body) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(block);
  // What is learnt in a block holds where the block runs.
  size_t known = facts.size();
  body();
  facts.truncate(known);
}

mlir::Operation *Elaborator::scratch(SourceRange range) {
  // A container whose regions move into the final operation once its types are known. Until then it keeps the chain of
  // parents whole, so that "is this value from outside" has an answer.
  mlir::OperationState state(loc(range), mlir::scf::IfOp::getOperationName());
  state.addOperands(mlir::Value(mlir::arith::ConstantOp::create(builder, loc(range), builder.getBoolAttr(true))));
  state.addRegion();
  state.addRegion();
  return builder.create(state);
}

void Elaborator::eraseScratch(mlir::Operation *op) {
  mlir::Operation *condition = op->getOperand(0).getDefiningOp();
  op->erase();
  condition->erase();
}

bool Elaborator::dryRun(function_ref<void()> body) {
  DiagnosticTrial trial(diagnostics);
  Scope savedScope = scope;
  Store savedStore = store;
  mlir::Operation *container = scratch(SourceRange());
  mlir::Block &block = container->getRegion(0).emplaceBlock();
  inBlock(&block, body);
  bool ok = !trial.hasErrors();
  block.dropAllReferences();
  eraseScratch(container);
  scope = savedScope;
  store = savedStore;
  return ok;
}

Value Elaborator::mapLeavesOf(const Value &value, function_ref<Value(const Value &)> map) {
  if (const auto *tuple = value.as<TupleValue>()) {
    SmallVector<Value, 4> elements;
    bool changed = false;
    for (const Value &element : tuple->elements) {
      elements.push_back(mapLeavesOf(element, map));
      changed |= !elements.back().sameAs(element);
    }
    return changed ? Value::record(std::move(elements), tuple->names, value.range(), tuple->typeName) : value;
  }
  if (const auto *list = value.as<ListValue>()) {
    SmallVector<Value, 4> elements;
    bool changed = false;
    for (const Value &element : list->elements) {
      elements.push_back(mapLeavesOf(element, map));
      changed |= !elements.back().sameAs(element);
    }
    return changed ? Value::list(std::move(elements), value.range()) : value;
  }
  if (const auto *range = value.as<RangeValue>()) {
    Value low = mapLeavesOf(range->low, map), high = mapLeavesOf(range->high, map);
    return low.sameAs(range->low) && high.sameAs(range->high) ? value : Value::rangeOf(low, high, value.range());
  }
  return map(value);
}

Value Elaborator::seenFromHere(const Value &value, bool fromOutside) {
  if (isolations.empty() && varyingRegions.empty())
    return value;
  return mapLeavesOf(value, [&](const Value &leaf) -> Value {
    if (const auto *size = leaf.as<SizeValue>()) {
      if (isolations.empty())
        return leaf;
      bool isOutside = any_of(size->polynomial.symbols(), [&](const std::string &name) {
        const SizeSymbol *symbol = findSymbol(name);
        // The devices at run time have no symbol; of an open mesh they are what they are outside.
        return symbol ? symbol->isolation < isolations.size() : name == "@devices";
      });
      return isOutside ? Value::size(isolations.back().captureSize(size->polynomial, fromOutside), leaf.range()) : leaf;
    }
    const auto *array = leaf.as<ArrayValue>();
    if (!array)
      return leaf;
    mlir::Value ssa = array->ssa;
    mlir::Region *home = ssa.getParentRegion();
    Value here = leaf;
    if (!isolations.empty() && !isolations.back().region->isAncestor(home)) {
      here = isolations.back().captureArray(leaf);
      array = here.as<ArrayValue>();
      if (!array)
        return here;
      ssa = array->ssa;
      home = ssa.getParentRegion();
    }
    VarySet vary;
    for (const VaryingRegion &region : varyingRegions)
      if (!region.region->isAncestor(home))
        vary = unionOf(vary, region.vary);
    if (isa<DistType>(array->ssa.getType()) || isSubset(vary, varyOf(array->ssa)))
      return here;
    return Value::array(widen(array->ssa, vary), array->dtype, here.range(), array->weak);
  });
}

bool Elaborator::collectiveAllowed(ArrayRef<std::string> axes, SourceRange range, StringRef name) {
  for (const VaryingRegion &region : varyingRegions)
    for (const std::string &axis : axes) {
      if (!contains(region.vary, axis))
        continue;
      bool isRows = any_of(meshes, [&](const MeshContext &mesh) { return mesh.isVmap && mesh.axes.front() == axis; });
      Report report =
          error(Code::E0706, range,
                "'" + name + "' over \"" + axis + "\" where " + (isRows ? "rows" : "devices") + " along \"" + axis +
                    "\" may disagree whether to run it: all of them must reach a collective");
      report.note(region.range, region.what + " varies over \"" + axis + "\"");
      if (region.cause)
        noteVariance(report, region.cause, axis);
      report.note({},
                  "run '" + name +
                      "' before it, for all, and use its result inside; or make it the same for all, as in pmax(…, \"" +
                      axis + "\")");
      return false;
    }
  return true;
}

} // namespace pmap::sema
