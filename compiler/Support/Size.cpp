// The arithmetic of sizes. Sums of terms with rational coefficients and integer powers (a divisor is a negative power),
// so that quotients by constants and monomials cancel by themselves. Sums as divisors become atoms of their own.

#include "compiler/Support/SizeTerms.h"
#include <algorithm>

using namespace pmap;
using Term = Size::Term;
using Factor = Size::Factor;
using Coefficient = Size::Coefficient;

namespace {

__int128 gcd128(__int128 a, __int128 b) {
  while (b) {
    __int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/// num/den in lowest terms; nothing when it does not fit.
std::optional<Coefficient> reduce(__int128 num, __int128 den) {
  if (den == 0)
    return std::nullopt;
  if (num == 0)
    return Coefficient{0, 1};
  __int128 divisor = gcd128(num, den);
  num /= divisor;
  den /= divisor;
  if (den < 0) {
    num = -num;
    den = -den;
  }
  if (!fits(num) || !fits(den))
    return std::nullopt;
  return Coefficient{int64_t(num), int64_t(den)};
}

std::optional<Coefficient> times(Coefficient a, Coefficient b) {
  return reduce(__int128(a.num) * b.num, __int128(a.den) * b.den);
}

std::optional<Coefficient> plus(Coefficient a, Coefficient b) {
  __int128 num;
  if (__builtin_add_overflow(__int128(a.num) * b.den, __int128(b.num) * a.den, &num))
    return std::nullopt;
  return reduce(num, __int128(a.den) * b.den);
}

int degree(const std::vector<Factor> &factors) {
  int sum = 0;
  for (const Factor &factor : factors)
    sum += factor.power;
  return sum;
}

/// The order of monomials: by total degree, then by the power of the first atom that differs. It is compatible with
/// multiplication, which the rewriting of divisors below needs to end.
int compareMonomials(const std::vector<Factor> &a, const std::vector<Factor> &b) {
  if (int difference = degree(a) - degree(b))
    return difference;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int order = i == a.size() ? 1 : j == b.size() ? -1 : a[i].atom->text.compare(b[j].atom->text);
    int left = order <= 0 ? a[i++].power : 0;
    int right = order >= 0 ? b[j++].power : 0;
    if (left != right)
      return left - right;
  }
  return 0;
}

std::vector<Factor> multiplyFactors(const std::vector<Factor> &a, const std::vector<Factor> &b, int sign = 1) {
  std::vector<Factor> result;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int order = i == a.size() ? 1 : j == b.size() ? -1 : a[i].atom->text.compare(b[j].atom->text);
    Factor factor = order <= 0 ? a[i] : b[j];
    factor.power = (order <= 0 ? a[i++].power : 0) + (order >= 0 ? sign * b[j++].power : 0);
    if (factor.power)
      result.push_back(factor);
  }
  return result;
}

/// True when each factor of `part` occurs in `whole` to at least the same power.
bool contains(const std::vector<Factor> &whole, const std::vector<Factor> &part) {
  return std::all_of(part.begin(), part.end(),
                     [&](const Factor &factor) { return powerOf(whole, factor.atom->text) >= factor.power; });
}

const char *callName(SizeAtom::Kind kind) {
  switch (kind) {
  case SizeAtom::FloorDiv:
    return "floordiv";
  case SizeAtom::Mod:
    return "mod";
  case SizeAtom::Min:
    return "min";
  case SizeAtom::Max:
    return "max";
  default:
    return "";
  }
}

} // namespace

//===- Building ----------------------------------------------------------===//

Size::Size(int64_t value) {
  if (value)
    list.push_back({{value, 1}, {}});
}

Size Size::ofAtom(std::shared_ptr<const SizeAtom> atom, int power) {
  Size result;
  result.list.push_back({{1, 1}, {{std::move(atom), power}}});
  return result;
}

Size Size::symbol(llvm::StringRef name) {
  return ofAtom(std::make_shared<SizeAtom>(SizeAtom{SizeAtom::Symbol, name.str(), {}}));
}

Size Size::axis(llvm::StringRef axisName) { return symbol("@" + axisName.str()); }

/// Adds a term in order. A monomial that holds both a divisor and its leading monomial is rewritten,
/// lead * [q]^-1 = (1 - (q - lead) * [q]^-1), so that equal values have equal forms.
void Size::add(Term term) {
  if (term.coefficient.num == 0 || bad)
    return;
  for (const Factor &factor : term.factors) {
    if (factor.atom->kind != SizeAtom::Divisor)
      continue;
    const Size &divisor = factor.atom->operands[0];
    const Term &lead = divisor.list.front();
    if (!contains(term.factors, lead.factors))
      continue;
    // The divisor is stored with leading coefficient 1.
    Term rest{term.coefficient, multiplyFactors(term.factors, lead.factors, -1)};
    Term whole{rest.coefficient, multiplyFactors(rest.factors, {{factor.atom, 1}})};
    add(whole);
    for (size_t i = 1; i < divisor.list.size(); ++i) {
      Size product = multiply(rest, divisor.list[i]);
      bad |= product.bad;
      for (Term &piece : product.list) {
        piece.coefficient.num = -piece.coefficient.num;
        add(piece);
      }
    }
    return;
  }
  auto place = std::lower_bound(list.begin(), list.end(), term, [](const Term &a, const Term &b) {
    return compareMonomials(a.factors, b.factors) > 0;
  });
  if (place == list.end() || compareMonomials(place->factors, term.factors) != 0) {
    list.insert(place, std::move(term));
    return;
  }
  auto sum = plus(place->coefficient, term.coefficient);
  if (!sum) {
    bad = true;
    return;
  }
  if (sum->num == 0)
    list.erase(place);
  else
    place->coefficient = *sum;
}

Size Size::multiply(const Term &a, const Term &b) {
  Size result;
  auto coefficient = times(a.coefficient, b.coefficient);
  if (!coefficient)
    result.bad = true;
  else
    result.add({*coefficient, multiplyFactors(a.factors, b.factors)});
  return result;
}

/// The divisor of a term k * floordiv(p, c) with a constant c; 0 for any other.
static int64_t constantDivisor(const Size::Term &term) {
  if (term.factors.size() != 1 || term.factors[0].power != 1 || term.factors[0].atom->kind != SizeAtom::FloorDiv)
    return 0;
  return term.factors[0].atom->operands[1].constant().value_or(0);
}

/// A sum p that some terms make up: floordiv(p,c) + floordiv(p+1,c) + ... + floordiv(p+c-1,c), the blocks of a ragged
/// split. They are of one coefficient and stand in `parts`.
static std::optional<Size> sumOfBlocks(const std::vector<Size::Term> &terms, std::vector<Size::Term> &parts) {
  for (const Size::Term &first : terms) {
    int64_t count = constantDivisor(first);
    if (count < 2 || count > int64_t(terms.size()))
      continue;
    auto constantOf = [](const Size &p) {
      const auto &list = p.terms();
      return !list.empty() && list.back().factors.empty() ? list.back().coefficient.num : 0;
    };
    const Size &p = first.factors[0].atom->operands[0];
    Size whole = p - Size(constantOf(p));
    parts.clear();
    for (const Size::Term &term : terms)
      if (constantDivisor(term) == count && term.coefficient == first.coefficient)
        if (const Size &q = term.factors[0].atom->operands[0]; q - Size(constantOf(q)) == whole)
          parts.push_back(term); // the constants are of 0 to count-1, each once
    if (int64_t(parts.size()) == count)
      return whole;
  }
  return std::nullopt;
}

Size Size::operator+(const Size &other) const {
  Size result = *this;
  result.bad |= other.bad;
  for (const Term &term : other.list)
    result.add(term);
  std::vector<Term> parts;
  while (auto whole = sumOfBlocks(result.list, parts)) {
    for (Term part : parts) {
      part.coefficient.num = -part.coefficient.num;
      result.add(part);
    }
    for (const Term &term : whole->list)
      for (const Term &product : multiply({parts[0].coefficient, {}}, term).list)
        result.add(product);
  }
  return result;
}

Size Size::operator-() const {
  Size result = *this;
  for (Term &term : result.list) {
    if (term.coefficient.num == INT64_MIN)
      result.bad = true;
    else
      term.coefficient.num = -term.coefficient.num;
  }
  return result;
}

Size Size::operator-(const Size &other) const { return *this + -other; }

Size Size::operator*(const Size &other) const {
  Size result;
  result.bad = bad || other.bad;
  for (const Term &a : list)
    for (const Term &b : other.list)
      result += multiply(a, b);
  return result;
}

bool Size::operator==(const Size &other) const {
  if (bad || other.bad || list.size() != other.list.size())
    return false;
  for (size_t i = 0; i < list.size(); ++i)
    if (!(list[i].coefficient == other.list[i].coefficient) ||
        compareMonomials(list[i].factors, other.list[i].factors) != 0)
      return false;
  return true;
}

Size Size::power(const Size &base, int power) {
  Size result(1);
  for (int i = 0; i < (power < 0 ? -power : power); ++i)
    result = power < 0 ? exactQuotient(result, base) : result * base;
  return result;
}

Size Size::exactQuotient(const Size &p, const Size &q) {
  Size failed;
  failed.bad = true;
  if (q.bad || q.list.empty())
    return failed;
  // The part of the divisor that every term shares is a monomial, and divides by subtracting powers.
  Term content = q.list.front();
  for (const Term &term : q.list) {
    std::vector<Factor> shared;
    for (const Factor &factor : content.factors) {
      int power = std::min(factor.power, powerOf(term.factors, factor.atom->text));
      if (power > 0)
        shared.push_back({factor.atom, power});
    }
    content.factors = std::move(shared);
  }
  if (q.list.size() == 1)
    content.factors = q.list.front().factors;
  auto inverse = reduce(content.coefficient.den, content.coefficient.num);
  if (!inverse)
    return failed;
  Size reciprocal;
  reciprocal.list.push_back({*inverse, multiplyFactors({}, content.factors, -1)});
  Size result = p * reciprocal;
  if (q.list.size() == 1)
    return result;
  Size rest = q * reciprocal;
  if (rest.bad)
    return failed;
  auto atom = std::make_shared<SizeAtom>(SizeAtom{SizeAtom::Divisor, "(" + rest.str() + ")", {rest}});
  return result * ofAtom(atom, -1);
}

//===- Calls -------------------------------------------------------------===//

Size Size::call(int kind, const Size &p, const Size &q) {
  auto atom = std::make_shared<SizeAtom>();
  atom->kind = SizeAtom::Kind(kind);
  atom->operands = {p, q};
  atom->text = std::string(callName(atom->kind)) + "(" + p.str() + "," + q.str() + ")";
  Size result = ofAtom(std::move(atom));
  result.bad = p.bad || q.bad;
  return result;
}

/// Splits p by a constant c into the terms that c divides and the others: p = c * multiple + rest, 0 <= constant of
/// rest < c.
static std::pair<Size, Size> splitByConstant(const Size &p, int64_t c) {
  Size multiple, rest;
  for (const Term &term : p.terms()) {
    bool integral = term.coefficient.den == 1;
    for (const Factor &factor : term.factors)
      integral &= factor.power > 0;
    Size piece(term.coefficient.num);
    int64_t quotient = floorDivide(term.coefficient.num, c);
    Size monomial(1);
    if (!integral) {
      piece = Size::exactQuotient(piece, Size(term.coefficient.den));
      quotient = 0;
    } else if (term.factors.empty()) {
      piece = Size(term.coefficient.num - quotient * c);
    } else if (term.coefficient.num % c == 0) {
      piece = Size(0);
    } else {
      quotient = 0;
    }
    for (const Factor &factor : term.factors) {
      const SizeAtom &atom = *factor.atom;
      Size base = atom.kind == SizeAtom::Symbol     ? Size::symbol(atom.text)
                  : atom.kind == SizeAtom::FloorDiv ? Size::floorDiv(atom.operands[0], atom.operands[1])
                  : atom.kind == SizeAtom::Mod      ? Size::mod(atom.operands[0], atom.operands[1])
                  : atom.kind == SizeAtom::Min      ? Size::min(atom.operands[0], atom.operands[1])
                  : atom.kind == SizeAtom::Max      ? Size::max(atom.operands[0], atom.operands[1])
                                                    : atom.operands[0];
      for (int i = 0; i < std::abs(factor.power); ++i)
        monomial = factor.power > 0 ? monomial * base : Size::exactQuotient(monomial, base);
    }
    rest += piece * monomial;
    multiple += Size(quotient) * monomial;
  }
  return {multiple, rest};
}

/// True when the value is an integer whatever the symbols: no divisor anywhere outside of calls.
static bool hasNoQuotient(const Size &p) {
  for (const Term &term : p.terms()) {
    if (term.coefficient.den != 1)
      return false;
    for (const Factor &factor : term.factors)
      if (factor.power < 0)
        return false;
  }
  return true;
}

Size Size::floorDiv(const Size &p, const Size &q) {
  if (p == Size(0) && !q.isConstant(0))
    return p;
  if (auto c = q.constant(); c && *c != 0) {
    if (*c == 1)
      return p;
    if (auto value = p.constant(); value && !(*value == INT64_MIN && *c == -1))
      return Size(floorDivide(*value, *c));
    if (*c > 0) {
      auto [multiple, rest] = splitByConstant(p, *c);
      if (rest == Size(0) || (rest.isConstant() && *rest.constant() < *c && *rest.constant() >= 0))
        return multiple;
      if (multiple != Size(0))
        return multiple + floorDiv(rest, q);
      // One form of a quotient rounded up: -(-n // 2) is (n + 1) // 2.
      auto leading = llvm::find_if(p.terms(), [](const Term &term) { return !term.factors.empty(); });
      if (leading != p.terms().end() && leading->coefficient.num < 0 && hasNoQuotient(p))
        return Size(0) - floorDiv(Size(*c - 1) - p, q);
    }
  } else if (!q.isConstant() && !q.bad) {
    Size quotient = exactQuotient(p, q);
    if (!quotient.bad && hasNoQuotient(p) && hasNoQuotient(quotient))
      return quotient;
  }
  return call(SizeAtom::FloorDiv, p, q);
}

Size Size::mod(const Size &p, const Size &q) {
  if (p == Size(0) && !q.isConstant(0))
    return p;
  if (auto c = q.constant(); c && *c != 0) {
    if (*c == 1 || *c == -1)
      return Size(0);
    if (auto value = p.constant())
      return Size(*value - floorDivide(*value, *c) * *c);
    if (*c > 0) {
      Size rest = splitByConstant(p, *c).second;
      if (rest.isConstant())
        return mod(rest, q);
      return call(SizeAtom::Mod, rest, q);
    }
  } else if (!q.isConstant() && !q.bad) {
    Size quotient = exactQuotient(p, q);
    if (!quotient.bad && hasNoQuotient(p) && hasNoQuotient(quotient))
      return Size(0);
  }
  return call(SizeAtom::Mod, p, q);
}

Size Size::min(const Size &p, const Size &q) {
  if (p.provablyAtMost(q))
    return p;
  if (q.provablyAtMost(p))
    return q;
  return p < q ? call(SizeAtom::Min, p, q) : call(SizeAtom::Min, q, p);
}

Size Size::max(const Size &p, const Size &q) {
  if (p.provablyAtMost(q))
    return q;
  if (q.provablyAtMost(p))
    return p;
  return p < q ? call(SizeAtom::Max, p, q) : call(SizeAtom::Max, q, p);
}
