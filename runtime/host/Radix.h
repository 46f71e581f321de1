//===- Radix.h - Stable sorting of entries by their keys, on all threads -----------------------------------------===//

#ifndef PMAP_HOST_RADIX_H
#define PMAP_HOST_RADIX_H

#include "pmap/runtime.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pmap::rt {

/// Runs `body(lo, hi)` over pieces of 0..n on the threads.
template <typename Body> void inPieces(int64_t n, int64_t grain, Body body) {
  pmap_rt_parallel_for([](void *closure, int64_t lo, int64_t hi) { (*static_cast<Body *>(closure))(lo, hi); }, &body, n,
                       grain);
}

/// A key with the position that it came from, ordered by key, then position: one integer where both fit.
template <typename Key> struct Placed {
  using Entry = uint64_t;
  static Entry make(Key key, int64_t position) { return uint64_t(key) << 32 | uint32_t(position); }
  static Key key(Entry entry) { return Key(entry >> 32); }
  static int64_t position(Entry entry) { return uint32_t(entry); }
};

template <> struct Placed<uint64_t> {
  struct Entry {
    uint64_t key;
    int64_t position;
    bool operator<(const Entry &other) const { return key != other.key ? key < other.key : position < other.position; }
  };
  static Entry make(uint64_t key, int64_t position) { return {key, position}; }
  static uint64_t key(const Entry &entry) { return entry.key; }
  static int64_t position(const Entry &entry) { return entry.position; }
};

/// A key alone, where the order of equal ones cannot be seen.
template <typename Key> struct Bare {
  using Entry = Key;
  static Entry make(Key key, int64_t) { return key; }
  static Key key(Entry entry) { return entry; }
};

/// One pass over a digit of 8 bits: entries are counted per block and digit, the counts become places, and each block
/// moves its entries there. Blocks are what threads share; the result does not depend on them, for the order within a
/// digit stays.
template <typename How, typename Key> class RadixPass {
  using Entry = typename How::Entry;
  static constexpr int64_t digits = 256;

public:
  static constexpr int64_t blockEntries = 1 << 15;
  /// How many places a pass over `count` entries needs.
  static int64_t placesFor(int64_t count) { return (count + blockEntries - 1) / blockEntries * digits; }

  RadixPass(const Entry *from, int64_t count, unsigned shift, int64_t *places)
      : from(from), count(count), shift(shift), blocks((count + blockEntries - 1) / blockEntries), places(places) {}

  /// Counts, and makes places of the counts.
  void findPlaces() {
    forBlocks([this](int64_t block) {
      int64_t *counts = places + block * digits;
      memset(counts, 0, digits * sizeof(int64_t));
      for (int64_t i = block * blockEntries; i < end(block); ++i)
        ++counts[digitOf(from[i])];
    });
    int64_t place = 0;
    for (int64_t digit = 0; digit < digits; ++digit)
      for (int64_t block = 0; block < blocks; ++block)
        place += std::exchange(places[block * digits + digit], place);
  }

  /// Calls `move(place, i)` for every entry i.
  template <typename Move> void moveAll(Move move) {
    forBlocks([this, move](int64_t block) {
      int64_t *next = places + block * digits;
      for (int64_t i = block * blockEntries; i < end(block); ++i)
        move(next[digitOf(from[i])]++, i);
    });
  }

private:
  unsigned digitOf(const Entry &entry) const { return unsigned(uint64_t(How::key(entry)) >> shift) & (digits - 1); }
  int64_t end(int64_t block) const { return std::min(count, (block + 1) * blockEntries); }

  template <typename Body> void forBlocks(Body body) {
    if (blocks == 1)
      return body(0);
    inPieces(blocks, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t block = lo; block < hi; ++block)
        body(block);
    });
  }

  const Entry *from;
  int64_t count;
  unsigned shift;
  int64_t blocks, *places;
};

/// Sorts entries that stand in the order of their positions, whose keys differ in the bits of `differing` only. Returns
/// where they are then: `entries` or `scratch`.
template <typename How, typename Key>
typename How::Entry *sortEntries(typename How::Entry *entries, typename How::Entry *scratch, int64_t count,
                                 uint64_t differing, int64_t *places) {
  // Below this many, the passes' tables of digits cost more than comparing.
  if (count <= 24 * int64_t(sizeof(Key))) {
    std::sort(entries, entries + count);
    return entries;
  }
  for (unsigned shift = 0; shift < 8 * sizeof(Key); shift += 8) {
    if ((differing >> shift & 0xff) == 0)
      continue;
    RadixPass<How, Key> pass(entries, count, shift, places);
    pass.findPlaces();
    pass.moveAll([entries, scratch](int64_t place, int64_t i) { scratch[place] = entries[i]; });
    std::swap(entries, scratch);
  }
  return entries;
}

} // namespace pmap::rt

#endif // PMAP_HOST_RADIX_H
