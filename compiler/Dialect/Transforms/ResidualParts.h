// Which parts of carried arrays a loop keeps for its derivative, where it does not keep the arrays (G5).
//
// A recurrence carries a whole array and reads and writes a part of it in each trip. What its body computes again needs
// the parts only, and keeping the array for each trip would make a linear loop quadratic. Reads of parts are marked
// here as values to keep, through all the loops and branches that they stand in; the array is then read by nobody, and
// what was stacked of it is dropped.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pmap {

/// On a read of a part of a carried array: it is kept, as what is dear to compute.
constexpr llvm::StringLiteral kPartAttr = "pmap.part";

/// Marks, within `ops`, the reads to keep. Equal reads become one.
void markParts(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace pmap
