// C = A B or C += A B on the current device's threads, by single-threaded calls of a BLAS on slices of C; and many such
// products at once, of the parts of larger arrays.
//
// The BLAS's own pool would serve one device at a time; slices on the device's threads do not wait for each other.
// There is one slice per thread, since each packs the operand they share anew. So that each element of C is computed
// alike, to the last bit, whatever the number of threads, slices are multiples of every tile size of the BLAS's kernels
// and too large for its other algorithm for small matrices, and what remains at the edge is a product of its own
// (tested on random sizes and threads).

#include "runtime/blas/Batch.h"

#include "pmap/runtime.h"

#include <algorithm>
#include <cstdint>

// The few declarations we need of the C interface to the BLAS, whose header is no part of the runtime packages.
extern "C" {
enum { CblasRowMajor = 101, CblasNoTrans = 111, CblasTrans = 112 };
void cblas_sgemm(int order, int transA, int transB, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int order, int transA, int transB, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);
void openblas_set_num_threads(int count);
}

using namespace pmap::rt;

namespace {

// A slice holds a multiple of this many rows or columns of C, a multiple of the kernels' tile sizes. Those of f64 go by
// 24 rows.
constexpr int64_t tileUnit = 64, tileUnitOfRows64 = 192;

template <typename T> struct Matrix {
  const T *data;
  int64_t rowStride, columnStride;
};

void call(int transA, int transB, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta,
          float *c, int ldc) {
  cblas_sgemm(CblasRowMajor, transA, transB, m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc);
}
void call(int transA, int transB, int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
          double *c, int ldc) {
  cblas_dgemm(CblasRowMajor, transA, transB, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

template <typename T> struct Product {
  int64_t m, n, k;
  Matrix<T> a, b;
  T *c;
  int64_t rowStride;
  T beta;
  int64_t extent = 0, sliceWidth = 0;

  // Rows [i, i + rows) and columns [j, j + columns) of C.
  void run(int64_t i, int64_t rows, int64_t j, int64_t columns) const {
    const T *left = a.data + i * a.rowStride, *right = b.data + j * b.columnStride;
    bool transA = a.columnStride != 1, transB = b.columnStride != 1;
    // A stride along a dimension of size 1 may be anything; the BLAS insists on one that covers a row.
    int64_t lda = std::max(transA ? a.columnStride : a.rowStride, transA ? rows : k);
    int64_t ldb = std::max(transB ? b.columnStride : b.rowStride, transB ? k : columns);
    call(transA ? CblasTrans : CblasNoTrans, transB ? CblasTrans : CblasNoTrans, static_cast<int>(rows),
         static_cast<int>(columns), static_cast<int>(k), left, static_cast<int>(lda), right, static_cast<int>(ldb),
         beta, c + i * rowStride + j, static_cast<int>(std::max(rowStride, columns)));
  }

  static void runSlices(void *closure, int64_t lo, int64_t hi) {
    const Product &product = *static_cast<const Product *>(closure);
    for (int64_t slice = lo; slice < hi; ++slice) {
      int64_t begin = slice * product.sliceWidth;
      if (product.m > product.n)
        product.run(begin, std::min(product.sliceWidth, product.extent - begin), 0, product.n);
      else
        product.run(0, product.m, begin, std::min(product.sliceWidth, product.extent - begin));
    }
  }
};

// The BLAS reads operands with one unit stride. Another one (a slice with steps) is copied first.
template <typename T> Matrix<T> dense(Matrix<T> matrix, int64_t rows, int64_t columns, T *&copy) {
  copy = nullptr;
  if (matrix.columnStride == 1 || matrix.rowStride == 1)
    return matrix;
  copy = static_cast<T *>(pmap_rt_alloc(rows * columns * static_cast<int64_t>(sizeof(T))));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      copy[i * columns + j] = matrix.data[i * matrix.rowStride + j * matrix.columnStride];
  return {copy, columns, 1};
}

template <typename T>
void multiply(int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, T *c, int64_t rowStride, int32_t accumulate) {
  if (m == 0 || n == 0)
    return;
  if (k == 0) {
    for (int64_t i = 0; i < m && !accumulate; ++i)
      std::fill_n(c + i * rowStride, n, T(0));
    return;
  }
  static const bool singleThreaded = (openblas_set_num_threads(1), true);
  (void)singleThreaded;
  T *copyOfA, *copyOfB;
  Product<T> product{m, n, k, dense(a, m, k, copyOfA), dense(b, k, n, copyOfB), c, rowStride, T(accumulate ? 1 : 0)};
  int64_t extent = std::max(m, n), other = std::min(m, n);
  int64_t tile = m > n && sizeof(T) == 8 ? tileUnitOfRows64 : tileUnit;
  int64_t unit = tile * ((leastWork / tile) / (other * k) + 1);
  int64_t units = extent / unit, rest = extent - units * unit, threads = pmap_rt_threads();
  if (units < 2) {
    product.run(0, m, 0, n);
  } else {
    product.extent = extent - rest;
    product.sliceWidth = (units + threads - 1) / threads * unit;
    pmap_rt_parallel_for(&Product<T>::runSlices, &product,
                         (product.extent + product.sliceWidth - 1) / product.sliceWidth, 1);
    if (rest > 0 && m > n)
      product.run(m - rest, rest, 0, n);
    else if (rest > 0)
      product.run(0, m, n - rest, rest);
  }
  pmap_rt_free(copyOfA);
  pmap_rt_free(copyOfB);
}

/// A batch by calls of the BLAS, one for each product.
template <typename T> struct Calls {
  const Batch<T> &batch;
  /// The trips of the loops that add up.
  int64_t sumBegin, sumEnd;

  void part(int64_t index) const {
    BatchLoop at = placeOf(batch.outer, batch.outerCount, index);
    for (int64_t s = sumBegin; s < sumEnd; ++s) {
      BatchLoop shift = placeOf(batch.summed, batch.summedCount, s);
      multiply<T>(batch.i.extent, batch.j.extent, batch.l.extent, {batch.a + at.a + shift.a, batch.i.a, batch.l.a},
                  {batch.b + at.b + shift.b, batch.l.b, batch.j.b}, batch.c + at.c + shift.c, batch.i.c,
                  batch.accumulate || s > 0);
    }
  }

  static void runParts(void *closure, int64_t lo, int64_t hi) {
    for (int64_t index = lo; index < hi; ++index)
      static_cast<const Calls *>(closure)->part(index);
  }

  void run() {
    int64_t parts = stepsOf(batch.outer, batch.outerCount), work = batch.work();
    // A few large products are spread over the threads one by one, which changes no bit of them; else each is one
    // thread's.
    if (parts < 2 * pmap_rt_threads() && work >= 2 * leastWork) {
      for (int64_t index = 0; index < parts; ++index)
        part(index);
      return;
    }
    int64_t grain = std::max<int64_t>(1, leastWork / 4 / (work * (sumEnd - sumBegin)));
    pmap_rt_parallel_for(&Calls::runParts, this, parts, grain);
  }
};

template <typename T> void multiplyBatch(const Batch<T> &batch) {
  int64_t parts = stepsOf(batch.outer, batch.outerCount), m = batch.i.extent, n = batch.j.extent;
  int64_t sums = stepsOf(batch.summed, batch.summedCount);
  if (parts == 0 || m == 0 || n == 0)
    return;
  // Nothing to add up: the parts are set to zero where they are not added to.
  if (batch.l.extent == 0 || sums == 0) {
    for (int64_t index = 0; index < parts && !batch.accumulate; ++index)
      for (int64_t row = 0; row < m; ++row)
        std::fill_n(batch.c + placeOf(batch.outer, batch.outerCount, index).c + row * batch.i.c, n, T(0));
    return;
  }
  if (multiplyInTiles(batch))
    return;
  // Where what adds up moves in C, the parts are apart for one trip only.
  bool moves =
      std::any_of(batch.summed, batch.summed + batch.summedCount, [](const BatchLoop &loop) { return loop.c != 0; });
  for (int64_t s = 0; s < (moves ? sums : 1); ++s)
    Calls<T>{batch, s, moves ? s + 1 : sums}.run();
}

template <typename T>
void multiplyBatch(const int64_t *plan, int32_t outerCount, int32_t summedCount, const T *a, const T *b, T *c,
                   int32_t accumulate) {
  auto *loops = reinterpret_cast<const BatchLoop *>(plan);
  multiplyBatch<T>({loops[0], loops[1], loops[2], loops + 3, loops + 3 + outerCount, outerCount, summedCount, a, b, c,
                    accumulate != 0});
}

} // namespace

/// C[m, n] = A[m, k] B[k, n], or C += A B with `accumulate`. Strides are in elements; C's columns are contiguous.
extern "C" void pmap_rt_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t aRow, int64_t aColumn,
                                 const float *b, int64_t bRow, int64_t bColumn, float *c, int64_t cRow,
                                 int32_t accumulate) {
  multiply<float>(m, n, k, {a, aRow, aColumn}, {b, bRow, bColumn}, c, cRow, accumulate);
}

/// The same for f64.
extern "C" void pmap_rt_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t aRow, int64_t aColumn,
                                 const double *b, int64_t bRow, int64_t bColumn, double *c, int64_t cRow,
                                 int32_t accumulate) {
  multiply<double>(m, n, k, {a, aRow, aColumn}, {b, bRow, bColumn}, c, cRow, accumulate);
}

/// Many products: C[o, i, j] = sum over s and l of A[o, i, s, l] B[o, s, l, j], where o and s are any number of loops.
/// `plan` has four numbers per loop, its extent and the strides of A, B and C along it, in elements: for i, j and l,
/// for `outer` loops and for `summed` ones. With `accumulate`, summed loops may move in C as well. Of A's strides along
/// i and l one is 1, of B's along l and j, and C's along j is.
extern "C" void pmap_rt_gemm_batch_f32(const int64_t *plan, int32_t outer, int32_t summed, const float *a,
                                       const float *b, float *c, int32_t accumulate) {
  multiplyBatch<float>(plan, outer, summed, a, b, c, accumulate);
}

/// The same for f64.
extern "C" void pmap_rt_gemm_batch_f64(const int64_t *plan, int32_t outer, int32_t summed, const double *a,
                                       const double *b, double *c, int32_t accumulate) {
  multiplyBatch<double>(plan, outer, summed, a, b, c, accumulate);
}
