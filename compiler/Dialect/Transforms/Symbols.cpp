#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pmap;

namespace {

StringAttr renamed(StringAttr text, const Renaming &renaming) {
  std::optional<Size> size = Size::parse(text.getValue());
  if (!size)
    return text;
  Size result = size->substitute([&](StringRef symbol) -> std::optional<Size> {
    auto it = renaming.find(symbol);
    return it == renaming.end() ? std::nullopt : std::optional<Size>(Size::symbol(it->second));
  });
  return StringAttr::get(text.getContext(), result.str());
}

ArrayAttr renamed(ArrayAttr texts, const Renaming &renaming) {
  SmallVector<Attribute> result;
  for (StringAttr text : texts.getAsRange<StringAttr>())
    result.push_back(renamed(text, renaming));
  return ArrayAttr::get(texts.getContext(), result);
}

} // namespace

void pmap::renameSymbols(Operation *root, const Renaming &renaming) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](LayoutAttr layout) -> std::optional<std::pair<Attribute, WalkResult>> {
    SmallVector<StringAttr> sizes;
    for (StringAttr size : layout.getSizes())
      sizes.push_back(renamed(size, renaming));
    return std::make_pair(Attribute(LayoutAttr::get(layout.getContext(), sizes, layout.getVary())), WalkResult::skip());
  });
  replacer.addReplacement([&](SizeArgAttr argument) -> std::optional<std::pair<Attribute, WalkResult>> {
    return std::make_pair(Attribute(SizeArgAttr::get(argument.getContext(), renamed(argument.getSymbol(), renaming),
                                                     argument.getAxes(), argument.getRagged(), argument.getLabel())),
                          WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(root, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  root->walk([&](Operation *op) {
    if (auto size = dyn_cast<SizeOp>(op))
      size.setSizeAttr(renamed(size.getSizeAttr(), renaming));
    else if (auto bind = dyn_cast<BindSizeOp>(op))
      bind.setSymbolAttr(renamed(bind.getSymbolAttr(), renaming));
    else if (auto pad = dyn_cast<PadOp>(op)) {
      pad.setLowAttr(renamed(pad.getLow(), renaming));
      pad.setHighAttr(renamed(pad.getHigh(), renaming));
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
  Renaming renaming;
  for (Operation *op : ops)
    visitBoundSymbols(op, [&](StringRef symbol) { renaming[symbol] = fresh(symbol); });
  if (renaming.empty())
    return;
  for (Operation *op : ops)
    renameSymbols(op, renaming);
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
