// The keys of sorts for any machine, and the choice between the levels.

#define PMAP_KERNELS baseline
#include "runtime/host/SortKernels.inc"

pmap::rt::SortKernels pmap::rt::findSortKernels(int32_t dtype) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return x86v4::findSort(dtype);
  if (__builtin_cpu_supports("avx2"))
    return x86v3::findSort(dtype);
#endif
  return baseline::findSort(dtype);
}
