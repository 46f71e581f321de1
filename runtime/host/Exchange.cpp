// Collectives that move arrays between the devices of a map. Every device reads what it needs from the others' arrays
// and writes its own.

#include "runtime/host/Exchange.h"
#include "runtime/host/Dist.h"
#include "runtime/host/ReduceKernels.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace pmap::rt;

namespace {

constexpr int64_t lineBytes = 64;

/// What tells the kinds apart where devices compare what they are about to do; reductions have their kind there.
enum Operation : int64_t { AllGather = -1, ReduceScatter = -2, AllToAll = -3, Send = -4 };

Exchange join(const pmap_site *site, const char *name, const int32_t *among, const void *in) {
  MapRun &run = requireRun(site, name);
  auto [group, place] = run.groupOf(site, among);
  return {run, *group, place, {in}};
}

} // namespace

MapRun &pmap::rt::requireRun(const pmap_site *site, const char *name) {
  Thread &thread = thisThread();
  if (!thread.run)
    fail(site, "E1202", format("internal error: %s outside of a pmap", name));
  if (thread.inPiece)
    fail(site, "E1202", format("internal error: %s inside of a parallel loop", name));
  return *thread.run;
}

bool pmap::rt::streams(int64_t bytes) {
  // What a core's own cache cannot hold is written around it: a line that is fetched only to be overwritten costs more
  // than reading the result back from memory does. (The shared cache is larger, but slower, and not a device's own.)
  static const int64_t most = [] {
    long own = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return 2 * (own > 0 ? (int64_t)own : (int64_t)1 << 20);
  }();
  return bytes > most;
}

void Exchange::open(const pmap_site *site, const char *name, int64_t bytes, const int64_t (&key)[4]) {
  if (place == 0)
    run.context->collectives.fetch_add(1, std::memory_order_relaxed);
  Arrival arrival{site, name, {key[0], key[1], key[2], key[3]}, in, nullptr};
  staged = bytes <= Member::stagingBytes;
  if (staged) {
    Member &self = group.members[place];
    memcpy(self.staging[(self.sequence + 1) & 1], in[0], (size_t)bytes);
  }
  parity = run.meet(group, place, arrival);
}

void pmap_rt_all_gather(const pmap_site *site, const int32_t *among, int64_t outer, int64_t innerBytes, const void *in,
                        void *out) {
  Exchange exchange = join(site, "all_gather", among, in);
  int64_t bytes = outer * innerBytes, devices = exchange.devices();
  if (devices == 1)
    return copyBytes((char *)out, (const char *)in, bytes, streams(bytes));
  exchange.open(site, "all_gather", bytes, {AllGather, -1, outer, bytes});
  bool stream = streams(bytes * devices);
  for (int64_t i = 0; i < devices; ++i) {
    // Everybody begins with the own block, so that not all read one device's memory at the same time.
    int64_t r = (exchange.place + i) % devices;
    const char *from = exchange.from(r);
    if (outer == 1) {
      copyBytes((char *)out + r * innerBytes, from, innerBytes, stream);
      continue;
    }
    Shape whole{outer, devices, innerBytes}, block{outer, 1, innerBytes}, zero{0, 0, 0};
    copyBox((char *)out, whole, {0, r, 0}, from, block, zero, block, 1, stream);
  }
  exchange.close();
}

void pmap_rt_reduce_scatter(const pmap_site *site, const int32_t *among, int32_t dtype, int64_t outer, int64_t inner,
                            const void *in, void *out) {
  Exchange exchange = join(site, "psum_scatter", among, in);
  int64_t devices = exchange.devices(), width = pmap_dtype_bytes(dtype), bytes = outer * devices * inner * width;
  if (devices == 1)
    return copyBytes((char *)out, (const char *)in, bytes, streams(bytes));
  struct Sum {
    ReduceKernel kernel;
    const void *const *ins;
    void *out;
    int64_t devices, inner, width, place;
    bool stream;
  };
  Sum sum{findReduceKernel(PMAP_REDUCE_SUM, dtype), nullptr, out, devices, inner, width, exchange.place, false};
  if (!sum.kernel)
    fail(site, "E1202", format("internal error: no psum_scatter of %s", pmap_dtype_name(dtype)));
  exchange.open(site, "psum_scatter", bytes, {ReduceScatter, dtype, outer, outer * devices * inner});
  constexpr int64_t few = 64;
  const void *fewIns[few];
  std::unique_ptr<const void *[]> manyIns;
  const void **ins = fewIns;
  if (devices > few)
    manyIns.reset(ins = new const void *[(size_t)devices]);
  for (int64_t r = 0; r < devices; ++r)
    ins[r] = exchange.from(r);
  sum.ins = ins;
  // Rows that begin within a line cannot be stored past the caches.
  sum.stream =
      streams(bytes / devices) && (uintptr_t)out % lineBytes == 0 && (outer == 1 || inner * width % lineBytes == 0);
  pmap_rt_parallel_for(
      [](void *closure, int64_t lo, int64_t hi) {
        auto &sum = *(Sum *)closure;
        constexpr int64_t few = 64;
        const void *fewRows[few];
        std::unique_ptr<const void *[]> manyRows;
        const void **rows = fewRows;
        if (sum.devices > few)
          manyRows.reset(rows = new const void *[(size_t)sum.devices]);
        for (int64_t at = lo; at < hi;) {
          int64_t o = at / sum.inner, begin = at % sum.inner, end = std::min(sum.inner, begin + hi - at);
          int64_t row = (o * sum.devices + sum.place) * sum.inner * sum.width;
          for (int64_t r = 0; r < sum.devices; ++r)
            rows[r] = (const char *)sum.ins[r] + row;
          void *outs[1] = {(char *)sum.out + o * sum.inner * sum.width};
          sum.kernel(rows, sum.devices, outs, 1, begin, end, 1, sum.stream);
          at += end - begin;
        }
      },
      &sum, outer * inner, (64 << 10) / width);
  exchange.close();
}

void pmap_rt_all_to_all(const pmap_site *site, const int32_t *among, int32_t width, int32_t rank, int32_t split,
                        int32_t concat, const pmap_array *in, void *out) {
  const char *data = (const char *)in->aligned + in->offset * width;
  Exchange exchange = join(site, "all_to_all", among, data);
  const int64_t *sizes = in->sizes_and_strides;
  int64_t devices = exchange.devices(), bytes = width;
  for (int32_t d = 0; d < rank; ++d)
    bytes *= sizes[d];
  if (sizes[split] % devices != 0)
    pmap_rt_fail(site, PMAP_FAIL_INEXACT, sizes[split], devices, 0);
  if (devices == 1)
    return copyBytes((char *)out, data, bytes, streams(bytes));
  exchange.open(site, "all_to_all", bytes, {AllToAll, -1, (int64_t)split << 32 | concat, bytes});
  {
    Shape shape(sizes, sizes + rank), piece = shape, source(shape.size(), 0), target = source;
    piece[(size_t)split] /= devices;
    Shape result = piece;
    result[(size_t)concat] *= devices;
    source[(size_t)split] = exchange.place * piece[(size_t)split];
    for (int64_t i = 0; i < devices; ++i) {
      int64_t r = (exchange.place + i) % devices;
      target[(size_t)concat] = r * piece[(size_t)concat];
      copyBox((char *)out, result, target, exchange.from(r), shape, source, piece, width, streams(bytes));
    }
  }
  exchange.close();
}

namespace {

template <typename T> void fillWith(void *out, const void *value, int64_t n) {
  std::fill_n((T *)out, n, *(const T *)value);
}

/// C3: each device sends to at most one, and receives from at most one.
void checkDestinations(const pmap_site *site, const int32_t *destinations, int64_t count, int64_t devices) {
  if (count != devices)
    fail(site, "E1124",
         format("the permutation has %lld positions, the axis %lld devices", (long long)count, (long long)devices));
  for (int64_t i = 0; i < devices; ++i) {
    int32_t to = destinations[i];
    if (to < -1 || to >= devices)
      fail(site, "E1124",
           format("position %lld sends to %d, which is none of the axis's %lld devices", (long long)i, to,
                  (long long)devices));
    for (int64_t k = 0; k < i && to >= 0; ++k)
      if (destinations[k] == to)
        fail(site, "E1124", format("positions %lld and %lld both send to %d", (long long)k, (long long)i, to));
  }
}

} // namespace

void pmap_rt_send(const pmap_site *site, const int32_t *among, int32_t width, int32_t, const void *const *in, void *out,
                  const int64_t *n) {
  Exchange exchange = join(site, "ppermute", among, in[0]);
  auto *destinations = (const int32_t *)in[1];
  int64_t devices = exchange.devices(), bytes = n[0] * width;
  checkDestinations(site, destinations, n[1], devices);
  int64_t source = std::find(destinations, destinations + devices, exchange.place) - destinations;
  if (devices > 1)
    exchange.open(site, "ppermute", bytes, {Send, -1, width, bytes});
  if (source < devices) {
    copyBytes((char *)out, devices > 1 ? exchange.from(source) : (const char *)in[0], bytes, streams(bytes));
  } else {
    switch (width) {
    case 1:
      fillWith<uint8_t>(out, in[2], n[0]);
      break;
    case 2:
      fillWith<uint16_t>(out, in[2], n[0]);
      break;
    case 4:
      fillWith<uint32_t>(out, in[2], n[0]);
      break;
    default:
      fillWith<uint64_t>(out, in[2], n[0]);
    }
  }
  if (devices > 1)
    exchange.close();
}
