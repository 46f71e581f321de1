// What has no code for GPUs yet goes by way of the host: the arrays are copied there, the host's function does the
// work, and the result is copied back. Right, and slow; programs that need it still run.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Device.h"

#include <cstring>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

namespace {

DevicePointer addressOf(const void *pointer) { return (DevicePointer)(uintptr_t)pointer; }

/// Bytes from the device, or from the host's storage of a scalar, in a buffer of the host's. Does not wait. (Buffers of
/// pmap_rt_alloc are given back when a failure unwinds past them.)
void *fetch(Gpu &gpu, const void *from, int64_t bytes) {
  void *copy = pmap_rt_alloc(bytes);
  if (!gpu.memory.owns(from))
    memcpy(copy, from, (size_t)bytes);
  else if (bytes > 0)
    check(cudaApi().copyToHost(copy, addressOf(from), (size_t)bytes, gpu.compute), "copying an array from the GPU");
  return copy;
}

/// Bytes of the host's to where `fetch` would take them from; the buffer is given back.
void put(Gpu &gpu, void *to, void *from, int64_t bytes) {
  if (!gpu.memory.owns(to))
    memcpy(to, from, (size_t)bytes);
  else if (bytes > 0)
    check(cudaApi().copyToDevice(addressOf(to), from, (size_t)bytes, gpu.compute), "copying an array to the GPU");
  // The bytes must have left before the buffer is used again.
  gpu.wait();
  pmap_rt_free(from);
}

} // namespace

void pmap_cuda_sort(int32_t dtype, int32_t descending, int32_t indices, int64_t outer, int64_t length, int64_t inner,
                    int64_t kept, const void *in, void *out) {
  Gpu &gpu = currentGpu();
  int64_t bytes = pmap_dtype_bytes(dtype);
  int64_t resultBytes = outer * kept * inner * (indices ? (int64_t)sizeof(int32_t) : bytes);
  void *from = fetch(gpu, in, outer * length * inner * bytes), *to = pmap_rt_alloc(resultBytes);
  gpu.wait();
  pmap_rt_sort(dtype, descending, indices, outer, length, inner, kept, from, to);
  pmap_rt_free(from);
  put(gpu, out, to, resultBytes);
}

void pmap_cuda_send(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t inputs, const void *const *in,
                    void *out, const int64_t *n) {
  Gpu &gpu = currentGpu();
  // The array, the destinations, and what fills the array of a device that receives nothing.
  constexpr int32_t count = 3;
  const int64_t elementBytes[count] = {bytes, (int64_t)sizeof(int32_t), bytes};
  void *copies[count];
  for (int32_t i = 0; i < count; ++i)
    copies[i] = fetch(gpu, in[i], n[i] * elementBytes[i]);
  void *to = pmap_rt_alloc(n[0] * bytes);
  gpu.wait();
  pmap_rt_send(site, among, bytes, inputs, copies, to, n);
  for (void *copy : copies)
    pmap_rt_free(copy);
  put(gpu, out, to, n[0] * bytes);
}

void pmap_cuda_all_to_all(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t rank, int32_t split,
                          int32_t concat, const pmap_array *in, void *out) {
  Gpu &gpu = currentGpu();
  auto *copy = (pmap_array *)pmap_rt_alloc((int64_t)descriptorBytes(rank));
  download(gpu, in, rank, bytes, copy);
  int64_t size = bytes;
  for (int32_t dim = 0; dim < rank; ++dim)
    size *= in->sizes_and_strides[dim];
  void *to = pmap_rt_alloc(size);
  gpu.wait();
  pmap_rt_all_to_all(site, among, bytes, rank, split, concat, copy, to);
  pmap_rt_free(copy->allocated);
  pmap_rt_free(copy);
  put(gpu, out, to, size);
}
