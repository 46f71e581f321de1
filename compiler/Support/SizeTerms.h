// Helpers on the terms of a size, shared by the files that implement Size.
#pragma once

#include "compiler/Support/Size.h"
#include <cstdint>

namespace pmap {

inline bool fits(__int128 value) { return value >= INT64_MIN && value <= INT64_MAX; }

/// a // b as in Python; b is not 0.
inline int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// The power of `atom` in a monomial.
inline int powerOf(const std::vector<Size::Factor> &factors, llvm::StringRef atom) {
  for (const Size::Factor &factor : factors)
    if (factor.atom->text == atom)
      return factor.power;
  return 0;
}

} // namespace pmap
