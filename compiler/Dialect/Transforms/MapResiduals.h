// What a `pmap.map` keeps for the backward code: further results, one block per device.
//
// The backward map computes the body again, save what the forward one was made to yield: the same dear values that a
// loop keeps (Residuals.h), and what an all_gather gave, of which there is one and not one per trip. How a block leaves
// depends on its type alone, so that whatever map it came from reads it back as it was: no byte moves in between.
#pragma once

#include "compiler/Dialect/Transforms/Symbols.h"

namespace pmap {

/// Makes a map yield what is dear in its body, as far as the sizes of the whole are known outside. Returns the map that
/// takes its place.
MapOp keepInMap(MapOp map, SymbolNames &names);

/// A value of a map's body that can be read from one of the results instead of being computed again.
struct KeptBlock {
  mlir::Value value;
  mlir::Value yielded; ///< the value, or a reshape of it: what a scalar of each device, say, leaves as
  mlir::Value result;
};
llvm::SmallVector<KeptBlock> keptInMap(MapOp map);

} // namespace pmap
