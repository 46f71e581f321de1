//===- SortKernels.h - Elements as keys that order as unsigned integers ------------------------------------------===//
//
// One source, SortKernels.inc, compiled once per level of the instruction set.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_HOST_SORTKERNELS_H
#define PMAP_HOST_SORTKERNELS_H

#include <cstdint>

namespace pmap::rt {

/// What was met while keys were made.
struct KeysMet {
  uint64_t least; ///< of the keys
  uint64_t any;   ///< the bits that some key has
  uint64_t all;   ///< the bits that every key has
  bool otherBits; ///< an element that its key does not give back: a NaN, or the zero with a sign
};

/// Writes the keys of `count` elements, as wide as the elements: in the order of the sort (ascending, or descending)
/// they ascend as unsigned integers, elements that compare as equal have equal keys, and NaN has the largest. Where
/// `otherBits` stays false, `elementsOfKeys` is the inverse.
using MakeKeys = KeysMet (*)(const void *elements, void *keys, int64_t count, bool descending);
using ElementsOfKeys = void (*)(const void *keys, void *elements, int64_t count, bool descending);

struct SortKernels {
  MakeKeys makeKeys;
  ElementsOfKeys elementsOfKeys;
};

/// The kernels for a dtype on this machine.
SortKernels findSortKernels(int32_t dtype);

namespace baseline {
SortKernels findSort(int32_t dtype);
}
namespace x86v3 {
SortKernels findSort(int32_t dtype);
}
namespace x86v4 {
SortKernels findSort(int32_t dtype);
}

} // namespace pmap::rt

#endif // PMAP_HOST_SORTKERNELS_H
