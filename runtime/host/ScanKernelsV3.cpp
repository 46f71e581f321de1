// The scans for x86-64-v3.

#if defined(__x86_64__)
#define PMAP_KERNELS x86v3
#include "runtime/host/ScanKernels.inc"
#endif
