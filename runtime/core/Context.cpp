// Starting and stopping devices; allocation and launches, which need nothing but the context.

#include "runtime/core/Context.h"
#include "runtime/core/Interrupt.h"
#include "runtime/host/Team.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <sched.h>
#include <unistd.h>

using namespace pmap::rt;

namespace {

std::atomic<Context *> current{nullptr};
std::atomic<bool> started{false}; ///< Whether it has its devices.

/// Arenas live as long as the process: values may outlive the devices that made them.
Arena *arenaOf(int32_t index) {
  static std::vector<Arena *> *arenas = new std::vector<Arena *>;
  while ((int32_t)arenas->size() <= index)
    arenas->push_back(new Arena);
  return (*arenas)[(size_t)index];
}

Context &object() {
  Context *found = current.load(std::memory_order_acquire);
  if (found)
    return *found;
  auto *made = new Context;
  if (current.compare_exchange_strong(found, made))
    return *made;
  delete made;
  return *found;
}

/// Memory of the embedder's, begin to end.
struct Foreign {
  SpinLock lock;
  std::map<const char *, const char *> ranges;
};
std::atomic<Foreign *> foreign{nullptr};

bool isForeign(void *buffer) {
  if (!buffer || buffer == (void *)0xdeadbeef)
    return true;
  if (Foreign *table = foreign.load(std::memory_order_acquire)) {
    Guard guard(table->lock);
    auto after = table->ranges.upper_bound((const char *)buffer);
    if (after != table->ranges.begin() && (const char *)buffer < std::prev(after)->second)
      return true;
  }
  return !Arena::owns(buffer);
}

Device *newDevice(int32_t index, int32_t arena) {
  auto *device = new Device;
  device->index = index;
  device->arena = arenaOf(arena);
  return device;
}

} // namespace

Thread &pmap::rt::thisThread() {
  static thread_local Thread thread;
  return thread;
}

int32_t pmap::rt::availableCores() {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof(set), &set))
    return std::max(1, CPU_COUNT(&set));
  return std::max(1, (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

Context &pmap::rt::context() {
  if (!started.load(std::memory_order_acquire)) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (!started.load(std::memory_order_acquire))
      pmap_rt_start(0, 0);
  }
  return object();
}

Device &pmap::rt::currentDevice() {
  Device *device = thisThread().device;
  return device ? *device : *context().host;
}

void pmap_rt_start(int32_t devices, int32_t threads) {
  int32_t cores = availableCores();
  devices = std::max(devices, 1);
  if (threads <= 0)
    threads = std::max(cores, 1);
  pmap_rt_stop();
  Context &context = object();
  int32_t perDevice = std::max(1, threads / devices);
  context.spinMicroseconds = perDevice * devices <= cores && threads <= cores ? 40 : 0;
  for (int32_t i = 0; i < devices; ++i)
    context.devices.emplace_back(newDevice(i, i + 1));
  if (devices > 1)
    context.ownHost.reset(newDevice(0, 0));
  context.host = devices > 1 ? context.ownHost.get() : context.devices[0].get();
  auto addTeam = [&](Device &device, int32_t count) {
    context.teams.push_back(std::make_unique<Team>(count - 1, context.spinMicroseconds));
    device.team = context.teams.back().get();
  };
  for (auto &device : context.devices)
    addTeam(*device, perDevice);
  if (devices > 1)
    addTeam(*context.ownHost, threads);
  context.crew = std::make_unique<Crew>(devices - 1, context.spinMicroseconds);
  started.store(true, std::memory_order_release);
}

void pmap_rt_stop(void) {
  Context &context = object();
  if (!context.host)
    return;
  started.store(false);
  context.crew.reset();
  context.teams.clear();
  context.host = nullptr;
  context.ownHost.reset();
  context.devices.clear();
  Arena::trim();
}

void pmap_rt_set_timeout(double seconds) { object().timeoutSeconds = seconds; }

int64_t pmap_rt_num_devices(void) { return (int64_t)context().devices.size(); }

void *pmap_rt_alloc(int64_t bytes) { return pmap_rt_alloc_at(bytes, nullptr); }

void *pmap_rt_alloc_at(int64_t bytes, const pmap_site *site) {
  pollInterrupt();
  if (void *buffer = currentDevice().arena->allocate(bytes))
    return buffer;
  if (bytes < 0)
    fail(site, "E1115", "out of memory: an array has more bytes than 64 bits can count");
  std::string amount = bytesText(bytes);
  std::string message =
      format("out of memory: an array of %lld bytes (%s) does not fit", (long long)bytes, amount.c_str());
  std::string().swap(amount);
  fail(site, "E1115", std::move(message));
}

void pmap_rt_free(void *buffer) {
  if (!isForeign(buffer))
    Arena::release(buffer);
}

void pmap_rt_retain(void *buffer) {
  if (!isForeign(buffer))
    Arena::retain(buffer);
}

void pmap_rt_mark_foreign(const void *begin, int64_t bytes) {
  Foreign *table = foreign.load(std::memory_order_acquire);
  if (!table) {
    auto *made = new Foreign;
    if (foreign.compare_exchange_strong(table, made))
      table = made;
    else
      delete made;
  }
  Guard guard(table->lock);
  if (bytes > 0)
    table->ranges[(const char *)begin] = (const char *)begin + bytes;
  else
    table->ranges.erase((const char *)begin);
}

int32_t pmap_rt_call(pmap_packed fn, void **args) {
  Context &all = context();
  Thread &thread = thisThread();
  Thread outer = thread;
  all.error.clear();
  all.anyDeviceRan = false;
  thread.device = all.host;
  thread.run = nullptr;
  thread.inPiece = false;
  static std::atomic<uint64_t> launches{0};
  uint64_t outerLaunch = currentLaunch.load(), launch = ++launches;
  currentLaunch.store(launch);
  UnwindTarget target(all.error);
  if (!setjmp(target.buffer)) {
    fn(args);
    target.leave();
  } else {
    Arena::releaseLaunch(launch);
  }
  currentLaunch.store(outerLaunch);
  thread.device = outer.device;
  thread.run = outer.run;
  thread.inPiece = outer.inPiece;
  return !all.error.set ? 0 : all.error.ofInput && !all.anyDeviceRan ? 2 : 1;
}

const char *pmap_rt_error_message(void) { return object().error.text.c_str(); }

void pmap_rt_get_stats(pmap_stats *stats) {
  Context &context = object();
  MemoryStats memory = memoryStats();
  *stats = {context.movedBytes.load(), memory.live, memory.peak, memory.held, context.maps.load(),
            context.collectives.load()};
}

void pmap_rt_reset_stats(void) {
  Context &context = object();
  context.movedBytes = 0;
  context.maps = 0;
  context.collectives = 0;
  resetMemoryPeak();
}
