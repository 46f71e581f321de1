// The tiles for x86-64-v3.

#if defined(__x86_64__)
#define PMAP_KERNELS x86v3
#define PMAP_VECTOR_BYTES 32
#define PMAP_ACCUMULATORS 12
#include "runtime/blas/TileKernels.inc"
#endif
