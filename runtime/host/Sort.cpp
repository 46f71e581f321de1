// Sorting along one dimension, stably, NaN last in either direction.

#include "pmap/runtime.h"
#include "runtime/io/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

struct Sort {
  int32_t dtype;
  bool descending, indices;
  int64_t length, inner, bytes;
  const char *in;
  char *out;
};

double realKey(const Sort &sort, int64_t at) { return pmap::rt::loadFloat(sort.dtype, sort.in, at); }

int64_t signedKey(const Sort &sort, int64_t at) { return pmap::rt::loadSigned(sort.dtype, sort.in, at); }

/// Shifted by half the range of u64, so that it orders as a signed number.
int64_t unsignedKey(const Sort &sort, int64_t at) {
  return static_cast<int64_t>(pmap::rt::loadUnsigned(sort.dtype, sort.in, at) ^ (uint64_t(1) << 63));
}

template <typename Key> struct Entry {
  Key key;
  int64_t position;
};

bool isNan(double key) { return std::isnan(key); }
bool isNan(int64_t) { return false; }

/// Sorts the lines lo to hi. Equal keys keep their order because their positions decide.
template <typename Key, typename KeyOf> void sortLines(const Sort &sort, int64_t lo, int64_t hi, KeyOf keyOf) {
  auto *entries = static_cast<Entry<Key> *>(pmap_rt_alloc(sort.length * static_cast<int64_t>(sizeof(Entry<Key>))));
  bool descending = sort.descending;
  for (int64_t line = lo; line < hi; ++line) {
    int64_t start = line / sort.inner * sort.length * sort.inner + line % sort.inner;
    for (int64_t i = 0; i < sort.length; ++i)
      entries[i] = {keyOf(sort, start + i * sort.inner), i};
    std::sort(entries, entries + sort.length, [descending](const Entry<Key> &a, const Entry<Key> &b) {
      bool aNan = isNan(a.key), bNan = isNan(b.key);
      if (aNan || bNan)
        return aNan == bNan ? a.position < b.position : bNan;
      if (a.key != b.key)
        return descending ? a.key > b.key : a.key < b.key;
      return a.position < b.position;
    });
    for (int64_t i = 0; i < sort.length; ++i) {
      int64_t at = start + i * sort.inner;
      if (sort.indices) {
        int32_t position = static_cast<int32_t>(entries[i].position);
        memcpy(sort.out + at * 4, &position, 4);
      } else {
        memcpy(sort.out + at * sort.bytes, sort.in + (start + entries[i].position * sort.inner) * sort.bytes,
               sort.bytes);
      }
    }
  }
  pmap_rt_free(entries);
}

void sortPiece(void *closure, int64_t lo, int64_t hi) {
  const Sort &sort = *static_cast<const Sort *>(closure);
  switch (pmap::rt::kindOf(sort.dtype)) {
  case 'f':
    return sortLines<double>(sort, lo, hi, realKey);
  case 'u':
    return sortLines<int64_t>(sort, lo, hi, unsignedKey);
  default:
    return sortLines<int64_t>(sort, lo, hi, signedKey);
  }
}

} // namespace

void pmap_rt_sort(int32_t dtype, int32_t descending, int32_t indices, int64_t outer, int64_t length, int64_t inner,
                  const void *in, void *out) {
  Sort sort{dtype,
            descending != 0,
            indices != 0,
            length,
            inner,
            pmap_dtype_bytes(dtype),
            static_cast<const char *>(in),
            static_cast<char *>(out)};
  // Pieces of some ten thousand elements are worth a thread.
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, length));
  pmap_rt_parallel_for(sortPiece, &sort, outer * inner, grain);
}
