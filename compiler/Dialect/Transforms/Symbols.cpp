#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

StringAttr substituted(StringAttr text, const Substitution &sizes) {
  std::optional<Size> size = Size::parse(text.getValue());
  return size ? StringAttr::get(text.getContext(), substitute(*size, sizes).str()) : text;
}

ArrayAttr substituted(ArrayAttr texts, const Substitution &sizes) {
  SmallVector<Attribute> result;
  for (StringAttr text : texts.getAsRange<StringAttr>())
    result.push_back(substituted(text, sizes));
  return ArrayAttr::get(texts.getContext(), result);
}

// The name of what binds a symbol: another one where another symbol takes its place.
StringAttr renamed(StringAttr symbol, const Substitution &sizes) {
  StringAttr name = substituted(symbol, sizes);
  return Size::parse(name.getValue())->asSymbol() ? name : symbol;
}

} // namespace

Size pmap::substitute(const Size &size, const Substitution &sizes) {
  return size.substitute([&](StringRef symbol) -> std::optional<Size> {
    auto it = sizes.find(symbol);
    return it == sizes.end() ? std::nullopt : std::optional<Size>(it->second);
  });
}

void pmap::substituteSymbols(Operation *root, const Substitution &sizes) {
  AttrTypeReplacer replacer;
  // A tensor's type as a whole, since a size that becomes a number is a static dimension.
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    if (!isa_and_nonnull<LayoutAttr>(type.getEncoding()))
      return std::nullopt;
    SmallVector<Size> result = sizesOf(type);
    for (Size &size : result)
      size = substitute(size, sizes);
    return std::make_pair(Type(withSizes(type, result)), WalkResult::skip());
  });
  replacer.addReplacement([&](SizeArgAttr argument) -> std::optional<std::pair<Attribute, WalkResult>> {
    return std::make_pair(Attribute(SizeArgAttr::get(argument.getContext(), renamed(argument.getSymbol(), sizes),
                                                     argument.getAxes(), argument.getRagged(), argument.getLabel())),
                          WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  root->walk([&](Operation *op) {
    if (auto size = dyn_cast<SizeOp>(op))
      size.setSizeAttr(substituted(size.getSizeAttr(), sizes));
    else if (auto bind = dyn_cast<BindSizeOp>(op))
      bind.setSymbolAttr(renamed(bind.getSymbolAttr(), sizes));
    else if (auto vmap = dyn_cast<VmapOp>(op))
      vmap.setSizeAttr(substituted(vmap.getSizeAttr(), sizes));
    else if (auto pad = dyn_cast<PadOp>(op)) {
      pad.setLowAttr(substituted(pad.getLow(), sizes));
      pad.setHighAttr(substituted(pad.getHigh(), sizes));
    }
  });
}

std::optional<Size> pmap::polynomialOf(Value value) {
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

void pmap::visitBoundSymbols(Operation *root, llvm::function_ref<void(StringRef)> visit) {
  root->walk([&](Operation *op) {
    if (auto bind = dyn_cast<BindSizeOp>(op))
      visit(bind.getSymbol());
    else if (auto map = dyn_cast<MapOp>(op))
      for (SizeArgAttr argument : map.getSizeArguments())
        visit(argument.getSymbol().getValue());
    else if (auto symbols = op->getAttrOfType<ArrayAttr>("pmap.sizes"))
      for (StringRef symbol : symbols.getAsValueRange<StringAttr>())
        visit(symbol);
  });
}

SymbolNames::SymbolNames(Operation *module) {
  visitBoundSymbols(module, [&](StringRef symbol) {
    unsigned number = 0;
    if (size_t dot = symbol.rfind('.'); dot != StringRef::npos && !symbol.drop_front(dot + 1).getAsInteger(10, number))
      last = std::max(last, number);
  });
}

std::string SymbolNames::fresh(StringRef base) { return (base.take_front(base.find('.')) + "." + Twine(++last)).str(); }

void SymbolNames::rename(ArrayRef<Operation *> ops) {
  Substitution names;
  for (Operation *op : ops)
    visitBoundSymbols(op, [&](StringRef symbol) { names[symbol] = Size::symbol(fresh(symbol)); });
  if (names.empty())
    return;
  for (Operation *op : ops)
    substituteSymbols(op, names);
}

SmallVector<Operation *> pmap::cloneForRecomputation(Block &from, OpBuilder &builder, IRMapping &mapping,
                                                     SymbolNames &names) {
  SmallVector<Operation *> copies;
  for (Operation &op : from.without_terminator()) {
    if (isa<AssertOp, PrintOp>(op))
      continue;
    Operation *copy = builder.clone(op, mapping);
    // A collective that is done once more is the derivative's.
    copy->walk([](CollectiveOp collective) { collective->removeAttr("pmap.seen"); });
    SmallVector<Operation *> effects;
    copy->walk([&](Operation *nested) {
      if (isa<AssertOp, PrintOp>(nested))
        effects.push_back(nested);
    });
    for (Operation *effect : effects)
      effect->erase();
    copies.push_back(copy);
  }
  names.rename(copies);
  return copies;
}
