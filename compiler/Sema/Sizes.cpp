// Sizes while a program is elaborated: symbols and their birthplaces, the index values they stand for, and what can be
// proved.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/ParallelMap.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

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
// Values as sizes
//===----------------------------------------------------------------------===//

/// The bindings of an integer that are still in force: `plain` of the integer itself, which checks it, and `clamped` of
/// the greater of it and 0, which does not.
struct IntegerBindings {
  BindSizeOp plain, clamped;
  ToIndexOp index;
};
static IntegerBindings bindingsOf(const Elaborator &e, mlir::Value integer) {
  auto visibleAmong = [&](mlir::Operation *op) {
    for (mlir::Operation *user : op->getResult(0).getUsers())
      if (auto binding = dyn_cast<BindSizeOp>(user); binding && e.isVisible(binding))
        return binding;
    return BindSizeOp();
  };
  IntegerBindings found;
  for (mlir::Operation *user : integer.getUsers()) {
    auto index = dyn_cast<ToIndexOp>(user);
    if (!index)
      continue;
    if (!found.plain)
      found.plain = visibleAmong(index);
    for (mlir::Operation *most : index->getResult(0).getUsers())
      if (isa<mlir::arith::MaxSIOp>(most) && !found.clamped) {
        found.clamped = visibleAmong(most);
        found.index = index;
      }
  }
  return found;
}

/// Whether an `if` lies between the insertion point and the block that defines a value.
static bool isBranchOf(const Elaborator &e, mlir::Value value) {
  for (mlir::Block *block = e.builder.getInsertionBlock(); block && block != value.getParentBlock();) {
    mlir::Operation *parent = block->getParentOp();
    if (isa_and_nonnull<mlir::scf::IfOp>(parent))
      return true;
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

/// The size that an integer is: one symbol each, checked to be at least 0 where it becomes a size. In a branch of an
/// `if` the symbol is bound where the integer is, so that it means the same in the other branch and behind the `if`;
/// the check stays in the branch.
Size sizeOfInteger(Elaborator &e, mlir::Value integer, bool isUnsigned, StringRef shown, SourceRange range,
                   std::string birthText) {
  auto check = [&](mlir::Value index) { e.bindSize(shown, index, range, birthText, e.varyOf(integer)); };
  IntegerBindings known = bindingsOf(e, integer);
  if (known.clamped) {
    if (!known.plain)
      check(known.index);
    return Size::symbol(known.clamped.getSymbol());
  }
  if (known.plain)
    return Size::symbol(known.plain.getSymbol());
  mlir::Type type = e.builder.getIndexType();
  mlir::Location at = e.loc(range);
  if (!isBranchOf(e, integer))
    return e.bindSize(shown, ToIndexOp::create(e.builder, at, type, integer, isUnsigned), range, birthText,
                      e.varyOf(integer));
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  auto here = e.builder.saveInsertionPoint();
  e.builder.setInsertionPointAfterValue(integer);
  auto raw = ToIndexOp::create(e.builder, at, type, integer, isUnsigned);
  auto zero = mlir::arith::ConstantIndexOp::create(e.builder, at, 0);
  auto least = mlir::arith::MaxSIOp::create(e.builder, at, raw, zero);
  // The check takes the plain name, which its message shows.
  e.builder.restoreInsertionPoint(here);
  check(raw);
  e.builder.setInsertionPointAfter(least);
  return e.bindSize(shown, least, range, birthText, e.varyOf(integer));
}

std::optional<Size> Elaborator::sizeOf(const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  if (const auto *integer = value.as<IntValue>())
    return Size(integer->value);
  if (const auto *size = value.as<SizeValue>())
    return size->polynomial;
  if (const auto *quotient = value.as<FloatValue>(); quotient && quotient->isQuotient) {
    if (quotient->value == std::floor(quotient->value) && std::abs(quotient->value) < 9.0e18)
      return Size(static_cast<int64_t>(quotient->value));
    error(Code::E0407, value.range(),
          what + ": the division '" + sourceText(value.range()) + "' is not exact; `//` floors");
    return std::nullopt;
  }
  if (const auto *computed = value.as<ArrayValue>(); computed && computed->recipe) {
    Size size = computed->recipe->polynomial;
    for (const auto &[placeholder, scalar] : computed->recipe->scalars) {
      std::optional<Size> part = sizeOf(scalar, what);
      if (!part)
        return std::nullopt;
      size = size.substitute(placeholder, *part);
    }
    return size;
  }
  if (isArrayLike(value) && rankOf(value) == 0 && !value.is(ValueKind::Bool) && !value.is(ValueKind::Float)) {
    Value made = materialize(value);
    const auto *array = made.as<ArrayValue>();
    if (!array)
      return std::nullopt;
    if (isInteger(array->dtype)) {
      SourceRange range = value.range();
      std::string text = sourceText(range, 24);
      bool isName = !text.empty() &&
                    all_of(text, [](unsigned char c) { return isAlnum(c) || c == '_' || c >= 0x80; }) &&
                    !isDigit(text.front());
      return sizeOfInteger(*this, array->ssa, isUnsigned(array->dtype), isName ? text : "size", range,
                           "the value of '" + text + "'");
    }
    error(Code::E0407, value.range(), what + ": expected a size, got " + renderType(value));
    return std::nullopt;
  }
  error(Code::E0407, value.range(),
        what + ": expected a size, got " + (isArrayLike(value) ? renderType(value) : describeKind(value)));
  return std::nullopt;
}

std::optional<Size> Elaborator::pureSizeOf(const Value &value) const {
  if (const auto *integer = value.as<IntValue>())
    return Size(integer->value);
  if (const auto *size = value.as<SizeValue>())
    return size->polynomial;
  const auto *array = value.as<ArrayValue>();
  if (array && array->recipe && array->recipe->scalars.empty() && isInteger(array->dtype))
    return array->recipe->polynomial;
  return std::nullopt;
}

std::optional<Size> Elaborator::sizeBound(const Value &value, StringRef what) {
  const auto *array = value.as<ArrayValue>();
  if (std::optional<Size> known = pureSizeOf(value))
    return known;
  if (!array || array->weak || !isInteger(array->dtype) || rankOf(value) != 0)
    return sizeOf(value, what);
  mlir::Value ssa = tensorOf(value);
  for (mlir::Operation *user : ssa.getUsers())
    if (isa<ToIndexOp>(user))
      for (mlir::Operation *binding : user->getResult(0).getUsers())
        if (auto earlier = dyn_cast<BindSizeOp>(binding); earlier && isVisible(binding))
          return Size::symbol(earlier.getSymbol());
  SizeSymbol &symbol = newSymbol("bound", value.range(), "the value of '" + sourceText(value.range(), 24) + "'");
  symbol.ssa = ToIndexOp::create(builder, loc(value.range()), builder.getIndexType(), ssa, isUnsigned(array->dtype));
  symbol.vary = varyOf(ssa);
  symbol.nonNegative = isUnsigned(array->dtype);
  return Size::symbol(symbol.name);
}

std::shared_ptr<const SizeRecipe> Elaborator::recipeOf(const Value &value) {
  auto recipe = std::make_shared<SizeRecipe>();
  if (const auto *integer = value.as<IntValue>()) {
    recipe->polynomial = Size(integer->value);
  } else if (const auto *size = value.as<SizeValue>()) {
    recipe->polynomial = size->polynomial;
  } else if (const auto *array = value.as<ArrayValue>()) {
    if (array->recipe)
      return array->recipe;
    if (!isInteger(array->dtype) || !isa<mlir::RankedTensorType>(array->ssa.getType()) || rankOf(value) != 0)
      return nullptr;
    // A placeholder is the same for the same scalar, so that i*b and (i+1)*b differ by b.
    unsigned &number = placeholders[array->ssa];
    if (number == 0)
      number = placeholders.size();
    std::string name = "$" + std::to_string(number);
    recipe->polynomial = Size::symbol(name);
    recipe->scalars.push_back({name, value});
  } else {
    return nullptr;
  }
  return recipe;
}

std::shared_ptr<const SizeRecipe> Elaborator::combine(ast::BinaryOp op, const Value &lhs, const Value &rhs) {
  auto a = recipeOf(lhs), b = recipeOf(rhs);
  if (!a || !b || a->scalars.size() + b->scalars.size() > 8)
    return nullptr;
  auto result = std::make_shared<SizeRecipe>();
  result->computed = true;
  const Size &p = a->polynomial, &q = b->polynomial;
  switch (op) {
  case ast::BinaryOp::Add:
    result->polynomial = p + q;
    break;
  case ast::BinaryOp::Sub:
    result->polynomial = p - q;
    break;
  case ast::BinaryOp::Mul:
    result->polynomial = p * q;
    break;
  case ast::BinaryOp::Div:
  case ast::BinaryOp::FloorDiv:
  case ast::BinaryOp::Mod:
    if (q.isConstant(0))
      return nullptr;
    result->polynomial = op == ast::BinaryOp::Div   ? Size::exactQuotient(p, q)
                         : op == ast::BinaryOp::Mod ? Size::mod(p, q)
                                                    : Size::floorDiv(p, q);
    break;
  default:
    return nullptr;
  }
  if (result->polynomial.overflowed())
    return nullptr;
  result->scalars = a->scalars;
  for (const auto &scalar : b->scalars)
    if (none_of(result->scalars, [&](const auto &known) { return known.first == scalar.first; }))
      result->scalars.push_back(scalar);
  return result;
}

bool Elaborator::isVisible(mlir::Operation *op) const {
  // Whether what `op` defines may be used at the insertion point: its block holds the insertion point, at any depth.
  // What was built so far in that block comes before.
  for (mlir::Block *block = builder.getInsertionBlock(); block;) {
    if (block == op->getBlock())
      return true;
    mlir::Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

std::optional<SmallVector<Size>> Elaborator::shapeOf(const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  ArrayRef<Value> elements;
  Value self = value;
  if (const auto *list = value.as<ListValue>())
    elements = list->elements;
  else if (const auto *tuple = value.as<TupleValue>(); tuple && !tuple->isRecord())
    elements = tuple->elements;
  else
    elements = self;
  SmallVector<Size> sizes;
  for (const Value &element : elements) {
    std::optional<Size> size = sizeOf(element, what);
    if (!size)
      return std::nullopt;
    bindSymbolsOf(*size);
    sizes.push_back(*size);
  }
  return sizes;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

bool Elaborator::provablyNonNegative(const Size &size) const {
  proofSteps = 0;
  if (nonNegativeByBounds(size))
    return true;
  // Where a fact f >= 0 holds, size >= 0 follows from size - f >= 0.
  return any_of(facts, [&](const Size &fact) { return nonNegativeByBounds(size - fact); });
}

bool Elaborator::nonNegativeByBounds(const Size &size) const {
  // Trying every order of many indices would take long; giving up only means a check at run time.
  if (++proofSteps > 500)
    return false;
  if (size.provablyNonNegative()) {
    // The polynomials' own proof takes every symbol to be at least 0; an index of a loop that starts below is not.
    bool sound = all_of(size.symbols(), [&](const std::string &name) {
      auto found = symbols.find(name);
      return found == symbols.end() || found->second->nonNegative;
    });
    if (sound)
      return true;
  }
  // Replaces an index by the end of its range at which the size is least, one index at a time. A rest is an index, too.
  for (const std::string &name : size.symbols()) {
    auto found = symbols.find(name);
    if (found == symbols.end() || !found->second->low || !found->second->high)
      continue;
    std::optional<std::pair<Size, Size>> linear = size.linearIn(name);
    if (!linear)
      continue;
    const auto &[slope, rest] = *linear;
    if (nonNegativeByBounds(slope) && nonNegativeByBounds(size.substitute(name, *found->second->low)))
      return true;
    if (nonNegativeByBounds(-slope) && nonNegativeByBounds(size.substitute(name, *found->second->high - Size(1))))
      return true;
  }
  // p % q lies below a positive q: size = c + k * mod(p, q) is at least c for k >= 0, and c + k * (q - 1) for k < 0.
  for (const Size::Term &term : size.terms())
    if (term.factors.size() == 1 && term.factors[0].power == 1 && term.factors[0].atom->kind == SizeAtom::Mod &&
        term.coefficient.den == 1) {
      const SizeAtom &atom = *term.factors[0].atom;
      const Size &p = atom.operands[0], &q = atom.operands[1];
      Size rest = size - Size(term.coefficient.num) * Size::mod(p, q);
      bool positive =
          any_of(facts, [&](const Size &f) { return f == q - Size(1); }) || (q - Size(1)).provablyNonNegative();
      if (positive && !(rest == size))
        return nonNegativeByBounds(term.coefficient.num >= 0 ? rest
                                                             : rest + Size(term.coefficient.num) * (q - Size(1)));
    }
  return false;
}

std::optional<bool> Elaborator::provableComparison(ast::BinaryOp op, const Size &a, const Size &b) const {
  std::shared_ptr<const SizeFacts> says = factsOf(op, a, b);
  if (!says)
    return std::nullopt;
  if (!says->whenTrue.empty() && all_of(says->whenTrue, [&](const Size &size) { return provablyNonNegative(size); }))
    return true;
  if (!says->whenFalse.empty() && all_of(says->whenFalse, [&](const Size &size) { return provablyNonNegative(size); }))
    return false;
  return std::nullopt;
}

std::shared_ptr<const SizeFacts> Elaborator::factsOf(ast::BinaryOp op, const Size &a, const Size &b) {
  auto says = std::make_shared<SizeFacts>();
  Size less = b - a - Size(1), atMost = b - a, greater = a - b - Size(1), atLeast = a - b;
  switch (op) {
  case ast::BinaryOp::Lt:
    says->whenTrue = {less};
    says->whenFalse = {atLeast};
    break;
  case ast::BinaryOp::Le:
    says->whenTrue = {atMost};
    says->whenFalse = {greater};
    break;
  case ast::BinaryOp::Gt:
    says->whenTrue = {greater};
    says->whenFalse = {atMost};
    break;
  case ast::BinaryOp::Ge:
    says->whenTrue = {atLeast};
    says->whenFalse = {less};
    break;
  case ast::BinaryOp::Eq:
    says->whenTrue = {atMost, atLeast};
    break;
  case ast::BinaryOp::Ne:
    says->whenFalse = {atMost, atLeast};
    break;
  default:
    return nullptr;
  }
  return says;
}

bool Elaborator::provablyLess(const Size &a, const Size &b) const { return provablyNonNegative(b - a - Size(1)); }
bool Elaborator::provablyAtMost(const Size &a, const Size &b) const { return provablyNonNegative(b - a); }

bool Elaborator::expectEqual(const Size &a, const Size &b, SourceRange range, std::string message) {
  if (a == b)
    return true;
  Report report = error(Code::E0401, range, message);
  noteBirths(report, a);
  noteBirths(report, b);
  return false;
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
  return shown.str();
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
