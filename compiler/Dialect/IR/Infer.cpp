#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pmap;

RankedTensorType pmap::inferReduce(RankedTensorType input, ArrayRef<int64_t> dims) {
  SmallVector<Size> sizes;
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      sizes.push_back(sizeOf(input, dim));
  return withSizes(input, sizes);
}

RankedTensorType pmap::inferArgReduce(RankedTensorType input, int64_t dim) {
  return withElementType(inferReduce(input, dim), IntegerType::get(input.getContext(), 32));
}

RankedTensorType pmap::inferDot(RankedTensorType lhs, RankedTensorType rhs, ArrayRef<int64_t> lhsBatch,
                                ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsContract,
                                ArrayRef<int64_t> rhsContract) {
  SmallVector<Size> sizes;
  for (int64_t dim : lhsBatch)
    sizes.push_back(sizeOf(lhs, dim));
  auto appendRest = [&](RankedTensorType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        sizes.push_back(sizeOf(type, dim));
  };
  appendRest(lhs, lhsBatch, lhsContract);
  appendRest(rhs, rhsBatch, rhsContract);
  return withSizes(lhs, sizes);
}

RankedTensorType pmap::inferTranspose(RankedTensorType input, ArrayRef<int64_t> perm) {
  SmallVector<Size> sizes;
  for (int64_t dim : perm)
    sizes.push_back(sizeOf(input, dim));
  return withSizes(input, sizes);
}

RankedTensorType pmap::inferConcat(ArrayRef<RankedTensorType> inputs, int64_t dim) {
  SmallVector<Size> sizes = sizesOf(inputs.front());
  for (RankedTensorType input : inputs.drop_front())
    sizes[dim] += sizeOf(input, dim);
  return withSizes(inputs.front(), sizes);
}

RankedTensorType pmap::inferPad(RankedTensorType input, ArrayRef<Size> low, ArrayRef<Size> high) {
  SmallVector<Size> sizes = sizesOf(input);
  for (auto [size, before, after] : llvm::zip_equal(sizes, low, high))
    size = before + size + after;
  return withSizes(input, sizes);
}

RankedTensorType pmap::inferGather(RankedTensorType input, RankedTensorType indices, int64_t dim) {
  SmallVector<Size> sizes = sizesOf(input);
  SmallVector<Size> inserted = sizesOf(indices);
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, inserted.begin(), inserted.end());
  return withSizes(input, sizes);
}

RankedTensorType pmap::inferAllReduce(RankedTensorType input, ArrayRef<StringAttr> axes, bool grouped) {
  return withVary(input, grouped ? unionOf(varyOf(input), axes) : differenceOf(varyOf(input), axes));
}

Size pmap::axisSizeIn(Block *block, StringRef axis) {
  Size open = Size::axis(axis);
  for (Operation *op = block ? block->getParentOp() : nullptr; op; op = op->getParentOp()) {
    if (auto vmap = dyn_cast<VmapOp>(op); vmap && vmap.getAxis() == axis)
      return Size::parse(vmap.getSize()).value_or(open);
    // A map is isolated: the rows of a vmap around it have no size that is known in there.
    if (auto map = dyn_cast<MapOp>(op)) {
      for (auto [name, size] : llvm::zip_equal(map.getMesh().getAxes(), map.getMesh().getSizes()))
        if (name.getValue() == axis && size > 0)
          return Size(size);
      return open;
    }
  }
  return open;
}

Size pmap::devicesAlong(Block *block, ArrayRef<StringAttr> axes) {
  Size devices(1);
  for (StringAttr axis : axes)
    devices *= axisSizeIn(block, axis.getValue());
  return devices;
}

Size pmap::participantsOf(Block *block, ArrayRef<StringAttr> axes, ArrayAttr groups) {
  if (groups)
    return Size(groups.empty() ? 0 : cast<DenseI64ArrayAttr>(groups[0]).size());
  return devicesAlong(block, axes);
}

RankedTensorType pmap::withKnownAxes(Block *block, RankedTensorType type) {
  SmallVector<Size> sizes = sizesOf(type);
  for (Size &size : sizes)
    size = size.substitute([&](StringRef symbol) -> std::optional<Size> {
      return symbol.consume_front("@") ? std::optional(axisSizeIn(block, symbol)) : std::nullopt;
    });
  return withSizes(type, sizes);
}

RankedTensorType pmap::inferAllGather(RankedTensorType input, ArrayRef<StringAttr> axes, int64_t dim, bool tiled,
                                      const Size &devices, bool grouped) {
  SmallVector<Size> sizes = sizesOf(input);
  if (tiled)
    sizes[dim] *= devices;
  else
    sizes.insert(sizes.begin() + dim, devices);
  Axes over = sorted(axes);
  return makeTensorType(input.getElementType(), sizes,
                        grouped ? unionOf(varyOf(input), over) : differenceOf(varyOf(input), over));
}
