// What sizes are asked: constants, symbols, substitution, values, and proofs of inequalities.

#include "compiler/Support/SizeTerms.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>

using namespace pmap;
using Term = Size::Term;
using Factor = Size::Factor;
using Coefficient = Size::Coefficient;

//===- Queries -----------------------------------------------------------===//

std::optional<int64_t> Size::constant() const {
  if (bad || list.size() > 1)
    return std::nullopt;
  if (list.empty())
    return 0;
  if (!list[0].factors.empty() || list[0].coefficient.den != 1)
    return std::nullopt;
  return list[0].coefficient.num;
}

std::optional<std::string> Size::asSymbol() const {
  if (bad || list.size() != 1 || !(list[0].coefficient == Coefficient{1, 1}) || list[0].factors.size() != 1)
    return std::nullopt;
  const Factor &factor = list[0].factors[0];
  if (factor.power != 1 || factor.atom->kind != SizeAtom::Symbol)
    return std::nullopt;
  return factor.atom->text;
}

std::set<std::string> Size::symbols() const {
  std::set<std::string> result;
  for (const Term &term : list)
    for (const Factor &factor : term.factors) {
      if (factor.atom->kind == SizeAtom::Symbol)
        result.insert(factor.atom->text);
      for (const Size &operand : factor.atom->operands)
        result.merge(operand.symbols());
    }
  return result;
}

bool Size::mentions(llvm::StringRef symbol) const { return symbols().count(symbol.str()) != 0; }

Size Size::substitute(llvm::function_ref<std::optional<Size>(llvm::StringRef)> value) const {
  Size result;
  result.bad = bad;
  for (const Term &term : list) {
    Size product = exactQuotient(Size(term.coefficient.num), Size(term.coefficient.den));
    for (const Factor &factor : term.factors) {
      const SizeAtom &atom = *factor.atom;
      Size base;
      if (atom.kind == SizeAtom::Symbol) {
        auto replacement = value(atom.text);
        base = replacement ? *replacement : symbol(atom.text);
      } else {
        Size p = atom.operands[0].substitute(value);
        Size q = atom.operands.size() > 1 ? atom.operands[1].substitute(value) : Size();
        base = atom.kind == SizeAtom::FloorDiv ? floorDiv(p, q)
               : atom.kind == SizeAtom::Mod    ? mod(p, q)
               : atom.kind == SizeAtom::Min    ? min(p, q)
               : atom.kind == SizeAtom::Max    ? max(p, q)
                                               : p;
      }
      product =
          factor.power > 0 ? product * power(base, factor.power) : exactQuotient(product, power(base, -factor.power));
    }
    result += product;
  }
  return result;
}

Size Size::substitute(llvm::StringRef name, const Size &value) const {
  return substitute([&](llvm::StringRef symbol) -> std::optional<Size> {
    if (symbol == name)
      return value;
    return std::nullopt;
  });
}

std::pair<Size, Size> Size::asQuotient() const {
  // The denominator is the least common multiple of the coefficients' denominators times each divisor's largest power.
  int64_t common = 1;
  std::vector<Factor> divisors;
  for (const Term &term : list) {
    common = std::lcm(common, term.coefficient.den);
    for (const Factor &factor : term.factors) {
      if (factor.power >= 0)
        continue;
      auto known = std::find_if(divisors.begin(), divisors.end(),
                                [&](const Factor &other) { return other.atom->text == factor.atom->text; });
      if (known == divisors.end())
        divisors.push_back({factor.atom, -factor.power});
      else
        known->power = std::max(known->power, -factor.power);
    }
  }
  Size numerator, denominator(common);
  for (const Factor &divisor : divisors) {
    Size base = divisor.atom->kind == SizeAtom::Divisor ? divisor.atom->operands[0] : ofAtom(divisor.atom);
    denominator = denominator * power(base, divisor.power);
  }
  for (const Term &term : list) {
    Size product(term.coefficient.num);
    product = product * Size(common / term.coefficient.den);
    for (const Factor &factor : term.factors)
      if (factor.power > 0)
        product = product * power(ofAtom(factor.atom), factor.power);
    for (const Factor &divisor : divisors) {
      Size base = divisor.atom->kind == SizeAtom::Divisor ? divisor.atom->operands[0] : ofAtom(divisor.atom);
      product = product * power(base, divisor.power + std::min(0, powerOf(term.factors, divisor.atom->text)));
    }
    numerator += product;
  }
  numerator.bad |= bad;
  return {numerator, denominator};
}

static std::optional<__int128>
evaluateWhole(const Size &p, llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> value, SizeStatus &status) {
  __int128 sum = 0;
  for (const Term &term : p.terms()) {
    __int128 product = term.coefficient.num;
    for (const Factor &factor : term.factors) {
      const SizeAtom &atom = *factor.atom;
      int64_t base;
      if (atom.kind == SizeAtom::Symbol) {
        auto known = value(atom.text);
        if (!known) {
          status = SizeStatus::Unbound;
          return std::nullopt;
        }
        base = *known;
      } else {
        auto left = atom.operands[0].evaluate(value, &status);
        auto right = left ? atom.operands[1].evaluate(value, &status) : std::nullopt;
        if (!right)
          return std::nullopt;
        bool divides = atom.kind == SizeAtom::FloorDiv || atom.kind == SizeAtom::Mod;
        if (divides && (*right == 0 || (*left == INT64_MIN && *right == -1))) {
          status = *right == 0 ? SizeStatus::DivideByZero : SizeStatus::Overflow;
          return std::nullopt;
        }
        base = atom.kind == SizeAtom::FloorDiv ? floorDivide(*left, *right)
               : atom.kind == SizeAtom::Mod    ? *left - floorDivide(*left, *right) * *right
               : atom.kind == SizeAtom::Min    ? std::min(*left, *right)
                                               : std::max(*left, *right);
      }
      for (int i = 0; i < factor.power; ++i)
        if (__builtin_mul_overflow(product, __int128(base), &product)) {
          status = SizeStatus::Overflow;
          return std::nullopt;
        }
    }
    if (__builtin_add_overflow(sum, product, &sum)) {
      status = SizeStatus::Overflow;
      return std::nullopt;
    }
  }
  return sum;
}

std::optional<int64_t> Size::evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> value,
                                      SizeStatus *status) const {
  SizeStatus local;
  SizeStatus &result = status ? *status : local;
  result = SizeStatus::Ok;
  auto fail = [&](SizeStatus why) {
    result = why;
    return std::optional<int64_t>();
  };
  auto [numerator, denominator] = asQuotient();
  if (bad || numerator.bad || denominator.bad)
    return fail(SizeStatus::Overflow);
  auto top = evaluateWhole(numerator, value, result);
  auto bottom = top ? evaluateWhole(denominator, value, result) : std::nullopt;
  if (!bottom)
    return std::nullopt;
  if (*bottom == 0)
    return fail(SizeStatus::DivideByZero);
  if (*top % *bottom != 0)
    return fail(SizeStatus::NotExact);
  __int128 quotient = *top / *bottom;
  return fits(quotient) ? std::optional<int64_t>(int64_t(quotient)) : fail(SizeStatus::Overflow);
}

//===- Proofs ------------------------------------------------------------===//

bool Size::nonNegative(int depth) const {
  if (bad)
    return false;
  // An axis has at least one device: write it as 1 + a size.
  Size shifted = substitute([&](llvm::StringRef symbol) -> std::optional<Size> {
    if (symbol.starts_with("@") && !symbol.ends_with("-1"))
      return Size::symbol(symbol.str() + "-1") + Size(1);
    return std::nullopt;
  });
  const Term *negative = nullptr;
  bool termsPositive = true;
  for (const Term &term : shifted.list) {
    bool factorsPositive = true;
    for (const Factor &factor : term.factors) {
      const SizeAtom &atom = *factor.atom;
      if (atom.kind == SizeAtom::Symbol)
        continue;
      if (atom.kind == SizeAtom::Mod)
        factorsPositive &= atom.operands[1].nonNegative(depth + 1);
      else if (atom.kind == SizeAtom::Max)
        factorsPositive &= atom.operands[0].nonNegative(depth + 1) || atom.operands[1].nonNegative(depth + 1);
      else
        for (const Size &operand : atom.operands)
          factorsPositive &= operand.nonNegative(depth + 1);
    }
    if (!factorsPositive || term.coefficient.num < 0) {
      termsPositive = false;
      if (!negative)
        negative = &term;
    }
  }
  if (termsPositive)
    return true;
  // Replace one call by a bound of it: min(a,b) <= a, max(a,b) >= a, mod(a,b) <= b-1, floordiv(a,c) <= a.
  if (depth > 4)
    return false;
  for (const Term &term : shifted.list) {
    if (term.factors.size() != 1 || term.factors[0].power != 1 || term.coefficient.den != 1)
      continue;
    const SizeAtom &atom = *term.factors[0].atom;
    std::vector<Size> bounds;
    if (term.coefficient.num < 0 && atom.kind == SizeAtom::Min)
      bounds = atom.operands;
    if (term.coefficient.num > 0 && atom.kind == SizeAtom::Max)
      bounds = atom.operands;
    if (term.coefficient.num < 0 && atom.kind == SizeAtom::Mod && atom.operands[1].provablyPositive()) {
      bounds.push_back(atom.operands[1] - Size(1));
      if (atom.operands[0].nonNegative(depth + 1))
        bounds.push_back(atom.operands[0]);
    }
    if (term.coefficient.num < 0 && atom.kind == SizeAtom::FloorDiv && atom.operands[1].provablyPositive() &&
        atom.operands[0].nonNegative(depth + 1)) {
      bounds.push_back(exactQuotient(atom.operands[0], atom.operands[1]));
      bounds.push_back(atom.operands[0]);
    }
    if (bounds.empty())
      continue;
    Size without = shifted - multiply(term, {{1, 1}, {}});
    for (const Size &bound : bounds)
      if ((without + bound * Size(term.coefficient.num)).nonNegative(depth + 1))
        return true;
  }
  return false;
}

bool Size::provablyNonNegative() const {
  if (nonNegative(0))
    return true;
  // Floors by constants between their bounds as fractions, (a - c + 1) / c <= a // c <= a / c. What is left is below
  // the size, which is whole: above -1 it is at least 0.
  Size least = *this;
  bool changed = false;
  for (const Term &term : list) {
    if (term.factors.size() != 1 || term.factors[0].power != 1 || term.factors[0].atom->kind != SizeAtom::FloorDiv)
      continue;
    const Size &a = term.factors[0].atom->operands[0], &c = term.factors[0].atom->operands[1];
    if (!c.isConstant() || *c.constant() <= 0)
      continue;
    Size bound = exactQuotient(term.coefficient.num > 0 ? a - c + Size(1) : a, c);
    Size coefficient = exactQuotient(Size(term.coefficient.num), Size(term.coefficient.den));
    least = least - multiply(term, {{1, 1}, {}}) + coefficient * bound;
    changed = true;
  }
  auto [numerator, denominator] = least.asQuotient();
  std::optional<int64_t> parts = denominator.constant();
  return changed && parts && (numerator + Size(*parts - 1)).nonNegative(1);
}

bool Size::provablyDiffers(const Size &other) const {
  return (*this - other).provablyPositive() || (other - *this).provablyPositive();
}

std::optional<std::pair<Size, Size>> Size::linearIn(llvm::StringRef name) const {
  Size slope, rest;
  rest.bad = bad;
  for (const Term &term : list) {
    Term without = term;
    int power = powerOf(term.factors, name);
    if (power != 0 && power != 1)
      return std::nullopt;
    std::erase_if(without.factors, [&](const Factor &factor) { return factor.atom->text == name; });
    (power ? slope : rest).add(without);
  }
  if (slope.mentions(name) || rest.mentions(name))
    return std::nullopt;
  return std::make_pair(slope, rest);
}

llvm::raw_ostream &pmap::operator<<(llvm::raw_ostream &os, const Size &size) { return os << size.str(); }
