// The arithmetic of sizes. Sums of terms with rational coefficients and integer powers (a divisor is a negative power),
// so that quotients by constants and monomials cancel by themselves. Sums as divisors become atoms of their own.

#include "compiler/Support/Size.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <numeric>

using namespace pmap;
using Term = Size::Term;
using Factor = Size::Factor;
using Coefficient = Size::Coefficient;

namespace {

bool fits(__int128 value) { return value >= INT64_MIN && value <= INT64_MAX; }

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

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// The power of `atom` in a monomial.
int powerOf(const std::vector<Factor> &factors, llvm::StringRef atom) {
  for (const Factor &factor : factors)
    if (factor.atom->text == atom)
      return factor.power;
  return 0;
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

Size Size::operator+(const Size &other) const {
  Size result = *this;
  result.bad |= other.bad;
  for (const Term &term : other.list)
    result.add(term);
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

bool Size::provablyNonNegative() const { return nonNegative(0); }

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
