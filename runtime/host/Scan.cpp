// Running sums and products along the last dimension.
//
// Many lines are shared by the threads as they are. A long line is cut: its chunks are combined, the results scanned,
// and each chunk scanned behind what comes before it. On one thread the three steps follow each other block by block,
// with the same bits.

#include "pmap/runtime.h"
#include "runtime/host/Radix.h"
#include "runtime/host/ScanKernels.h"

using namespace pmap::rt;

namespace {

// Elements that are worth a thread; of a line that is read twice, what stays in the second cache until then.
constexpr int64_t pieceElements = 1 << 15;
constexpr int64_t pieceChunks = pieceElements / scanChunk;

void scanLongLine(const ScanKernels &kernels, const char *in, char *out, int64_t length, int64_t bytes) {
  int64_t chunks = (length + scanChunk - 1) / scanChunk;
  auto *values = static_cast<ScanValue *>(pmap_rt_alloc(chunks * int64_t(sizeof(ScanValue))));
  auto forChunks = [&](int64_t lo, int64_t hi, auto body) {
    int64_t offset = lo * scanChunk, end = std::min(length, hi * scanChunk);
    body(offset * bytes, values + lo, end - offset);
  };
  auto combine = [&](int64_t lo, int64_t hi) {
    forChunks(lo, hi, [&](int64_t at, ScanValue *part, int64_t n) { kernels.combineChunks(in + at, part, n); });
  };
  auto scan = [&](int64_t lo, int64_t hi) {
    forChunks(lo, hi, [&](int64_t at, ScanValue *part, int64_t n) { kernels.scanChunks(in + at, out + at, part, n); });
  };
  if (pmap_rt_threads() == 1) {
    ScanValue before = kernels.identity;
    for (int64_t lo = 0, hi; lo < chunks; lo = hi) {
      hi = std::min(chunks, lo + pieceChunks);
      combine(lo, hi);
      before = kernels.scanValues(values + lo, hi - lo, before);
      scan(lo, hi);
    }
  } else {
    inPieces(chunks, pieceChunks, combine);
    kernels.scanValues(values, chunks, kernels.identity);
    inPieces(chunks, pieceChunks, scan);
  }
  pmap_rt_free(values);
}

} // namespace

void pmap_rt_scan(int32_t kind, int32_t dtype, int64_t lines, int64_t length, const void *from, void *to) {
  if (lines == 0 || length == 0)
    return;
  ScanKernels kernels = findScanKernels(kind, dtype);
  auto *in = static_cast<const char *>(from);
  auto *out = static_cast<char *>(to);
  int64_t bytes = pmap_dtype_bytes(dtype);
  if (length >= 2 * pieceElements && lines < 4 * pmap_rt_threads()) {
    for (int64_t line = 0; line < lines; ++line)
      scanLongLine(kernels, in + line * length * bytes, out + line * length * bytes, length, bytes);
    return;
  }
  // A multiple of the lines that advance together.
  int64_t grain = (std::max<int64_t>(1, pieceElements / length) + 3) / 4 * 4;
  if (lines <= grain)
    return kernels.scanLines(in, out, lines, length);
  inPieces(lines, grain, [&](int64_t lo, int64_t hi) {
    kernels.scanLines(in + lo * length * bytes, out + lo * length * bytes, hi - lo, length);
  });
}
