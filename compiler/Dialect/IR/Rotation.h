// A mark for gathers that only turn an array around its end, as `roll` does.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace pmap {

/// On a `pmap.gather` whose i-th index is (i - k) mod n: its derivative turns the cotangent back, and nothing is
/// scattered. A copy without the mark is right too, only slower.
constexpr llvm::StringLiteral kRotationAttr = "pmap.rotation";

} // namespace pmap
