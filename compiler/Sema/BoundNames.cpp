#include "compiler/Sema/BoundNames.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace llvm;

namespace pmap::sema {

static BoundName::Leaf describe(Elaborator &e, StringRef name, const Value &leaf) {
  const auto *array = leaf.as<ArrayValue>();
  BoundName::Leaf described;
  described.name = name.str();
  described.dtype = dtypeName(e.dtypeOf(leaf).value_or(e.defaultDType(leaf)));
  described.shown = e.render(leaf);
  llvm::append_range(described.sizes, e.sizesOf(array->ssa));
  described.onDevices = e.isDistributed(leaf);
  if (!described.onDevices)
    for (mlir::StringAttr axis : e.varyOf(array->ssa))
      described.vary.push_back(axis.str());
  return described;
}

void tellBound(Elaborator &e, StringRef name, const Value &value, SourceRange range) {
  if (!e.options.onBind || !value || value.isError() || !range.isValid())
    return;
  BoundName bound;
  bound.range = range;
  bound.name = name.str();
  SmallVector<Value> leaves;
  SmallVector<std::string> names;
  e.flatten(value, leaves);
  e.leafNames(value, "", names);
  for (auto [leaf, leafName] : zip(leaves, names))
    if (leaf.is(ValueKind::Array))
      bound.leaves.push_back(describe(e, leafName, leaf));
  if (bound.leaves.empty())
    return;
  for (const CallFrame &frame : e.calls)
    bound.calls.push_back({frame.name, frame.callRange});
  for (const MeshContext &mesh : e.meshes)
    bound.axes.insert(bound.axes.end(), mesh.axes.begin(), mesh.axes.end());
  bound.axesUnknown = any_of(e.meshes, [](const MeshContext &mesh) { return mesh.open; });
  if (mlir::Block *block = e.builder.getInsertionBlock())
    if (mlir::Operation *parent = block->getParentOp())
      bound.entry = isa<mlir::func::FuncOp>(parent) ? parent : parent->getParentOfType<mlir::func::FuncOp>();
  e.options.onBind(std::move(bound));
}

} // namespace pmap::sema
