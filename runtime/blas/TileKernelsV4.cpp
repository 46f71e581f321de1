// The tiles for x86-64-v4.

#if defined(__x86_64__)
#define PMAP_KERNELS x86v4
#define PMAP_VECTOR_BYTES 64
#define PMAP_ACCUMULATORS 24
#include "runtime/blas/TileKernels.inc"
#endif
