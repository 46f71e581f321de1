//===- ReduceKernels.h - The inner loops of the reductions -------------------------------------------------------===//
//
// One source, ReduceKernels.inc, compiled once per level of the instruction set.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_HOST_REDUCEKERNELS_H
#define PMAP_HOST_REDUCEKERNELS_H

#include "pmap/runtime.h"

namespace pmap::rt {

/// Reduces the elements lo..hi of `ranks` arrays, in rank order, and writes the result to `outCount` ones (an out may
/// be an in). `divisor` is what a mean divides by. `stream` stores past the caches; the outs + lo must then be 64-byte
/// aligned.
using ReduceKernel = void (*)(const void *const *ins, int64_t ranks, void *const *outs, int64_t outCount, int64_t lo,
                              int64_t hi, double divisor, bool stream);

/// The kernel for a kind and dtype on this machine, or null where there is none (a mean of integers, keys).
ReduceKernel findReduceKernel(int32_t kind, int32_t dtype);

namespace baseline {
ReduceKernel find(int32_t kind, int32_t dtype);
}
namespace x86v3 {
ReduceKernel find(int32_t kind, int32_t dtype);
}
namespace x86v4 {
ReduceKernel find(int32_t kind, int32_t dtype);
}

} // namespace pmap::rt

#endif // PMAP_HOST_REDUCEKERNELS_H
