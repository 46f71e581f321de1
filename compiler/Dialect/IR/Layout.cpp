#include "compiler/Dialect/IR/Layout.h"
#include "compiler/Dialect/IR/PmapDialect.h"

using namespace mlir;
using namespace pmap;

namespace {

bool byName(StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); }

LayoutAttr layoutOf(RankedTensorType type) { return dyn_cast_or_null<LayoutAttr>(type.getEncoding()); }

RankedTensorType tensorOf(Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    return dist.getTensor();
  return cast<RankedTensorType>(type);
}

} // namespace

Axes pmap::sorted(ArrayRef<StringAttr> axes) {
  Axes result(axes);
  llvm::sort(result, byName);
  result.erase(llvm::unique(result), result.end());
  return result;
}

Axes pmap::unionOf(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  Axes result(a);
  llvm::append_range(result, b);
  return sorted(result);
}

Axes pmap::differenceOf(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  Axes result;
  llvm::copy_if(a, std::back_inserter(result), [&](StringAttr axis) { return !llvm::is_contained(b, axis); });
  return result;
}

bool pmap::isSubset(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return llvm::all_of(a, [&](StringAttr axis) { return llvm::is_contained(b, axis); });
}

RankedTensorType pmap::makeTensorType(Type elementType, ArrayRef<Size> sizes, ArrayRef<StringAttr> vary) {
  MLIRContext *context = elementType.getContext();
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> texts;
  bool dynamic = false;
  for (const Size &size : sizes) {
    std::optional<int64_t> constant = size.constant();
    // A negative constant is a mistake that Sema reports; it must not collide with the mark of a dynamic dimension.
    bool isStatic = constant && *constant >= 0;
    dynamic |= !isStatic;
    shape.push_back(isStatic ? *constant : ShapedType::kDynamic);
    texts.push_back(StringAttr::get(context, size.str()));
  }
  if (!dynamic && vary.empty())
    return RankedTensorType::get(shape, elementType);
  return RankedTensorType::get(shape, elementType, LayoutAttr::get(context, texts, sorted(vary)));
}

RankedTensorType pmap::makeScalarType(Type elementType, ArrayRef<StringAttr> vary) {
  return makeTensorType(elementType, {}, vary);
}

Size pmap::sizeOf(Type type, int64_t dim) {
  RankedTensorType tensor = tensorOf(type);
  if (!tensor.isDynamicDim(dim))
    return Size(tensor.getDimSize(dim));
  LayoutAttr layout = layoutOf(tensor);
  assert(layout && "a dynamic dimension needs a pmap layout");
  return *Size::parse(layout.getSizes()[dim].getValue());
}

SmallVector<Size> pmap::sizesOf(Type type) {
  SmallVector<Size> sizes;
  for (int64_t dim = 0, rank = tensorOf(type).getRank(); dim < rank; ++dim)
    sizes.push_back(sizeOf(type, dim));
  return sizes;
}

ArrayRef<StringAttr> pmap::varyOf(Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    type = dist.getTensor();
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    if (LayoutAttr layout = layoutOf(tensor))
      return layout.getVary();
  return {};
}

Size pmap::elementCountOf(Type type) {
  Size count(1);
  for (const Size &size : sizesOf(type))
    count *= size;
  return count;
}

bool pmap::hasKnownSizes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.hasStaticShape() || layoutOf(tensor));
}

RankedTensorType pmap::withSizes(RankedTensorType type, ArrayRef<Size> sizes) {
  return makeTensorType(type.getElementType(), sizes, varyOf(type));
}

RankedTensorType pmap::withVary(RankedTensorType type, ArrayRef<StringAttr> vary) {
  return makeTensorType(type.getElementType(), sizesOf(type), vary);
}

RankedTensorType pmap::withElementType(RankedTensorType type, Type elementType) {
  return RankedTensorType::get(type.getShape(), elementType, type.getEncoding());
}

RankedTensorType pmap::scalarOf(RankedTensorType type) { return makeScalarType(type.getElementType(), varyOf(type)); }
