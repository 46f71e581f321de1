// Products of matrices by cuBLASLt.
//
// The library counts columns first: for it, our c[m, n] is its transpose, and c^T = b^T a^T. Which algorithm is best is
// asked once for each form of product and kept.

#include "runtime/blas/Batch.h"
#include "runtime/core/Failure.h"
#include "runtime/cuda/CublasApi.h"
#include "runtime/cuda/Device.h"

#include <tuple>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

namespace {

constexpr size_t workspaceBytes = 32 << 20; // What cuBLASLt wants on Hopper.

void checkCublas(CublasStatus status, const char *what) {
  if (status)
    fail(nullptr, "E1130", format("cuBLASLt failed while %s: status %d", what, status));
}

/// A matrix as the library sees it: `leading` elements between its columns, to be transposed or not.
struct View {
  uint64_t rows, columns;
  int64_t leading;
  int operation;
};

/// The transpose of a matrix [rows, columns] with strides (row, column), one of which must be 1.
View transposed(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  if (column == 1 || rows == 1)
    return {(uint64_t)columns, (uint64_t)rows, std::max(row, columns), operationN};
  return {(uint64_t)rows, (uint64_t)columns, std::max(column, rows), operationT};
}

struct Product {
  MatmulDesc desc = nullptr;
  MatrixLayout a = nullptr, b = nullptr, c = nullptr;
  MatmulHeuristic choice;
};

/// Sizes, strides, dtype, and whether what is at hand is aligned to 16 bytes.
using Key = std::tuple<int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool>;

struct Cublas {
  CublasHandle handle = nullptr;
  void *workspace = nullptr;
  std::map<Key, Product> products;
};

Cublas &cublasOf(Gpu &gpu) {
  static thread_local std::map<int, Cublas> byGpu;
  Cublas &cublas = byGpu[gpu.index];
  if (cublas.handle)
    return cublas;
  const CublasApi &api = cublasApi();
  if (!api.loaded())
    fail(nullptr, "E1130", "a product of matrices needs cuBLASLt: " + api.problem,
         "install the CUDA toolkit's libcublas, or run with '--target cpu'");
  cublas.workspace = gpu.memory.alloc(workspaceBytes);
  checkCublas(api.create(&cublas.handle), "starting");
  return cublas;
}

Product makeProduct(Cublas &cublas, int type, const View &left, const View &right, int64_t n, int64_t m, int64_t cRow,
                    unsigned alignment) {
  const CublasApi &api = cublasApi();
  Product product;
  checkCublas(api.descCreate(&product.desc, type == typeF32 ? computeF32 : computeF64, type), "describing a product");
  checkCublas(api.descSet(product.desc, descTransA, &left.operation, sizeof(int)), "describing a product");
  checkCublas(api.descSet(product.desc, descTransB, &right.operation, sizeof(int)), "describing a product");
  checkCublas(api.layoutCreate(&product.a, type, left.rows, left.columns, left.leading), "describing a matrix");
  checkCublas(api.layoutCreate(&product.b, type, right.rows, right.columns, right.leading), "describing a matrix");
  checkCublas(api.layoutCreate(&product.c, type, (uint64_t)n, (uint64_t)m, std::max(cRow, n)), "describing a matrix");
  MatmulPreference preference;
  checkCublas(api.preferenceCreate(&preference), "choosing an algorithm");
  size_t workspace = workspaceBytes;
  checkCublas(api.preferenceSet(preference, preferenceWorkspace, &workspace, sizeof workspace),
              "choosing an algorithm");
  // Without these it would assume alignments that an odd row length does not have.
  for (int attribute : {preferenceAlignA, preferenceAlignB, preferenceAlignC, preferenceAlignD})
    checkCublas(api.preferenceSet(preference, attribute, &alignment, sizeof alignment), "choosing an algorithm");
  int found = 0;
  checkCublas(api.heuristic(cublas.handle, product.desc, product.a, product.b, product.c, product.c, preference, 1,
                            &product.choice, &found),
              "choosing an algorithm");
  api.preferenceDestroy(preference);
  if (found == 0)
    fail(nullptr, "E1130", "cuBLASLt has no algorithm for a product of matrices");
  return product;
}

template <typename T>
void multiply(int64_t m, int64_t n, int64_t k, const T *a, int64_t aRow, int64_t aColumn, const T *b, int64_t bRow,
              int64_t bColumn, T *c, int64_t cRow, bool accumulate) {
  if (m == 0 || n == 0)
    return;
  Gpu &gpu = currentGpu();
  if (k == 0) {
    for (int64_t row = 0; row < m && !accumulate; ++row)
      check(cudaApi().setBytes((DevicePointer)(uintptr_t)(c + row * cRow), 0, (size_t)n * sizeof(T), gpu.compute),
            "clearing an array");
    return;
  }
  Cublas &cublas = cublasOf(gpu);
  constexpr int type = sizeof(T) == 4 ? typeF32 : typeF64;
  bool unitA = aColumn == 1 || aRow == 1, unitB = bColumn == 1 || bRow == 1;
  if (!unitA || !unitB)
    fail(nullptr, "E1130", "a product of matrices whose elements lie apart in memory is not done on GPUs yet");
  View left = transposed(k, n, bRow, bColumn), right = transposed(m, k, aRow, aColumn);
  uintptr_t places = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c |
                     (uintptr_t)((uint64_t)left.leading | (uint64_t)right.leading | (uint64_t)cRow) * sizeof(T);
  bool aligned = places % 16 == 0;
  Key key{type, m, n, k, aRow, aColumn, bRow, bColumn, cRow, aligned};
  auto known = cublas.products.find(key);
  if (known == cublas.products.end())
    known = cublas.products
                .emplace(key, makeProduct(cublas, type, left, right, n, m, cRow, aligned ? 16 : (unsigned)sizeof(T)))
                .first;
  Product &product = known->second;
  T one = 1, beta = accumulate ? T(1) : T(0);
  checkCublas(cublasApi().matmul(cublas.handle, product.desc, &one, b, product.a, a, product.b, &beta, c, product.c, c,
                                 product.c, product.choice.algorithm, cublas.workspace, workspaceBytes, gpu.compute),
              "multiplying matrices");
}

template <typename T>
void multiplyBatch(const int64_t *plan, int32_t outer, int32_t summed, const T *a, const T *b, T *c, bool accumulate) {
  auto *loops = (const BatchLoop *)plan;
  BatchLoop m = loops[0], n = loops[1], k = loops[2];
  const BatchLoop *parts = loops + 3, *sums = parts + outer;
  int64_t sumCount = stepsOf(sums, summed);
  for (int64_t part = 0; part < stepsOf(parts, outer); ++part) {
    BatchLoop at = placeOf(parts, outer, part);
    for (int64_t sum = 0; sum < std::max<int64_t>(sumCount, 1); ++sum) {
      BatchLoop shift = sumCount ? placeOf(sums, summed, sum) : BatchLoop{0, 0, 0, 0};
      multiply<T>(m.extent, n.extent, sumCount ? k.extent : 0, a + at.a + shift.a, m.a, k.a, b + at.b + shift.b, k.b,
                  n.b, c + at.c, m.c, accumulate || sum > 0);
    }
  }
}

} // namespace

void pmap_cuda_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t aRow, int64_t aColumn, const float *b,
                        int64_t bRow, int64_t bColumn, float *c, int64_t cRow, int32_t accumulate) {
  multiply(m, n, k, a, aRow, aColumn, b, bRow, bColumn, c, cRow, accumulate != 0);
}

void pmap_cuda_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t aRow, int64_t aColumn,
                        const double *b, int64_t bRow, int64_t bColumn, double *c, int64_t cRow, int32_t accumulate) {
  multiply(m, n, k, a, aRow, aColumn, b, bRow, bColumn, c, cRow, accumulate != 0);
}

void pmap_cuda_gemm_batch_f32(const int64_t *plan, int32_t outer, int32_t summed, const float *a, const float *b,
                              float *c, int32_t accumulate) {
  multiplyBatch(plan, outer, summed, a, b, c, accumulate != 0);
}

void pmap_cuda_gemm_batch_f64(const int64_t *plan, int32_t outer, int32_t summed, const double *a, const double *b,
                              double *c, int32_t accumulate) {
  multiplyBatch(plan, outer, summed, a, b, c, accumulate != 0);
}
