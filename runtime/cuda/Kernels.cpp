// Launches, reads, writes and constants.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Device.h"

#include <cstring>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

void pmap::rt::cuda::download(Gpu &gpu, const pmap_array *array, int32_t rank, int64_t elementBytes, pmap_array *copy) {
  memcpy(copy, array, descriptorBytes(rank));
  // From the first element in memory to the last: a view that is returned keeps its strides.
  const int64_t *sizes = array->sizes_and_strides, *strides = sizes + rank;
  int64_t first = 0, last = 0;
  bool empty = false;
  for (int32_t dim = 0; dim < rank; ++dim) {
    empty |= sizes[dim] == 0;
    int64_t reach = (sizes[dim] - 1) * strides[dim];
    (reach < 0 ? first : last) += reach;
  }
  int64_t bytes = empty ? 0 : (last - first + 1) * elementBytes;
  copy->allocated = pmap_rt_alloc(bytes);
  copy->aligned = (char *)copy->allocated - first * elementBytes;
  copy->offset = 0;
  if (bytes > 0)
    check(cudaApi().copyToHost(
              copy->allocated,
              (DevicePointer)(uintptr_t)((const char *)array->aligned + (array->offset + first) * elementBytes),
              (size_t)bytes, gpu.compute),
          "copying an array from the GPU");
}

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
