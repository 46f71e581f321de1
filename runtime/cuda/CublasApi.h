//===- CublasApi.h - What we use of cuBLASLt ----------------------------------------------------------------------===//

#ifndef PMAP_CUDA_CUBLASAPI_H
#define PMAP_CUDA_CUBLASAPI_H

#include "runtime/cuda/CudaApi.h"

namespace pmap::rt::cuda {

using CublasStatus = int;
using CublasHandle = struct cublasLtContext *;
/// cublasLt's descriptors: opaque, made and destroyed by it.
using MatmulDesc = void *;
using MatrixLayout = void *;
using MatmulPreference = void *;

inline constexpr int typeF32 = 0, typeF64 = 1;         ///< cudaDataType
inline constexpr int computeF32 = 68, computeF64 = 70; ///< cublasComputeType_t
inline constexpr int operationN = 0, operationT = 1;
inline constexpr int descTransA = 3, descTransB = 4;
inline constexpr int preferenceWorkspace = 1, preferenceAlignA = 5, preferenceAlignB = 6, preferenceAlignC = 7,
                     preferenceAlignD = 8;

struct MatmulHeuristic {
  uint64_t algorithm[8];
  size_t workspaceBytes;
  CublasStatus state;
  float waves;
  int reserved[4];
};

#define PMAP_CUBLAS_FUNCTIONS(X)                                                                                       \
  X(create, cublasLtCreate, (CublasHandle * handle))                                                                   \
  X(descCreate, cublasLtMatmulDescCreate, (MatmulDesc * desc, int compute, int scale))                                 \
  X(descDestroy, cublasLtMatmulDescDestroy, (MatmulDesc desc))                                                         \
  X(descSet, cublasLtMatmulDescSetAttribute, (MatmulDesc desc, int attribute, const void *value, size_t bytes))        \
  X(layoutCreate, cublasLtMatrixLayoutCreate,                                                                          \
    (MatrixLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                               \
  X(layoutDestroy, cublasLtMatrixLayoutDestroy, (MatrixLayout layout))                                                 \
  X(preferenceCreate, cublasLtMatmulPreferenceCreate, (MatmulPreference * preference))                                 \
  X(preferenceDestroy, cublasLtMatmulPreferenceDestroy, (MatmulPreference preference))                                 \
  X(preferenceSet, cublasLtMatmulPreferenceSetAttribute,                                                               \
    (MatmulPreference preference, int attribute, const void *value, size_t bytes))                                     \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                                         \
    (CublasHandle handle, MatmulDesc desc, MatrixLayout a, MatrixLayout b, MatrixLayout c, MatrixLayout d,             \
     MatmulPreference preference, int wanted, MatmulHeuristic *results, int *found))                                   \
  X(matmul, cublasLtMatmul,                                                                                            \
    (CublasHandle handle, MatmulDesc desc, const void *alpha, const void *a, MatrixLayout layoutA, const void *b,      \
     MatrixLayout layoutB, const void *beta, const void *c, MatrixLayout layoutC, void *d, MatrixLayout layoutD,       \
     const uint64_t *algorithm, void *workspace, size_t workspaceBytes, Stream stream))

struct CublasApi {
#define PMAP_CUBLAS_MEMBER(name, symbol, parameters) CublasStatus(*name) parameters = nullptr;
  PMAP_CUBLAS_FUNCTIONS(PMAP_CUBLAS_MEMBER)
#undef PMAP_CUBLAS_MEMBER
  std::string problem;
  bool loaded() const { return problem.empty(); }
};

/// Opens `libcublasLt.so.13`, or `.12` (or $PMAP_LIBCUBLASLT) once.
const CublasApi &cublasApi();

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_CUBLASAPI_H
