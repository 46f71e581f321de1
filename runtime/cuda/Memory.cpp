// The memory of a device.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Device.h"

namespace pmap::rt::cuda {

/// Sizes are rounded up so that blocks fit more than one use: to 512 bytes, above 1 MiB to an eighth of the size.
static int64_t rounded(int64_t bytes) {
  int64_t unit = 512;
  while (unit * 16 < bytes)
    unit *= 2;
  return (std::max<int64_t>(bytes, 1) + unit - 1) / unit * unit;
}

void *Memory::take(int64_t bytes) {
  // The smallest block that is not more than twice as large.
  auto block = unused.lower_bound(bytes);
  if (block != unused.end() && block->first <= 2 * bytes) {
    void *buffer = block->second;
    used[buffer] = {block->first, 1, next++};
    unused.erase(block);
    return buffer;
  }
  DevicePointer address = 0;
  Result result = cudaApi().memoryAlloc(&address, (size_t)bytes);
  if (result == errorOutOfMemory && !unused.empty()) {
    // What is kept for later goes back first. cuMemFree waits for the device.
    for (auto &[size, buffer] : unused)
      cudaApi().memoryFree((DevicePointer)(uintptr_t)buffer);
    unused.clear();
    result = cudaApi().memoryAlloc(&address, (size_t)bytes);
  }
  check(result, format("reserving %lld bytes", (long long)bytes).c_str());
  void *buffer = (void *)(uintptr_t)address;
  used[buffer] = {bytes, 1, next++};
  return buffer;
}

void *Memory::alloc(int64_t bytes) { return take(rounded(bytes)); }

void Memory::retain(void *buffer) {
  auto block = used.find(buffer);
  if (block != used.end())
    ++block->second.references;
}

void Memory::free(void *buffer) {
  auto block = used.find(buffer);
  // Constants and null are nobody's to free.
  if (block == used.end() || --block->second.references > 0)
    return;
  unused.emplace(block->second.bytes, buffer);
  used.erase(block);
}

bool Memory::owns(const void *address) const {
  for (const auto &[buffer, block] : used)
    if (address >= buffer && address < (const char *)buffer + block.bytes)
      return true;
  return false;
}

void Memory::freeSince(int64_t mark) {
  for (auto block = used.begin(); block != used.end();) {
    if (block->second.number < mark) {
      ++block;
      continue;
    }
    unused.emplace(block->second.bytes, block->first);
    block = used.erase(block);
  }
}

} // namespace pmap::rt::cuda

using namespace pmap::rt::cuda;

void *pmap_cuda_alloc(int64_t bytes) { return currentGpu().memory.alloc(bytes); }
void pmap_cuda_free(void *buffer) { currentGpu().memory.free(buffer); }
void pmap_cuda_retain(void *buffer) { currentGpu().memory.retain(buffer); }
