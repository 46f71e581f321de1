// Sorting along one dimension, stably, NaN last in either direction; and the first of each sorted line, which a
// selection finds without sorting the rest.
//
// Elements become keys that order as unsigned integers (SortKernels.h), and these are sorted digit by digit (Radix.h).
// Lines that do not lie in one piece of memory are copied out several at a time, so that whole cache lines are read.
// Many short lines are sorted side by side instead, one in each lane of a vector, by a network of comparisons.

#include "pmap/runtime.h"
#include "runtime/host/Radix.h"
#include "runtime/host/SortKernels.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

using namespace pmap::rt;

namespace {

struct Sort {
  SortKernels kernels;
  bool descending, indices;
  int64_t length, inner, kept, bytes;
  const char *in;
  char *out;

  int64_t resultBytes() const { return indices ? int64_t(sizeof(int32_t)) : bytes; }
};

/// Memory for the lines of one piece, taken when it is first needed.
template <typename Key> class Scratch {
public:
  using Entry = typename Placed<Key>::Entry;

  explicit Scratch(int64_t length) : length(length) {}
  void release() {
    for (void *buffer : buffers)
      pmap_rt_free(buffer);
  }

  Key *keys() { return take<Key>(0, length); }
  Key *movedKeys() { return take<Key>(1, length); }
  Entry *entries() { return take<Entry>(2, length); }
  Entry *movedEntries() { return take<Entry>(3, length); }
  int64_t *places() { return take<int64_t>(4, RadixPass<Placed<Key>, Key>::placesFor(length)); }

private:
  template <typename T> T *take(int which, int64_t count) {
    if (!buffers[which])
      buffers[which] = pmap_rt_alloc(count * int64_t(sizeof(T)));
    return static_cast<T *>(buffers[which]);
  }

  int64_t length;
  void *buffers[5] = {};
};

constexpr int64_t pieceElements = 1 << 15;

/// The `kept` least entries of the line, in order: candidates below the best bound so far are collected, and whenever
/// there are too many, all but the least are dropped, which lowers the bound.
template <typename Key> typename Placed<Key>::Entry *selectLeast(const Sort &sort, const char *line, Scratch<Key> &s) {
  constexpr int64_t block = 128;
  Key *keys = s.keys();
  auto *entries = s.entries();
  int64_t most = std::min(sort.length, std::max<int64_t>(4 * sort.kept, 1024) + block), count = 0;
  auto drop = [&] {
    std::nth_element(entries, entries + sort.kept - 1, entries + count);
    count = sort.kept;
    return Placed<Key>::key(entries[sort.kept - 1]);
  };
  bool bounded = false;
  Key bound = Key(~Key(0));
  for (int64_t begin = 0; begin < sort.length; begin += block) {
    int64_t size = std::min(block, sort.length - begin);
    KeysMet met = sort.kernels.makeKeys(line + begin * sort.bytes, keys, size, sort.descending);
    if (bounded && met.least >= bound)
      continue;
    if (count + size > most) {
      bound = drop();
      bounded = true;
    }
    // An element that equals the bound comes later than what gave the bound, and so is not among the first.
    for (int64_t i = 0; i < size; ++i)
      if (!bounded || keys[i] < bound)
        entries[count++] = Placed<Key>::make(keys[i], begin + i);
  }
  drop();
  std::sort(entries, entries + sort.kept);
  return entries;
}

/// Makes the keys of a whole line. `least` is not filled in.
template <typename Key> KeysMet makeLineKeys(const Sort &sort, const char *line, Key *keys) {
  std::atomic<uint64_t> any = 0, all = ~uint64_t(0);
  std::atomic<bool> otherBits = false;
  inPieces(sort.length, pieceElements, [&](int64_t lo, int64_t hi) {
    KeysMet met = sort.kernels.makeKeys(line + lo * sort.bytes, keys + lo, hi - lo, sort.descending);
    any.fetch_or(met.any, std::memory_order_relaxed);
    all.fetch_and(met.all, std::memory_order_relaxed);
    if (met.otherBits)
      otherBits.store(true, std::memory_order_relaxed);
  });
  return {0, any.load(), all.load(), otherBits.load()};
}

/// All entries of the line in order.
template <typename Key>
typename Placed<Key>::Entry *sortPlaced(const Sort &sort, const Key *keys, uint64_t differing, Scratch<Key> &s) {
  auto *entries = s.entries();
  inPieces(sort.length, pieceElements, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i)
      entries[i] = Placed<Key>::make(keys[i], i);
  });
  return sortEntries<Placed<Key>, Key>(entries, s.movedEntries(), sort.length, differing, s.places());
}

/// Sorted elements by their keys alone, where these give the elements back.
template <typename Key> void sortBare(const Sort &sort, Key *keys, uint64_t differing, char *result, Scratch<Key> &s) {
  Key *sorted = sortEntries<Bare<Key>, Key>(keys, s.movedKeys(), sort.length, differing, s.places());
  inPieces(sort.kept, pieceElements, [&](int64_t lo, int64_t hi) {
    sort.kernels.elementsOfKeys(sorted + lo, result + lo * sort.bytes, hi - lo, sort.descending);
  });
}

/// The order of keys that differ in one bit, as those of a mask do: positions without the bit, then those with it.
/// Blocks are collected on the stack without a branch per element.
void orderMask(const Sort &sort, const uint8_t *keys, uint8_t bit, int32_t *result, Scratch<uint8_t> &s) {
  constexpr int64_t block = 4096;
  int64_t blocks = (sort.length + block - 1) / block, *ones = s.places(), total = 0;
  auto end = [&](int64_t i) { return std::min(sort.length, (i + 1) * block); };
  inPieces(blocks, 8, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      int32_t count = 0;
      for (int64_t at = i * block; at < end(i); ++at)
        count += (keys[at] & bit) != 0;
      ones[i] = count;
    }
  });
  for (int64_t i = 0; i < blocks; ++i)
    total += std::exchange(ones[i], total);
  int64_t zeros = sort.length - total;
  inPieces(blocks, 8, [&](int64_t lo, int64_t hi) {
    int32_t chosen[block];
    for (int64_t i = lo; i < hi; ++i)
      for (uint8_t side : {uint8_t(0), bit}) {
        int64_t first = side ? zeros + ones[i] : i * block - ones[i];
        if (first >= sort.kept)
          continue;
        int64_t count = 0;
        for (int64_t at = i * block; at < end(i); ++at) {
          chosen[count] = static_cast<int32_t>(at);
          count += (keys[at] & bit) == side;
        }
        memcpy(result + first, chosen, std::min(count, sort.kept - first) * sizeof(int32_t));
      }
  });
}

/// The order of a line of bytes, which have one digit: every position goes to its place at once.
void orderBytes(const Sort &sort, const uint8_t *keys, uint64_t differing, int32_t *result, Scratch<uint8_t> &s) {
  if ((differing & (differing - 1)) == 0)
    return orderMask(sort, keys, static_cast<uint8_t>(differing), result, s);
  RadixPass<Bare<uint8_t>, uint8_t> pass(keys, sort.length, 0, s.places());
  pass.findPlaces();
  pass.moveAll([result, kept = sort.kept](int64_t place, int64_t i) {
    if (place < kept)
      result[place] = static_cast<int32_t>(i);
  });
}

/// Sorts one line that lies in one piece of memory; writes the first `kept`.
template <typename Key> void sortLine(const Sort &sort, const char *line, char *result, Scratch<Key> &s) {
  typename Placed<Key>::Entry *entries;
  bool ofBytes = sizeof(Key) == 1 && sort.indices && sort.length > 256;
  if (!ofBytes && sort.kept < sort.length / 8) {
    entries = selectLeast<Key>(sort, line, s);
  } else {
    Key *keys = s.keys();
    KeysMet met = makeLineKeys(sort, line, keys);
    uint64_t differing = met.any & ~met.all;
    if constexpr (sizeof(Key) == 1)
      if (ofBytes)
        return orderBytes(sort, keys, differing, reinterpret_cast<int32_t *>(result), s);
    if (!sort.indices && !met.otherBits)
      return sortBare<Key>(sort, keys, differing, result, s);
    entries = sortPlaced<Key>(sort, keys, differing, s);
  }
  inPieces(sort.kept, pieceElements, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      int64_t position = Placed<Key>::position(entries[i]);
      if (sort.indices)
        reinterpret_cast<int32_t *>(result)[i] = static_cast<int32_t>(position);
      else
        reinterpret_cast<Key *>(result)[i] = reinterpret_cast<const Key *>(line)[position];
    }
  });
}

/// Lines side by side that are copied out together: a cache line's worth.
template <typename Key> constexpr int64_t columns = 64 / sizeof(Key);

/// Sorts the lines lo to hi of an array whose sorted dimension is not the last.
template <typename Key> void sortColumns(const Sort &sort, int64_t lo, int64_t hi) {
  Scratch<Key> scratch(sort.length);
  auto *lines = static_cast<Key *>(pmap_rt_alloc(columns<Key> * sort.length * int64_t(sizeof(Key))));
  auto *results = static_cast<char *>(pmap_rt_alloc(columns<Key> * sort.kept * sort.resultBytes()));
  for (int64_t first = lo, count; first < hi; first += count) {
    int64_t outer = first / sort.inner, column = first % sort.inner;
    count = std::min({columns<Key>, hi - first, sort.inner - column});
    auto *in = reinterpret_cast<const Key *>(sort.in) + outer * sort.length * sort.inner + column;
    for (int64_t i = 0; i < sort.length; ++i)
      for (int64_t c = 0; c < count; ++c)
        lines[c * sort.length + i] = in[i * sort.inner + c];
    int64_t width = sort.resultBytes();
    for (int64_t c = 0; c < count; ++c)
      sortLine<Key>(sort, reinterpret_cast<char *>(lines + c * sort.length), results + c * sort.kept * width, scratch);
    auto write = [&](auto *from) {
      auto *out = reinterpret_cast<decltype(from)>(sort.out) + outer * sort.kept * sort.inner + column;
      for (int64_t i = 0; i < sort.kept; ++i)
        for (int64_t c = 0; c < count; ++c)
          out[i * sort.inner + c] = from[c * sort.kept + i];
    };
    sort.indices ? write(reinterpret_cast<int32_t *>(results)) : write(reinterpret_cast<Key *>(results));
  }
  scratch.release();
  pmap_rt_free(lines);
  pmap_rt_free(results);
}

template <typename Key> void sortRows(const Sort &sort, int64_t lo, int64_t hi) {
  Scratch<Key> scratch(sort.length);
  for (int64_t line = lo; line < hi; ++line)
    sortLine<Key>(sort, sort.in + line * sort.length * sort.bytes, sort.out + line * sort.kept * sort.resultBytes(),
                  scratch);
  scratch.release();
}

/// Lines whose elements, one vector for each, stay in the second cache while the network goes over them.
constexpr int64_t togetherLength = 8192;

/// How many lines are sorted side by side; 0 where each is sorted by itself.
int64_t linesTogether(const Sort &sort, int64_t lines) {
  // Where few are kept a selection reads each element once.
  if (sort.length > togetherLength || sort.length < 2 || (sort.kept < sort.length / 8 && sort.length > 64))
    return 0;
  // The positions of bytes take one pass of a radix sort.
  if (sort.indices && (!sort.kernels.orderTogether || (sort.bytes == 1 && sort.length > 256)))
    return 0;
  int64_t entryBytes = sort.indices ? (sort.bytes == 4 ? 8 : 4) : sort.bytes;
  int64_t most = togetherBytes / entryBytes;
  return std::min(lines, sort.inner == 1 ? lines : sort.inner) * 4 < most ? 0 : most;
}

template <typename Key> void sortGroups(const Sort &sort, int64_t most, int64_t lo, int64_t hi) {
  void *scratch = pmap_rt_alloc(sort.length * togetherBytes);
  int64_t width = sort.resultBytes(), inner = sort.inner;
  for (int64_t first = lo, count; first < hi; first += count) {
    int64_t outer = first / inner, column = first % inner;
    // Rows may be any neighbours; columns those of one matrix.
    count = std::min({most, hi - first, inner == 1 ? most : inner - column});
    int64_t in = outer * sort.length * inner + column, out = outer * sort.kept * inner + column;
    LinesTogether work{sort.in + in * sort.bytes,
                       inner == 1 ? sort.length : 1,
                       inner,
                       sort.out + out * width,
                       inner == 1 ? sort.kept : 1,
                       inner,
                       count,
                       sort.length,
                       sort.kept,
                       sort.descending,
                       scratch};
    if (sort.indices)
      sort.kernels.orderTogether(work);
    else if (!sort.kernels.sortTogether(work))
      inner == 1 ? sortRows<Key>(sort, first, first + count) : sortColumns<Key>(sort, first, first + count);
  }
  pmap_rt_free(scratch);
}

template <typename Key> void sortAll(const Sort &sort, int64_t lines) {
  if (int64_t together = linesTogether(sort, lines)) {
    int64_t grain = (16384 / sort.length + together) / together * together;
    return inPieces(lines, grain, [&](int64_t lo, int64_t hi) { sortGroups<Key>(sort, together, lo, hi); });
  }
  // Few long lines one after another, each on all threads.
  bool threadsWithin = sort.length >= 4 * pieceElements && lines < 4 * pmap_rt_threads();
  if (threadsWithin)
    return sort.inner == 1 ? sortRows<Key>(sort, 0, lines) : sortColumns<Key>(sort, 0, lines);
  // Pieces of some ten thousand elements are worth a thread.
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, sort.length));
  if (sort.inner > 1)
    grain = (grain + columns<Key> - 1) / columns<Key> * columns<Key>;
  inPieces(lines, grain, [&](int64_t lo, int64_t hi) {
    sort.inner == 1 ? sortRows<Key>(sort, lo, hi) : sortColumns<Key>(sort, lo, hi);
  });
}

} // namespace

void pmap_rt_sort(int32_t dtype, int32_t descending, int32_t indices, int64_t outer, int64_t length, int64_t inner,
                  int64_t kept, const void *in, void *out) {
  if (outer * inner == 0 || kept == 0)
    return;
  Sort sort{findSortKernels(dtype),
            descending != 0,
            indices != 0,
            length,
            inner,
            kept,
            pmap_dtype_bytes(dtype),
            static_cast<const char *>(in),
            static_cast<char *>(out)};
  switch (sort.bytes) {
  case 1:
    return sortAll<uint8_t>(sort, outer * inner);
  case 2:
    return sortAll<uint16_t>(sort, outer * inner);
  case 4:
    return sortAll<uint32_t>(sort, outer * inner);
  default:
    return sortAll<uint64_t>(sort, outer * inner);
  }
}
