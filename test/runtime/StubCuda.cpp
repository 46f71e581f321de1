// A CUDA driver that records instead of computing, for tests of the code that calls the driver: $PMAP_LIBCUDA names it.
//
// Memory of the device is memory of the host, zeroed; copies copy; kernels are found by name in their image but do
// nothing. $PMAP_STUB is a list of settings, `devices=2,capability=90,fail=cuLaunchKernel:700`: how many devices, which
// chip, and a function that returns an error; `failure=0:3:0:3` is what the kernels leave behind of a failed check.
// $PMAP_STUB_LOG is a file that gets a line per call.

#include "pmap/cuda.h"
#include "runtime/cuda/CudaApi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

// The driver's opaque types.
namespace pmap::rt::cuda {
struct CUctx_st {};
struct CUstream_st {
  char letter;
};
struct CUevent_st {};
struct CUmod_st {
  const char *image;
  bool isPtx;
  alignas(8) char failure[64];
};
struct CUfunc_st {
  std::string name;
};
} // namespace pmap::rt::cuda

namespace cuda = pmap::rt::cuda;
using cuda::Result;

namespace {

constexpr Result notFound = 500;

std::string setting(const std::string &name, const char *otherwise) {
  const char *settings = getenv("PMAP_STUB");
  std::string all = std::string(",") + (settings ? settings : "") + ",", key = "," + name + "=";
  size_t at = all.find(key);
  if (at == std::string::npos)
    return otherwise;
  at += key.size();
  return all.substr(at, all.find(',', at) - at);
}

/// Records the call; the error that the settings ask of this function, or 0.
Result called(const char *function, const std::string &detail = "") {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  if (const char *path = getenv("PMAP_STUB_LOG")) {
    if (FILE *log = fopen(path, "a")) {
      fprintf(log, "%s%s%s\n", function, detail.empty() ? "" : " ", detail.c_str());
      fclose(log);
    }
  }
  std::string fail = setting("fail", ""), prefix = std::string(function) + ":";
  return fail.compare(0, prefix.size(), prefix) == 0 ? atoi(fail.c_str() + prefix.size()) : 0;
}

std::string bytesOn(size_t bytes, cuda::Stream stream) {
  return std::to_string(bytes) + " bytes on " + (stream ? std::string(1, stream->letter) : "the default stream");
}

} // namespace

extern "C" {

Result cuInit(unsigned) { return called("cuInit"); }
Result cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
Result cuGetErrorName(Result error, const char **text) {
  *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : error == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OF_A_TEST";
  return 0;
}
Result cuGetErrorString(Result, const char **text) {
  *text = "as the test asked";
  return 0;
}
Result cuDeviceGetCount(int *count) {
  *count = atoi(setting("devices", "1").c_str());
  return called("cuDeviceGetCount");
}
Result cuDeviceGet(cuda::DeviceId *device, int ordinal) {
  *device = ordinal;
  return called("cuDeviceGet", std::to_string(ordinal));
}
Result cuDeviceGetName(char *name, int length, cuda::DeviceId) {
  snprintf(name, (size_t)length, "a stub");
  return 0;
}
Result cuDeviceGetAttribute(int *value, int attribute, cuda::DeviceId) {
  int capability = atoi(setting("capability", "90").c_str());
  *value = attribute == cuda::attributeMajor ? capability / 10 : capability % 10;
  return 0;
}
Result cuDevicePrimaryCtxRetain(cuda::Context *context, cuda::DeviceId device) {
  *context = new cuda::CUctx_st;
  return called("cuDevicePrimaryCtxRetain", std::to_string(device));
}
Result cuCtxSetCurrent(cuda::Context) { return 0; }
Result cuStreamCreate(cuda::Stream *stream, unsigned) {
  static std::mutex lock;
  static char next = 'A';
  std::lock_guard<std::mutex> guard(lock);
  *stream = new cuda::CUstream_st{next++};
  return called("cuStreamCreate", std::string(1, (*stream)->letter));
}
Result cuStreamSynchronize(cuda::Stream stream) {
  return called("cuStreamSynchronize", std::string(1, stream->letter));
}
Result cuStreamQuery(cuda::Stream) { return 0; }
Result cuStreamWaitEvent(cuda::Stream, cuda::Event, unsigned) { return 0; }
Result cuEventCreate(cuda::Event *event, unsigned) {
  *event = new cuda::CUevent_st;
  return 0;
}
Result cuEventRecord(cuda::Event, cuda::Stream) { return 0; }
Result cuMemAlloc_v2(cuda::DevicePointer *address, size_t bytes) {
  *address = (cuda::DevicePointer)(uintptr_t)calloc(1, bytes + 256);
  *address = (*address + 255) / 256 * 256;
  return called("cuMemAlloc", std::to_string(bytes));
}
Result cuMemFree_v2(cuda::DevicePointer) { return called("cuMemFree"); }
Result cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  *address = calloc(1, bytes);
  return 0;
}
Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void *from, size_t bytes, cuda::Stream stream) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return called("cuMemcpyHtoD", bytesOn(bytes, stream));
}
Result cuMemcpyDtoHAsync_v2(void *to, cuda::DevicePointer from, size_t bytes, cuda::Stream stream) {
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return called("cuMemcpyDtoH", bytesOn(bytes, stream));
}
Result cuMemcpyDtoDAsync_v2(cuda::DevicePointer to, cuda::DevicePointer from, size_t bytes, cuda::Stream stream) {
  memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return called("cuMemcpyDtoD", bytesOn(bytes, stream));
}
Result cuMemsetD8Async(cuda::DevicePointer address, unsigned char value, size_t count, cuda::Stream) {
  memset((void *)(uintptr_t)address, value, count);
  return called("cuMemset", std::to_string(count));
}
Result cuModuleLoadDataEx(cuda::Module *module, const void *image, unsigned, int *, void **) {
  auto *text = (const char *)image;
  bool isPtx = memcmp(text,
                      "\x7f"
                      "ELF",
                      4) != 0;
  *module = new cuda::CUmod_st{text, isPtx, {}};
  std::string form = "machine code";
  if (isPtx) {
    const char *target = strstr(text, ".target ");
    form = target ? std::string(target + 1, strcspn(target + 1, "\n,")) : "no PTX";
  }
  return called("cuModuleLoadDataEx", form);
}
Result cuModuleGetFunction(cuda::Function *function, cuda::Module module, const char *name) {
  if (module->isPtx && !strstr(module->image, (std::string(".entry ") + name + "(").c_str()))
    return notFound;
  *function = new cuda::CUfunc_st{name};
  return called("cuModuleGetFunction", name);
}
Result cuModuleGetGlobal_v2(cuda::DevicePointer *address, size_t *bytes, cuda::Module module, const char *name) {
  if (!module->isPtx || !strstr(module->image, name))
    return notFound;
  auto *record = new (module->failure) pmap_cuda_failure{};
  long long a, b, c;
  if (sscanf(setting("failure", "").c_str(), "%d:%lld:%lld:%lld", &record->kind, &a, &b, &c) == 4) {
    record->state = 1;
    record->a = a, record->b = b, record->c = c;
  }
  *address = (cuda::DevicePointer)(uintptr_t)module->failure;
  *bytes = sizeof module->failure;
  return 0;
}
Result cuLaunchKernel(cuda::Function function, unsigned gridX, unsigned, unsigned, unsigned blockX, unsigned, unsigned,
                      unsigned, cuda::Stream stream, void **, void **) {
  return called("cuLaunchKernel", function->name + " " + std::to_string(gridX) + " x " + std::to_string(blockX) +
                                      " on " + stream->letter);
}

} // extern "C"
