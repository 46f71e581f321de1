// NCCL's communicators, one per set of devices that meet.

#include "runtime/cuda/Communicators.h"
#include "runtime/core/Failure.h"
#include "runtime/core/Wait.h"
#include "runtime/host/Exchange.h"

#include <memory>
#include <unistd.h>

namespace pmap::rt::cuda {

void checkNccl(const pmap_site *site, const char *name, Communicator communicator, NcclResult result) {
  const NcclApi &api = ncclApi();
  // Calls do not block: they say that they go on, and the communicator says when they are done.
  MapRun *run = thisThread().run;
  for (int rounds = 0; result == ncclInProgress && communicator; ++rounds) {
    if (run && run->aborted.load(std::memory_order_acquire)) {
      api.abort(communicator);
      stopQuietly();
    }
    if (rounds > 100)
      usleep(50);
    if (NcclResult asked = api.asyncError(communicator, &result))
      result = asked;
  }
  if (result == ncclSuccess)
    return;
  const char *detail = communicator ? api.lastError(communicator) : nullptr;
  fail(site, "E1130",
       format("%s between GPUs failed: NCCL says %s%s%s", name, api.errorString(result), detail && *detail ? ": " : "",
              detail ? detail : ""));
}

namespace {

/// The devices of a group in order, which is what a communicator is for.
using Members = std::vector<int32_t>;

struct Known {
  std::map<Members, Communicator> communicators;
};

Communicator create(const pmap_site *site, const char *name, const int32_t *among, int32_t devices, int32_t place) {
  const NcclApi &api = ncclApi();
  UniqueId own;
  checkNccl(site, name, nullptr, api.getUniqueId(&own));
  // Everybody's id to everybody; the first one's counts.
  std::unique_ptr<UniqueId[]> ids(new UniqueId[(size_t)devices]);
  pmap_rt_all_gather(site, among, 1, sizeof(UniqueId), &own, ids.get());
  NcclConfig config;
  config.blocking = 0;
  Communicator communicator = nullptr;
  NcclResult result = api.initRankConfig(&communicator, devices, ids[0], place, &config);
  checkNccl(site, name, communicator, result);
  return communicator;
}

} // namespace

Communicator communicatorFor(const pmap_site *site, const char *name, const int32_t *among, int32_t &devices) {
  static thread_local std::map<int, Known> byGpu;
  MapRun &run = requireRun(site, name);
  auto [group, place] = run.groupOf(site, among);
  devices = (int32_t)group->size();
  if (devices == 1)
    return nullptr;
  const NcclApi &api = ncclApi();
  if (!api.loaded())
    fail(site, "E1130", format("%s between %d GPUs needs NCCL: %s", name, (int)devices, api.problem.c_str()),
         "install NCCL 2.18 or newer (libnccl2), or run on one GPU, '--devices 1'");
  Members members;
  const std::vector<int32_t> &chosen = run.layout->devices;
  for (int32_t rank : group->ranks)
    members.push_back(chosen.empty() ? rank : chosen[(size_t)rank]);
  Communicator &communicator = byGpu[currentGpu().index].communicators[members];
  if (!communicator)
    communicator = create(site, name, among, devices, place);
  return communicator;
}

} // namespace pmap::rt::cuda
