// What can be proved of sizes: that one is at least 0, below or equal to another.
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

bool Elaborator::provablyNonNegative(const Size &size) const {
  proofSteps = 0;
  if (nonNegativeByBounds(size))
    return true;
  // Where a fact f >= 0 holds, size >= 0 follows from size - f >= 0.
  return any_of(facts, [&](const Size &fact) { return nonNegativeByBounds(size - fact); });
}

void Elaborator::noteDimensions(ArrayRef<Size> sizes) {
  for (const Size &size : sizes)
    if (!provablyNonNegative(size))
      facts.push_back(size);
}

void Elaborator::noteDimensions(const Value &value) {
  if (isArrayLike(value))
    noteDimensions(sizesOf(value));
  else if (const auto *tuple = value.as<TupleValue>())
    for (const Value &element : tuple->elements)
      noteDimensions(element);
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
  if (assumedEqual(a, b))
    return false;
  Report report = error(Code::E0401, range, message);
  noteBirths(report, a);
  noteBirths(report, b);
  return false;
}

} // namespace pmap::sema
