// Batching rules that are still to be written: these ops run row by row.
#include "compiler/Dialect/IR/Batch.h"

using namespace mlir;
using namespace pmap;

LogicalResult BroadcastOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReduceOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ScanOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult DotOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult TransposeOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReshapeOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ConcatOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReverseOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult PadOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult SortOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult CastOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult SliceOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult UpdateSliceOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult GatherOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ScatterOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult WidenOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllReduceOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllGatherOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult StopGradientOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ReduceScatterOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AllToAllOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult PermuteOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ArgReduceOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult ArgSortOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
LogicalResult AxisIndexOp::batch(OpBuilder &, const Batch &, ArrayRef<Value>, SmallVectorImpl<Value> &) { return failure(); }
