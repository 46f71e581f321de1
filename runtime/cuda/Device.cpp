// GPUs: finding, starting, waiting.

#include "runtime/cuda/Device.h"
#include "runtime/core/Context.h"

#include <cstring>
#include <mutex>

namespace pmap::rt::cuda {

void check(Result result, const char *what) {
  if (result == 0)
    return;
  if (result == errorOutOfMemory)
    fail(nullptr, "E1115", format("out of memory on the GPU while %s", what));
  fail(nullptr, "E1130", format("the GPU failed while %s: %s", what, cudaErrorText(result).c_str()));
}

int findGpus(std::string &problem) {
  static std::string reason;
  static const int count = [] {
    const CudaApi &api = cudaApi();
    if (!api.loaded()) {
      reason = "no CUDA driver: " + api.problem;
      return 0;
    }
    if (Result result = api.init(0)) {
      reason = "the CUDA driver does not start: " + cudaErrorText(result);
      return 0;
    }
    int devices = 0;
    if (Result result = api.deviceCount(&devices)) {
      reason = "the CUDA driver names no devices: " + cudaErrorText(result);
      return 0;
    }
    if (devices == 0)
      reason = "the CUDA driver is there, but it sees no GPU (CUDA_VISIBLE_DEVICES hides them?)";
    return devices;
  }();
  problem = reason;
  return count;
}

namespace {

/// Streams, events and the pinned page of a GPU; it is the caller's thread that uses it.
void start(Gpu &gpu, int index) {
  const CudaApi &api = cudaApi();
  gpu.index = index;
  DeviceId id;
  check(api.deviceGet(&id, index), "finding the device");
  char name[256] = "";
  check(api.deviceName(name, sizeof name, id), "asking for its name");
  gpu.name = name;
  int major = 0, minor = 0;
  check(api.deviceAttribute(&major, attributeMajor, id), "asking for its capability");
  check(api.deviceAttribute(&minor, attributeMinor, id), "asking for its capability");
  gpu.capability = 10 * major + minor;
  check(api.primaryContextRetain(&gpu.context, id), "making a context");
  check(api.contextSetCurrent(gpu.context), "making its context current");
  check(api.streamCreate(&gpu.compute, streamNonBlocking), "making a stream");
  check(api.streamCreate(&gpu.communication, streamNonBlocking), "making a stream");
  check(api.eventCreate(&gpu.computeDone, eventDisableTiming), "making an event");
  check(api.eventCreate(&gpu.communicationDone, eventDisableTiming), "making an event");
  check(api.hostAlloc(&gpu.pinned, Gpu::pinnedBytes, 0), "reserving memory of the host");
}

} // namespace

Gpu &currentGpu() {
  static std::mutex lock;
  static std::map<int, Gpu> gpus;
  static thread_local Gpu *last = nullptr;
  int index = currentDevice().index;
  if (last && last->index == index && last->pinned)
    return *last;
  Gpu *gpu;
  {
    std::lock_guard<std::mutex> guard(lock);
    gpu = &gpus[index];
  }
  // A failure must not unwind past the lock. Only this thread leads the device.
  if (!gpu->pinned)
    start(*gpu, index);
  else
    check(cudaApi().contextSetCurrent(gpu->context), "making its context current");
  last = gpu;
  return *gpu;
}

void Gpu::wait() {
  const CudaApi &api = cudaApi();
  // One wait for the kernels and for what they say about their checks, a program having one image.
  char *records = (char *)pinned + pinnedBytes / 2;
  size_t most = (size_t)pinnedBytes / 2 / sizeof(pmap_cuda_failure), count = 0;
  for (auto &[image, loaded] : images)
    if (loaded.failure && count < most)
      check(api.copyToHost(records + count++ * sizeof(pmap_cuda_failure), loaded.failure, sizeof(pmap_cuda_failure),
                           compute),
            "reading the checks");
  check(api.streamSynchronize(compute), "waiting for the kernels");
  count = 0;
  for (auto &[image, loaded] : images) {
    if (!loaded.failure || count >= most)
      continue;
    pmap_cuda_failure failure;
    memcpy(&failure, records + count++ * sizeof failure, sizeof failure);
    if (failure.state == 0)
      continue;
    check(api.setBytes(loaded.failure, 0, sizeof failure, compute), "clearing the checks");
    pmap_rt_fail(failure.site, failure.kind, failure.a, failure.b, failure.c);
  }
}

LoadedImage &Gpu::load(const pmap_cuda_image *image) {
  auto known = images.find(image);
  if (known != images.end())
    return known->second;
  const CudaApi &api = cudaApi();
  // The machine code of the nearest architecture that this device runs (same major number, minor no larger); else the
  // newest PTX that it takes, which the driver compiles.
  const pmap_cuda_code *best = nullptr;
  for (int32_t i = 0; i < image->code_count; ++i) {
    const pmap_cuda_code &code = image->codes[i];
    bool runs = code.is_ptx ? code.capability <= capability
                            : code.capability / 10 == capability / 10 && code.capability <= capability;
    if (!runs)
      continue;
    bool better =
        !best || (best->is_ptx && !code.is_ptx) || (best->is_ptx == code.is_ptx && best->capability < code.capability);
    if (better)
      best = &code;
  }
  if (!best)
    fail(nullptr, "E1130", format("the program has no code for this GPU, %s (sm_%d)", name.c_str(), capability),
         format("build it with '--arch sm_%d'", capability));
  LoadedImage loaded;
  check(api.moduleLoad(&loaded.module, best->data, 0, nullptr, nullptr), "loading the kernels");
  loaded.kernels.assign((size_t)image->kernel_count, nullptr);
  size_t bytes = 0;
  if (api.moduleGlobal(&loaded.failure, &bytes, loaded.module, "pmap_failure") != 0)
    loaded.failure = 0;
  return images[image] = std::move(loaded);
}

} // namespace pmap::rt::cuda
