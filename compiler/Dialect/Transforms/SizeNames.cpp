#include "compiler/Dialect/Transforms/SizeNames.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/Transforms/Symbols.h"

using namespace mlir;
using namespace pmap;

namespace {

// The names that users wrote: `n` for `n.1`.
Size withoutNumbers(const Size &size) {
  return size.substitute([](StringRef symbol) -> std::optional<Size> {
    return Size::symbol(symbol.starts_with("@") ? symbol : symbol.take_front(symbol.find('.')));
  });
}

// A block of `whole`: `n/data`.
Size partOf(const Size &whole, StringRef axes) {
  std::string text = whole.str();
  bool lone = whole.asSymbol() || whole.isConstant();
  return Size::symbol((lone ? text : "(" + text + ")") + "/" + axes.str());
}

} // namespace

SizeNames::SizeNames(Operation *root) {
  root->walk([&](MapOp map) {
    for (auto [operand, argument] : llvm::zip_equal(map.getSizes(), map.getSizeArguments()))
      if (std::optional<Size> outside = polynomialOf(operand)) {
        std::string axes;
        for (StringAttr axis : argument.getAxes())
          axes += (axes.empty() ? "" : "*") + axis.str();
        locals[argument.getSymbol().getValue()] = {*outside, axes,
                                                   devicesAlong(&map.getBody().front(), argument.getAxes())};
      }
  });
}

Size SizeNames::whole(const Size &local) const {
  return local.substitute([&](StringRef symbol) -> std::optional<Size> {
    auto it = locals.find(symbol);
    return it == locals.end() ? std::nullopt : std::optional(it->second.outside);
  });
}

std::string SizeNames::show(const Size &size) const {
  auto hasAxis = [](const Size &shown) {
    return llvm::any_of(shown.symbols(), [](const std::string &name) { return name[0] == '@'; });
  };
  auto isWhole = [&](const Size &shown) { return !hasAxis(shown) && shown.asQuotient().second.isConstant(1); };
  // Blocks of all devices together are the whole: `@a*n.1` is `n`.
  Size together = size.substitute([&](StringRef symbol) -> std::optional<Size> {
    auto it = locals.find(symbol);
    return it == locals.end() ? std::nullopt
                              : std::optional(Size::exactQuotient(it->second.outside, it->second.devices));
  });
  if (isWhole(together))
    return withoutNumbers(together).str();
  // And one block is a part of it: `(n)/(@a)` is `n/a`.
  Size whole = together;
  std::string axes;
  for (const std::string &symbol : together.symbols())
    if (symbol[0] == '@') {
      whole *= Size::symbol(symbol);
      axes += (axes.empty() ? "" : "*") + symbol.substr(1);
    }
  if (isWhole(whole))
    return partOf(withoutNumbers(whole), axes).str();
  return size
      .substitute([&](StringRef symbol) -> std::optional<Size> {
        auto it = locals.find(symbol);
        if (it == locals.end())
          return withoutNumbers(Size::symbol(symbol));
        Size outside = withoutNumbers(it->second.outside);
        return it->second.axes.empty() ? outside : partOf(outside, it->second.axes);
      })
      .str();
}

std::string SizeNames::show(StringRef dtype, ArrayRef<Size> sizes) const {
  std::string text = dtype.str();
  for (auto [i, size] : llvm::enumerate(sizes))
    text += (i ? ", " : "[") + show(size);
  return text + (sizes.empty() ? "" : "]");
}

std::string SizeNames::showType(Type type) const {
  if (auto dist = dyn_cast<DistType>(type))
    type = dist.getTensor();
  return show(elementName(cast<RankedTensorType>(type).getElementType()), sizesOf(type));
}

Size pmap::bytesOf(Type type) {
  if (auto dist = dyn_cast<DistType>(type))
    type = dist.getTensor();
  unsigned bits = cast<RankedTensorType>(type).getElementTypeBitWidth();
  return elementCountOf(type) * Size(std::max(1u, bits / 8));
}

std::string pmap::elementName(Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}
