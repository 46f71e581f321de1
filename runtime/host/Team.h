//===- Team.h - The threads of a device, and the threads that lead devices ---------------------------------------===//

#ifndef PMAP_HOST_TEAM_H
#define PMAP_HOST_TEAM_H

#include "runtime/core/Context.h"
#include "runtime/core/Wait.h"

#include <pthread.h>
#include <vector>

namespace pmap::rt {

/// Starts a thread. Where the system has none left the program ends with a message, because std::thread would throw.
pthread_t startThread(void *(*body)(void *), void *closure);

using LoopBody = void (*)(void *closure, int64_t lo, int64_t hi);

/// The threads of one device: a caller and `workers` helpers, started once. One loop runs at a time, called by the
/// device's own thread.
class Team {
public:
  Team(int32_t workers, double spinMicroseconds);
  ~Team();

  int32_t threads() const { return (int32_t)workers.size() + 1; }

  /// Runs the pieces of 0..n; see pmap_rt_parallel_for.
  void parallelFor(LoopBody body, void *closure, int64_t n, int64_t grain);

private:
  struct Loop;

  const double spinMicroseconds;
  Signal begin, finished;
  /// Bit 31: the current loop takes helpers. The bits below count the helpers inside; a loop's caller closes the gate
  /// and waits only for those inside, never for a helper that has not woken yet.
  static constexpr uint32_t Open = 1u << 31;
  std::atomic<uint32_t> gate{0};
  std::atomic<Loop *> loop{nullptr};
  std::atomic<bool> stopping{false};
  std::vector<pthread_t> workers; ///< Last, because they use what is above from their first moment.

  void work();
  static void runPieces(Loop &loop);
};

/// Threads that lead the devices 1..n-1 of a map while its caller leads device 0.
class Crew {
public:
  Crew(int32_t threads, double spinMicroseconds);
  ~Crew();

  /// Makes thread i run `task(closure, i + 1)` for i < count. Returns at once.
  void launch(void (*task)(void *closure, int32_t rank), void *closure, int32_t count);
  /// Waits for all of them.
  void join();
  /// Waits at most `seconds`; returns whether all are done.
  bool joinWithin(double seconds);

private:
  struct Slot {
    alignas(64) std::atomic<uint32_t> started{0};
    std::atomic<uint32_t> done{0};
    std::atomic<int32_t> core{-1}; ///< Where it ran last.
    Crew *crew = nullptr;
    int32_t index = 0;
  };

  const double spinMicroseconds;
  std::unique_ptr<Slot[]> slots;
  Signal begin, finished;
  void (*task)(void *, int32_t) = nullptr;
  void *closure = nullptr;
  int32_t launched = 0;
  std::atomic<int32_t> callerCore{-1}; ///< Where the caller ran last.
  std::atomic<bool> stopping{false};
  std::vector<pthread_t> threads; ///< Last, because they use what is above from their first moment.

  void work(int32_t index);
  bool allDone() const;
};

} // namespace pmap::rt

#endif // PMAP_HOST_TEAM_H
