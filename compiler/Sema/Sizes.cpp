// Sizes while a program is elaborated: symbols and their birthplaces, the index values they stand for, and how messages
// show them.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace pmap::sema {

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

SizeSymbol &Elaborator::newSymbol(StringRef shown, SourceRange birth, std::string birthText) {
  // `n`, then `n.1`, `n.2`: a symbol is unique in its function, and is a name in the text of a polynomial.
  std::string base = shown.empty() ? "size" : shown.str(), name;
  for (char &c : base)
    if (!isAlnum(c) && c != '_' && c != '.' && static_cast<unsigned char>(c) < 0x80)
      c = '_';
  do {
    unsigned count = symbolCounts[base]++;
    name = count == 0 ? base : base + "." + std::to_string(count);
  } while (symbols.count(name));
  auto symbol = std::make_unique<SizeSymbol>();
  symbol->name = name;
  symbol->shown = shown.str();
  symbol->birth = birth;
  symbol->birthText = std::move(birthText);
  symbol->isolation = isolations.size();
  return *(symbols[name] = std::move(symbol));
}

SizeSymbol *Elaborator::findSymbol(StringRef name) {
  auto found = symbols.find(name.str());
  return found == symbols.end() ? nullptr : found->second.get();
}

Size Elaborator::bindSize(StringRef shown, mlir::Value index, SourceRange birth, std::string birthText,
                          const VarySet &vary) {
  SizeSymbol &symbol = newSymbol(shown, birth, std::move(birthText));
  symbol.vary = vary;
  symbol.bound = true;
  symbol.ssa = BindSizeOp::create(builder, loc(birth), builder.getIndexType(), index, symbol.name);
  return Size::symbol(symbol.name);
}

/// Binds the symbols of a size that exist only as index values so far (indices of loops and comprehensions), so that
/// the size may stand in a type or in a `pmap.size`.
void Elaborator::bindSymbolsOf(const Size &size) {
  for (const std::string &name : size.symbols()) {
    SizeSymbol *symbol = findSymbol(name);
    if (!symbol || symbol->bound || !symbol->ssa)
      continue;
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(symbol->ssa);
    BindSizeOp::create(builder, symbol->ssa.getLoc(), builder.getIndexType(), symbol->ssa, symbol->name);
    symbol->bound = true;
  }
}

//===----------------------------------------------------------------------===//
// Index values
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::indexOf(const Size &size, SourceRange range) {
  mlir::Location at = loc(range);
  if (std::optional<int64_t> constant = size.constant())
    return mlir::arith::ConstantIndexOp::create(builder, at, *constant);
  if (std::optional<std::string> name = size.asSymbol())
    if (const SizeSymbol *symbol = findSymbol(*name); symbol && symbol->ssa)
      return symbol->ssa;

  // A polynomial of loop indices is index arithmetic; everything else is for the lowering, which computes each once.
  bool ofIndices = any_of(size.symbols(), [&](const std::string &name) {
    const SizeSymbol *symbol = findSymbol(name);
    return symbol && symbol->ssa && !symbol->bound;
  });
  if (ofIndices)
    if (mlir::Value value = indexArithmetic(size, at, range))
      return value;
  bindSymbolsOf(size);
  return SizeOp::create(builder, at, builder.getIndexType(), size.str());
}

/// The size as instructions; null when it holds an exact quotient, or a division that might be by zero: those need the
/// checks that `pmap.size` makes.
mlir::Value Elaborator::indexArithmetic(const Size &size, mlir::Location at, SourceRange range) {
  using namespace mlir::arith;
  auto possible = [&](const Size::Term &term) {
    return term.coefficient.den == 1 && all_of(term.factors, [&](const Size::Factor &factor) {
             const SizeAtom &atom = *factor.atom;
             bool divides = atom.kind == SizeAtom::FloorDiv || atom.kind == SizeAtom::Mod;
             return factor.power > 0 && factor.power < 4 && atom.kind != SizeAtom::Divisor &&
                    (!divides || provablyNonNegative(atom.operands[1] - Size(1)));
           });
  };
  if (!all_of(size.terms(), possible))
    return {};
  auto constantIndex = [&](int64_t v) { return ConstantIndexOp::create(builder, at, v).getResult(); };
  auto atomValue = [&](const SizeAtom &atom) -> mlir::Value {
    if (atom.kind == SizeAtom::Symbol)
      return indexOf(Size::symbol(atom.text), range);
    mlir::Value p = indexOf(atom.operands[0], range), q = indexOf(atom.operands[1], range);
    if (atom.kind == SizeAtom::Min)
      return MinSIOp::create(builder, at, p, q);
    if (atom.kind == SizeAtom::Max)
      return MaxSIOp::create(builder, at, p, q);
    bool plain = provablyNonNegative(atom.operands[0]);
    if (atom.kind == SizeAtom::FloorDiv)
      return plain ? DivUIOp::create(builder, at, p, q).getResult()
                   : FloorDivSIOp::create(builder, at, p, q).getResult();
    if (plain)
      return RemUIOp::create(builder, at, p, q);
    // The divisor is positive, so a negative rest is below it by exactly one divisor.
    mlir::Value rest = RemSIOp::create(builder, at, p, q);
    mlir::Value below = CmpIOp::create(builder, at, CmpIPredicate::slt, rest, constantIndex(0));
    return SelectOp::create(builder, at, below, AddIOp::create(builder, at, rest, q), rest);
  };
  mlir::Value sum;
  for (const Size::Term &term : size.terms()) {
    mlir::Value product;
    for (const Size::Factor &factor : term.factors)
      for (int i = 0; i < factor.power; ++i) {
        mlir::Value one = atomValue(*factor.atom);
        product = product ? MulIOp::create(builder, at, product, one).getResult() : one;
      }
    if (!product)
      product = constantIndex(term.coefficient.num);
    else if (term.coefficient.num != 1)
      product = MulIOp::create(builder, at, product, constantIndex(term.coefficient.num));
    sum = sum ? AddIOp::create(builder, at, sum, product).getResult() : product;
  }
  return sum ? sum : constantIndex(0);
}

//===----------------------------------------------------------------------===//
// Showing sizes
//===----------------------------------------------------------------------===//

std::string Elaborator::render(const Size &size) const {
  // A renamed symbol shows as the user wrote it, unless two of one name meet here: then the difference must show.
  std::map<std::string, int> uses;
  for (const std::string &name : size.symbols())
    if (auto found = symbols.find(name); found != symbols.end())
      ++uses[found->second->shown];
  Size shown = size.substitute([&](StringRef name) -> std::optional<Size> {
    auto found = symbols.find(name.str());
    if (found == symbols.end() || found->second->shown == name || uses[found->second->shown] > 1)
      return std::nullopt;
    return Size::symbol(found->second->shown);
  });
  return shown.shown();
}

std::string Elaborator::render(ArrayRef<Size> sizes) const {
  std::string text = "[";
  for (auto [i, size] : enumerate(sizes))
    text += (i ? ", " : "") + render(size);
  return text + "]";
}

std::string Elaborator::renderArray(DType dtype, ArrayRef<Size> sizes) const {
  return dtypeName(dtype).str() + (sizes.empty() ? "" : render(sizes));
}

} // namespace pmap::sema
