//===- Map.h - A running map and the meeting points of its devices -----------------------------------------------===//
//
// Devices meet in groups: those that differ only along the axes of a collective. A device arrives, then waits until its
// whole group has. Waiting spins briefly and then sleeps; it ends early, by unwinding, when another device fails, when
// a device of the group has returned without coming, when all devices wait for each other, or when the deadline passes.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_HOST_MAP_H
#define PMAP_HOST_MAP_H

#include "runtime/core/Context.h"
#include "runtime/core/Wait.h"
#include "runtime/host/Layout.h"

#include <deque>

namespace pmap::rt {

/// One device's part in one collective, shown to its group.
struct Arrival {
  const pmap_site *site = nullptr;
  const char *name = ""; ///< `psum`, for messages.
  int64_t key[4] = {};   ///< What all must agree on: operation, dtype, number of arrays, total elements.
  const void *const *in = nullptr;
  void *const *out = nullptr;
};

struct Member {
  static constexpr int64_t stagingBytes = 4096;
  /// The number of the last collective arrived at. Even and odd ones use separate places: whoever is at number s + 2
  /// knows that all have read what was shown for s, because all have since arrived at s + 1.
  alignas(64) std::atomic<uint64_t> arrived{0};
  std::atomic<int32_t> core{-1}; ///< Where it ran when it arrived last.
  uint64_t sequence = 0;         ///< The owner's own count.
  uint64_t exchanges = 0;
  Arrival shown[2];
  alignas(64) char staging[2][stagingBytes];
};

struct Group {
  std::vector<int32_t> ranks; ///< In the order of the axes' flat index: the order sums run in.
  std::unique_ptr<Member[]> members;
  alignas(64) std::atomic<uint64_t> arrivals{0}; ///< Of all members together.
  alignas(64) std::atomic<uint64_t> departures{0};
  Signal signal;

  uint64_t size() const { return ranks.size(); }
};

/// All groups that an `among` table (runtime.h) makes.
struct GroupSet {
  std::vector<int32_t> among;
  std::deque<Group> groups;
  std::vector<std::pair<Group *, int32_t>> ofRank; ///< A rank's group and its place there; null: in no list.
};

/// One device of a running map. What a device does not write often shares no line with what others read.
struct alignas(64) RankState {
  std::vector<int64_t> coordinates;
  ErrorRecord error;
  std::atomic<bool> stopped{false};  ///< The body returned or failed.
  std::atomic<bool> returned{false}; ///< It returned.
  /// Where it waits for arrivals, for finding devices that wait for each other.
  std::atomic<Group *> waitsIn{nullptr};
  std::atomic<uint64_t> waitsFor{0};
  /// The sets found before, by their tables' addresses.
  std::vector<std::pair<const int32_t *, GroupSet *>> sets;
  std::vector<void *> arguments;
};

struct MapRun {
  Context *context;
  const pmap_map_desc *desc;
  const Layout *layout;
  std::vector<int64_t> meshSizes;
  std::unique_ptr<RankState[]> ranks;
  int32_t size = 0;
  std::atomic<bool> aborted{false};
  std::atomic<bool> ending{false};

  SpinLock setsLock;
  std::deque<GroupSet> sets;

  /// The group of this thread's device, and its place there.
  std::pair<Group *, int32_t> groupOf(const pmap_site *site, const int32_t *among);
  /// Shows the arrival and waits until the group is complete. Fails when the devices disagree. Returns the parity under
  /// which the members show theirs.
  int32_t meet(Group &group, int32_t place, const Arrival &arrival);
  /// Waits until every member has called it for the same collective: until then buffers may still be in use.
  void part(Group &group, int32_t place);
  /// Wakes every waiting device.
  void wakeAll();

private:
  GroupSet &makeSet(const int32_t *among, size_t length);
  /// Whether a device of the group last ran on this thread's core.
  static bool sharesCore(const Group &group, int32_t place);
  void waitForArrivals(Group &group, int32_t place, const Arrival &arrival, uint64_t number);
  void checkLateness(Group &group, int32_t place, const Arrival &arrival, uint64_t number, double waited);
  bool allWait();
  std::string missing(const Group &group, uint64_t number);
};

} // namespace pmap::rt

#endif // PMAP_HOST_MAP_H
