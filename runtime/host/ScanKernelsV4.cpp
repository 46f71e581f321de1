// The scans for x86-64-v4.

#if defined(__x86_64__)
#define PMAP_KERNELS x86v4
#include "runtime/host/ScanKernels.inc"
#endif
