// Functions entered from the host: their arrays travel to the device and back.

#include "runtime/core/Context.h"
#include "runtime/cuda/Device.h"

#include <cstring>
#include <memory>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

namespace {

int64_t elementsOf(const pmap_array *array, int32_t rank) {
  int64_t count = 1;
  for (int32_t dim = 0; dim < rank; ++dim)
    count *= array->sizes_and_strides[dim];
  return count;
}

/// The arguments of one call: descriptors of arrays on the device for those on the host.
struct Arguments {
  const pmap_cuda_function *function;
  void **host;
  std::vector<void *> device;
  std::unique_ptr<char[]> descriptors;

  int32_t rank(int32_t index) const { return function->table[2 * index]; }
  int64_t bytes(int32_t index) const { return function->table[2 * index + 1]; }
  int32_t count() const { return function->argument_count + function->result_count; }
  pmap_array *onDevice(int32_t index) { return (pmap_array *)device[(size_t)index]; }

  void build() {
    size_t total = 0;
    for (int32_t i = 0; i < count(); ++i)
      if (rank(i) >= 0)
        total += descriptorBytes(rank(i));
    descriptors.reset(new char[total ? total : 1]);
    char *at = descriptors.get();
    device.assign(host, host + count());
    for (int32_t i = 0; i < count(); ++i)
      if (rank(i) >= 0) {
        device[(size_t)i] = at;
        at += descriptorBytes(rank(i));
      }
  }

  void import(Gpu &gpu) {
    for (int32_t i = 0; i < function->argument_count; ++i) {
      if (rank(i) < 0)
        continue;
      auto *from = (const pmap_array *)host[i];
      pmap_array *to = onDevice(i);
      memcpy(to, from, descriptorBytes(rank(i)));
      int64_t size = elementsOf(from, rank(i)) * bytes(i);
      to->allocated = to->aligned = gpu.memory.alloc(size);
      to->offset = 0;
      if (size > 0)
        check(cudaApi().copyToDevice((DevicePointer)(uintptr_t)to->aligned,
                                     (const char *)from->aligned + from->offset * bytes(i), (size_t)size, gpu.compute),
              "copying an array to the GPU");
    }
  }

  void exportResults(Gpu &gpu) {
    for (int32_t i = function->argument_count; i < count(); ++i)
      if (rank(i) >= 0)
        download(gpu, onDevice(i), rank(i), bytes(i), (pmap_array *)host[i]);
  }
};

} // namespace

void pmap_cuda_call(const pmap_cuda_function *function, void **args) {
  // A failure passes through here, so that what the call holds is given back.
  static thread_local ErrorRecord record;
  record.clear();
  Gpu &gpu = currentGpu();
  int64_t mark = gpu.memory.mark();
  auto *arguments = new Arguments{function, args, {}, {}};
  UnwindTarget target(record);
  if (!setjmp(target.buffer)) {
    arguments->build();
    arguments->import(gpu);
    function->body(arguments->device.data());
    arguments->exportResults(gpu);
    gpu.wait();
    target.leave();
  }
  // Inputs, results, and after a failure whatever else there is.
  gpu.memory.freeSince(mark);
  delete arguments;
  if (record.set)
    failAgain(record);
}
