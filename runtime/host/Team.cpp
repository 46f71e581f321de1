// Parallel loops, and the handing of device bodies to leading threads.

#include "runtime/host/Team.h"
#include "runtime/core/Interrupt.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace pmap::rt;

pthread_t pmap::rt::startThread(void *(*body)(void *), void *closure) {
  pthread_t thread;
  if (int error = pthread_create(&thread, nullptr, body, closure)) {
    fprintf(stderr, "error: cannot start another thread: %s [E1116]\nnote: use fewer --devices or --threads\n",
            strerror(error));
    // The threads that did start are in the middle of their lives: no destructor may run.
    _exit(2);
  }
  return thread;
}

/// One running loop; lives on its caller's stack while the gate is open or somebody is inside.
struct Team::Loop {
  LoopBody body;
  void *closure;
  int64_t n, piece;
  std::atomic<int64_t> next{0};

  /// The failure of the lowest piece. Pieces are taken in ascending order and the ones taken are finished, so which
  /// failure is lowest does not depend on timing.
  std::atomic<bool> failed{false};
  SpinLock lock;
  int64_t failedAt = 0;
  ErrorRecord error{};

  Thread caller; ///< What the caller's thread knows, lent to helpers.
};

Team::Team(int32_t count, double spinMicroseconds) : spinMicroseconds(spinMicroseconds) {
  for (int32_t i = 0; i < count; ++i)
    workers.push_back(startThread(
        [](void *team) -> void * {
          ((Team *)team)->work();
          return nullptr;
        },
        this));
}

Team::~Team() {
  stopping.store(true);
  begin.notify();
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
}

void Team::runPieces(Loop &loop) {
  Thread &thread = thisThread();
  bool outer = thread.inPiece;
  thread.inPiece = true;
  while (!loop.failed.load(std::memory_order_relaxed)) {
    int64_t lo = loop.next.fetch_add(loop.piece, std::memory_order_relaxed);
    if (lo >= loop.n)
      break;
    ErrorRecord record;
    UnwindTarget target(record);
    if (!setjmp(target.buffer)) {
      loop.body(loop.closure, lo, std::min(loop.n, lo + loop.piece));
      target.leave();
      continue;
    }
    Guard guard(loop.lock);
    if (!loop.error.set || lo < loop.failedAt) {
      loop.error = std::move(record);
      loop.failedAt = lo;
    }
    loop.failed.store(true, std::memory_order_relaxed);
  }
  thread.inPiece = outer;
}

void Team::work() {
  Thread &thread = thisThread();
  uint32_t seen = 0;
  while (true) {
    await(begin, spinMicroseconds, [&] { return begin.ticket() != seen; });
    seen = begin.ticket();
    if (stopping.load())
      return;
    uint32_t state = gate.load(std::memory_order_relaxed);
    while (state & Open) {
      if (!gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel))
        continue;
      Loop &current = *loop.load(std::memory_order_acquire);
      thread = current.caller;
      thread.target = nullptr;
      runPieces(current);
      if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1)
        finished.notify();
      break;
    }
  }
}

void Team::parallelFor(LoopBody body, void *closure, int64_t n, int64_t grain) {
  if (n <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  Thread &thread = thisThread();
  // A few pieces per thread even out what they take; more would only cost.
  int64_t pieces = std::min((n + grain - 1) / grain, (int64_t)threads() * 4);
  if (thread.inPiece || workers.empty() || pieces <= 1) {
    bool outer = thread.inPiece;
    thread.inPiece = true;
    body(closure, 0, n);
    thread.inPiece = outer;
    return;
  }
  int64_t perPiece = (n + pieces - 1) / pieces;
  Loop current{};
  current.body = body;
  current.closure = closure;
  current.n = n;
  current.piece = (perPiece + grain - 1) / grain * grain;
  current.caller = thread;
  loop.store(&current, std::memory_order_release);
  gate.fetch_or(Open, std::memory_order_acq_rel);
  begin.notify((int32_t)std::min<int64_t>(pieces - 1, (int64_t)workers.size()));

  runPieces(current);

  gate.fetch_and(~Open, std::memory_order_acq_rel);
  await(finished, spinMicroseconds, [&] { return gate.load(std::memory_order_acquire) == 0; });
  if (current.error.set)
    failAgain(current.error);
}

Crew::Crew(int32_t count, double spinMicroseconds)
    : spinMicroseconds(spinMicroseconds), slots(new Slot[(size_t)std::max(count, 1)]) {
  for (int32_t i = 0; i < count; ++i) {
    slots[i].crew = this;
    slots[i].index = i;
    threads.push_back(startThread(
        [](void *slot) -> void * {
          ((Slot *)slot)->crew->work(((Slot *)slot)->index);
          return nullptr;
        },
        &slots[i]));
  }
}

Crew::~Crew() {
  stopping.store(true);
  begin.notify();
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

void Crew::work(int32_t index) {
  Slot &slot = slots[index];
  uint32_t seen = 0;
  while (true) {
    slot.core.store(currentCore(), std::memory_order_relaxed);
    await(
        begin, spinMicroseconds,
        [&] { return stopping.load() || slot.started.load(std::memory_order_acquire) != seen; },
        [&] { return callerCore.load(std::memory_order_relaxed) == currentCore(); });
    if (stopping.load())
      return;
    slot.core.store(currentCore(), std::memory_order_relaxed);
    seen = slot.started.load(std::memory_order_acquire);
    task(closure, index + 1);
    slot.done.store(seen, std::memory_order_release);
    finished.notify();
  }
}

void Crew::launch(void (*newTask)(void *, int32_t), void *newClosure, int32_t count) {
  task = newTask;
  closure = newClosure;
  launched = count;
  callerCore.store(currentCore(), std::memory_order_relaxed);
  for (int32_t i = 0; i < count; ++i)
    slots[i].started.fetch_add(1, std::memory_order_release);
  if (count > 0)
    begin.notify();
}

bool Crew::allDone() const {
  for (int32_t i = 0; i < launched; ++i)
    if (slots[i].done.load(std::memory_order_acquire) != slots[i].started.load(std::memory_order_relaxed))
      return false;
  return true;
}

void Crew::join() {
  callerCore.store(currentCore(), std::memory_order_relaxed);
  await(
      finished, spinMicroseconds, [&] { return allDone(); },
      [&] {
        int32_t core = currentCore();
        for (int32_t i = 0; i < launched; ++i)
          if (slots[i].core.load(std::memory_order_relaxed) == core)
            return true;
        return false;
      });
}

bool Crew::joinWithin(double seconds) {
  double end = now() + seconds;
  while (!allDone()) {
    uint32_t ticket = finished.ticket();
    if (allDone())
      return true;
    double left = end - now();
    if (left <= 0)
      return false;
    finished.wait(ticket, left);
  }
  return true;
}

void pmap_rt_parallel_for(void (*fn)(void *closure, int64_t lo, int64_t hi), void *closure, int64_t n, int64_t grain) {
  pollInterrupt();
  currentDevice().team->parallelFor(fn, closure, n, grain);
}

int64_t pmap_rt_threads(void) { return thisThread().inPiece ? 1 : currentDevice().team->threads(); }
