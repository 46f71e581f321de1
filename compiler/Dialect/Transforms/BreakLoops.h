// A `for` with `break` as a loop whose number of trips is known, which is what its derivative walks back over.
#pragma once

#include "compiler/Dialect/Transforms/Symbols.h"

namespace pmap {

/// Puts a `scf.for` in the place of every loop with `break` among `ops`, and within, that depends on `roots`. Before it
/// stands the loop as it was, which only counts: the trips that it takes are the bound of the other. False where there
/// is none.
bool countBreakLoops(llvm::SmallVectorImpl<mlir::Operation *> &ops, llvm::ArrayRef<mlir::Value> roots,
                     SymbolNames &names);

} // namespace pmap
