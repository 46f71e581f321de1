// Sizes to text and back. The text is what tensor encodings, signatures and messages show.

#include "compiler/Support/Size.h"
#include <algorithm>
#include <cctype>
#include <map>

using namespace pmap;

namespace {

/// The terms of one polynomial divisor, printed as a sum without quotients.
std::string printSum(const std::vector<Size::Term> &terms) {
  std::string text;
  for (const Size::Term &term : terms) {
    int64_t number = term.coefficient.num;
    if (number < 0)
      text += "-";
    else if (!text.empty())
      text += "+";
    std::string magnitude = std::to_string(number);
    if (number < 0)
      magnitude.erase(0, 1);
    bool first = true;
    if (magnitude != "1" || term.factors.empty()) {
      text += magnitude;
      first = false;
    }
    for (const Size::Factor &factor : term.factors)
      for (int i = 0; i < factor.power; ++i) {
        text += first ? "" : "*";
        first = false;
        text += factor.atom->text;
      }
  }
  return text.empty() ? "0" : text;
}

std::string showSum(const std::vector<Size::Term> &terms);

/// In parentheses where it is a sum, or anything but one atom.
std::string showOperand(const Size &size) {
  std::string text = size.shown();
  bool isOne = size.terms().empty() || (size.terms().size() == 1 && size.terms()[0].coefficient.den == 1 &&
                                        size.terms()[0].coefficient.num >= (size.terms()[0].factors.empty() ? 0 : 1) &&
                                        (size.terms()[0].factors.empty() ||
                                         (size.terms()[0].coefficient.num == 1 && size.terms()[0].factors.size() == 1 &&
                                          size.terms()[0].factors[0].power == 1)));
  return isOne ? text : "(" + text + ")";
}

std::string showAtom(const SizeAtom &atom, bool isAlone) {
  auto between = [&](const char *op) {
    std::string text = showOperand(atom.operands[0]) + op + showOperand(atom.operands[1]);
    return isAlone ? text : "(" + text + ")";
  };
  switch (atom.kind) {
  case SizeAtom::FloorDiv:
    return between("//");
  case SizeAtom::Mod:
    return between("%");
  case SizeAtom::Min:
  case SizeAtom::Max:
    return (atom.kind == SizeAtom::Min ? "min(" : "max(") + atom.operands[0].shown() + ", " + atom.operands[1].shown() +
           ")";
  default:
    return atom.text;
  }
}

/// A sum without quotients, as people write it: what is added before what is taken away.
std::string showSum(const std::vector<Size::Term> &terms) {
  std::string text;
  std::vector<Size::Term> ordered;
  for (bool isAdded : {true, false})
    for (const Size::Term &term : terms)
      if ((term.coefficient.num > 0) == isAdded)
        ordered.push_back(term);
  for (const Size::Term &term : ordered) {
    int64_t number = term.coefficient.num;
    text += number < 0 ? "-" : text.empty() ? "" : "+";
    std::string magnitude = std::to_string(number);
    if (number < 0)
      magnitude.erase(0, 1);
    bool hasNumber = magnitude != "1" || term.factors.empty();
    text += hasNumber ? magnitude : "";
    bool first = !hasNumber;
    for (const Size::Factor &factor : term.factors) {
      bool isAlone = !hasNumber && number > 0 && term.factors.size() == 1 && factor.power == 1;
      for (int i = 0; i < factor.power; ++i) {
        text += first ? "" : "*";
        first = false;
        text += showAtom(*factor.atom, isAlone);
      }
    }
  }
  return text.empty() ? "0" : text;
}

/// The product that a sum is divided by, in parentheses where it has several factors.
std::string showDivisor(const Size &monomial, const std::vector<std::string> &sums) {
  std::vector<std::string> factors;
  for (const Size::Term &term : monomial.terms()) {
    if (term.coefficient.num != 1)
      factors.push_back(std::to_string(term.coefficient.num));
    for (const Size::Factor &factor : term.factors)
      for (int i = 0; i < factor.power; ++i) {
        // A part along an axis: `n/data`, without the mark that tells the axis from a size of that name.
        std::string text = showAtom(*factor.atom, /*isAlone=*/false);
        factors.push_back(text[0] == '@' ? text.substr(1) : text);
      }
  }
  factors.insert(factors.end(), sums.begin(), sums.end());
  std::string text;
  for (const std::string &factor : factors)
    text += (text.empty() ? "" : "*") + factor;
  return factors.size() > 1 ? "(" + text + ")" : text;
}

class Parser {
public:
  explicit Parser(llvm::StringRef text) : rest(text) {}

  std::optional<Size> all() {
    auto size = sum();
    skip();
    return rest.empty() ? size : std::nullopt;
  }

private:
  llvm::StringRef rest;
  int depth = 0;

  void skip() { rest = rest.ltrim(); }
  bool take(char c) {
    skip();
    return rest.consume_front(llvm::StringRef(&c, 1));
  }

  std::optional<Size> sum() {
    bool negative = take('-');
    auto value = product();
    if (!value)
      return std::nullopt;
    if (negative)
      value = -*value;
    while (true) {
      bool plus = take('+');
      if (!plus && !take('-'))
        return value;
      auto next = product();
      if (!next)
        return std::nullopt;
      value = plus ? *value + *next : *value - *next;
    }
  }

  std::optional<Size> product() {
    auto value = primary();
    while (value) {
      bool multiplies = take('*');
      if (!multiplies && !take('/'))
        return value;
      auto next = primary();
      if (!next)
        return std::nullopt;
      value = multiplies ? *value * *next : Size::exactQuotient(*value, *next);
    }
    return std::nullopt;
  }

  std::optional<Size> primary() {
    skip();
    if (rest.empty() || depth > 200)
      return std::nullopt;
    if (take('(')) {
      ++depth;
      auto value = sum();
      --depth;
      return value && take(')') ? value : std::nullopt;
    }
    if (isdigit((unsigned char)rest[0])) {
      int64_t number;
      if (rest.consumeInteger(10, number))
        return std::nullopt;
      return Size(number);
    }
    // A name: anything a Pmap name may hold, with `@` before an axis and `.` before a renaming number.
    size_t length = rest[0] == '@' ? 1 : 0;
    while (length < rest.size() && (isalnum((unsigned char)rest[length]) || rest[length] == '_' ||
                                    rest[length] == '.' || (unsigned char)rest[length] >= 0x80))
      ++length;
    llvm::StringRef name = rest.take_front(length);
    if (name.empty() || name == "@")
      return std::nullopt;
    rest = rest.drop_front(length);
    if (!rest.starts_with("("))
      return Size::symbol(name);
    rest = rest.drop_front(1);
    ++depth;
    auto p = sum();
    auto q = p && take(',') ? sum() : std::nullopt;
    --depth;
    if (!q || !take(')'))
      return std::nullopt;
    if (name == "floordiv")
      return Size::floorDiv(*p, *q);
    if (name == "mod")
      return Size::mod(*p, *q);
    if (name == "min")
      return Size::min(*p, *q);
    if (name == "max")
      return Size::max(*p, *q);
    return std::nullopt;
  }
};

} // namespace

std::string Size::shown() const {
  if (bad)
    return "overflow";
  // Terms with the same divisor stand above it together; the whole ones come last.
  struct Group {
    Size terms;
    std::vector<std::string> sums; // divisors that are sums
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const Term &term : list) {
    Group group;
    Term plain{term.coefficient, {}};
    std::string sums;
    for (const Factor &factor : term.factors) {
      if (factor.atom->kind != SizeAtom::Divisor) {
        plain.factors.push_back(factor);
        continue;
      }
      for (int i = 0; i < -factor.power; ++i)
        group.sums.push_back("(" + factor.atom->operands[0].shown() + ")");
      sums += factor.atom->text + "^" + std::to_string(factor.power);
    }
    Size one;
    one.list.push_back(plain);
    std::string divisor = one.asQuotient().second.str();
    auto [place, fresh] = groups.try_emplace({sums, divisor == "1" ? "" : divisor}, group);
    place->second.terms.list.push_back(plain);
  }
  std::string text;
  auto add = [&](const Group &group) {
    auto [numerator, denominator] = group.terms.asQuotient();
    std::string divisor = showDivisor(denominator, group.sums), piece = showSum(numerator.list);
    if (!divisor.empty()) {
      bool isSum = numerator.list.size() > 1;
      piece = (isSum ? "(" + piece + ")" : piece) + "/" + divisor;
    }
    text += (text.empty() || piece[0] == '-' ? "" : "+") + piece;
  };
  for (auto &[key, group] : groups)
    if (key != std::pair<std::string, std::string>())
      add(group);
  if (auto whole = groups.find({}); whole != groups.end())
    add(whole->second);
  return text.empty() ? "0" : text;
}

std::string Size::str() const {
  if (bad)
    return "overflow";
  // Terms are grouped by the polynomial divisors they have; each group prints as (sum)/(monomial)/(divisor)...
  std::map<std::string, Size> groups;
  std::map<std::string, std::string> suffixes;
  for (const Term &term : list) {
    std::string key, suffix;
    Term plain{term.coefficient, {}};
    for (const Factor &factor : term.factors) {
      if (factor.atom->kind != SizeAtom::Divisor) {
        plain.factors.push_back(factor);
        continue;
      }
      for (int i = 0; i < -factor.power; ++i)
        suffix += "/" + factor.atom->text;
    }
    groups[suffix].list.push_back(plain);
  }
  if (groups.empty())
    return "0";
  std::string text;
  for (auto &[suffix, group] : groups) {
    auto [numerator, denominator] = group.asQuotient();
    std::string piece = printSum(numerator.list);
    bool divides = !denominator.isConstant(1);
    if (divides || !suffix.empty())
      piece = "(" + piece + ")" + (divides ? "/(" + printSum(denominator.list) + ")" : "") + suffix;
    if (!text.empty() && piece[0] != '-')
      text += "+";
    text += piece;
  }
  return text;
}

std::optional<Size> Size::parse(llvm::StringRef text) { return Parser(text).all(); }
