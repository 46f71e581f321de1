// Arrays of the device that become distributed values, and back; and printing. Blocks of distributed values are in the
// host's memory: a later version may keep them where they are.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Device.h"
#include "runtime/host/Dist.h"

#include <cstring>
#include <memory>
#include <vector>

using namespace pmap::rt;
using namespace pmap::rt::cuda;

// The layout's text gives dtype and rank: `mesh ...; in f32 [data,_];`.
namespace {

struct Form {
  int64_t bytes = 0;
  int32_t rank = 0;
};

Form formOf(const char *layout) {
  Form form;
  const char *in = strstr(layout, " in ");
  if (!in)
    return form;
  in += 4;
  std::string dtype(in, strcspn(in, " "));
  form.bytes = pmap_dtype_bytes(pmap_dtype_from_name(dtype.c_str()));
  const char *open = strchr(in, '['), *close = open ? strchr(open, ']') : nullptr;
  if (open && close > open + 1) {
    form.rank = 1;
    for (const char *at = open; at < close; ++at)
      form.rank += *at == ',';
  }
  return form;
}

struct Descriptor {
  explicit Descriptor(int32_t rank) : storage(descriptorBytes(rank)) {}
  pmap_array *array() { return (pmap_array *)storage.data(); }
  std::vector<char> storage;
};

} // namespace

pmap_dist *pmap_cuda_move_to_dist(const pmap_site *site, const char *layout, const void *source, int32_t) {
  Form form = formOf(layout);
  if (form.rank == 0)
    return pmap_rt_move_to_dist(site, layout, source, 1);
  Descriptor copy(form.rank);
  Gpu &gpu = currentGpu();
  download(gpu, (const pmap_array *)source, form.rank, form.bytes, copy.array());
  gpu.wait();
  // The copy is nobody else's, so that the value may look at it. It takes a reference of its own.
  pmap_dist *value = pmap_rt_move_to_dist(site, layout, copy.array(), 0);
  pmap_rt_free(copy.array()->allocated);
  return value;
}

void pmap_cuda_move_to_host(const pmap_site *site, pmap_dist *value, void *result, int32_t lastUse) {
  auto rank = (int32_t)value->dimensions.size();
  int64_t size = pmap_dtype_bytes(value->dtype);
  // Into the result's own storage, and from there to the device.
  pmap_rt_move_to_host(site, value, result, lastUse);
  auto *array = (pmap_array *)result;
  const char *host = (const char *)array->aligned + array->offset * size;
  for (int32_t dim = 0; dim < rank; ++dim)
    size *= array->sizes_and_strides[dim];
  Gpu &gpu = currentGpu();
  void *device = gpu.memory.alloc(size), *owner = array->allocated;
  if (size > 0)
    check(cudaApi().copyToDevice((DevicePointer)(uintptr_t)device, host, (size_t)size, gpu.compute),
          "copying an array to the GPU");
  array->allocated = array->aligned = device;
  array->offset = 0;
  pmap_rt_free(owner);
}

void pmap_cuda_print(const pmap_site *site, const char *text, int32_t count, const int32_t *dtypes,
                     const int32_t *ranks, const void *const *values) {
  Gpu &gpu = currentGpu();
  std::vector<std::unique_ptr<Descriptor>> copies;
  std::vector<const void *> shown(values, values + count);
  for (int32_t i = 0; i < count; ++i) {
    if (ranks[i] == 0)
      continue;
    copies.push_back(std::make_unique<Descriptor>(ranks[i]));
    download(gpu, (const pmap_array *)values[i], ranks[i], pmap_dtype_bytes(dtypes[i]), copies.back()->array());
    shown[(size_t)i] = copies.back()->array();
  }
  gpu.wait();
  pmap_rt_print(site, text, count, dtypes, ranks, shown.data());
  for (auto &copy : copies)
    pmap_rt_free(copy->array()->allocated);
}
