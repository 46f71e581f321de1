// Removes a pmap.vmap by batching its body (P8); with `chunk`, so many rows at a time.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/Transforms.h"
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

namespace {

// Folding moves constants to the start of the function, with the variance that they had in the region.
void fetchConstants(VmapOp op, const Batch &batch) {
  llvm::SetVector<Value> captures;
  getUsedValuesDefinedAbove(op.getBody(), captures);
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToStart(&op.getBody().front());
  for (Value capture : captures)
    if (batch.varies(capture))
      replaceAllUsesInRegionWith(capture, builder.clone(*capture.getDefiningOp())->getResult(0), op.getBody());
}

// A collective over a mesh is one for the values of all rows, so that there must be as many on all its devices (V10).
// Of what the program wrote the elaborator has said so; a derivative may have brought others into the rows.
LogicalResult checkMeetings(VmapOp op) {
  Batch batch{op.getAxisAttr(), *Size::parse(op.getSize())};
  if (batch.size.constant())
    return success();
  std::optional<Axes> uneven;
  WalkResult result = op.walk([&](CollectiveOp collective) {
    SmallVector<StringAttr> axes = collective.getCollectiveAxes();
    if (llvm::is_contained(axes, batch.axis) ||
        llvm::none_of(collective->getOperands(), [&](Value operand) { return batch.varies(operand); }))
      return WalkResult::advance();
    if (!uneven)
      uneven = IndexVariance(op->getParentOfType<FunctionOpInterface>()).of(batch.size);
    for (StringAttr axis : *uneven)
      if (llvm::is_contained(axes, axis)) {
        InFlightDiagnostic error = collective.emitError()
                                   << "a collective over '" << axis.getValue()
                                   << "' for each row of an array whose number of rows varies over '" << axis.getValue()
                                   << "': it needs as many on all devices (V10) [E0709]";
        error.attachNote(op.getLoc()) << "the rows are made here; leave `ragged: true` out, and the size must divide";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult removeWhole(VmapOp op, SymbolNames &names) {
  Batch batch{op.getAxisAttr(), *Size::parse(op.getSize())};
  Block &body = op.getBody().front();
  fetchConstants(op, batch);
  llvm::DenseMap<Operation *, Size> sizeInMap = passSizeToMaps(op, names);
  IndexVariance variance(op);
  VmapScope scope(op.getAxisAttr(), variance, names);
  scope.outer.map(body.getArguments(), op.getInputs());
  OpBuilder builder(op);
  if (failed(Batcher(scope, sizeInMap, batch, builder).run(body)))
    return failure();
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(scope.outer.lookupOrDefault(value));
  op->replaceAllUsesWith(results);
  op.erase();
  return success();
}

// The positions of the rows and their number are those of all rows, whatever a chunk has of them.
void passPositions(VmapOp op, const Batch &batch) {
  for (Operation &nested : op.getBody().front())
    replaceAxisSize(&nested, batch);
  SmallVector<AxisIndexOp> indices;
  op.walk([&](AxisIndexOp index) {
    if (index.getAxisAttr() == batch.axis)
      indices.push_back(index);
  });
  if (indices.empty())
    return;
  OpBuilder builder(op);
  Value positions = IotaOp::create(builder, op.getLoc(), makeTensorType(builder.getI32Type(), batch.size), 0);
  op.getInputsMutable().append(positions);
  Value position = op.getBody().front().addArgument(makeScalarType(builder.getI32Type(), batch.axis), op.getLoc());
  for (AxisIndexOp index : indices) {
    index.replaceAllUsesWith(position);
    index.erase();
  }
}

// The vmap of a part of the rows, at the builder's place.
VmapOp vmapPart(OpBuilder &builder, VmapOp op, const Batch &part, Value offset) {
  Location loc = op.getLoc();
  SmallVector<Value> inputs;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    SmallVector<Size> sizes = sizesOf(type);
    sizes[0] = part.size;
    SmallVector<Value> offsets = zeroOffsets(builder, loc, type.getRank());
    offsets[0] = offset;
    inputs.push_back(SliceOp::create(builder, loc, withSizes(type, sizes), input, offsets, /*inBounds=*/true));
  }
  SmallVector<Type> types;
  for (Value value : op.getBody().front().getTerminator()->getOperands())
    types.push_back(outerTypeOf(part, value.getType()));
  auto made = VmapOp::create(builder, loc, types, part.axis.getValue(), part.size, IntegerAttr(), inputs);
  made.getBody().getBlocks().clear();
  IRMapping mapping;
  op.getBody().cloneInto(&made.getBody(), mapping);
  return made;
}

// Puts the rows of a part where they belong in the whole.
Value putPart(OpBuilder &builder, Location loc, Value whole, Value part, Value offset) {
  SmallVector<Value> offsets = zeroOffsets(builder, loc, cast<RankedTensorType>(whole.getType()).getRank());
  offsets[0] = offset;
  return UpdateSliceOp::create(builder, loc, whole, part, offsets, /*inBounds=*/true);
}

// A loop over the chunks, then the rest: the arrays within are those of one chunk.
LogicalResult removeByChunks(VmapOp op, SymbolNames &names) {
  Location loc = op.getLoc();
  Batch batch{op.getAxisAttr(), *Size::parse(op.getSize())};
  Size chunk(*op.getChunk());
  WalkResult meets = op.walk([&](CollectiveOp collective) {
    if (!llvm::is_contained(collective.getCollectiveAxes(), batch.axis))
      return WalkResult::advance();
    collective.emitError() << "a collective over the rows of a vmap needs all of them at once, and this vmap has "
                           << *op.getChunk() << " at a time [E0731]";
    return WalkResult::interrupt();
  });
  if (meets.wasInterrupted())
    return failure();
  passSizeToMaps(op, names);
  passPositions(op, batch);
  OpBuilder builder(op);
  Size chunks = Size::floorDiv(batch.size, chunk), rest = Size::mod(batch.size, chunk);
  SmallVector<VmapOp> parts;
  // A result that is the same for all rows comes from the rest, which is always there.
  SmallVector<unsigned> varying;
  for (auto [number, value] : llvm::enumerate(op.getBody().front().getTerminator()->getOperands()))
    if (batch.varies(value))
      varying.push_back(number);
  SmallVector<Value> wholes;
  for (unsigned number : varying)
    wholes.push_back(splat(builder, loc, cast<RankedTensorType>(op.getResult(number).getType()), 0));

  Value step = arith::ConstantIndexOp::create(builder, loc, *op.getChunk());
  Value end = indexOf(builder, loc, chunks * chunk);
  if (!chunks.isConstant(0)) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    auto loop = scf::ForOp::create(builder, loc, zero, end, step, wholes);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    OpBuilder inner = OpBuilder::atBlockEnd(loop.getBody());
    parts.push_back(vmapPart(inner, op, {batch.axis, chunk}, loop.getInductionVar()));
    SmallVector<Value> yielded;
    for (auto [number, whole] : llvm::zip_equal(varying, loop.getRegionIterArgs()))
      yielded.push_back(putPart(inner, loc, whole, parts.back().getResult(number), loop.getInductionVar()));
    scf::YieldOp::create(inner, loc, yielded);
    wholes.assign(loop.result_begin(), loop.result_end());
  }
  SmallVector<Value> results(op->getNumResults());
  if (!rest.isConstant(0) || varying.size() < op->getNumResults()) {
    parts.push_back(vmapPart(builder, op, {batch.axis, rest}, end));
    names.rename(parts.back().getOperation());
    llvm::copy(parts.back().getResults(), results.begin());
    for (auto [number, whole] : llvm::zip_equal(varying, wholes))
      whole = putPart(builder, loc, whole, results[number], end);
  }
  for (auto [number, whole] : llvm::zip_equal(varying, wholes))
    results[number] = whole;
  op->replaceAllUsesWith(results);
  op.erase();
  for (VmapOp part : parts)
    if (failed(removeWhole(part, names)))
      return failure();
  return success();
}

} // namespace

LogicalResult pmap::removeVmap(VmapOp op, SymbolNames &names) {
  if (failed(checkMeetings(op)))
    return failure();
  if (!op.getChunk())
    return removeWhole(op, names);
  std::optional<int64_t> rows = Size::parse(op.getSize())->constant();
  return rows && *rows <= static_cast<int64_t>(*op.getChunk()) ? removeWhole(op, names) : removeByChunks(op, names);
}
