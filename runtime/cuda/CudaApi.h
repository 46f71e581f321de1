//===- CudaApi.h - The CUDA driver's types and functions that we use ----------------------------------------------===//
//
// Declared by us, so that everything builds without a toolkit; CheckHeaders.cpp compares with NVIDIA's header where
// there is one. The library is opened at run time.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_CUDA_CUDAAPI_H
#define PMAP_CUDA_CUDAAPI_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace pmap::rt::cuda {

using Result = int; ///< CUresult; 0 is success.
using DeviceId = int;
using DevicePointer = unsigned long long;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;

inline constexpr unsigned streamNonBlocking = 1;
inline constexpr unsigned eventDisableTiming = 2;
inline constexpr int attributeMajor = 75, attributeMinor = 76;
inline constexpr int errorOutOfMemory = 2, errorNoDevice = 100;

/// X(name, exported symbol, parameters).
#define PMAP_CUDA_FUNCTIONS(X)                                                                                         \
  X(init, cuInit, (unsigned flags))                                                                                    \
  X(driverVersion, cuDriverGetVersion, (int *version))                                                                 \
  X(errorName, cuGetErrorName, (Result error, const char **text))                                                      \
  X(errorString, cuGetErrorString, (Result error, const char **text))                                                  \
  X(deviceCount, cuDeviceGetCount, (int *count))                                                                       \
  X(deviceGet, cuDeviceGet, (DeviceId * device, int ordinal))                                                          \
  X(deviceName, cuDeviceGetName, (char *name, int length, DeviceId device))                                            \
  X(deviceAttribute, cuDeviceGetAttribute, (int *value, int attribute, DeviceId device))                               \
  X(primaryContextRetain, cuDevicePrimaryCtxRetain, (Context * context, DeviceId device))                              \
  X(contextSetCurrent, cuCtxSetCurrent, (Context context))                                                             \
  X(streamCreate, cuStreamCreate, (Stream * stream, unsigned flags))                                                   \
  X(streamSynchronize, cuStreamSynchronize, (Stream stream))                                                           \
  X(streamQuery, cuStreamQuery, (Stream stream))                                                                       \
  X(streamWaitEvent, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                                  \
  X(eventCreate, cuEventCreate, (Event * event, unsigned flags))                                                       \
  X(eventRecord, cuEventRecord, (Event event, Stream stream))                                                          \
  X(memoryAlloc, cuMemAlloc_v2, (DevicePointer * address, size_t bytes))                                               \
  X(memoryFree, cuMemFree_v2, (DevicePointer address))                                                                 \
  X(hostAlloc, cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                                         \
  X(copyToDevice, cuMemcpyHtoDAsync_v2, (DevicePointer to, const void *from, size_t bytes, Stream stream))             \
  X(copyToHost, cuMemcpyDtoHAsync_v2, (void *to, DevicePointer from, size_t bytes, Stream stream))                     \
  X(copyOnDevice, cuMemcpyDtoDAsync_v2, (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))           \
  X(setBytes, cuMemsetD8Async, (DevicePointer address, unsigned char value, size_t count, Stream stream))              \
  X(moduleLoad, cuModuleLoadDataEx, (Module * module, const void *image, unsigned count, int *options, void **values)) \
  X(moduleFunction, cuModuleGetFunction, (Function * function, Module module, const char *name))                       \
  X(moduleGlobal, cuModuleGetGlobal_v2, (DevicePointer * address, size_t *bytes, Module module, const char *name))     \
  X(launch, cuLaunchKernel,                                                                                            \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,              \
     unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters, void **extra))

/// The driver's functions, all found, or `problem` says what is missing.
struct CudaApi {
#define PMAP_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  PMAP_CUDA_FUNCTIONS(PMAP_CUDA_MEMBER)
#undef PMAP_CUDA_MEMBER
  std::string problem;
  bool loaded() const { return problem.empty(); }
};

/// Opens `libcuda.so.1` (or $PMAP_LIBCUDA) once.
const CudaApi &cudaApi();

/// `CUDA_ERROR_OUT_OF_MEMORY: out of memory`.
std::string cudaErrorText(Result error);

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_CUDAAPI_H
