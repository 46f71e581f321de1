// Launches, reads, writes and constants.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Device.h"

#include <cstring>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

void pmap_cuda_launch(const pmap_cuda_kernel *kernel, int64_t blocks, int32_t threads, void **args) {
  if (blocks <= 0)
    return;
  const CudaApi &api = cudaApi();
  Gpu &gpu = currentGpu();
  LoadedImage &image = gpu.load(kernel->image);
  Function &function = image.kernels[(size_t)kernel->index];
  if (!function)
    check(api.moduleFunction(&function, image.module, kernel->name), "finding a kernel");
  constexpr int64_t mostBlocks = INT32_MAX;
  if (blocks > mostBlocks)
    fail(nullptr, "E1130", format("an array is too large for the GPU: %lld blocks of threads", (long long)blocks));
  check(api.launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, gpu.compute, args, nullptr),
        "launching a kernel");
}

void pmap_cuda_read(const void *device, void *host, int64_t bytes) {
  Gpu &gpu = currentGpu();
  check(cudaApi().copyToHost(gpu.pinned, (DevicePointer)(uintptr_t)device, (size_t)bytes, gpu.compute),
        "reading a number");
  gpu.wait();
  memcpy(host, gpu.pinned, (size_t)bytes);
}

void pmap_cuda_write(void *device, const void *host, int64_t bytes) {
  // From memory that is not pinned, so the driver has taken the bytes when it returns.
  check(cudaApi().copyToDevice((DevicePointer)(uintptr_t)device, host, (size_t)bytes, currentGpu().compute),
        "writing a number");
}

void *pmap_cuda_constant(const void *host, int64_t bytes) {
  Gpu &gpu = currentGpu();
  void *&copy = gpu.constants[host];
  if (copy)
    return copy;
  DevicePointer address = 0;
  check(cudaApi().memoryAlloc(&address, (size_t)(bytes > 0 ? bytes : 1)), "reserving memory for a constant");
  check(cudaApi().copyToDevice(address, host, (size_t)bytes, gpu.compute), "copying a constant");
  return copy = (void *)(uintptr_t)address;
}
