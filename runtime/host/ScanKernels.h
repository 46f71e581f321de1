//===- ScanKernels.h - The inner loops of scans ------------------------------------------------------------------===//
//
// One source, ScanKernels.inc, compiled once per level of the instruction set.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_HOST_SCANKERNELS_H
#define PMAP_HOST_SCANKERNELS_H

#include <cstdint>

namespace pmap::rt {

/// A line is scanned in chunks of this many elements: each from the identity, and then what came before it is put in
/// front. So the result depends on the length of the line only, never on threads, and sums of numbers that are not
/// negative never decrease.
constexpr int64_t scanChunk = 512;

/// A running value, as wide as the widest.
union ScanValue {
  uint64_t bits;
  float f32;
  double f64;
};

struct ScanKernels {
  /// Scans `lines` lines of `length` elements that lie one behind the other.
  void (*scanLines)(const void *in, void *out, int64_t lines, int64_t length);
  /// Writes the value of each chunk of a line.
  void (*combineChunks)(const void *in, ScanValue *values, int64_t length);
  /// Turns the values of chunks into what comes before each; returns what comes after the last.
  ScanValue (*scanValues)(ScanValue *values, int64_t count, ScanValue before);
  /// Scans the chunks of a line; `before[i]` comes before chunk i.
  void (*scanChunks)(const void *in, void *out, const ScanValue *before, int64_t length);
  ScanValue identity;
};

/// The kernels for a kind (PMAP_REDUCE_SUM or _PROD) and dtype on this machine.
ScanKernels findScanKernels(int32_t kind, int32_t dtype);

namespace baseline {
ScanKernels findScan(int32_t kind, int32_t dtype);
}
namespace x86v3 {
ScanKernels findScan(int32_t kind, int32_t dtype);
}
namespace x86v4 {
ScanKernels findScan(int32_t kind, int32_t dtype);
}

} // namespace pmap::rt

#endif // PMAP_HOST_SCANKERNELS_H
