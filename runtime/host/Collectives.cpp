// Reductions between the devices of a map.
//
// Small operands travel through the group's own staging places: one meeting, then everybody reduces for itself. Large
// ones are reduced in place: the devices show each other their buffers, each one's threads reduce a slice over all of
// them in rank order and write it to all outputs, so that every byte is read once and written once.

#include "runtime/host/Exchange.h"
#include "runtime/host/ReduceKernels.h"
#include "runtime/host/Team.h"

#include <algorithm>
#include <cstring>

using namespace pmap::rt;

namespace {

constexpr int64_t lineBytes = 64;

struct Reduction {
  ReduceKernel kernel;
  int64_t elementBytes;
  int64_t ranks;
  double divisor;
  bool stream;
};

const char *nameOf(int32_t kind) {
  constexpr const char *names[] = {"psum", "pmean", "pmax", "pmin", "pprod"};
  return kind >= 0 && kind < 5 ? names[kind] : "?";
}

/// Reduces what lies in the members' staging places, and unpacks it into the caller's outputs.
void reduceStaged(const Group &group, int32_t parity, const Reduction &how, int32_t count, const int64_t *n,
                  void *const *out, int64_t total) {
  constexpr size_t few = 64;
  const void *fewIns[few];
  std::unique_ptr<const void *[]> manyIns;
  size_t ranks = group.size();
  const void **ins = fewIns;
  if (ranks > few)
    manyIns.reset(ins = new const void *[ranks]);
  for (size_t r = 0; r < ranks; ++r)
    ins[r] = group.members[r].staging[parity];
  if (count == 1) {
    how.kernel(ins, how.ranks, out, 1, 0, total, how.divisor, false);
    return;
  }
  alignas(64) char result[Member::stagingBytes];
  void *packed[1] = {result};
  how.kernel(ins, how.ranks, packed, 1, 0, total, how.divisor, false);
  const char *at = result;
  for (int32_t i = 0; i < count; ++i) {
    memcpy(out[i], at, (size_t)(n[i] * how.elementBytes));
    at += n[i] * how.elementBytes;
  }
}

/// One device's share of a large reduction: a slice of every operand, over its own threads.
void reduceSlices(const Group &group, int32_t place, int32_t parity, Reduction how, int32_t count, const int64_t *n) {
  size_t ranks = group.size();
  std::unique_ptr<const void *[]> ins(new const void *[ranks]);
  std::unique_ptr<void *[]> outs(new void *[ranks]);
  struct Slice {
    Reduction how;
    const void *const *ins;
    void *const *outs;
    int64_t begin;
  };
  for (int32_t i = 0; i < count; ++i) {
    bool aligned = true;
    for (size_t r = 0; r < ranks; ++r) {
      ins[r] = group.members[r].shown[parity].in[i];
      outs[r] = group.members[r].shown[parity].out[i];
      aligned &= (uintptr_t)outs[r] % lineBytes == 0;
    }
    // Slices end on cache lines, so that no two devices write to one.
    int64_t unit = 16 * lineBytes / how.elementBytes, units = (n[i] + unit - 1) / unit;
    int64_t begin = std::min(n[i], partBegin(units, (int64_t)ranks, place) * unit);
    int64_t end = std::min(n[i], partBegin(units, (int64_t)ranks, place + 1) * unit);
    Slice slice{how, ins.get(), outs.get(), begin};
    slice.how.stream &= aligned;
    pmap_rt_parallel_for(
        [](void *closure, int64_t lo, int64_t hi) {
          auto &slice = *(Slice *)closure;
          slice.how.kernel(slice.ins, slice.how.ranks, slice.outs, slice.how.ranks, slice.begin + lo, slice.begin + hi,
                           slice.how.divisor, slice.how.stream);
        },
        &slice, end - begin, 64 * unit);
  }
}

void copyAll(int32_t count, const void *const *in, void *const *out, const int64_t *n, int64_t bytes) {
  for (int32_t i = 0; i < count; ++i)
    if (in[i] != out[i])
      memcpy(out[i], in[i], (size_t)(n[i] * bytes));
}

} // namespace

void pmap_rt_all_reduce(const pmap_site *site, const int32_t *among, int32_t kind, int32_t dtype, int32_t count,
                        const void *const *in, void *const *out, const int64_t *n) {
  MapRun &run = requireRun(site, nameOf(kind));
  auto [group, place] = run.groupOf(site, among);
  int64_t bytes = pmap_dtype_bytes(dtype), total = 0;
  for (int32_t i = 0; i < count; ++i)
    total += n[i];
  // C4: an axis of size 1 costs nothing.
  if (group->size() == 1)
    return copyAll(count, in, out, n, bytes);
  if (place == 0)
    run.context->collectives.fetch_add(1, std::memory_order_relaxed);
  Reduction how{findReduceKernel(kind, dtype), bytes, (int64_t)group->size(), (double)group->size(), false};
  if (!how.kernel)
    fail(site, "E1202", format("internal error: no %s of %s", nameOf(kind), pmap_dtype_name(dtype)));

  Arrival arrival{site, nameOf(kind), {kind, dtype, count, total}, in, out};
  if (total * bytes <= Member::stagingBytes) {
    Member &self = group->members[place];
    char *at = self.staging[(self.sequence + 1) & 1];
    for (int32_t i = 0; i < count; ++i) {
      memcpy(at, in[i], (size_t)(n[i] * bytes));
      at += n[i] * bytes;
    }
    int32_t parity = run.meet(*group, place, arrival);
    return reduceStaged(*group, parity, how, count, n, out, total);
  }
  how.stream = streams(total * bytes);
  int32_t parity = run.meet(*group, place, arrival);
  reduceSlices(*group, place, parity, how, count, n);
  run.part(*group, place);
}
