//===- NcclApi.h - What we use of NCCL ----------------------------------------------------------------------------===//

#ifndef PMAP_CUDA_NCCLAPI_H
#define PMAP_CUDA_NCCLAPI_H

#include "runtime/cuda/CudaApi.h"

#include <climits>

namespace pmap::rt::cuda {

using NcclResult = int;
using Communicator = struct ncclComm *;

inline constexpr int ncclSuccess = 0, ncclInProgress = 7;
inline constexpr int ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4;

struct UniqueId {
  char bytes[128];
};

/// The leading part of ncclConfig_t, as NCCL 2.18 has it. NCCL reads `size` and `version`, and fills in what came
/// later.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;
  int cgaClusterSize = INT_MIN, minCTAs = INT_MIN, maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

#define PMAP_NCCL_FUNCTIONS(X)                                                                                         \
  X(NcclResult, getVersion, ncclGetVersion, (int *version))                                                            \
  X(NcclResult, getUniqueId, ncclGetUniqueId, (UniqueId * id))                                                         \
  X(NcclResult, initRankConfig, ncclCommInitRankConfig,                                                                \
    (Communicator * communicator, int ranks, UniqueId id, int rank, NcclConfig *config))                               \
  X(NcclResult, asyncError, ncclCommGetAsyncError, (Communicator communicator, NcclResult * error))                    \
  X(NcclResult, abort, ncclCommAbort, (Communicator communicator))                                                     \
  X(const char *, errorString, ncclGetErrorString, (NcclResult error))                                                 \
  X(const char *, lastError, ncclGetLastError, (Communicator communicator))                                            \
  X(NcclResult, groupStart, ncclGroupStart, ())                                                                        \
  X(NcclResult, groupEnd, ncclGroupEnd, ())                                                                            \
  X(NcclResult, allReduce, ncclAllReduce,                                                                              \
    (const void *in, void *out, size_t count, int dtype, int op, Communicator communicator, Stream stream))            \
  X(NcclResult, reduceScatter, ncclReduceScatter,                                                                      \
    (const void *in, void *out, size_t count, int dtype, int op, Communicator communicator, Stream stream))            \
  X(NcclResult, allGather, ncclAllGather,                                                                              \
    (const void *in, void *out, size_t count, int dtype, Communicator communicator, Stream stream))

struct NcclApi {
#define PMAP_NCCL_MEMBER(type, name, symbol, parameters) type(*name) parameters = nullptr;
  PMAP_NCCL_FUNCTIONS(PMAP_NCCL_MEMBER)
#undef PMAP_NCCL_MEMBER
  std::string problem;
  bool loaded() const { return problem.empty(); }
};

/// Opens `libnccl.so.2` (or $PMAP_LIBNCCL) once.
const NcclApi &ncclApi();

/// NCCL's number of a dtype, or -1.
int ncclDType(int32_t dtype);

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_NCCLAPI_H
