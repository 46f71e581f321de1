// Packed arrays in and out, and copies of boxes.

#include "runtime/host/Dist.h"
#include "runtime/host/Exchange.h"

#include <cstring>

using namespace pmap::rt;

int64_t pmap::rt::elementsOf(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

namespace {

constexpr int64_t lineBytes = 64;
typedef uint64_t Line __attribute__((ext_vector_type(8), aligned(64)));
typedef uint64_t LineAnywhere __attribute__((ext_vector_type(8), aligned(1)));

/// Stores whole cache lines past the caches.
void copyStreaming(char *to, const char *from, int64_t bytes) {
  int64_t head = std::min<int64_t>(bytes, -(intptr_t)to & (lineBytes - 1));
  memcpy(to, from, (size_t)head);
  int64_t i = head;
  for (; i + lineBytes <= bytes; i += lineBytes)
    __builtin_nontemporal_store((Line) * (const LineAnywhere *)(from + i), (Line *)(to + i));
  memcpy(to + i, from + i, (size_t)(bytes - i));
}

/// Makes streamed bytes visible to the other threads before whatever the caller stores next.
void finishStreaming() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

/// One run of equal-strided rows; what copyBox comes down to once inner dimensions are merged.
struct BoxCopy {
  char *target;
  const char *source;
  Shape sizes, targetStrides, sourceStrides; ///< In bytes; the last dimension is a dense run of `run` bytes.
  int64_t run;
  bool stream;

  void rows(int64_t lo, int64_t hi) const {
    for (int64_t row = lo; row < hi; ++row) {
      int64_t rest = row, to = 0, from = 0;
      for (size_t i = sizes.size(); i-- > 0;) {
        int64_t index = rest % sizes[i];
        rest /= sizes[i];
        to += index * targetStrides[i];
        from += index * sourceStrides[i];
      }
      if (stream)
        copyStreaming(target + to, source + from, run);
      else
        memcpy(target + to, source + from, (size_t)run);
    }
    if (stream)
      finishStreaming();
  }
};

} // namespace

void pmap::rt::copyBytes(char *to, const char *from, int64_t bytes, bool stream) {
  struct Copy {
    char *to;
    const char *from;
    bool stream;
  } copy{to, from, stream};
  // Pieces are whole lines, so that no two threads write to one.
  pmap_rt_parallel_for(
      [](void *closure, int64_t lo, int64_t hi) {
        auto &copy = *(Copy *)closure;
        if (!copy.stream) {
          memcpy(copy.to + lo, copy.from + lo, (size_t)(hi - lo));
          return;
        }
        copyStreaming(copy.to + lo, copy.from + lo, hi - lo);
        finishStreaming();
      },
      &copy, bytes, 256 << 10);
}

void pmap::rt::copyBox(char *target, const Shape &targetShape, const Shape &targetOffsets, const char *source,
                       const Shape &sourceShape, const Shape &sourceOffsets, const Shape &sizes, int64_t elementBytes,
                       bool stream) {
  if (elementsOf(sizes) == 0)
    return;
  BoxCopy copy{target, source, {}, {}, {}, elementBytes, false};
  int64_t targetStride = elementBytes, sourceStride = elementBytes;
  bool dense = true;
  Shape outer, outerTarget, outerSource;
  for (size_t i = sizes.size(); i-- > 0;) {
    copy.target += targetOffsets[i] * targetStride;
    copy.source += sourceOffsets[i] * sourceStride;
    if (dense)
      copy.run *= sizes[i];
    else {
      outer.insert(outer.begin(), sizes[i]);
      outerTarget.insert(outerTarget.begin(), targetStride);
      outerSource.insert(outerSource.begin(), sourceStride);
    }
    // The run goes on through the next outer dimension only if this one is taken whole on both sides.
    dense = dense && sizes[i] == targetShape[i] && sizes[i] == sourceShape[i];
    targetStride *= targetShape[i];
    sourceStride *= sourceShape[i];
  }
  copy.sizes = outer;
  copy.targetStrides = outerTarget;
  copy.sourceStrides = outerSource;
  int64_t rows = elementsOf(outer);
  // Short runs would be stored by halves of lines.
  copy.stream = stream && copy.run >= 32 * lineBytes;
  if (rows == 1 && copy.run > (1 << 20)) // One long run: cut it so that all threads copy.
    return copyBytes(copy.target, copy.source, copy.run, copy.stream);
  int64_t grain = std::max<int64_t>(1, (64 << 10) / std::max<int64_t>(copy.run, 1));
  pmap_rt_parallel_for([](void *closure, int64_t lo, int64_t hi) { ((BoxCopy *)closure)->rows(lo, hi); }, &copy, rows,
                       grain);
}

Block pmap::rt::readPacked(const void *packed, int32_t dtype, size_t rank, bool &fresh) {
  Block block;
  int64_t bytes = pmap_dtype_bytes(dtype);
  fresh = rank == 0;
  if (rank == 0) {
    block.owner = pmap_rt_alloc(bytes);
    block.data = (char *)block.owner;
    memcpy(block.data, packed, (size_t)bytes);
    return block;
  }
  auto *array = (const pmap_array *)packed;
  const int64_t *sizes = array->sizes_and_strides, *strides = sizes + rank;
  block.owner = array->allocated;
  block.data = (char *)array->aligned + array->offset * bytes;
  block.sizes.assign(sizes, sizes + rank);
  int64_t dense = 1;
  for (size_t i = rank; i-- > 0;) {
    fresh |= sizes[i] != 1 && strides[i] != dense;
    dense *= sizes[i];
  }
  if (dense == 0)
    fresh = false;
  if (!fresh)
    return block;
  char *target = (char *)pmap_rt_alloc(dense * bytes);
  for (int64_t i = 0; i < dense; ++i) {
    int64_t rest = i, from = 0;
    for (size_t d = rank; d-- > 0;) {
      from += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    memcpy(target + i * bytes, block.data + from * bytes, (size_t)bytes);
  }
  block.owner = target;
  block.data = target;
  return block;
}

void pmap::rt::writePacked(void *packed, int32_t dtype, const Block &block) {
  size_t rank = block.sizes.size();
  if (rank == 0) {
    memcpy(packed, block.data, (size_t)pmap_dtype_bytes(dtype));
    return;
  }
  auto *array = (pmap_array *)packed;
  array->allocated = block.owner;
  array->aligned = block.data;
  array->offset = 0;
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    array->sizes_and_strides[i] = block.sizes[i];
    array->sizes_and_strides[rank + i] = stride;
    stride *= block.sizes[i];
  }
}
