// Opening cuBLASLt.

#include "runtime/cuda/CublasApi.h"
#include "runtime/cuda/Library.h"

namespace pmap::rt::cuda {

const CublasApi &cublasApi() {
  static const CublasApi *api = [] {
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", nullptr};
    Library library("PMAP_LIBCUBLASLT", names);
    auto *found = new CublasApi;
#define PMAP_CUBLAS_FIND(name, symbol, parameters)                                                                     \
  found->name = reinterpret_cast<decltype(found->name)>(library.find(#symbol));
    PMAP_CUBLAS_FUNCTIONS(PMAP_CUBLAS_FIND)
#undef PMAP_CUBLAS_FIND
    found->problem = library.problem();
    return found;
  }();
  return *api;
}

} // namespace pmap::rt::cuda
