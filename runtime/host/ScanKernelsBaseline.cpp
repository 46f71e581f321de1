// The scans for any machine, and the choice between the levels.

#define PMAP_KERNELS baseline
#include "runtime/host/ScanKernels.inc"

pmap::rt::ScanKernels pmap::rt::findScanKernels(int32_t kind, int32_t dtype) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return x86v4::findScan(kind, dtype);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return x86v3::findScan(kind, dtype);
#endif
  return baseline::findScan(kind, dtype);
}
