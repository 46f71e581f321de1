// Compares what we declare of NVIDIA's libraries with their headers, where these are installed. Nothing here runs.

#include "pmap/cuda.h"
#include "runtime/cuda/CublasApi.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/NcclApi.h"

#include <type_traits>

// The layout that kernels write and compiled code has (compiler/Lower/Cuda/KernelFailure.cpp, compiler/Driver).
static_assert(sizeof(pmap_cuda_failure) == 40 && offsetof(pmap_cuda_failure, a) == 8 &&
              offsetof(pmap_cuda_failure, site) == 32);
static_assert(sizeof(pmap_cuda_kernel) == 24 && offsetof(pmap_cuda_kernel, index) == 16);
static_assert(sizeof(pmap_cuda_code) == 24 && offsetof(pmap_cuda_code, data) == 8);
static_assert(sizeof(pmap_cuda_image) == 16 && sizeof(pmap_cuda_function) == 24);

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace {
namespace own = pmap::rt::cuda;

static_assert(std::is_same_v<own::DevicePointer, CUdeviceptr> && std::is_same_v<own::DeviceId, CUdevice>);
static_assert(std::is_same_v<own::Stream, decltype(own::Stream())> && sizeof(CUstream) == sizeof(own::Stream));
static_assert(own::streamNonBlocking == CU_STREAM_NON_BLOCKING && own::eventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(own::attributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              own::attributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(own::errorOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY && own::errorNoDevice == CUDA_ERROR_NO_DEVICE);

/// A type as it is passed: enumerations are ints, and pointers to NVIDIA's types stand for pointers to ours.
template <typename T, bool = std::is_enum_v<T>> struct Passed {
  using type = T;
};
template <typename T> struct Passed<T, true> {
  using type = std::underlying_type_t<T>;
};

/// The same number of parameters, each of the same size and kind.
template <typename A, typename B> struct SameForm : std::false_type {};
template <typename RA, typename... A, typename RB, typename... B>
struct SameForm<RA (*)(A...), RB (*)(B...)>
    : std::bool_constant<sizeof...(A) == sizeof...(B) && sizeof(RA) == sizeof(RB)> {
  static constexpr bool parameters = ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>) && ...);
};
template <typename Ours, typename Theirs> constexpr bool sameForm() {
  if constexpr (SameForm<Ours, Theirs>::value)
    return SameForm<Ours, Theirs>::parameters;
  else
    return false;
}

// The header's macros turn `cuMemAlloc` into `cuMemAlloc_v2`, the names of our table, which it declares.
#define PMAP_CUDA_CHECK(name, symbol, parameters)                                                                      \
  static_assert(sameForm<decltype(own::CudaApi::name), decltype(&::symbol)>(), #symbol " is declared otherwise");
PMAP_CUDA_FUNCTIONS(PMAP_CUDA_CHECK)
#undef PMAP_CUDA_CHECK
} // namespace
#endif

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime_api.h>)
#include <nccl.h>

namespace {
static_assert(sizeof(own::UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(own::NcclConfig, blocking) == offsetof(ncclConfig_t, blocking) &&
              offsetof(own::NcclConfig, netName) == offsetof(ncclConfig_t, netName) &&
              offsetof(own::NcclConfig, splitShare) == offsetof(ncclConfig_t, splitShare));
static_assert(own::ncclInProgress == ::ncclInProgress && own::ncclAvg == ::ncclAvg && own::ncclMin == ::ncclMin);
#define PMAP_NCCL_CHECK(type, name, symbol, parameters)                                                                \
  static_assert(sameForm<decltype(own::NcclApi::name), decltype(&::symbol)>(), #symbol " is declared otherwise");
PMAP_NCCL_FUNCTIONS(PMAP_NCCL_CHECK)
#undef PMAP_NCCL_CHECK
} // namespace
#endif

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

namespace {
static_assert(sizeof(own::MatmulHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(own::MatmulHeuristic, workspaceBytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(own::typeF32 == CUDA_R_32F && own::typeF64 == CUDA_R_64F && own::computeF32 == CUBLAS_COMPUTE_32F &&
              own::computeF64 == CUBLAS_COMPUTE_64F && own::operationT == CUBLAS_OP_T);
static_assert(own::descTransA == CUBLASLT_MATMUL_DESC_TRANSA && own::descTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(own::preferenceWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              own::preferenceAlignA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              own::preferenceAlignD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
#define PMAP_CUBLAS_CHECK(name, symbol, parameters)                                                                    \
  static_assert(sameForm<decltype(own::CublasApi::name), decltype(&::symbol)>(), #symbol " is declared otherwise");
PMAP_CUBLAS_FUNCTIONS(PMAP_CUBLAS_CHECK)
#undef PMAP_CUBLAS_CHECK
} // namespace
#endif
