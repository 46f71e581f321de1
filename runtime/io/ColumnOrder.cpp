// From column-major to row-major order: what NumPy saves of a transposed array.

#include "runtime/io/ColumnOrder.h"

#include <algorithm>

using namespace pmap::rt;

namespace {

/// Elements of a tile's side, so that the lines of both sides stay in the cache.
constexpr int64_t tile = 32;

/// The transpose of a matrix whose rows are `rowStride` apart in `to`, and whose columns are `columnStride` apart in
/// `from`.
template <typename T>
void transpose(const T *from, T *to, int64_t rows, int64_t columns, int64_t rowStride, int64_t columnStride) {
  for (int64_t r = 0; r < rows; r += tile)
    for (int64_t c = 0; c < columns; c += tile)
      for (int64_t i = r; i < std::min(rows, r + tile); ++i)
        for (int64_t j = c; j < std::min(columns, c + tile); ++j)
          to[i * rowStride + j] = from[i + j * columnStride];
}

/// The first and the last dimension are the innermost ones of either order: their matrix is transposed at every place
/// along the dimensions between them.
template <typename T> void convert(const T *from, T *to, const std::vector<int64_t> &sizes) {
  size_t rank = sizes.size();
  if (rank < 2) {
    std::copy(from, from + sizes[0], to);
    return;
  }
  int64_t rows = sizes.front(), columns = sizes.back(), between = 1;
  for (size_t d = 1; d + 1 < rank; ++d)
    between *= sizes[d];
  std::vector<int64_t> place(rank, 0);
  for (int64_t at = 0; at < between; ++at) {
    // `at` counts the places in row-major order; where that is in column-major order, the digits say.
    int64_t other = 0;
    for (size_t d = rank - 1; d-- > 1;)
      other = other * sizes[d] + place[d];
    transpose(from + other * rows, to + at * columns, rows, columns, between * columns, between * rows);
    for (size_t d = rank - 1; d-- > 1;) {
      if (++place[d] < sizes[d])
        break;
      place[d] = 0;
    }
  }
}

} // namespace

void pmap::rt::columnsToRows(const char *from, char *to, const std::vector<int64_t> &sizes, int64_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return convert((const uint8_t *)from, (uint8_t *)to, sizes);
  case 2:
    return convert((const uint16_t *)from, (uint16_t *)to, sizes);
  case 4:
    return convert((const uint32_t *)from, (uint32_t *)to, sizes);
  default:
    return convert((const uint64_t *)from, (uint64_t *)to, sizes);
  }
}
