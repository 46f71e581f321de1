//===- TileKernels.h - Tiles of products of matrices that fit the registers --------------------------------------===//
//
// One source, TileKernels.inc, compiled once per level of the instruction set.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_BLAS_TILEKERNELS_H
#define PMAP_BLAS_TILEKERNELS_H

#include <cstdint>

namespace pmap::rt {

/// Where a run of neighbouring terms of a sum begins, in elements.
struct Run {
  int64_t a, b;
};

/// C[i, j] = sum over the runs and over l of A[run.a + i aRow + l aStep] B[run.b + l bStep + j], for some rows and for
/// `columns` columns, whole vectors of which B has. With `add`, C is added to.
template <typename T> struct Tile {
  const Run *runs;
  int64_t runCount, length;
  const T *a;
  int64_t aRow, aStep;
  const T *b;
  int64_t bStep;
  T *c;
  int64_t cRow, columns;
  bool add;
};

constexpr int64_t mostTileRows = 12;

template <typename T> struct TileKernels {
  using Function = void (*)(const Tile<T> &tile);
  /// Elements in a vector, and the most rows of a tile that is one vector wide, or two.
  int64_t lanes, rows[2];
  /// By width and rows, from 1.
  Function functions[2][mostTileRows];
};

template <typename T> const TileKernels<T> &findTileKernels();

namespace baseline {
template <typename T> const TileKernels<T> &findTiles();
}
namespace x86v3 {
template <typename T> const TileKernels<T> &findTiles();
}
namespace x86v4 {
template <typename T> const TileKernels<T> &findTiles();
}

} // namespace pmap::rt

#endif // PMAP_BLAS_TILEKERNELS_H
