// Where the devices of a map meet, and what happens when one does not come.

#include "runtime/host/Map.h"

#include <algorithm>

using namespace pmap::rt;

namespace {

/// How often a sleeping device looks around for devices that will never come.
constexpr double lookSeconds = 0.05;

std::string placeText(const pmap_site *site) {
  if (!site || !site->file)
    return "an unknown place";
  return format("%s:%d:%d", site->file, site->line, site->column);
}

std::string listText(const std::vector<int32_t> &ranks) {
  std::string text = ranks.size() == 1 ? "device " : "devices ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

} // namespace

GroupSet &MapRun::makeSet(const int32_t *among, size_t length) {
  GroupSet &set = sets.emplace_back();
  set.among.assign(among, among + length);
  set.ofRank.assign((size_t)size, {nullptr, 0});
  AxisList inside(among + 1, among + 1 + among[0]), outside;
  for (int32_t axis = 0; axis < (int32_t)meshSizes.size(); ++axis)
    if (std::find(inside.begin(), inside.end(), axis) == inside.end())
      outside.push_back(axis);
  // The flat index along the collective's axes says who meets whom; with groups, those of one group do.
  int64_t insideSize = partsOf(inside, meshSizes), outsideSize = partsOf(outside, meshSizes);
  std::vector<int32_t> rankAt((size_t)(insideSize * outsideSize));
  for (int32_t rank = 0; rank < size; ++rank) {
    const auto &at = ranks[rank].coordinates;
    rankAt[(size_t)(flatIndex(outside, at, meshSizes) * insideSize + flatIndex(inside, at, meshSizes))] = rank;
  }
  auto addGroup = [&](int64_t outer, const int32_t *positions, int64_t count) {
    Group &group = set.groups.emplace_back();
    for (int64_t i = 0; i < count; ++i)
      group.ranks.push_back(rankAt[(size_t)(outer * insideSize + (positions ? positions[i] : i))]);
    group.members.reset(new Member[(size_t)count]);
    for (int64_t i = 0; i < count; ++i)
      set.ofRank[(size_t)group.ranks[(size_t)i]] = {&group, (int32_t)i};
  };
  for (int64_t outer = 0; outer < outsideSize; ++outer) {
    const int32_t *at = among + 1 + among[0];
    int32_t count = *at++;
    if (count == 0)
      addGroup(outer, nullptr, insideSize);
    for (int32_t i = 0; i < count; ++i, at += *at + 1)
      addGroup(outer, at + 1, *at);
  }
  return set;
}

std::pair<Group *, int32_t> MapRun::groupOf(const pmap_site *site, const int32_t *among) {
  int32_t rank = thisThread().rank;
  for (auto [table, set] : ranks[rank].sets)
    if (table == among)
      return set->ofRank[(size_t)rank];
  int64_t positions = 1, named = 0, listed = 0;
  for (int32_t i = 0; i < among[0]; ++i)
    positions *= meshSizes[(size_t)among[1 + i]];
  const int32_t *end = among + 1 + among[0];
  int32_t count = *end++;
  std::vector<bool> covered((size_t)positions, false);
  for (int32_t i = 0; i < count; ++i)
    for (const int32_t *last = end + *end + 1, *at = ++end; at != last; end = ++at, ++listed)
      if (*at >= 0 && *at < positions && !covered[(size_t)*at]) {
        covered[(size_t)*at] = true;
        ++named;
      } else {
        named = -1 - positions; // Never made up for.
      }
  std::vector<bool>().swap(covered);
  if (count && named != positions)
    fail(site, "E1123",
         format("groups name %lld positions, expected each of the %lld devices of their axis once", (long long)listed,
                (long long)positions));
  size_t length = (size_t)(end - among);
  Guard guard(setsLock);
  GroupSet *found = nullptr;
  for (GroupSet &set : sets)
    if (set.among.size() == length && std::equal(among, among + length, set.among.begin()))
      found = &set;
  if (!found)
    found = &makeSet(among, length);
  ranks[rank].sets.push_back({among, found});
  return found->ofRank[(size_t)rank];
}

void MapRun::wakeAll() {
  Guard guard(setsLock);
  for (GroupSet &set : sets)
    for (Group &group : set.groups)
      group.signal.notify();
}

std::string MapRun::missing(const Group &group, uint64_t number) {
  std::vector<int32_t> late;
  for (size_t i = 0; i < group.size(); ++i)
    if (group.members[i].arrived.load(std::memory_order_acquire) < number)
      late.push_back(group.ranks[i]);
  return listText(late);
}

/// Whether every device has returned or waits for arrivals that are not there. Nothing can then change any more, so the
/// arrivals counted before and after looking are equal exactly when the picture was one of a single moment.
bool MapRun::allWait() {
  auto count = [&] {
    Guard guard(setsLock);
    uint64_t sum = 0;
    for (GroupSet &set : sets)
      for (Group &group : set.groups)
        sum += group.arrivals.load(std::memory_order_acquire);
    return sum;
  };
  uint64_t before = count();
  for (int32_t rank = 0; rank < size; ++rank) {
    RankState &state = ranks[rank];
    if (state.returned.load(std::memory_order_acquire))
      continue;
    Group *group = state.waitsIn.load(std::memory_order_acquire);
    if (!group || group->arrivals.load(std::memory_order_acquire) >= state.waitsFor.load(std::memory_order_acquire))
      return false;
  }
  return count() == before;
}

void MapRun::checkLateness(Group &group, int32_t place, const Arrival &arrival, uint64_t number, double waited) {
  if (aborted.load(std::memory_order_acquire))
    stopQuietly();
  std::vector<int32_t> gone;
  for (size_t i = 0; i < group.size(); ++i)
    if (ranks[group.ranks[i]].returned.load(std::memory_order_acquire) &&
        group.members[i].arrived.load(std::memory_order_acquire) < number)
      gone.push_back(group.ranks[i]);
  if (!gone.empty()) {
    std::string message = listText(gone) + " finished without reaching the " + arrival.name + " that others wait in";
    std::vector<int32_t>().swap(gone);
    fail(arrival.site, "E1113", std::move(message));
  }
  if (waited > lookSeconds && allWait()) {
    std::string note;
    for (int32_t rank = 0; rank < size; ++rank) {
      Group *other = ranks[rank].waitsIn.load(std::memory_order_acquire);
      for (size_t i = 0; other && i < other->size(); ++i)
        if (other->ranks[i] == rank) {
          Member &member = other->members[i];
          const Arrival &shown = member.shown[member.arrived.load(std::memory_order_acquire) & 1];
          note += format("device %d waits in the %s at %s\n", rank, shown.name, placeText(shown.site).c_str());
        }
    }
    fail(arrival.site, "E1113",
         format("the devices wait for each other: %s never reached this %s", missing(group, number).c_str(),
                arrival.name),
         std::move(note));
  }
  if (context->timeoutSeconds > 0 && waited > context->timeoutSeconds)
    fail(arrival.site, "E1114",
         format("%s waited in this %s for %.3g s; %s did not come", listText({group.ranks[(size_t)place]}).c_str(),
                arrival.name, context->timeoutSeconds, missing(group, number).c_str()));
}

bool MapRun::sharesCore(const Group &group, int32_t place) {
  int32_t core = currentCore();
  for (size_t i = 0; i < group.size(); ++i)
    if ((int32_t)i != place && group.members[i].core.load(std::memory_order_relaxed) == core)
      return true;
  return false;
}

void MapRun::waitForArrivals(Group &group, int32_t place, const Arrival &arrival, uint64_t number) {
  uint64_t wanted = number * group.size();
  auto complete = [&] { return group.arrivals.load(std::memory_order_acquire) >= wanted; };
  if (spinBeside(context->spinMicroseconds, [&] { return sharesCore(group, place); }, complete))
    return;
  RankState &state = ranks[thisThread().rank];
  state.waitsFor.store(wanted, std::memory_order_release);
  state.waitsIn.store(&group, std::memory_order_release);
  double begin = now();
  while (true) {
    uint32_t ticket = group.signal.ticket();
    if (complete())
      break;
    checkLateness(group, place, arrival, number, now() - begin);
    group.signal.wait(ticket, lookSeconds * 1.1);
  }
  state.waitsIn.store(nullptr, std::memory_order_release);
}

int32_t MapRun::meet(Group &group, int32_t place, const Arrival &arrival) {
  Member &self = group.members[place];
  uint64_t number = ++self.sequence;
  int32_t parity = (int32_t)(number & 1);
  self.shown[parity] = arrival;
  self.core.store(currentCore(), std::memory_order_relaxed);
  self.arrived.store(number, std::memory_order_release);
  if (group.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1 == number * group.size())
    group.signal.notify(); // Only the last one has somebody to wake.
  else
    waitForArrivals(group, place, arrival, number);
  for (size_t i = 0; i < group.size(); ++i) {
    const Arrival &other = group.members[i].shown[parity];
    if (std::equal(other.key, other.key + 4, arrival.key))
      continue;
    auto describe = [&](size_t at) {
      const Arrival &shown = group.members[at].shown[parity];
      return format("device %d is in the %s of %lld %s at %s\n", group.ranks[at], shown.name, (long long)shown.key[3],
                    shown.key[1] < 0 ? "bytes" : pmap_dtype_name((int32_t)shown.key[1]), placeText(shown.site).c_str());
    };
    fail(arrival.site, "E1112", format("the devices do not agree on this %s", arrival.name),
         describe((size_t)place) + describe(i));
  }
  return parity;
}

void MapRun::part(Group &group, int32_t place) {
  Member &self = group.members[place];
  uint64_t wanted = ++self.exchanges * group.size();
  if (group.departures.fetch_add(1, std::memory_order_acq_rel) + 1 == wanted) {
    group.signal.notify();
    return;
  }
  auto complete = [&] { return group.departures.load(std::memory_order_acquire) >= wanted; };
  if (spinBeside(context->spinMicroseconds, [&] { return sharesCore(group, place); }, complete))
    return;
  while (true) {
    uint32_t ticket = group.signal.ticket();
    if (complete())
      return;
    // A failing device may be in the middle of its slice, and it is not waited for: nobody reads the result any more.
    if (aborted.load(std::memory_order_acquire))
      stopQuietly();
    group.signal.wait(ticket, lookSeconds);
  }
}
