// Slices whose dropped dimensions a memref type would not tell apart from kept ones.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace pmap {

// Rewrites every slice that drops a dimension of size 1 while it keeps another: `tensor.extract_slice` of 1x?x1 to 1x?
// takes all dimensions and collapses, and inserting slices expand. Which dimensions such a slice drops is told by the
// shape of its result alone, and MLIR answers anew whenever it folds a slice or makes a `memref.subview` of it: mostly,
// the first of size 1.
void spellOutDroppedDimensions(mlir::ModuleOp module);

} // namespace pmap
