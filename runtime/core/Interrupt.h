//===- Interrupt.h - A computation that its user gives up --------------------------------------------------------===//

#ifndef PMAP_CORE_INTERRUPT_H
#define PMAP_CORE_INTERRUPT_H

#include <atomic>

namespace pmap::rt {

/// Set by whoever wants the running launch to end, a handler of signals for one; cleared before the next launch.
inline std::atomic<bool> interruptRequested{false};

/// Unwinds the launch that this thread works for, if it does, with the message `interrupted`. Devices that wait for
/// this one are woken as by any failure.
void unwindInterrupted();

/// Called where compiled code comes by often, and where nothing is held: when it allocates, and when a parallel loop
/// begins.
inline void pollInterrupt() {
  if (interruptRequested.load(std::memory_order_relaxed)) [[unlikely]]
    unwindInterrupted();
}

} // namespace pmap::rt

#endif // PMAP_CORE_INTERRUPT_H
