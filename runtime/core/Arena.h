//===- Arena.h - Memory that keeps its pages ---------------------------------------------------------------------===//
//
// Half the time of a memory-bound program would go to page faults if every array came fresh from the system, so freed
// memory is kept: small blocks (up to 64 KiB) in size classes per arena, large ones in one cache of the whole process,
// by best fit. What is held stays near the largest amount that was ever in use at once: before the cache would make the
// process hold more, cached blocks go back to the system.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_CORE_ARENA_H
#define PMAP_CORE_ARENA_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pmap::rt {

/// A lock for sections of a few dozen instructions; yields when it has to wait longer.
class SpinLock {
public:
  void lock();
  void unlock() { locked.store(false, std::memory_order_release); }

private:
  std::atomic<bool> locked{false};
};

struct Guard {
  explicit Guard(SpinLock &lock) : lock(lock) { lock.lock(); }
  ~Guard() { lock.unlock(); }
  SpinLock &lock;
};

class Arena;

/// What precedes every buffer. 64 bytes, so that the buffer keeps the block's alignment.
struct alignas(64) BlockHeader {
  static constexpr uint64_t Live = 0x706d61705f6c6976, Free = 0x706d61705f667265;
  uint64_t magic;
  uint64_t bytes; ///< The whole block, header included.
  Arena *arena;
  BlockHeader *next; ///< In a free list.
  int32_t sizeClass; ///< -1 for a large block.
  std::atomic<int32_t> references;
  uint64_t launch; ///< During which it was made; see releaseLaunch.
};

/// The launch that runs now; 0 for none. Set by the one thread that launches.
extern std::atomic<uint64_t> currentLaunch;

/// Memory counters of the process.
struct MemoryStats {
  int64_t live, peak, held;
};
MemoryStats memoryStats();
/// Makes the current use the new peak.
void resetMemoryPeak();

/// Arenas live as long as the process, because values may outlive the devices that made them.
class Arena {
public:
  Arena();
  Arena(const Arena &) = delete;
  /// A 64-byte aligned buffer with one reference, or null when the system has no more memory.
  void *allocate(int64_t bytes);

  /// Drops one reference; the last one frees the buffer into the arena it came from.
  static void release(void *buffer);
  static void retain(void *buffer);
  /// Whether nobody else holds the buffer.
  static bool unique(void *buffer);
  /// Whether `buffer` is one of ours. The 64 bytes before it must be readable.
  static bool owns(void *buffer);
  /// Bytes that fit in the buffer.
  static int64_t capacity(void *buffer);

  /// Gives all cached large blocks back to the system.
  static void trim();

  /// Frees what a launch made and did not free, after it failed: unwinding frees nothing, and a session or a test run
  /// goes on. No thread may use any of it any more.
  static void releaseLaunch(uint64_t launch);

private:
  static constexpr int ClassCount = 48;
  SpinLock lock;
  BlockHeader *freeLists[ClassCount] = {};
  char *bump = nullptr, *bumpEnd = nullptr;
  struct Chunk {
    char *begin, *end; ///< Blocks follow each other from `begin`; the last chunk's end at `bump`.
  };
  std::vector<Chunk> chunks;
  static void free(BlockHeader *block);

  BlockHeader *allocateSmall(int sizeClass, int64_t bytes);
};

} // namespace pmap::rt

#endif // PMAP_CORE_ARENA_H
