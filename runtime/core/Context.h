//===- Context.h - The program's state, and what a thread knows ------------------------------------------------===//
//
// One context object holds everything; it is made on first use and there are no global constructors. A thread finds its
// device, and where a failure unwinds to, in a thread-local.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_CORE_CONTEXT_H
#define PMAP_CORE_CONTEXT_H

#include "pmap/runtime.h"
#include "runtime/core/Arena.h"
#include "runtime/core/Failure.h"

#include <memory>
#include <vector>

namespace pmap::rt {

class Team;
class Crew;
struct MapRun;

/// A device: its threads and its memory.
struct Device {
  int32_t index = 0;
  Arena *arena = nullptr;
  Team *team = nullptr;
};

struct Context {
  /// What runs outside of any map: all threads of the program. With one device it is that device.
  Device *host = nullptr;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Team>> teams;
  std::unique_ptr<Device> ownHost;
  /// The threads that lead the devices 1.. while a map runs; the caller leads device 0.
  std::unique_ptr<Crew> crew;

  /// Microseconds worth spinning before going to sleep: none when there are more threads than cores, because a spinning
  /// thread then keeps the very one it waits for from running.
  double spinMicroseconds = 0;
  double timeoutSeconds = 0;
  /// A program may end the process when a device does not stop within this time after another has failed; 0: it waits.
  double patienceSeconds = 0;

  ErrorRecord error; ///< Of the last launch.
  /// Whether a map of the last launch has begun to run on its devices.
  std::atomic<bool> anyDeviceRan{false};
  std::atomic<int64_t> movedBytes{0}, maps{0}, collectives{0};
};

/// The running program's context, started with defaults if need be.
Context &context();

/// Cores this process may use.
int32_t availableCores();

/// What a thread knows. All zero for a thread the runtime has not met.
struct Thread {
  Device *device;       ///< Whose memory and threads are used; null: the host.
  UnwindTarget *target; ///< Where a failure goes; null outside of any launch.
  MapRun *run;          ///< The map whose body runs here; null on the host.
  int32_t rank;         ///< The place in that map's mesh.
  bool inPiece;         ///< Inside a piece of a parallel loop, where loops run inline and collectives are forbidden.
};
Thread &thisThread();

/// The current device, the host's outside of maps.
Device &currentDevice();

} // namespace pmap::rt

#endif // PMAP_CORE_CONTEXT_H
