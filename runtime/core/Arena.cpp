// Size classes, the cache of large blocks, and the counters.

#include "runtime/core/Arena.h"
#include "runtime/core/Wait.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sched.h>
#include <sys/mman.h>
#include <unordered_set>

using namespace pmap::rt;

std::atomic<uint64_t> pmap::rt::currentLaunch{0};

namespace {

// The address sanitizer finds overruns only when every buffer is a block of its own allocator.
#if defined(__has_feature) && __has_feature(address_sanitizer)
constexpr bool plainMalloc = true;
#else
constexpr bool plainMalloc = false;
#endif

constexpr int64_t headerBytes = sizeof(BlockHeader);
constexpr int64_t largeBytes = 64 << 10;
constexpr int64_t chunkBytes = 1 << 20;
constexpr int64_t hugePage = 2 << 20;
static_assert(headerBytes == 64);

std::atomic<int64_t> liveBytes{0}, peakBytes{0}, heldBytes{0};

void countLive(int64_t bytes) {
  int64_t live = liveBytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peakBytes.load(std::memory_order_relaxed);
  while (live > peak && !peakBytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

/// Four classes per doubling from 64 bytes: at most a quarter of a block is unused.
int64_t classBytes(int sizeClass) { return (int64_t)(4 + sizeClass % 4) << (sizeClass / 4 + 4); }

[[maybe_unused]] int classOf(int64_t bytes) {
  if (bytes <= 64)
    return 0;
  int log = 63 - __builtin_clzll((uint64_t)bytes);
  int sizeClass = (log - 6) * 4;
  while (classBytes(sizeClass) < bytes)
    ++sizeClass;
  return sizeClass;
}

/// The process's freed large blocks by size. A function-local pointer that is never destroyed: no global constructor,
/// and threads may still free while the process exits.
struct LargeCache {
  SpinLock lock;
  std::multimap<uint64_t, BlockHeader *> blocks;
  std::unordered_set<BlockHeader *> live;
};

/// All arenas there are.
struct Arenas {
  SpinLock lock;
  std::vector<Arena *> list;
};

Arenas &arenas() {
  static Arenas *all = new Arenas;
  return *all;
}

LargeCache &largeCache() {
  static LargeCache *cache = new LargeCache;
  return *cache;
}

void unmap(BlockHeader *block) {
  heldBytes.fetch_sub((int64_t)block->bytes, std::memory_order_relaxed);
  munmap(block, block->bytes);
}

BlockHeader *mapLarge(int64_t bytes) {
  // Past a few huge pages the block starts on one, so that the kernel can back all of it by huge pages: faults are then
  // 512 times rarer.
  bool huge = bytes >= 2 * hugePage;
  size_t span = (size_t)bytes + (huge ? (size_t)hugePage : 0);
  void *memory = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  char *begin = (char *)memory;
  if (huge) {
    char *aligned = (char *)(((uintptr_t)begin + hugePage - 1) & ~(uintptr_t)(hugePage - 1));
    if (aligned != begin)
      munmap(begin, (size_t)(aligned - begin));
    char *end = aligned + bytes;
    if (end != begin + span)
      munmap(end, (size_t)(begin + span - end));
    begin = aligned;
    madvise(begin, (size_t)bytes, MADV_HUGEPAGE);
  }
  heldBytes.fetch_add(bytes, std::memory_order_relaxed);
  auto *block = (BlockHeader *)begin;
  block->bytes = (uint64_t)bytes;
  block->sizeClass = -1;
  return block;
}

[[maybe_unused]] BlockHeader *allocateLarge(int64_t bytes) {
  int64_t unit = 4096;
  bytes = (bytes + unit - 1) & ~(unit - 1);
  LargeCache &cache = largeCache();
  BlockHeader *dropped = nullptr;
  {
    Guard guard(cache.lock);
    auto found = cache.blocks.lower_bound((uint64_t)bytes);
    if (found != cache.blocks.end() && found->first <= (uint64_t)(bytes + bytes / 8)) {
      BlockHeader *block = found->second;
      cache.blocks.erase(found);
      cache.live.insert(block);
      return block;
    }
    // Nothing fits. The cache shrinks until what is held is near what was once needed at the same time.
    int64_t live = liveBytes.load(std::memory_order_relaxed);
    int64_t peak = std::max(peakBytes.load(std::memory_order_relaxed), live + bytes);
    int64_t budget = peak + peak / 8 + (16 << 20);
    int64_t held = heldBytes.load(std::memory_order_relaxed) + bytes;
    while (held > budget && !cache.blocks.empty()) {
      auto last = std::prev(cache.blocks.end());
      BlockHeader *block = last->second;
      cache.blocks.erase(last);
      held -= (int64_t)block->bytes;
      block->next = dropped;
      dropped = block;
    }
  }
  while (dropped) {
    BlockHeader *next = dropped->next;
    unmap(dropped);
    dropped = next;
  }
  BlockHeader *block = mapLarge(bytes);
  if (!block) {
    Arena::trim();
    block = mapLarge(bytes);
  }
  if (block) {
    Guard guard(cache.lock);
    cache.live.insert(block);
  }
  return block;
}

BlockHeader *headerOf(void *buffer) { return (BlockHeader *)((char *)buffer - headerBytes); }

} // namespace

void SpinLock::lock() {
  for (int tries = 0; locked.exchange(true, std::memory_order_acquire); ++tries) {
    while (locked.load(std::memory_order_relaxed)) {
      relax();
      if (++tries > 200)
        sched_yield();
    }
  }
}

MemoryStats pmap::rt::memoryStats() { return {liveBytes.load(), peakBytes.load(), heldBytes.load()}; }

void pmap::rt::resetMemoryPeak() { peakBytes.store(liveBytes.load()); }

Arena::Arena() {
  Guard guard(arenas().lock);
  arenas().list.push_back(this);
}

BlockHeader *Arena::allocateSmall(int sizeClass, int64_t bytes) {
  Guard guard(lock);
  if (BlockHeader *block = freeLists[sizeClass]) {
    freeLists[sizeClass] = block->next;
    return block;
  }
  if (bumpEnd - bump < bytes) {
    void *memory = mmap(nullptr, chunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    heldBytes.fetch_add(chunkBytes, std::memory_order_relaxed);
    if (!chunks.empty())
      chunks.back().end = bump;
    bump = (char *)memory;
    bumpEnd = (char *)memory + chunkBytes;
    chunks.push_back({bump, bumpEnd});
  }
  auto *block = (BlockHeader *)bump;
  bump += bytes;
  block->bytes = (uint64_t)bytes;
  block->sizeClass = sizeClass;
  return block;
}

void *Arena::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > (int64_t)1 << 56)
    return nullptr;
  int64_t total = std::max<int64_t>(bytes, 1) + headerBytes;
  BlockHeader *block;
  if constexpr (plainMalloc) {
    total = (total + 63) & ~(int64_t)63;
    block = (BlockHeader *)aligned_alloc(64, (size_t)total);
    if (block) {
      block->bytes = (uint64_t)total;
      block->sizeClass = 0;
    }
  } else {
    int sizeClass = total <= largeBytes ? classOf(total) : -1;
    block =
        sizeClass >= 0 ? allocateSmall(sizeClass, (classBytes(sizeClass) + 63) & ~(int64_t)63) : allocateLarge(total);
  }
  if (!block)
    return nullptr;
  block->magic = BlockHeader::Live;
  block->arena = this;
  block->next = nullptr;
  block->references.store(1, std::memory_order_relaxed);
  block->launch = currentLaunch.load(std::memory_order_relaxed);
  countLive((int64_t)block->bytes);
  return (char *)block + headerBytes;
}

void Arena::release(void *buffer) {
  BlockHeader *block = headerOf(buffer);
  if (block->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    free(block);
}

void Arena::free(BlockHeader *block) {
  countLive(-(int64_t)block->bytes);
  block->magic = BlockHeader::Free;
  if constexpr (plainMalloc) {
    ::free(block);
    return;
  }
  if (block->sizeClass >= 0) {
    Arena *arena = block->arena;
    Guard guard(arena->lock);
    block->next = arena->freeLists[block->sizeClass];
    arena->freeLists[block->sizeClass] = block;
    return;
  }
  LargeCache &cache = largeCache();
  Guard guard(cache.lock);
  cache.live.erase(block);
  cache.blocks.emplace(block->bytes, block);
}

void Arena::releaseLaunch(uint64_t launch) {
  std::vector<BlockHeader *> left;
  {
    LargeCache &cache = largeCache();
    Guard guard(cache.lock);
    for (BlockHeader *block : cache.live)
      if (block->launch == launch)
        left.push_back(block);
  }
  {
    Guard guard(arenas().lock);
    for (Arena *arena : arenas().list) {
      Guard inner(arena->lock);
      for (size_t i = 0; i < arena->chunks.size(); ++i) {
        char *end = i + 1 == arena->chunks.size() ? arena->bump : arena->chunks[i].end;
        for (char *at = arena->chunks[i].begin; at < end; at += ((BlockHeader *)at)->bytes) {
          auto *block = (BlockHeader *)at;
          if (block->magic == BlockHeader::Live && block->launch == launch)
            left.push_back(block);
        }
      }
    }
  }
  for (BlockHeader *block : left)
    free(block);
}

void Arena::retain(void *buffer) { headerOf(buffer)->references.fetch_add(1, std::memory_order_relaxed); }

bool Arena::unique(void *buffer) { return headerOf(buffer)->references.load(std::memory_order_acquire) == 1; }

bool Arena::owns(void *buffer) { return headerOf(buffer)->magic == BlockHeader::Live; }

int64_t Arena::capacity(void *buffer) { return (int64_t)headerOf(buffer)->bytes - headerBytes; }

void Arena::trim() {
  LargeCache &cache = largeCache();
  Guard guard(cache.lock);
  for (auto &[bytes, block] : cache.blocks)
    unmap(block);
  cache.blocks.clear();
}
