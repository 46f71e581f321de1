// Permuting the dimensions of an array. Where the fastest dimension changes, pieces of two dimensions go through the
// first-level cache, so that both sides are read and written in whole lines.

#include "pmap/runtime.h"

#include <algorithm>
#include <cstring>

namespace {

constexpr int maxRank = 16;
/// The side of the square pieces that are transposed at a time: they fit the first-level cache.
template <typename T> constexpr int64_t tile = sizeof(T) == 8 ? 32 : 64;

struct Dimension {
  int64_t size, stride; ///< stride in the source, in elements
};

/// The result's dimensions, last one fastest; neighbours that are neighbours in the source too are merged.
struct Permutation {
  Dimension dims[maxRank];
  int32_t rank;
  int32_t fast; ///< the dimension that is fastest in the source
  const char *in;
  char *out;
  int64_t outStride[maxRank];
};

/// Rows and columns of the squares that are transposed in registers: a vector of 16 bytes, which every machine of this
/// architecture has.
template <typename T> constexpr int64_t square = 16 / sizeof(T);
template <typename T> using Vector = T __attribute__((ext_vector_type(16 / sizeof(T))));

template <typename T> Vector<T> lowHalves(Vector<T> a, Vector<T> b);
template <typename T> Vector<T> highHalves(Vector<T> a, Vector<T> b);
#define PMAP_INTERLEAVE(T, LOW, HIGH)                                                                                  \
  template <> Vector<T> lowHalves<T>(Vector<T> a, Vector<T> b) { return __builtin_shufflevector(a, b, LOW); }          \
  template <> Vector<T> highHalves<T>(Vector<T> a, Vector<T> b) { return __builtin_shufflevector(a, b, HIGH); }
#define PMAP_PLACES(...) __VA_ARGS__
PMAP_INTERLEAVE(uint64_t, PMAP_PLACES(0, 2), PMAP_PLACES(1, 3))
PMAP_INTERLEAVE(uint32_t, PMAP_PLACES(0, 4, 1, 5), PMAP_PLACES(2, 6, 3, 7))
PMAP_INTERLEAVE(uint16_t, PMAP_PLACES(0, 8, 1, 9, 2, 10, 3, 11), PMAP_PLACES(4, 12, 5, 13, 6, 14, 7, 15))
PMAP_INTERLEAVE(uint8_t, PMAP_PLACES(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                PMAP_PLACES(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
#undef PMAP_PLACES
#undef PMAP_INTERLEAVE

/// Transposes one square. Interleaving row i with row i + n/2 moves the highest bit of the row's number below the
/// column's; as many rounds as the numbers have bits exchange the two.
template <typename T> void transposeSquare(const T *in, int64_t inStride, T *out, int64_t outStride) {
  constexpr int64_t n = square<T>;
  Vector<T> rows[n], next[n];
  for (int64_t i = 0; i < n; ++i)
    memcpy(&rows[i], in + i * inStride, sizeof rows[i]);
  for (int64_t round = 1; round < n; round *= 2) {
    for (int64_t i = 0; i < n / 2; ++i) {
      next[2 * i] = lowHalves<T>(rows[i], rows[i + n / 2]);
      next[2 * i + 1] = highHalves<T>(rows[i], rows[i + n / 2]);
    }
    for (int64_t i = 0; i < n; ++i)
      rows[i] = next[i];
  }
  for (int64_t i = 0; i < n; ++i)
    memcpy(out + i * outStride, &rows[i], sizeof rows[i]);
}

/// Transposes a piece of `rows` by `columns`, at most a tile: row r of the source, `columns` long, becomes column r of
/// the result. It is turned within the cache and then written line by line, for lines that are a power of two apart
/// share few places in the cache and would push each other out while they are incomplete.
template <typename T>
void transposePiece(const T *in, int64_t inStride, T *out, int64_t outStride, int64_t rows, int64_t columns) {
  constexpr int64_t side = tile<T>, n = square<T>;
  alignas(64) T turned[side][side], lines[side][side];
  // Rows a page apart share one place in the first-level cache. Where a square has more of them than fit there, whole
  // lines are taken out first.
  if (n > 4 && columns == side) {
    for (int64_t r = 0; r < rows; ++r)
      memcpy(lines[r], in + r * inStride, sizeof lines[r]);
    in = lines[0];
    inStride = side;
  }
  int64_t wholeRows = rows / n * n, wholeColumns = columns / n * n;
  for (int64_t r = 0; r < wholeRows; r += n)
    for (int64_t c = 0; c < wholeColumns; c += n)
      transposeSquare(in + r * inStride + c, inStride, &turned[c][r], side);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < wholeRows ? wholeColumns : 0; c < columns; ++c)
      turned[c][r] = in[r * inStride + c];
  for (int64_t c = 0; c < columns; ++c)
    memcpy(out + c * outStride, turned[c], rows * sizeof(T));
}

/// One slab: a tile's worth of indices of the dimension that is fastest in the source, all of the one that is fastest
/// in the result, at one point of the others. Slabs are numbered with the tiles running fastest.
template <typename T> void permuteSlabs(void *closure, int64_t lo, int64_t hi) {
  const Permutation &p = *static_cast<const Permutation *>(closure);
  const Dimension fast = p.dims[p.fast], last = p.dims[p.rank - 1];
  constexpr int64_t side = tile<T>;
  int64_t tiles = (fast.size + side - 1) / side;
  for (int64_t slab = lo; slab < hi; ++slab) {
    int64_t rest = slab / tiles, first = slab % tiles * side;
    const T *in = reinterpret_cast<const T *>(p.in) + first * fast.stride;
    T *out = reinterpret_cast<T *>(p.out) + first * p.outStride[p.fast];
    for (int32_t d = p.rank - 2; d >= 0; --d) {
      if (d == p.fast)
        continue;
      int64_t i = rest % p.dims[d].size;
      rest /= p.dims[d].size;
      in += i * p.dims[d].stride;
      out += i * p.outStride[d];
    }
    int64_t columns = std::min(side, fast.size - first);
    for (int64_t row = 0; row < last.size; row += side) {
      transposePiece(in + row * last.stride, last.stride, out + row, p.outStride[p.fast],
                     std::min(side, last.size - row), columns);
    }
  }
}

/// The fastest dimension stays: rows are copied whole, those of one value of the outer indices after another.
template <typename T> void copyRows(void *closure, int64_t lo, int64_t hi) {
  const Permutation &p = *static_cast<const Permutation *>(closure);
  int64_t length = p.dims[p.rank - 1].size;
  Dimension inner = p.rank > 1 ? p.dims[p.rank - 2] : Dimension{1, 0};
  for (int64_t row = lo; row < hi;) {
    const T *in = reinterpret_cast<const T *>(p.in);
    int64_t first = row % inner.size, rest = row / inner.size;
    for (int32_t d = p.rank - 3; d >= 0; --d) {
      in += rest % p.dims[d].size * p.dims[d].stride;
      rest /= p.dims[d].size;
    }
    int64_t end = std::min(inner.size, first + hi - row);
    T *out = reinterpret_cast<T *>(p.out) + row * length;
    for (int64_t i = first; i < end; ++i, out += length)
      memcpy(out, in + i * inner.stride, length * sizeof(T));
    row += end - first;
  }
}

template <typename T> void permute(Permutation &p, int64_t count) {
  if (p.fast == p.rank - 1) {
    int64_t length = p.dims[p.rank - 1].size;
    pmap_rt_parallel_for(copyRows<T>, &p, count / length, std::max<int64_t>(1, 65536 / length));
    return;
  }
  int64_t tiles = (p.dims[p.fast].size + tile<T> - 1) / tile<T>, slabs = tiles;
  for (int32_t d = 0; d < p.rank - 1; ++d)
    if (d != p.fast)
      slabs *= p.dims[d].size;
  pmap_rt_parallel_for(permuteSlabs<T>, &p, slabs, std::max<int64_t>(1, 65536 / (tile<T> * p.dims[p.rank - 1].size)));
}

} // namespace

void pmap_rt_permute(int32_t bytes, int32_t rank, const int32_t *perm, const pmap_array *source, void *result) {
  Permutation p = {};
  p.in = static_cast<const char *>(source->aligned) + source->offset * bytes;
  p.out = static_cast<char *>(result);
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) {
    Dimension dim = {source->sizes_and_strides[perm[d]], source->sizes_and_strides[rank + perm[d]]};
    count *= dim.size;
    if (dim.size == 1)
      continue;
    if (p.rank > 0 && p.dims[p.rank - 1].stride == dim.size * dim.stride)
      p.dims[p.rank - 1] = {p.dims[p.rank - 1].size * dim.size, dim.stride};
    else
      p.dims[p.rank++] = dim;
  }
  if (count == 0)
    return;
  if (p.rank == 0)
    p.dims[p.rank++] = {1, 1};
  for (int64_t d = p.rank - 1, stride = 1; d >= 0; --d) {
    p.outStride[d] = stride;
    stride *= p.dims[d].size;
    if (p.dims[d].stride < p.dims[p.fast].stride || d == p.rank - 1)
      p.fast = static_cast<int32_t>(d);
  }
  switch (bytes) {
  case 1:
    return permute<uint8_t>(p, count);
  case 2:
    return permute<uint16_t>(p, count);
  case 4:
    return permute<uint32_t>(p, count);
  default:
    return permute<uint64_t>(p, count);
  }
}
