//===- Batch.h - Many products of parts of three arrays ----------------------------------------------------------===//

#ifndef PMAP_BLAS_BATCH_H
#define PMAP_BLAS_BATCH_H

#include <cstdint>

namespace pmap::rt {

/// One loop of a batch: its extent, and what one step of it adds to the places in A, B and C.
struct BatchLoop {
  int64_t extent, a, b, c;
};

/// The number of steps of all the loops together.
inline int64_t stepsOf(const BatchLoop *loops, int32_t count) {
  int64_t steps = 1;
  for (int32_t loop = 0; loop < count; ++loop)
    steps *= loops[loop].extent;
  return steps;
}

/// The place of step `index` of all the loops together, the last of them the fastest.
inline BatchLoop placeOf(const BatchLoop *loops, int32_t count, int64_t index) {
  BatchLoop sum{0, 0, 0, 0};
  for (int32_t loop = count; loop-- > 0;) {
    int64_t step = index % loops[loop].extent;
    index /= loops[loop].extent;
    sum.a += step * loops[loop].a;
    sum.b += step * loops[loop].b;
    sum.c += step * loops[loop].c;
  }
  return sum;
}

/// C[i, j] += A[i, l] B[l, j], for all `outer` loops, which number parts of C, and for all `summed` ones, whose
/// products add up. Those of them that move in C (then `accumulate` is set) may come back to what an earlier trip
/// wrote.
template <typename T> struct Batch {
  BatchLoop i, j, l;
  const BatchLoop *outer, *summed;
  int32_t outerCount, summedCount;
  const T *a, *b;
  T *c;
  bool accumulate;

  int64_t work() const { return i.extent * j.extent * l.extent; }
};

/// Multiplications in the smallest piece that is worth a thread.
constexpr int64_t leastWork = 1 << 22;

/// Multiplies in tiles that stay in registers over all the loops that add up, where that is better than a call of the
/// BLAS for each product: where these are small, and B is the same for all parts or the parts of C are small. Otherwise
/// does nothing and returns false. No extent may be 0.
template <typename T> bool multiplyInTiles(const Batch<T> &batch);

} // namespace pmap::rt

#endif // PMAP_BLAS_BATCH_H
