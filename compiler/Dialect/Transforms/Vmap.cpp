// Removes a pmap.vmap: still to be written.
#include "compiler/Dialect/Transforms/Transforms.h"

using namespace mlir;
using namespace pmap;

LogicalResult pmap::removeVmap(VmapOp op, SymbolNames &) { return op.emitOpError() << "is not batched yet [E0901]"; }
