// The derivatives of pmap.for_each.
//
// In parallel, where the body reads outer arrays only element by element: a comprehension computes each point's
// cotangents of the elements it read, which are then added into the arrays. Otherwise in order: loops over the points
// carry the sums.
#include "compiler/Dialect/Transforms/Backward.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

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

// The index of the comprehension that an index value is, and what is added to it, through bounds checks.
std::optional<std::pair<int64_t, int64_t>> shiftedIndex(Value index, Block &body) {
  int64_t shift = 0;
  while (Operation *op = index.getDefiningOp()) {
    APInt constant;
    if (auto checked = dyn_cast<CheckedIndexOp>(op)) {
      index = checked.getIndex();
    } else if (isa<arith::AddIOp, arith::SubIOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant))) {
      shift += isa<arith::AddIOp>(op) ? constant.getSExtValue() : -constant.getSExtValue();
      index = op->getOperand(0);
    } else {
      return std::nullopt;
    }
  }
  auto argument = cast<BlockArgument>(index);
  if (argument.getOwner() != &body)
    return std::nullopt;
  return std::pair<int64_t, int64_t>(argument.getArgNumber(), shift);
}

// An element read at distinct indices of the comprehension, each with a constant added: every element is then read by a
// whole slab of points, and sums replace a scatter.
std::optional<SmallVector<std::pair<int64_t, int64_t>>> shiftsOf(ExtractOp read, Block &body) {
  SmallVector<std::pair<int64_t, int64_t>> shifts;
  for (Value index : read.getIndices()) {
    auto shifted = shiftedIndex(index, body);
    if (!shifted || llvm::any_of(shifts, [&](auto other) { return other.first == shifted->first; }))
      return std::nullopt;
    shifts.push_back(*shifted);
  }
  return shifts;
}

// Sums `values` (one per point) over the indices that an array is not read at, and puts the others in its order.
Value sumToSlab(OpBuilder &builder, Location loc, Value values, ArrayRef<std::pair<int64_t, int64_t>> shifts) {
  int64_t rank = tensorType(values).getRank();
  SmallVector<int64_t> summed, positions, perm;
  for (auto [position, shift] : shifts)
    positions.push_back(position);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(positions, dim))
      summed.push_back(dim);
  if (!summed.empty())
    values = ReduceOp::create(builder, loc, ReductionKind::Sum, values, summed);
  SmallVector<int64_t> sorted(positions);
  llvm::sort(sorted);
  for (int64_t position : positions)
    perm.push_back(llvm::find(sorted, position) - sorted.begin());
  return TransposeOp::create(builder, loc, values, perm);
}

// The slab of one read, and the shift of each of its dimensions.
struct Slab {
  Value values;
  SmallVector<int64_t> shifts;

  // True when it is the array's cotangent as it is.
  bool isWhole(RankedTensorType array) const {
    return llvm::all_of(shifts, [](int64_t shift) { return shift == 0; }) && values.getType() == array;
  }
};

// The cotangent of an array of whose slabs some are shifted: every element gathers what the points that read it
// contribute, which is a comprehension over the array itself.
Value gatherSlabs(OpBuilder &builder, Location loc, RankedTensorType array, ArrayRef<Slab> slabs) {
  SmallVector<Value> bounds;
  for (const Size &size : sizesOf(array))
    bounds.push_back(indexOf(builder, loc, size));
  auto gathered = ForEachOp::create(builder, loc, TypeRange(array), bounds);
  Block *body = &gathered.getBody().front();
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  RankedTensorType element = scalarOf(array);
  Value sum;
  for (const Slab &slab : slabs) {
    Value inside;
    SmallVector<Value> point;
    for (auto [dim, index, shift] : llvm::enumerate(body->getArguments(), slab.shifts)) {
      Value at = index;
      if (shift)
        at = arith::SubIOp::create(inner, loc, at, arith::ConstantIndexOp::create(inner, loc, shift));
      point.push_back(at);
      auto require = [&](arith::CmpIPredicate predicate, Value bound) {
        Value holds = arith::CmpIOp::create(inner, loc, predicate, at, bound);
        inside = inside ? arith::AndIOp::create(inner, loc, inside, holds).getResult() : holds;
      };
      Size size = sizeOf(slab.values.getType(), dim);
      if (shift > 0)
        require(arith::CmpIPredicate::sge, arith::ConstantIndexOp::create(inner, loc, 0));
      if (shift < 0 || size != sizeOf(array, dim))
        require(arith::CmpIPredicate::slt, indexOf(inner, loc, size));
    }
    Value value;
    if (inside) {
      auto read = scf::IfOp::create(inner, loc, TypeRange(element), inside, /*withElseRegion=*/true);
      OpBuilder yes = OpBuilder::atBlockEnd(read.thenBlock()), no = OpBuilder::atBlockEnd(read.elseBlock());
      Value contribution = ExtractOp::create(yes, loc, slab.values, point);
      scf::YieldOp::create(yes, loc, contribution);
      scf::YieldOp::create(no, loc, splat(no, loc, element, 0));
      value = read.getResult(0);
    } else {
      value = ExtractOp::create(inner, loc, slab.values, point);
    }
    sum = sum ? arith::AddFOp::create(inner, loc, sum, value).getResult() : value;
  }
  YieldOp::create(inner, loc, sum);
  return gathered.getResult(0);
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

// Adds values, one per point, into `sums` of an array at the places (one per point too). With `mayBeNone` some points
// read nothing: they add zero at the first place, if there is any.
Value scatterInto(OpBuilder &builder, Location loc, Value sums, Value places, Value values, bool mayBeNone) {
  RankedTensorType array = tensorType(sums);
  Size count = elementCountOf(array);
  auto scattered = [&](OpBuilder &inner) -> Value {
    auto flat = [&](Value value) -> Value {
      RankedTensorType type = tensorType(value);
      return ReshapeOp::create(inner, loc, withSizes(type, elementCountOf(type)), value);
    };
    Value added = ScatterOp::create(inner, loc, ReductionKind::Sum, flat(sums), flat(places), flat(values), 0);
    return ReshapeOp::create(inner, loc, array, added);
  };
  if (!mayBeNone || (count - Size(1)).provablyNonNegative())
    return scattered(builder);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, indexOf(builder, loc, count), zero);
  auto branch = scf::IfOp::create(builder, loc, TypeRange(array), any, /*withElseRegion=*/true);
  OpBuilder yes = OpBuilder::atBlockEnd(branch.thenBlock()), no = OpBuilder::atBlockEnd(branch.elseBlock());
  scf::YieldOp::create(yes, loc, scattered(yes));
  scf::YieldOp::create(no, loc, sums);
  return branch.getResult(0);
}

// True for a body without loops: branches and ops on single values.
bool isStraight(Block &body) {
  return llvm::all_of(body, [](Operation &op) {
    return op.getNumRegions() == 0 || (isa<scf::IfOp>(op) && llvm::all_of(op.getRegions(), [](Region &region) {
                                         return region.empty() || isStraight(region.front());
                                       }));
  });
}

} // namespace

LogicalResult Backward::pullForEach(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Block &body = op.getBody().front();
  bool elementwise = llvm::all_of(activeCaptures(op), [&](Value capture) {
    if (!isa<RankedTensorType>(capture.getType()))
      return false; // A distributed value, which a map at each point reads.
    return tensorType(capture).getRank() == 0 || llvm::all_of(capture.getUsers(), [&](Operation *user) {
             return !op->isProperAncestor(user) || isa<ExtractOp>(user);
           });
  });
  return isStraight(body) && elementwise ? pullForEachInParallel(op, builder, cotangents)
                                         : pullForEachInOrder(op, builder, cotangents);
}

LogicalResult Backward::pullForEachInParallel(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Size> bounds = sizesOf(op.getResult(0).getType());
  bounds.resize(op.getBounds().size());

  // The result types are known only when the body is: it is built in an op without results and moves on.
  auto scratch = ForEachOp::create(builder, loc, TypeRange(), op.getBounds());
  Block *block = &scratch.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), block->getArguments());
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
  ElementReads found;
  found.body = block;
  for (Value capture : activeCaptures(op))
    if (tensorType(capture).getRank() > 0)
      found.arrays.insert(capture);
  ElementReads *saved = std::exchange(elements, &found);
  LogicalResult pulledBody = run(copies, inner, local);
  elements = saved;
  if (failed(pulledBody))
    return failure();

  // What is done with each yielded value, once it is one value per point.
  SmallVector<Value> yielded;
  SmallVector<std::function<void(ValueRange)>> uses;
  auto yieldOne = [&](Value value) -> size_t {
    auto known = llvm::find(yielded, value);
    if (known != yielded.end())
      return known - yielded.begin();
    yielded.push_back(value);
    return yielded.size() - 1;
  };
  llvm::MapVector<Value, SmallVector<std::pair<size_t, SmallVector<std::pair<int64_t, int64_t>>>>> slabs;
  for (const ElementReads::Read &read : found.reads) {
    size_t values = yieldOne(read.contribution);
    if (read.shifts) {
      slabs[read.array].push_back({values, *read.shifts});
      continue;
    }
    size_t places = yieldOne(read.place);
    uses.push_back([&, &read = read, values, places](ValueRange perPoint) {
      Value sums = cotangents.lookupOrZero(loc, read.array);
      cotangents.set(read.array, scatterInto(builder, loc, sums, perPoint[places], perPoint[values], read.inBranch));
    });
  }
  for (auto &[array, entries] : slabs)
    uses.push_back([&, array = array, &entries = entries](ValueRange perPoint) {
      SmallVector<Slab> parts;
      for (auto &[values, shifts] : entries) {
        Slab slab{sumToSlab(builder, loc, perPoint[values], shifts), {}};
        for (auto [position, shift] : shifts)
          slab.shifts.push_back(shift);
        parts.push_back(slab);
      }
      RankedTensorType type = tensorType(array);
      if (!llvm::all_of(parts, [&](const Slab &part) { return part.isWhole(type); }))
        return cotangents.add(loc, array, gatherSlabs(builder, loc, type, parts));
      for (const Slab &part : parts)
        cotangents.add(loc, array, part.values);
    });
  for (Value capture : activeCaptures(op))
    if (Value contribution = local.lookup(capture)) {
      size_t values = yieldOne(contribution);
      uses.push_back([&, capture, values](ValueRange perPoint) {
        SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(bounds.size()));
        cotangents.add(loc, capture, ReduceOp::create(builder, loc, ReductionKind::Sum, perPoint[values], all));
      });
    }
  if (yielded.empty()) {
    scratch.erase();
    return success();
  }

  YieldOp::create(inner, loc, yielded);
  SmallVector<Type> types =
      llvm::map_to_vector(yielded, [&](Value value) -> Type { return withSizes(tensorType(value), bounds); });
  auto pulled = ForEachOp::create(builder, loc, types, op.getBounds());
  pulled.getBody().takeBody(scratch.getBody());
  scratch.erase();
  for (auto &use : uses)
    use(pulled.getResults());
  return success();
}

bool Backward::noteRead(Operation *op, OpBuilder &builder, CotangentMap &cotangents) {
  auto read = dyn_cast<ExtractOp>(op);
  if (!elements || !read || !elements->arrays.contains(read.getInput()))
    return false;
  Value contribution = cotangents.lookup(read.getResult());
  if (!contribution)
    return true;
  ElementReads::Read noted{read.getInput(), contribution, shiftsOf(read, *elements->body), Value()};
  if (!noted.shifts)
    noted.place = placeOf(builder, op->getLoc(), tensorType(read.getInput()), read.getIndices());
  elements->note(builder, op->getLoc(), noted);
  return true;
}

void ElementReads::note(OpBuilder &builder, Location loc, const Read &read) {
  auto same = llvm::find_if(reads, [&](const Read &other) { return other.isOfSame(read); });
  if (same == reads.end())
    return reads.push_back(read);
  same->contribution = arith::AddFOp::create(builder, loc, same->contribution, read.contribution);
  same->inBranch |= read.inBranch;
}

LogicalResult Backward::pullForEachInOrder(ForEachOp op, OpBuilder &builder, CotangentMap &cotangents) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  SmallVector<Value> captures = activeCaptures(op);
  SmallVector<Value> sums;
  for (Value capture : captures)
    sums.push_back(cotangents.lookupOrZero(loc, capture));
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
  for (auto [capture, sum] : llvm::zip_equal(captures, sums))
    local.set(capture, sum);
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
    sum = local.lookup(capture);

  for (scf::ForOp loop : llvm::reverse(nest)) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getBody());
    scf::YieldOp::create(atEnd, loc, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (auto [capture, sum] : llvm::zip_equal(captures, sums))
    cotangents.set(capture, sum);
  return success();
}
