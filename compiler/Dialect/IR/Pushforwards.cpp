// Forward derivatives that are still to be written: jvp of these is an error (E0810).
#include "compiler/Dialect/IR/PmapOps.h"

using namespace mlir;
using namespace pmap;

LogicalResult BroadcastOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReduceOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ScanOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult DotOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult TransposeOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReshapeOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ConcatOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReverseOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult PadOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult SortOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult CastOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ExtractOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult SliceOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult UpdateSliceOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult GatherOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ScatterOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult MoveOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ShardsOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ToShardsOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult WidenOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllReduceOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllGatherOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult StopGradientOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReduceScatterOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllToAllOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult PermuteOp::pushforward(OpBuilder &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
