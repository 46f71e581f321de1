// Leaving a pmap: results are checked against `out:`, and their blocks make up a whole (P4, V7).

#include "compiler/Sema/ParallelMap.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===--- Leaving ----------------------------------------------------------------------------------------------===//

/// A size that the body made of an integer argument (`x[:k]`) is made of the same integer outside. False when a size
/// came about in another way, and is known only inside.
bool MapBuilder::bindOutside(const std::string &name) {
  const SizeSymbol *inner = e.findSymbol(name);
  auto binding = inner && inner->ssa ? inner->ssa.getDefiningOp<BindSizeOp>() : BindSizeOp();
  auto index = binding ? binding.getValue().getDefiningOp<ToIndexOp>() : ToIndexOp();
  auto argument = index ? mlir::dyn_cast<mlir::BlockArgument>(index.getInput()) : mlir::BlockArgument();
  if (!argument || argument.getOwner() != body || argument.getArgNumber() < sizeOperands.size())
    return false;
  auto move = inputs[argument.getArgNumber() - sizeOperands.size()].getDefiningOp<MoveOp>();
  if (!move || !mlir::isa<mlir::RankedTensorType>(move.getInput().getType()))
    return false;
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  Size size = sizeOfInteger(e, move.getInput(), index.getIsUnsigned(), inner->shown, inner->birth, inner->birthText);
  // A new symbol is one of the outside, though it is made while the body is being built.
  SizeSymbol *outer = e.findSymbol(*size.asSymbol());
  outer->isolation = std::min(outer->isolation, inner->isolation - 1);
  locals[name] = {size, {}, false};
  return true;
}

/// The size of the whole along a dimension whose blocks have size `local`, split over `axes`; nothing when it cannot be
/// told outside.
std::optional<Size> MapBuilder::globalSize(const Size &local, const AxisNames &axes) {
  std::string ragged;
  for (const std::string &name : local.symbols()) {
    auto known = locals.find(name);
    if (known == locals.end()) {
      if (!StringRef(name).starts_with("@") && !bindOutside(name))
        return std::nullopt;
      continue;
    }
    if (known->second.ragged) {
      if (!ragged.empty() && ragged != name)
        return std::nullopt;
      ragged = name;
    }
  }
  auto outside = [&](const Size &size) {
    return size.substitute([&](StringRef name) -> std::optional<Size> {
      if (name.consume_front("@"))
        return mesh.has(name) ? mesh.outerSize(name) : std::optional<Size>();
      const LocalSize &known = locals.at(name.str());
      return Size::exactQuotient(known.global, mesh.outerProduct(known.axes));
    });
  };
  Size devices = mesh.outerProduct(axes);
  if (ragged.empty())
    return outside(local) * devices;
  // Sizes that vary add up to the whole where they are linear in the one that varies.
  auto linear = local.linearIn(ragged);
  if (!linear || locals.at(ragged).axes != axes)
    return std::nullopt;
  return outside(linear->first) * locals.at(ragged).global + outside(linear->second) * devices;
}

static std::string quotedAxes(ArrayRef<mlir::StringAttr> axes) {
  std::string text;
  for (mlir::StringAttr axis : axes)
    text += (text.empty() ? "\"" : ", \"") + axis.str() + "\"";
  return text;
}

/// The axes of the vmaps around the pmap, over which values vary outside of it as well.
VarySet MapBuilder::vmappedAxes() {
  VarySet axes;
  for (const MeshContext &outer : e.meshes)
    if (outer.isVmap)
      axes = unionOf(axes, sorted(axisAttributes(context(), outer.axes)));
  return axes;
}

/// P4 and V7: how a result leaves, given what `out:` says for it.
std::optional<Spec> MapBuilder::resultSpec(const Value &spec, mlir::Value array, const std::string &subject) {
  SmallVector<Size, 4> sizes = e.sizesOf(array);
  VarySet vary = e.varyOf(array);
  for (const Size &size : sizes)
    vary = unionOf(vary, e.varyOf(size));
  vary = differenceOf(vary, vmappedAxes());
  int64_t rank = int64_t(sizes.size());
  if (!spec) {
    if (vary.empty()) {
      Report report =
          e.error(Code::E0708, request.range,
                  subject + " is the same on every device: expected `out: _` (one copy) or `out: 0` (one per "
                            "device), got no `out:`");
      if (request.range.isValid() && request.range.size() > 0)
        report.fix({request.range.file, request.range.end - 1, request.range.end - 1}, ", out: _");
      return report;
    }
    Spec how = Spec::replicated(std::max<int64_t>(rank, 1));
    how.dims[0] = mesh.axes;
    return how;
  }
  auto how = readSpec(e, mesh, spec, std::max<int64_t>(rank, spec.is(ValueKind::Hole) ? 0 : 1), subject);
  if (!how)
    return std::nullopt;
  VarySet missing = differenceOf(vary, how->vary(context()));
  if (missing.empty())
    return how;
  std::string axis = missing.front().str();
  std::string message = how->isReplicated()
                            ? "`out: _` needs a result that is the same on every device, but " + subject +
                                  " varies over " + quotedAxes(missing)
                            : subject + " varies over " + quotedAxes(missing) + ", which its `out:` does not split";
  Report report = e.error(Code::E0707, spec.range(), message);
  e.noteVariance(report, array, axis);
  report.note({}, "combine it, as in psum(…, \"" + axis + "\") or all_gather(…, \"" + axis + "\")");
  report.note({}, "or keep each device's own: `out: 0`");
  report.note({}, "or, if the values are known to be equal, have that checked: assert_same(…, \"" + axis + "\")");
  return report;
}

bool MapBuilder::leaveLeaf(const Value &leaf, const Value &spec, const std::string &name) {
  std::string subject = name.empty() ? "the result" : "the result '" + name + "'";
  if (leaf.isError())
    return false;
  if (!e.isArrayLike(leaf)) {
    e.error(Code::E0719, request.range, "the function of a pmap returns arrays, got " + describeKind(leaf));
    return false;
  }
  Value array = e.materialize(leaf);
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return false;
  mlir::Value ssa = data->ssa;
  auto how = resultSpec(spec, ssa, subject);
  if (!how)
    return false;
  SmallVector<Size, 4> sizes = e.sizesOf(ssa);
  if (sizes.empty() && !how->dims.empty()) {
    // A scalar per device: blocks of size 1 that stack up (P4).
    sizes = {Size(1)};
    ssa = Emit(e, range).reshape(ssa, sizes);
  }
  SmallVector<Size, 4> global;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    auto whole = globalSize(size, how->dims[dim]);
    if (!whole) {
      Report report = e.error(Code::E0716, spec ? spec.range() : request.range,
                              subject + ", dimension " + std::to_string(dim) +
                                  ": the size of the whole cannot be told from "
                                  "the blocks' size " +
                                  e.render(size));
      e.noteBirths(report, size);
      return false;
    }
    global.push_back(*whole);
  }
  yielded.push_back(ssa);
  resultDTypes.push_back(data->dtype);
  VarySet rows = e.varyOf(ssa), here = differenceOf(rows, vmappedAxes());
  resultTypes.push_back(DistType::get(context(), e.tensorType(data->dtype, global, differenceOf(rows, here)),
                                      how->attribute(context()), mesh.attribute(context())));
  return true;
}

bool MapBuilder::leave(const Value &result) {
  if (result.isError())
    return false;
  SmallVector<Value, 8> leaves, specs;
  SmallVector<std::string, 8> names;
  e.flatten(result, leaves);
  e.leafNames(result, "", names);
  if (!spreadSpecs(e, result, request.out, specs, "the result"))
    return false;
  bool good = true;
  for (size_t i = 0; i < leaves.size(); ++i)
    good &= leaveLeaf(leaves[i], specs[i], names[i]);
  return good;
}
