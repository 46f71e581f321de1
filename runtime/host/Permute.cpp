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

/// Transposes a piece of `rows` by `columns`: row r of the source, `columns` long, becomes column r of the result. A
/// whole piece is turned within the cache and then written line by line, for lines that are a power of two apart share
/// few places in the cache and would push each other out while they are incomplete.
template <typename T>
void transposePiece(const T *in, int64_t inStride, T *out, int64_t outStride, int64_t rows, int64_t columns) {
  constexpr int64_t side = tile<T>;
  if (rows == side && columns == side) {
    alignas(64) T turned[side][side];
    for (int64_t r = 0; r < side; r += 4)
      for (int64_t c = 0; c < side; c += 4) {
        T block[4][4];
        for (int i = 0; i < 4; ++i)
          memcpy(block[i], in + (r + i) * inStride + c, sizeof block[i]);
        for (int i = 0; i < 4; ++i) {
          T line[4] = {block[0][i], block[1][i], block[2][i], block[3][i]};
          memcpy(&turned[c + i][r], line, sizeof line);
        }
      }
    for (int64_t c = 0; c < side; ++c)
      memcpy(out + c * outStride, turned[c], sizeof turned[c]);
    return;
  }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r)
      out[c * outStride + r] = in[r * inStride + c];
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
    for (int64_t row = 0; row < last.size; row += side)
      transposePiece(in + row * last.stride, last.stride, out + row, p.outStride[p.fast],
                     std::min(side, last.size - row), columns);
  }
}

/// The fastest dimension stays: rows are copied whole.
template <typename T> void copyRows(void *closure, int64_t lo, int64_t hi) {
  const Permutation &p = *static_cast<const Permutation *>(closure);
  int64_t length = p.dims[p.rank - 1].size;
  for (int64_t row = lo; row < hi; ++row) {
    const T *in = reinterpret_cast<const T *>(p.in);
    int64_t rest = row;
    for (int32_t d = p.rank - 2; d >= 0; --d) {
      in += rest % p.dims[d].size * p.dims[d].stride;
      rest /= p.dims[d].size;
    }
    memcpy(reinterpret_cast<T *>(p.out) + row * length, in, length * sizeof(T));
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
