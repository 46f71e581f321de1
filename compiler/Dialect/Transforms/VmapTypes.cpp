// Types of the body of a `pmap.vmap`: for one row, and for all.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

RankedTensorType tensorOf(Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    return dist.getTensor();
  return dyn_cast<RankedTensorType>(type);
}

std::string nameOfSize(const Batch &batch) { return "@" + batch.axis.str(); }

Type replaceSize(const Batch &batch, Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    return DistType::get(type.getContext(), batch.rowType(dist.getTensor()), dist.getSpec(), dist.getMesh());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return batch.rowType(tensor);
  return type;
}

StringAttr replaceSize(const Batch &batch, StringAttr text) {
  std::optional<Size> size = Size::parse(text.getValue());
  if (!size || !size->mentions(nameOfSize(batch)))
    return text;
  return StringAttr::get(text.getContext(), size->substitute(nameOfSize(batch), batch.size).str());
}

ArrayAttr replaceSizes(const Batch &batch, ArrayAttr texts) {
  SmallVector<Attribute> replaced;
  for (StringAttr text : texts.getAsRange<StringAttr>())
    replaced.push_back(replaceSize(batch, text));
  return ArrayAttr::get(texts.getContext(), replaced);
}

// The elements are the same; only the type is another.
void retypeConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || elements.getType() == op.getType())
    return;
  auto type = cast<RankedTensorType>(op.getType());
  op.setValueAttr(elements.isSplat() ? elements.resizeSplat(type)
                                     : DenseElementsAttr::getFromRawBuffer(type, elements.getRawData()));
}

void replaceTypes(Operation *root, const Batch &batch, llvm::function_ref<Type(Type)> replaced) {
  SmallVector<AxisSizeOp> axisSizes;
  root->walk([&](Operation *op) {
    for (Value result : op->getResults())
      result.setType(replaced(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(replaced(argument.getType()));
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      retypeConstant(constant);
    else if (auto size = dyn_cast<SizeOp>(op))
      size.setSizeAttr(replaceSize(batch, size.getSizeAttr()));
    else if (auto pad = dyn_cast<PadOp>(op)) {
      pad.setLowAttr(replaceSizes(batch, pad.getLow()));
      pad.setHighAttr(replaceSizes(batch, pad.getHigh()));
    } else if (auto axisSize = dyn_cast<AxisSizeOp>(op); axisSize && axisSize.getAxisAttr() == batch.axis) {
      axisSizes.push_back(axisSize);
    }
  });
  for (AxisSizeOp op : axisSizes) {
    OpBuilder builder(op);
    Value size = indexOf(builder, op.getLoc(), batch.size);
    op.replaceAllUsesWith(size);
    if (op != root)
      op.erase();
  }
}

} // namespace

bool VmapScope::varies(Value value) const {
  if (tensorOf(value.getType()))
    return llvm::is_contained(varyOf(tensorOf(value.getType())), axis);
  return (value.getType().isIndex() || value.getType().isInteger(1)) && llvm::is_contained(variance.of(value), axis);
}

bool VmapScope::hasVaryingSizes(Type type) const {
  RankedTensorType tensor = tensorOf(type);
  return tensor && !tensor.hasStaticShape() &&
         llvm::any_of(sizesOf(tensor), [&](const Size &size) { return llvm::is_contained(variance.of(size), axis); });
}

Type pmap::rowTypeOf(const Batch &batch, Type type) {
  type = replaceSize(batch, type);
  if (auto dist = dyn_cast<DistType>(type)) {
    RankedTensorType tensor = dist.getTensor();
    return DistType::get(type.getContext(), withVary(tensor, differenceOf(varyOf(tensor), batch.axis)), dist.getSpec(),
                         dist.getMesh());
  }
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return withVary(tensor, differenceOf(varyOf(tensor), batch.axis));
  return type;
}

Type pmap::outerTypeOf(const Batch &batch, Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return batch.outerType(tensor);
  auto dist = dyn_cast<DistType>(type);
  if (!dist)
    return type;
  SmallVector<ArrayAttr> dims(dist.getSpec().getDims());
  if (batch.varies(dist.getTensor()))
    dims.insert(dims.begin(), ArrayAttr::get(type.getContext(), {}));
  return DistType::get(type.getContext(), batch.outerType(dist.getTensor()), SpecAttr::get(type.getContext(), dims),
                       dist.getMesh());
}

void pmap::visitSizes(Operation *root, llvm::function_ref<void(const Size &)> visit) {
  root->walk([&](Operation *op) {
    if (auto size = dyn_cast<SizeOp>(op))
      visit(*Size::parse(size.getSize()));
    for (Type type : op->getResultTypes())
      if (RankedTensorType tensor = tensorOf(type); tensor && !tensor.hasStaticShape())
        for (const Size &size : sizesOf(tensor))
          visit(size);
  });
}

void pmap::eraseAxis(Operation *root, const Batch &batch) {
  replaceTypes(root, batch, [&](Type type) { return rowTypeOf(batch, type); });
}

void pmap::replaceAxisSize(Operation *root, const Batch &batch) {
  replaceTypes(root, batch, [&](Type type) { return replaceSize(batch, type); });
}

llvm::DenseMap<Operation *, Size> pmap::passSizeToMaps(VmapOp op, SymbolNames &names) {
  llvm::DenseMap<Operation *, Size> sizes;
  Size rows = *Size::parse(op.getSize());
  SmallVector<MapOp> maps;
  op.walk([&](MapOp map) { maps.push_back(map); });
  for (MapOp map : maps) {
    Size inside = rows;
    if (!rows.isConstant()) {
      OpBuilder builder(map);
      StringAttr symbol = builder.getStringAttr(names.fresh("rows"));
      Value value = SizeOp::create(builder, map.getLoc(), builder.getIndexType(), "@" + op.getAxis().str());
      SmallVector<Attribute> arguments(map.getSizeArgs().begin(), map.getSizeArgs().end());
      arguments.push_back(SizeArgAttr::get(builder.getContext(), symbol, {}, /*ragged=*/false,
                                           builder.getStringAttr("the rows of a vmap")));
      map.getBody().insertArgument(map.getSizes().size(), builder.getIndexType(), map.getLoc());
      map.getSizesMutable().append(value);
      map.setSizeArgsAttr(builder.getArrayAttr(arguments));
      inside = Size::symbol(symbol.getValue());
    }
    for (Operation &nested : map.getBody().front())
      replaceAxisSize(&nested, Batch{op.getAxisAttr(), inside});
    for (BlockArgument argument : map.getBlocks())
      argument.setType(replaceSize(Batch{op.getAxisAttr(), inside}, argument.getType()));
    sizes[map] = inside;
  }
  return sizes;
}
