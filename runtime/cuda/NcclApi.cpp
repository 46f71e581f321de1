// Opening NCCL.

#include "runtime/cuda/NcclApi.h"
#include "pmap/dtypes.h"
#include "runtime/cuda/Library.h"

namespace pmap::rt::cuda {

const NcclApi &ncclApi() {
  static const NcclApi *api = [] {
    static const char *const names[] = {"libnccl.so.2", nullptr};
    Library library("PMAP_LIBNCCL", names);
    auto *found = new NcclApi;
#define PMAP_NCCL_FIND(type, name, symbol, parameters)                                                                 \
  found->name = reinterpret_cast<decltype(found->name)>(library.find(#symbol));
    PMAP_NCCL_FUNCTIONS(PMAP_NCCL_FIND)
#undef PMAP_NCCL_FIND
    found->problem = library.problem();
    return found;
  }();
  return *api;
}

int ncclDType(int32_t dtype) {
  switch (dtype) {
  case PMAP_i8:
    return 0;
  case PMAP_bool:
  case PMAP_u8:
    return 1;
  case PMAP_i32:
    return 2;
  case PMAP_u32:
    return 3;
  case PMAP_i64:
    return 4;
  case PMAP_u64:
    return 5;
  case PMAP_f16:
    return 6;
  case PMAP_f32:
    return 7;
  case PMAP_f64:
    return 8;
  case PMAP_bf16:
    return 9;
  default:
    return -1;
  }
}

} // namespace pmap::rt::cuda
