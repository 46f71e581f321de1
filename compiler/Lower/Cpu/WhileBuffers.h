// Buffers that a `while` carries.
#pragma once

#include "mlir/IR/Operation.h"

namespace pmap {

/// Bufferization copies what a `while` hands from its condition to its body wherever the body hands on another buffer
/// than it got, as the next iterate is. Such copies go away where no two of the carried buffers can be the same and
/// nobody outside holds one; a loop then swaps buffers, as a `for` does.
void handOnBuffersOfWhiles(mlir::Operation *root);

} // namespace pmap
