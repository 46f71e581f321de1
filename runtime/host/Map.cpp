// Running a device body on every device of a mesh.

#include "runtime/host/Map.h"
#include "runtime/core/FailureMessage.h"
#include "runtime/host/Dist.h"
#include "runtime/host/Team.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace pmap::rt;

namespace {

/// Bytes of a packed array's descriptor.
size_t descriptorBytes(size_t rank) { return rank == 0 ? 64 : sizeof(pmap_array) + 2 * rank * sizeof(int64_t); }

size_t bodyRank(const ValueSpec &spec) { return spec.dimensions.size() - (spec.stack ? 1 : 0); }

/// The map's errors that can be known before anything runs (P3).
void checkSizes(const pmap_map_desc *desc, const MapRun &run, const int64_t *globalSizes) {
  const Layout &layout = *run.layout;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const SizeSpec &size = layout.sizes[i];
    int64_t parts = partsOf(size.axes, run.meshSizes);
    if (size.ragged || globalSizes[i] % parts == 0)
      continue;
    std::string message, note;
    {
      std::string axes;
      for (int32_t axis : size.axes)
        axes += (axes.empty() ? "" : ", ") + layout.axisNames[(size_t)axis];
      FailureMessage words = indivisibleSize(size.label, globalSizes[i], parts, axes);
      message = std::move(words.message);
      note = std::move(words.note);
    }
    failOfInput(desc->site, "E1120", std::move(message), std::move(note));
  }
}

/// Everything a body's call needs, for all ranks: argument pointers, descriptors and local sizes in one piece of
/// memory.
struct Calls {
  std::unique_ptr<char[]> storage;
  std::vector<pmap_dist *> inputs; ///< With a reference each.
  size_t inputBase = 0, outputBase = 0;

  void build(MapRun &run, const int64_t *globalSizes) {
    const Layout &layout = *run.layout;
    size_t perRank = layout.sizes.size() * sizeof(int64_t);
    for (const ValueSpec &spec : layout.inputs)
      perRank += descriptorBytes(bodyRank(spec));
    for (const ValueSpec &spec : layout.outputs)
      perRank += descriptorBytes(bodyRank(spec));
    perRank = (perRank + 63) & ~(size_t)63;
    storage.reset(new char[perRank * (size_t)run.size]());
    inputBase = layout.sizes.size();
    outputBase = inputBase + layout.inputs.size();
    for (int32_t rank = 0; rank < run.size; ++rank) {
      RankState &state = run.ranks[rank];
      char *at = storage.get() + perRank * (size_t)rank;
      state.arguments.clear();
      for (size_t i = 0; i < layout.sizes.size(); ++i) {
        const SizeSpec &size = layout.sizes[i];
        *(int64_t *)at = partSize(globalSizes[i], partsOf(size.axes, run.meshSizes),
                                  flatIndex(size.axes, state.coordinates, run.meshSizes));
        state.arguments.push_back(at);
        at += sizeof(int64_t);
      }
      for (size_t i = 0; i < layout.inputs.size(); ++i) {
        const pmap_dist &value = *inputs[i];
        size_t index = value.blocks.size() == 1 ? 0 : (size_t)blockIndex(value, state.coordinates);
        const Block &block = value.blocks[index];
        if (block.sizes.empty()) {
          state.arguments.push_back(block.data);
        } else {
          writePacked(at, value.dtype, block);
          state.arguments.push_back(at);
        }
        at += descriptorBytes(bodyRank(layout.inputs[i]));
      }
      for (const ValueSpec &spec : layout.outputs) {
        state.arguments.push_back(at);
        at += descriptorBytes(bodyRank(spec));
      }
    }
  }
};

/// Ends the process when a failure is known but some device goes on computing: nobody would see its result.
void endWhenStuck(MapRun &run) {
  double patience = run.context->patienceSeconds;
  if (patience <= 0)
    return;
  double end = now() + patience;
  auto allStopped = [&] {
    for (int32_t rank = 0; rank < run.size; ++rank)
      if (!run.ranks[rank].stopped.load(std::memory_order_acquire))
        return false;
    return true;
  };
  while (!allStopped()) {
    if (now() > end) {
      if (run.ending.exchange(true))
        return;
      for (int32_t rank = 0; rank < run.size; ++rank)
        if (run.ranks[rank].stopped.load(std::memory_order_acquire) && run.ranks[rank].error.set &&
            !run.ranks[rank].error.secondary) {
          fflush(stdout);
          fputs(run.ranks[rank].error.text.c_str(), stderr);
          _exit(1);
        }
      return;
    }
    usleep(2000);
  }
}

/// One device's whole part, on the thread that leads it.
void runRank(void *closure, int32_t rank) {
  MapRun &run = *(MapRun *)closure;
  RankState &state = run.ranks[rank];
  Thread &thread = thisThread();
  Thread outer = thread;
  const std::vector<int32_t> &devices = run.layout->devices;
  thread.device = run.context->devices[devices.empty() ? (size_t)rank : (size_t)devices[(size_t)rank]].get();
  thread.run = &run;
  thread.rank = rank;
  thread.inPiece = false;
  UnwindTarget target(state.error);
  if (!setjmp(target.buffer)) {
    run.desc->body(state.arguments.data());
    target.leave();
    state.returned.store(true, std::memory_order_release);
    // A group of one set of axes may wait for this device in vain: let it look.
    if (run.size > 1)
      run.wakeAll();
    state.stopped.store(true, std::memory_order_release);
  } else {
    bool first = !state.error.secondary;
    if (first && run.size > 1 && state.error.ofValues)
      state.error.text += format("note: on device %d\n", rank);
    run.aborted.store(true, std::memory_order_release);
    state.stopped.store(true, std::memory_order_release);
    run.wakeAll();
    if (first)
      endWhenStuck(run);
  }
  thread = outer;
}

/// Turns the blocks that the devices yielded into one distributed value.
pmap_dist *collect(const pmap_map_desc *desc, MapRun &run, const Calls &calls, size_t output) {
  const ValueSpec &spec = run.layout->outputs[output];
  size_t rank = spec.dimensions.size(), inner = bodyRank(spec);
  int64_t bytes = pmap_dtype_bytes(spec.dtype);
  auto *value = new pmap_dist;
  value->dtype = spec.dtype;
  value->dimensions = spec.dimensions;
  value->axisNames = run.layout->axisNames;
  value->meshSizes = run.meshSizes;
  std::vector<int64_t> parts = partsAlong(spec.dimensions, run.meshSizes);
  value->blocks.resize((size_t)elementsOf(parts));
  for (int32_t r = 0; r < run.size; ++r) {
    RankState &state = run.ranks[r];
    void **arguments = state.arguments.data();
    void *packed = arguments[calls.outputBase + output];
    Block block;
    if (inner == 0) {
      block.owner = pmap_rt_alloc(bytes);
      block.data = (char *)block.owner;
      memcpy(block.data, packed, (size_t)bytes);
    } else {
      bool fresh;
      block = readPacked(packed, spec.dtype, inner, fresh);
      // The body gave a reference with it, also where it aliases an input or another result.
      auto *array = (const pmap_array *)packed;
      if (fresh) {
        pmap_rt_free(array->allocated);
      } else if (array->allocated == (void *)0xdeadbeef) {
        // Constants live in the program's code, which may go away before the value does.
        int64_t size = elementsOf(block.sizes) * bytes;
        block.owner = pmap_rt_alloc(size);
        memcpy(block.owner, block.data, (size_t)size);
        block.data = (char *)block.owner;
      }
    }
    if (spec.stack)
      block.sizes.insert(block.sizes.begin(), 1);
    // Devices that differ along axes which do not split the value hold equal bits: the first one's are kept.
    Block &kept = value->blocks[(size_t)blockIndex(*value, state.coordinates)];
    if (kept.data || kept.owner)
      pmap_rt_free(block.owner);
    else
      kept = std::move(block);
  }
  // The whole's size along a dimension is the sum over the parts along it, others at their first.
  value->sizes.assign(rank, 0);
  int64_t stride = 1;
  for (size_t d = rank; d-- > 0;) {
    for (int64_t p = 0; p < parts[d]; ++p)
      value->sizes[d] += value->blocks[(size_t)(p * stride)].sizes[d];
    stride *= parts[d];
  }
  for (size_t b = 0; b < value->blocks.size(); ++b) {
    int64_t rest = (int64_t)b;
    for (size_t d = rank; d-- > 0;) {
      int64_t got = value->blocks[b].sizes[d], part = rest % parts[d];
      rest /= parts[d];
      if (parts[d] == 1 && got != value->sizes[d])
        fail(desc->site, "E1122",
             format("result %zu: blocks differ off the split dimension: size %lld and %lld in dimension %zu", output,
                    (long long)value->sizes[d], (long long)got, d));
      value->regular &= got == partSize(value->sizes[d], parts[d], part);
    }
  }
  return value;
}

} // namespace

namespace {

/// The map proper; may fail, and owns nothing but by `run` and `calls`.
void runMap(MapRun &run, Calls &calls, const int64_t *globalSizes, pmap_dist *const *inputs, pmap_dist **outputs) {
  const pmap_map_desc *desc = run.desc;
  if (thisThread().run)
    fail(desc->site, "E1202", "internal error: a map inside a map");
  resolveMesh(desc->site, *run.layout, run.meshSizes);
  run.size = (int32_t)elementsOf(run.meshSizes);
  checkSizes(desc, run, globalSizes);
  run.context->maps.fetch_add(1, std::memory_order_relaxed);
  run.context->anyDeviceRan.store(true, std::memory_order_relaxed);

  for (size_t i = 0; i < run.layout->inputs.size(); ++i)
    calls.inputs.push_back(resplit(inputs[i], run.layout->inputs[i], run.layout->axisNames, run.meshSizes));
  run.ranks.reset(new RankState[(size_t)run.size]);
  for (int32_t rank = 0; rank < run.size; ++rank)
    run.ranks[rank].coordinates = coordinatesOf(rank, run.meshSizes);
  calls.build(run, globalSizes);

  // The caller leads device 0: no hand-over where there is one device.
  run.context->crew->launch(runRank, &run, run.size - 1);
  runRank(&run, 0);
  run.context->crew->join();

  for (int32_t rank = 0; rank < run.size; ++rank)
    if (run.ranks[rank].error.set && !run.ranks[rank].error.secondary)
      failAgain(run.ranks[rank].error);
  for (size_t i = 0; i < run.layout->outputs.size(); ++i)
    outputs[i] = collect(desc, run, calls, i);
}

} // namespace

void pmap_rt_map(const pmap_map_desc *desc, const int64_t *globalSizes, pmap_dist *const *inputs, pmap_dist **outputs) {
  // A failure passes through here, so that what the map holds is given back.
  static thread_local ErrorRecord record;
  record.clear();
  auto *run = new MapRun;
  auto *calls = new Calls;
  run->context = &context();
  run->desc = desc;
  run->layout = &layoutOf(desc->layout);
  UnwindTarget target(record);
  if (!setjmp(target.buffer)) {
    runMap(*run, *calls, globalSizes, inputs, outputs);
    target.leave();
  }
  for (pmap_dist *input : calls->inputs)
    pmap_rt_dist_release(input);
  delete calls;
  delete run;
  if (record.set)
    failAgain(record);
}

int64_t pmap_rt_axis_index(int32_t axis) {
  Thread &thread = thisThread();
  return thread.run ? thread.run->ranks[thread.rank].coordinates[(size_t)axis] : 0;
}

int64_t pmap_rt_axis_size(int32_t axis) {
  Thread &thread = thisThread();
  return thread.run ? thread.run->meshSizes[(size_t)axis] : 1;
}
