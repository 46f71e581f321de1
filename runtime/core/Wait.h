//===- Wait.h - Waiting for a word to change: spin briefly, then sleep ------------------------------------------===//

#ifndef PMAP_CORE_WAIT_H
#define PMAP_CORE_WAIT_H

#include <atomic>
#include <cstdint>

namespace pmap::rt {

/// Tells the core that this is a spin loop.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Monotonic time in seconds.
double now();

/// A counter that threads wait on. Those who change what others wait for call `notify` after the change; those who wait
/// read `ticket` first, test their condition, and call `wait(ticket)` if it does not hold yet: a change in between is
/// never missed, because it makes `wait` return at once. Notifying costs no system call while nobody sleeps.
class Signal {
public:
  uint32_t ticket() const { return word.load(std::memory_order_seq_cst); }

  /// Wakes everybody (or at most `count` sleepers).
  void notify(int32_t count = INT32_MAX) {
    word.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      wake(count);
  }

  /// Returns once the word differs from `ticket`, after at most `seconds` (negative: no limit), or spuriously.
  void wait(uint32_t ticket, double seconds = -1);

private:
  std::atomic<uint32_t> word{0};
  std::atomic<int32_t> sleepers{0};

  void wake(int32_t count);
};

/// What this thread thinks of spinning, as a part of the allowed time. It shrinks whenever spinning was in vain and
/// recovers when it was not: on a machine that others use as well, the thread one waits for is often not running, and
/// the core that a spinning thread holds may be the one it needs.
double &spinConfidence();

/// Nobody spins for less than it takes to wake a sleeper. Threads that meet again and again would otherwise go on
/// sleeping in turn after one disturbance: each gives up while the other is being woken.
constexpr double leastSpinMicroseconds = 12;

/// Spins until `condition()` holds or about `microseconds` have passed; returns whether it holds.
template <typename Condition> bool spin(double microseconds, Condition condition) {
  if (condition())
    return true;
  if (microseconds <= 0)
    return false;
  double &confidence = spinConfidence();
  double allowed = microseconds * confidence;
  if (allowed < leastSpinMicroseconds)
    allowed = leastSpinMicroseconds;
  double end = now() + allowed * 1e-6;
  do {
    for (int i = 0; i < 32; ++i) {
      relax();
      if (condition()) {
        confidence = confidence < 0.5 ? confidence * 2 : 1;
        return true;
      }
    }
  } while (now() < end);
  confidence = confidence > 0.03 ? confidence / 2 : confidence;
  return false;
}

/// The core that this thread runs on; it may be another one by now.
int32_t currentCore();
/// Lets another thread have the core.
void yieldCore();

/// The same for a thread that may be on the core of the one it waits for, which `sharesCore()` tells: that one needs
/// the core. On a busy machine the system often has two devices share one, even where there are cores for all.
template <typename SharesCore, typename Condition>
bool spinBeside(double microseconds, SharesCore sharesCore, Condition condition) {
  if (condition())
    return true;
  for (int i = 0; i < 20 && sharesCore(); ++i) {
    yieldCore();
    if (condition())
      return true;
  }
  return spin(microseconds, condition);
}

/// Spins, then sleeps on `signal`, until `condition()` holds.
template <typename Condition, typename SharesCore>
void await(Signal &signal, double spinMicroseconds, Condition condition, SharesCore sharesCore) {
  if (spinBeside(spinMicroseconds, sharesCore, condition))
    return;
  while (true) {
    uint32_t ticket = signal.ticket();
    if (condition())
      return;
    signal.wait(ticket);
  }
}
template <typename Condition> void await(Signal &signal, double spinMicroseconds, Condition condition) {
  await(signal, spinMicroseconds, condition, [] { return false; });
}

} // namespace pmap::rt

#endif // PMAP_CORE_WAIT_H
