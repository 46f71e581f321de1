// Array sizes as polynomials in normal form.
//
// A size is a polynomial over symbols (`n`, `n.1` for a renamed one, `@data` for the size of mesh axis `data`) with
// exact quotients (`(n)/(2)`) and the opaque calls floordiv, mod, min and max. The type checker decides `n+1 == 1+n`
// and `2*(n-1)+2 == 2*n` by comparing normal forms, and the dialect carries them as text in tensor encodings.
//
// Every symbol stands for an integer of at least 0 (checked where it is bound) and every `@axis` for one of at least 1;
// the proofs below rely on that. An exact quotient means "the division leaves no rest", which is checked at run time
// where it is made, so `2*((n)/(2))` is `n`.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace pmap {

struct SizeAtom;

/// Why a size has no value for given symbol values.
enum class SizeStatus {
  Ok,
  Unbound,      ///< A symbol has no value.
  Overflow,     ///< The value, or one on the way to it, does not fit 64 bits.
  NotExact,     ///< A quotient leaves a rest.
  DivideByZero, ///< A quotient, floordiv or mod by zero.
};

class Size {
public:
  /// The rational coefficient of a term, in lowest terms, denominator positive.
  struct Coefficient {
    int64_t num = 0, den = 1;
    bool operator==(const Coefficient &other) const { return num == other.num && den == other.den; }
  };
  /// An atom to a power other than 0; the power is negative for a divisor.
  struct Factor {
    std::shared_ptr<const SizeAtom> atom;
    int power = 1;
  };
  struct Term {
    Coefficient coefficient;
    std::vector<Factor> factors; ///< sorted by the atoms' texts, each atom once
  };

  /// The size 0.
  Size() = default;
  Size(const Size &) = default;
  Size(Size &&) = default;
  Size &operator=(const Size &) = default;
  /// Keeps its value when moved to itself, which containers do when they insert an empty range.
  Size &operator=(Size &&other) {
    list.swap(other.list);
    std::swap(bad, other.bad);
    return *this;
  }
  /*implicit*/ Size(int64_t value);
  static Size symbol(llvm::StringRef name);
  /// The number of devices along a mesh axis, written `@axis`.
  static Size axis(llvm::StringRef axisName);

  /// Reads what str() writes, and any expression of + - * / ( ) and the four calls. Nothing when the text is malformed.
  static std::optional<Size> parse(llvm::StringRef text);
  /// The normal form: two sizes are equal exactly when their texts are.
  std::string str() const;
  /// The size as people write it, for messages: `(n+1)//2`, `n/2+1`, and `n/data` for a part of `n` along an axis, which
  /// is `@data` elsewhere. Not to be parsed: only `str` reads back as what it was.
  std::string shown() const;

  Size operator+(const Size &other) const;
  Size operator-(const Size &other) const;
  Size operator*(const Size &other) const;
  Size operator-() const;
  Size &operator+=(const Size &other) { return *this = *this + other; }
  Size &operator*=(const Size &other) { return *this = *this * other; }
  bool operator==(const Size &other) const;
  bool operator!=(const Size &other) const { return !(*this == other); }
  bool operator<(const Size &other) const { return str() < other.str(); }

  /// p / q where the division is known, or will be checked, to be exact. q must not be the constant 0 (the result is
  /// then marked as overflowed).
  static Size exactQuotient(const Size &p, const Size &q);
  /// p // q and p % q as in Python (the rest has the sign of q).
  static Size floorDiv(const Size &p, const Size &q);
  static Size mod(const Size &p, const Size &q);
  static Size min(const Size &p, const Size &q);
  static Size max(const Size &p, const Size &q);
  /// The smallest integer at least p/q: -(-p // q).
  static Size ceilDiv(const Size &p, const Size &q) { return -floorDiv(-p, q); }

  std::optional<int64_t> constant() const;
  bool isConstant() const { return constant().has_value(); }
  bool isConstant(int64_t value) const { return constant() == value; }
  /// The name when the size is a lone symbol (`@a` included).
  std::optional<std::string> asSymbol() const;
  /// All symbols in it, those inside calls and divisors included; axis sizes appear as `@a`.
  std::set<std::string> symbols() const;
  bool mentions(llvm::StringRef symbol) const;
  /// True when a coefficient on the way did not fit 64 bits; such a size equals nothing, itself included.
  bool overflowed() const { return bad; }

  /// Replaces symbols for which `value` returns a size.
  Size substitute(llvm::function_ref<std::optional<Size>(llvm::StringRef)> value) const;
  Size substitute(llvm::StringRef symbol, const Size &value) const;

  /// The value for given symbol values. Every quotient must be exact as a whole.
  std::optional<int64_t> evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> value,
                                  SizeStatus *status = nullptr) const;

  /// The size as numerator / denominator with integer coefficients and no quotient outside of calls; the denominator is
  /// 1 where there is none. What a lowering needs to compute the value and check that the division is exact.
  std::pair<Size, Size> asQuotient() const;

  /// True when the size is at least 0 (or 1) for all values of its symbols. False means "not shown".
  bool provablyNonNegative() const;
  bool provablyPositive() const { return (*this - Size(1)).provablyNonNegative(); }
  /// True when this <= other (or differs from it) for all values of the symbols.
  bool provablyAtMost(const Size &other) const { return (other - *this).provablyNonNegative(); }
  bool provablyDiffers(const Size &other) const;

  /// p as a*symbol + b with neither a nor b mentioning the symbol; nothing when it is not linear in it.
  std::optional<std::pair<Size, Size>> linearIn(llvm::StringRef symbol) const;

  /// The terms, largest monomial first; what code that turns a size into instructions walks over.
  const std::vector<Term> &terms() const { return list; }

private:
  std::vector<Term> list;
  bool bad = false;

  void add(Term term);
  static Size ofAtom(std::shared_ptr<const SizeAtom> atom, int power = 1);
  static Size call(int kind, const Size &p, const Size &q);
  static Size multiply(const Term &a, const Term &b);
  static Size power(const Size &base, int power);
  bool nonNegative(int depth) const;
};

/// What a term multiplies: a symbol, a call of two sizes, or (to negative powers only) a polynomial divisor.
struct SizeAtom {
  enum Kind { Symbol, FloorDiv, Mod, Min, Max, Divisor };
  Kind kind = Symbol;
  std::string text; ///< canonical: the symbol's name, the call, or the divisor's normal form in parentheses
  std::vector<Size> operands;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Size &size);

} // namespace pmap
