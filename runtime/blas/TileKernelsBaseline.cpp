// The tiles for any machine, and the choice among all.

#define PMAP_KERNELS baseline
#define PMAP_VECTOR_BYTES 16
#define PMAP_ACCUMULATORS 12
#include "runtime/blas/TileKernels.inc"

namespace pmap::rt {

template <typename T> static const TileKernels<T> &choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return x86v4::findTiles<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return x86v3::findTiles<T>();
#endif
  return baseline::findTiles<T>();
}

template <> const TileKernels<float> &findTileKernels<float>() { return choose<float>(); }
template <> const TileKernels<double> &findTileKernels<double>() { return choose<double>(); }

} // namespace pmap::rt
