// Scans along the last dimension, which the CPU's runtime does, as loops.
#pragma once

#include "compiler/Lower/RuntimeOps.h"

namespace pmap {

inline constexpr llvm::StringLiteral scanCallee = "pmap_rt_scan";

/// Replaces a call of `pmap_rt_scan` on tensors by loops: each line is one loop, and the lines run in parallel. For
/// targets without that function.
void scanByLoops(rt::CallOp call);

} // namespace pmap
