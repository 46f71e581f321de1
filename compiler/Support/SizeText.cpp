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
