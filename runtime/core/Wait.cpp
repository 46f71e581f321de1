// Sleeping and waking by the kernel's futex.

#include "runtime/core/Wait.h"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace pmap::rt;

double pmap::rt::now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int32_t pmap::rt::currentCore() { return sched_getcpu(); }

void pmap::rt::yieldCore() { sched_yield(); }

double &pmap::rt::spinConfidence() {
  static thread_local double confidence = 1;
  return confidence;
}

void Signal::wait(uint32_t ticket, double seconds) {
  timespec limit, *timeout = nullptr;
  if (seconds >= 0) {
    limit.tv_sec = (time_t)seconds;
    limit.tv_nsec = (long)((seconds - (double)limit.tv_sec) * 1e9);
    timeout = &limit;
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  // The kernel compares the word again under its own lock, so a notify between our read and here is seen.
  if (word.load(std::memory_order_seq_cst) == ticket)
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, ticket, timeout, nullptr, 0);
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

void Signal::wake(int32_t count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
