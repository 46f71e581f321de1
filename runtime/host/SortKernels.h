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

/// Lines to be sorted side by side, one in each lane of a vector. Strides are counted in elements.
struct LinesTogether {
  const void *in;
  int64_t inLine, inElement; ///< from a line to the next, from an element to the next
  void *out;
  int64_t outLine, outElement;
  int64_t lines, length, kept; ///< at most `togetherBytes` over the bytes of a key (or entry) lines
  bool descending;
  void *scratch; ///< `togetherBytes` for each element of a line, aligned to that
};
constexpr int64_t togetherBytes = 64;

/// Sorts lines by a network of comparisons, the same for all of them; false where keys do not give the elements back,
/// and nothing is written then.
using SortTogether = bool (*)(const LinesTogether &);
/// The positions instead of the elements, as i32, stably; null where key and position do not fit one integer. An entry
/// has 4 bytes for keys of 1 and 2 bytes (a line has at most 65536 elements then), and 8 for those of 4.
using OrderTogether = void (*)(const LinesTogether &);

struct SortKernels {
  MakeKeys makeKeys;
  ElementsOfKeys elementsOfKeys;
  SortTogether sortTogether;
  OrderTogether orderTogether;
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
