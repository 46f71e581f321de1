// A recursive-descent evaluator in exact fractions.

#include "runtime/io/SizeExpression.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

using namespace pmap::rt;

namespace {

bool nameByte(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@' || (unsigned char)c >= 0x80;
}

/// A fraction of 64-bit integers, in lowest terms, denominator positive.
struct Fraction {
  int64_t over = 0, under = 1;
};

class Evaluator {
public:
  Evaluator(const std::string &text, const Symbols &symbols) : text(text), symbols(symbols) {}

  std::optional<int64_t> all() {
    Fraction value = sum();
    if (at != text.size() || failed || value.under != 1)
      return std::nullopt;
    return value.over;
  }

private:
  const std::string &text;
  const Symbols &symbols;
  size_t at = 0;
  int depth = 0;
  bool failed = false;

  bool take(char c) {
    if (at < text.size() && text[at] == c)
      return ++at, true;
    return false;
  }

  Fraction make(__int128 over, __int128 under) {
    if (under == 0) {
      failed = true;
      return {};
    }
    if (under < 0) {
      over = -over;
      under = -under;
    }
    __int128 a = over < 0 ? -over : over, b = under;
    while (b) {
      __int128 rest = a % b;
      a = b;
      b = rest;
    }
    if (a > 1) {
      over /= a;
      under /= a;
    }
    failed |= over > INT64_MAX || over < INT64_MIN || under > INT64_MAX;
    return {(int64_t)over, (int64_t)under};
  }
  Fraction add(Fraction a, Fraction b, int sign) {
    return make((__int128)a.over * b.under + (__int128)sign * b.over * a.under, (__int128)a.under * b.under);
  }

  Fraction sum() {
    Fraction value;
    if (take('-'))
      value = add({}, product(), -1);
    else
      value = product();
    while (!failed) {
      if (take('+'))
        value = add(value, product(), 1);
      else if (take('-'))
        value = add(value, product(), -1);
      else
        break;
    }
    return value;
  }
  Fraction product() {
    Fraction value = primary();
    while (!failed) {
      if (take('*')) {
        Fraction next = primary();
        value = make((__int128)value.over * next.over, (__int128)value.under * next.under);
      } else if (take('/')) {
        Fraction next = primary();
        value = make((__int128)value.over * next.under, (__int128)value.under * next.over);
      } else {
        break;
      }
    }
    return value;
  }
  Fraction primary() {
    if (++depth > 200)
      failed = true;
    Fraction value;
    if (failed) {
    } else if (take('(')) {
      value = sum();
      failed |= !take(')');
    } else if (at < text.size() && isdigit((unsigned char)text[at])) {
      while (at < text.size() && isdigit((unsigned char)text[at]))
        failed |= __builtin_mul_overflow(value.over, 10, &value.over) ||
                  __builtin_add_overflow(value.over, text[at++] - '0', &value.over);
    } else {
      size_t begin = at;
      while (at < text.size() && nameByte(text[at]))
        ++at;
      std::string name = text.substr(begin, at - begin);
      if (take('(')) {
        value = call(name);
      } else {
        auto found = symbols.find(name);
        failed |= found == symbols.end();
        if (!failed)
          value.over = found->second;
      }
    }
    --depth;
    return value;
  }
  Fraction call(const std::string &name) {
    Fraction p = sum();
    failed |= !take(',');
    Fraction q = failed ? Fraction() : sum();
    failed |= !take(')') || p.under != 1 || q.under != 1;
    if (failed)
      return {};
    if (name == "min")
      return {std::min(p.over, q.over), 1};
    if (name == "max")
      return {std::max(p.over, q.over), 1};
    if ((name != "floordiv" && name != "mod") || q.over == 0 || (p.over == INT64_MIN && q.over == -1)) {
      failed = true;
      return {};
    }
    int64_t quotient = p.over / q.over, rest = p.over % q.over;
    if (rest && (rest < 0) != (q.over < 0)) {
      --quotient;
      rest += q.over;
    }
    return {name == "mod" ? rest : quotient, 1};
  }
};

} // namespace

std::optional<int64_t> pmap::rt::evaluateSize(const std::string &text, const Symbols &symbols) {
  return Evaluator(text, symbols).all();
}

bool pmap::rt::isSymbol(const std::string &text) {
  return !text.empty() && !isdigit((unsigned char)text[0]) && std::all_of(text.begin(), text.end(), nameByte);
}

std::vector<std::string> pmap::rt::symbolsOf(const std::string &text) {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    while (at < text.size() && nameByte(text[at]))
      ++at;
    std::string name = text.substr(begin, at - begin);
    bool isCall = at < text.size() && text[at] == '(';
    if (!isCall && isSymbol(name) && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
    at += at == begin;
  }
  return names;
}
