// The reductions for any machine, and the choice between the levels.

#define PMAP_KERNELS baseline
#include "runtime/host/ReduceKernels.inc"

pmap::rt::ReduceKernel pmap::rt::findReduceKernel(int32_t kind, int32_t dtype) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return x86v4::find(kind, dtype);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return x86v3::find(kind, dtype);
#endif
  return baseline::find(kind, dtype);
}
