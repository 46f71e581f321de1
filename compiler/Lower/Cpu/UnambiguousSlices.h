// Slices whose dropped dimensions a memref type would not tell apart from kept ones.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace pmap {

// Rewrites every slice that drops a dimension of size 1 while it keeps another: `tensor.extract_slice` of 1x?x1 to 1x? takes all
// dimensions and collapses, and inserting slices expand. A `memref.subview` says by strides which dimensions it drops, and where
// strides are not known it takes the first of size 1, whatever the tensor op meant.
void spellOutDroppedDimensions(mlir::ModuleOp module);

} // namespace pmap
