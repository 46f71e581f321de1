// The derivatives of pmap.for_each.
//
// In parallel, where the body reads outer arrays only element by element: a comprehension computes each point's
// cotangents of the elements it read, which are then added into the arrays. Otherwise in order: loops over the points
// carry the sums.
#include "compiler/Dialect/Transforms/Backward.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

// The cotangent of what the body yields at one point, out of that of the whole result.
Value elementAt(OpBuilder &builder, Location loc, Value whole, ValueRange indices, Type body) {
  RankedTensorType type = tensorType(whole);
  if (type.getRank() == static_cast<int64_t>(indices.size()))
    return ExtractOp::create(builder, loc, whole, indices);
  SmallVector<Value> offsets = zeroOffsets(builder, loc, type.getRank());
  llvm::copy(indices, offsets.begin());
  SmallVector<Size> sizes = sizesOf(type);
  std::fill_n(sizes.begin(), indices.size(), Size(1));
  Value part = SliceOp::create(builder, loc, withSizes(type, sizes), whole, offsets, /*inBounds=*/true);
  return ReshapeOp::create(builder, loc, body, part);
}

// The number of the for_each index that an index value is, through bounds checks.
std::optional<int64_t> indexArgument(Value index, Block &body) {
  while (auto checked = index.getDefiningOp<CheckedIndexOp>())
    index = checked.getIndex();
  if (auto argument = dyn_cast<BlockArgument>(index); argument && argument.getOwner() == &body)
    return argument.getArgNumber();
  return std::nullopt;
}

// An element read at distinct indices of the comprehension, each running over the array's whole dimension: the position
// of each in the bounds. Every element is then read by a whole slab of points, and sums replace a scatter.
std::optional<SmallVector<int64_t>> slabIndices(ExtractOp read, Block &body, ArrayRef<Size> bounds) {
  SmallVector<int64_t> positions;
  for (auto [dim, index] : llvm::enumerate(read.getIndices())) {
    std::optional<int64_t> position = indexArgument(index, body);
    if (!position || llvm::is_contained(positions, *position) ||
        bounds[*position] != sizeOf(read.getInput().getType(), dim))
      return std::nullopt;
    positions.push_back(*position);
  }
  return positions;
}

// Sums `values` (one per point) over the dimensions not in `positions` and puts the others in their order.
Value sumToSlab(OpBuilder &builder, Location loc, Value values, ArrayRef<int64_t> positions) {
  int64_t rank = tensorType(values).getRank();
  SmallVector<int64_t> summed, sorted(positions), perm;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(positions, dim))
      summed.push_back(dim);
  if (!summed.empty())
    values = ReduceOp::create(builder, loc, ReductionKind::Sum, values, summed);
  llvm::sort(sorted);
  for (int64_t position : positions)
    perm.push_back(llvm::find(sorted, position) - sorted.begin());
  return TransposeOp::create(builder, loc, values, perm);
}

// The row-major place of the element at `indices`, as an integer scalar of the array's V.
Value placeOf(OpBuilder &builder, Location loc, RankedTensorType array, ValueRange indices) {
  Value place;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (!place) {
      place = index;
      continue;
    }
    Value row = arith::MulIOp::create(builder, loc, place, indexOf(builder, loc, sizeOf(array, dim)));
    place = arith::AddIOp::create(builder, loc, row, index);
  }
  RankedTensorType type = makeScalarType(builder.getI64Type(), varyOf(array));
  return FromIndexOp::create(builder, loc, type, place, /*is_unsigned=*/false);
}

// Adds values, one per point, into zeros of an array at the places (one per point too).
Value scatterInto(OpBuilder &builder, Location loc, RankedTensorType array, Value places, Value values) {
  auto flat = [&](Value value) -> Value {
    RankedTensorType type = tensorType(value);
    return ReshapeOp::create(builder, loc, withSizes(type, elementCountOf(type)), value);
  };
  Value zeros = splat(builder, loc, withSizes(array, elementCountOf(array)), 0);
  Value sums = ScatterOp::create(builder, loc, ReductionKind::Sum, zeros, flat(places), flat(values), 0);
  return ReshapeOp::create(builder, loc, array, sums);
}

} // namespace

LogicalResult Backward::pullForEach(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Block &body = op.getBody().front();
  bool flat = llvm::none_of(body, [](Operation &nested) { return nested.getNumRegions() > 0; });
  bool elementwise = llvm::all_of(activeCaptures(op), [&](Value capture) {
    return tensorType(capture).getRank() == 0 || llvm::all_of(capture.getUsers(), [&](Operation *user) {
             return !op->isProperAncestor(user) || isa<ExtractOp>(user);
           });
  });
  return flat && elementwise ? pullForEachInParallel(op, builder, cotangents)
                             : pullForEachInOrder(op, builder, cotangents);
}

LogicalResult Backward::pullForEachInParallel(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Size> bounds = sizesOf(op.getResult(0).getType());
  bounds.resize(op.getBounds().size());

  // The result types are known only when the body is: it is built on its own and moved in.
  Region region;
  Block *block = new Block;
  region.push_back(block);
  IRMapping mapping;
  for (BlockArgument index : body.getArguments())
    mapping.map(index, block->addArgument(index.getType(), loc));
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(block);
  CotangentMap local(inner, names);
  SmallVector<Value> seeds;
  for (auto [result, yielded] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands())) {
    Value whole = cotangents.lookup(result);
    seeds.push_back(whole ? elementAt(inner, loc, whole, block->getArguments(), yielded.getType()) : Value());
  }

  SmallVector<Operation *> copies = cloneForRecomputation(body, inner, mapping, names);
  spread(copies);
  for (auto [yielded, seed] : llvm::zip_equal(body.getTerminator()->getOperands(), seeds))
    if (Value value = mapping.lookupOrDefault(yielded); isActive(value))
      local.add(loc, value, seed);
  // Reads of outer arrays are where the walk stops; their results' cotangents are what the points contribute.
  SmallVector<ExtractOp> reads;
  SmallVector<Operation *> others;
  for (Operation *copy : copies) {
    auto read = dyn_cast<ExtractOp>(copy);
    bool outer =
        read && isActive(read.getInput()) && read.getInput().getParentBlock() != block && read.getIndices().size();
    if (outer)
      reads.push_back(read);
    else
      others.push_back(copy);
  }
  if (failed(run(others, inner, local)))
    return failure();

  // What is done with each yielded value, once it is one value per point.
  SmallVector<Value> yielded;
  SmallVector<std::function<void(ValueRange)>> uses;
  auto yieldOne = [&](Value value) {
    yielded.push_back(value);
    return yielded.size() - 1;
  };
  for (ExtractOp read : reads) {
    Value contribution = local.lookup(read.getResult());
    if (!contribution)
      continue;
    Value array = read.getInput();
    RankedTensorType type = tensorType(array);
    size_t values = yieldOne(contribution);
    if (std::optional<SmallVector<int64_t>> positions = slabIndices(read, *block, bounds)) {
      uses.push_back([&, array, values, positions](ValueRange perPoint) {
        cotangents.add(loc, array, sumToSlab(builder, loc, perPoint[values], *positions));
      });
      continue;
    }
    size_t places = yieldOne(placeOf(inner, loc, type, read.getIndices()));
    uses.push_back([&, array, type, values, places](ValueRange perPoint) {
      cotangents.add(loc, array, scatterInto(builder, loc, type, perPoint[places], perPoint[values]));
    });
  }
  for (Value capture : activeCaptures(op))
    if (Value contribution = local.lookup(capture)) {
      size_t values = yieldOne(contribution);
      uses.push_back([&, capture, values](ValueRange perPoint) {
        SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(bounds.size()));
        cotangents.add(loc, capture, ReduceOp::create(builder, loc, ReductionKind::Sum, perPoint[values], all));
      });
    }
  if (yielded.empty())
    return success();

  YieldOp::create(inner, loc, yielded);
  SmallVector<Type> types =
      llvm::map_to_vector(yielded, [&](Value value) -> Type { return withSizes(tensorType(value), bounds); });
  auto pulled = ForEachOp::create(builder, loc, types, op.getBounds());
  pulled.getBody().takeBody(region);
  for (auto &use : uses)
    use(pulled.getResults());
  return success();
}

LogicalResult Backward::pullForEachInOrder(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Value> captures = activeCaptures(op);
  SmallVector<Value> sums;
  for (Value capture : captures)
    sums.push_back(zerosOf(builder, loc, capture.getType()));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);

  // A nest of loops, each handing the sums on to the next.
  OpBuilder inner = builder;
  SmallVector<scf::ForOp> nest;
  SmallVector<Value> indices;
  for (Value bound : op.getBounds()) {
    auto loop = scf::ForOp::create(inner, loc, zero, bound, one, sums);
    nest.push_back(loop);
    indices.push_back(loop.getInductionVar());
    sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    inner = OpBuilder::atBlockEnd(loop.getBody());
  }

  CotangentMap local(inner, names);
  IRMapping mapping;
  mapping.map(body.getArguments(), indices);
  SmallVector<Value> seeds;
  for (auto [result, yielded] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands())) {
    Value whole = cotangents.lookup(result);
    seeds.push_back(whole ? elementAt(inner, loc, whole, indices, yielded.getType()) : Value());
  }
  if (failed(recomputeAndPull(body, mapping, seeds, inner, local)))
    return failure();
  for (auto [capture, sum] : llvm::zip_equal(captures, sums))
    if (Value more = local.lookup(capture))
      sum = sumOf(inner, loc, sum, more, names);

  for (scf::ForOp loop : llvm::reverse(nest)) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getBody());
    scf::YieldOp::create(atEnd, loc, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (auto [capture, sum] : llvm::zip_equal(captures, sums))
    cotangents.add(loc, capture, sum);
  return success();
}
