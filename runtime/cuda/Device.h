//===- Device.h - A GPU and what the program holds of it ----------------------------------------------------------===//

#ifndef PMAP_CUDA_DEVICE_H
#define PMAP_CUDA_DEVICE_H

#include "pmap/cuda.h"
#include "runtime/cuda/CudaApi.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace pmap::rt::cuda {

/// The memory of a device, held in blocks that are used again. Only the device's own thread asks, and all work is on
/// one stream, so that a block given back is free for what is launched next.
class Memory {
public:
  void *alloc(int64_t bytes);
  void retain(void *buffer);
  void free(void *buffer);
  /// True for an address within a block that is in use.
  bool owns(const void *address) const;
  /// Gives back everything allocated since `mark`: what a failed call left.
  int64_t mark() const { return next; }
  void freeSince(int64_t mark);

private:
  struct Block {
    int64_t bytes, references, number;
  };
  void *take(int64_t bytes);

  std::unordered_map<void *, Block> used;
  std::multimap<int64_t, void *> unused; ///< By size.
  int64_t next = 0;
};

/// The kernels of an image, loaded.
struct LoadedImage {
  Module module = nullptr;
  std::vector<Function> kernels;
  DevicePointer failure = 0; ///< 0 where no kernel can fail.
};

/// One GPU: its primary context, one stream for kernels and copies, one for communication.
struct Gpu {
  int index = 0, capability = 0;
  std::string name;
  Context context = nullptr;
  Stream compute = nullptr, communication = nullptr;
  Event computeDone = nullptr, communicationDone = nullptr;
  Memory memory;
  std::map<const pmap_cuda_image *, LoadedImage> images;
  std::unordered_map<const void *, void *> constants;
  /// A page of the host's that copies need not stage: its first half for the caller, the second for `wait`.
  void *pinned = nullptr;

  static constexpr int64_t pinnedBytes = 4096;

  /// Waits for the compute stream, then reports what failed on the device.
  void wait();
  /// The image's kernels, loaded at first use.
  LoadedImage &load(const pmap_cuda_image *image);
};

/// Copies an array of the device into a fresh buffer of the host, strides and all; `copy` becomes its descriptor. Does
/// not wait.
void download(Gpu &gpu, const pmap_array *array, int32_t rank, int64_t elementBytes, pmap_array *copy);

/// Bytes of a descriptor.
inline size_t descriptorBytes(int32_t rank) { return sizeof(pmap_array) + 2 * (size_t)rank * sizeof(int64_t); }

/// The GPU of this thread's device; its context is current.
Gpu &currentGpu();

/// How many GPUs there are; 0 and why.
int findGpus(std::string &problem);

/// Unwinds with an error of the driver's, unless `result` is success. `what` is what was being done.
void check(Result result, const char *what);

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_DEVICE_H
