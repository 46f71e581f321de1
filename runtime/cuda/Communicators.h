//===- Communicators.h - NCCL's communicators ---------------------------------------------------------------------===//

#ifndef PMAP_CUDA_COMMUNICATORS_H
#define PMAP_CUDA_COMMUNICATORS_H

#include "runtime/cuda/Device.h"
#include "runtime/cuda/NcclApi.h"

namespace pmap::rt::cuda {

/// The communicator of the devices that meet, for this thread's device. Made at the first collective among them: the
/// devices tell each other NCCL's id through the host's collectives, which is the same with one process and with many.
Communicator communicatorFor(const pmap_site *site, const char *name, const int32_t *among, int32_t &devices);

/// Unwinds with an error of NCCL's. One that only says that work goes on is waited for.
void checkNccl(const pmap_site *site, const char *name, Communicator communicator, NcclResult result);

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_COMMUNICATORS_H
