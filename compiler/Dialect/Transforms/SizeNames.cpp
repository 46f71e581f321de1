#include "compiler/Dialect/Transforms/SizeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

// What an index value outside of a map is; nothing where it has no polynomial.
std::optional<Size> polynomialOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return Size(constant.getSExtValue());
  if (auto size = value.getDefiningOp<SizeOp>())
    return Size::parse(size.getSize());
  if (auto bind = value.getDefiningOp<BindSizeOp>())
    return Size::symbol(bind.getSymbol());
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto names = function ? function->getAttrOfType<ArrayAttr>("pmap.sizes") : ArrayAttr();
  if (!names || argument.getArgNumber() >= names.size())
    return std::nullopt;
  return Size::symbol(cast<StringAttr>(names[argument.getArgNumber()]).getValue());
}

} // namespace

SizeNames::SizeNames(Operation *root) {
  root->walk([&](MapOp map) {
    for (auto [operand, argument] : llvm::zip_equal(map.getSizes(), map.getSizeArguments()))
      if (std::optional<Size> outside = polynomialOf(operand)) {
        std::string axes;
        for (StringAttr axis : argument.getAxes())
          axes += (axes.empty() ? "" : "*") + axis.str();
        locals[argument.getSymbol().getValue()] = {*outside, axes};
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
  // Blocks of all devices together are the whole: `@a*n.1` is `n`.
  Size together = size.substitute([&](StringRef symbol) -> std::optional<Size> {
    auto it = locals.find(symbol);
    if (it == locals.end())
      return std::nullopt;
    Size devices(1);
    SmallVector<StringRef> axes;
    StringRef(it->second.axes).split(axes, '*', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef axis : axes)
      devices *= Size::axis(axis);
    return Size::exactQuotient(it->second.outside, devices);
  });
  bool needsNoAxis = llvm::none_of(together.symbols(), [](const std::string &name) { return name[0] == '@'; });
  return (needsNoAxis ? together : size)
      .substitute([&](StringRef symbol) -> std::optional<Size> {
        auto it = locals.find(symbol);
        if (it == locals.end())
          return Size::symbol(symbol.starts_with("@") ? symbol : symbol.take_front(symbol.find('.')));
        if (it->second.axes.empty())
          return it->second.outside;
        std::string text = it->second.outside.str();
        bool lone = it->second.outside.asSymbol() || it->second.outside.isConstant();
        return Size::symbol((lone ? text : "(" + text + ")") + "/" + it->second.axes);
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
