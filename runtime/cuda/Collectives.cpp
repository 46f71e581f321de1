// Collectives on arrays of GPUs.
//
// They run on the device's communication stream, after what the compute stream has been given so far, and the compute
// stream waits for them: in between, host code goes on. A later pass may move the wait to the first use of the result.

#include "runtime/core/Failure.h"
#include "runtime/cuda/Communicators.h"

using namespace pmap::rt;
using namespace pmap::rt::cuda;

namespace {

DevicePointer addressOf(const void *pointer) { return (DevicePointer)(uintptr_t)pointer; }

/// Runs `issue` on the communication stream, between the two streams' events.
template <typename Issue> void communicate(Gpu &gpu, Issue issue) {
  const CudaApi &api = cudaApi();
  check(api.eventRecord(gpu.computeDone, gpu.compute), "ordering streams");
  check(api.streamWaitEvent(gpu.communication, gpu.computeDone, 0), "ordering streams");
  issue();
  check(api.eventRecord(gpu.communicationDone, gpu.communication), "ordering streams");
  check(api.streamWaitEvent(gpu.compute, gpu.communicationDone, 0), "ordering streams");
}

void copyOnDevice(Gpu &gpu, void *out, const void *in, int64_t bytes) {
  if (in != out && bytes > 0)
    check(cudaApi().copyOnDevice(addressOf(out), addressOf(in), (size_t)bytes, gpu.compute), "copying on the GPU");
}

int typeOf(const pmap_site *site, const char *name, int32_t dtype) {
  int type = ncclDType(dtype);
  if (type < 0)
    fail(site, "E1130", format("%s of %s between GPUs: NCCL has no such dtype", name, pmap_dtype_name(dtype)));
  return type;
}

int ncclOperation(int32_t kind) {
  constexpr int operations[] = {ncclSum, ncclAvg, ncclMax, ncclMin, ncclProd};
  return operations[kind];
}

} // namespace

void pmap_cuda_all_reduce(const pmap_site *site, const int32_t *among, int32_t kind, int32_t dtype, int32_t count,
                          const void *const *in, void *const *out, const int64_t *n) {
  constexpr const char *names[] = {"psum", "pmean", "pmax", "pmin", "pprod"};
  const char *name = names[kind];
  Gpu &gpu = currentGpu();
  int32_t devices;
  Communicator communicator = communicatorFor(site, name, among, devices);
  if (devices == 1) {
    for (int32_t i = 0; i < count; ++i)
      copyOnDevice(gpu, out[i], in[i], n[i] * pmap_dtype_bytes(dtype));
    return;
  }
  int type = typeOf(site, name, dtype);
  const NcclApi &api = ncclApi();
  communicate(gpu, [&] {
    // One group: several operands travel as one.
    checkNccl(site, name, communicator, api.groupStart());
    for (int32_t i = 0; i < count; ++i)
      api.allReduce(in[i], out[i], (size_t)n[i], type, ncclOperation(kind), communicator, gpu.communication);
    checkNccl(site, name, communicator, api.groupEnd());
  });
}

void pmap_cuda_all_gather(const pmap_site *site, const int32_t *among, int64_t outer, int64_t innerBytes,
                          const void *in, void *out) {
  Gpu &gpu = currentGpu();
  int32_t devices;
  Communicator communicator = communicatorFor(site, "all_gather", among, devices);
  if (devices == 1)
    return copyOnDevice(gpu, out, in, outer * innerBytes);
  const NcclApi &api = ncclApi();
  constexpr int bytes = 1; // ncclUint8
  communicate(gpu, [&] {
    checkNccl(site, "all_gather", communicator, api.groupStart());
    // Line by line: NCCL gathers whole blocks, the result interleaves them.
    for (int64_t line = 0; line < outer; ++line)
      api.allGather((const char *)in + line * innerBytes, (char *)out + line * devices * innerBytes, (size_t)innerBytes,
                    bytes, communicator, gpu.communication);
    checkNccl(site, "all_gather", communicator, api.groupEnd());
  });
}

void pmap_cuda_reduce_scatter(const pmap_site *site, const int32_t *among, int32_t dtype, int64_t outer, int64_t inner,
                              const void *in, void *out) {
  Gpu &gpu = currentGpu();
  int32_t devices;
  Communicator communicator = communicatorFor(site, "psum_scatter", among, devices);
  int64_t line = inner * pmap_dtype_bytes(dtype);
  if (devices == 1)
    return copyOnDevice(gpu, out, in, outer * line);
  int type = typeOf(site, "psum_scatter", dtype);
  const NcclApi &api = ncclApi();
  communicate(gpu, [&] {
    checkNccl(site, "psum_scatter", communicator, api.groupStart());
    for (int64_t i = 0; i < outer; ++i)
      api.reduceScatter((const char *)in + i * devices * line, (char *)out + i * line, (size_t)inner, type, ncclSum,
                        communicator, gpu.communication);
    checkNccl(site, "psum_scatter", communicator, api.groupEnd());
  });
}
