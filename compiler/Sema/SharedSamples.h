// P9: random numbers that are the same on all devices, or in all rows of a vmap, and meet data that is not.
#pragma once

#include "compiler/Sema/Elaborator.h"

namespace pmap::sema {

/// Warns (E0722) where a sample drawn from a replicated key meets data that varies. Looks at the finished module, in
/// which every widening is an op, and takes the marks that `sampled` and `replicated` have left off its ops.
void warnOfSharedSamples(Elaborator &e, mlir::ModuleOp module);

void registerSampleBuiltins(BuiltinTable &table);

} // namespace pmap::sema
