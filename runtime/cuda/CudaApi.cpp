// Opening the CUDA driver.

#include "runtime/cuda/CudaApi.h"
#include "runtime/cuda/Library.h"

namespace pmap::rt::cuda {

const CudaApi &cudaApi() {
  static const CudaApi *api = [] {
    static const char *const names[] = {"libcuda.so.1", nullptr};
    Library library("PMAP_LIBCUDA", names);
    auto *found = new CudaApi;
#define PMAP_CUDA_FIND(name, symbol, parameters)                                                                       \
  found->name = reinterpret_cast<decltype(found->name)>(library.find(#symbol));
    PMAP_CUDA_FUNCTIONS(PMAP_CUDA_FIND)
#undef PMAP_CUDA_FIND
    found->problem = library.problem();
    return found;
  }();
  return *api;
}

std::string cudaErrorText(Result error) {
  const CudaApi &api = cudaApi();
  const char *name = nullptr, *text = nullptr;
  if (api.errorName)
    api.errorName(error, &name);
  if (api.errorString)
    api.errorString(error, &text);
  if (!name)
    return "CUDA error " + std::to_string(error);
  return std::string(name) + (text ? std::string(": ") + text : std::string());
}

} // namespace pmap::rt::cuda
