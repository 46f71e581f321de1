// Reverse derivatives of the collectives after which devices hold different values (G2): still to be written.
#include "compiler/Dialect/IR/Pullbacks.h"

using namespace mlir;
using namespace pmap;

LogicalResult ReduceScatterOp::pullback(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllToAllOp::pullback(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult PermuteOp::pullback(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
