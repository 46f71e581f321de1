// Comprehensions. A scalar body, whatever loops and branches it holds, is a `linalg.generic` over the index space; a body that makes
// arrays is an `scf.forall`.
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace pmap {

static bool isScalarLike(Type type) {
  auto array = dyn_cast<RankedTensorType>(type);
  return array ? array.getRank() == 0 : !isa<ShapedType>(type);
}

/// True when nothing in the region makes or carries an array, and nothing talks to the world.
static bool hasScalarBody(ForEachOp op) {
  return !op.getBody()
              .walk([](Operation *inner) {
                bool scalar = llvm::all_of(inner->getResultTypes(), isScalarLike) && !isa<PrintOp, CollectiveOp>(inner);
                for (Region &region : inner->getRegions())
                  for (Block &block : region)
                    scalar &= llvm::all_of(block.getArgumentTypes(), isScalarLike);
                return scalar ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

static bool isOutside(Value value, ForEachOp op) { return !op.getBody().isAncestor(value.getParentRegion()); }

LogicalResult Translator::translateForEach(ForEachOp op) {
  SmallVector<Value> bounds = plain(op.getBounds());
  if (bounds.empty()) {
    // One point: the body itself.
    SmallVector<Value> yielded;
    size_t mark = sizes.enterScope(b.getInsertionBlock());
    if (failed(translateBlock(op.getBody().front(), yielded)))
      return failure();
    sizes.leaveScope(mark);
    for (auto [result, value] : llvm::zip(op.getResults(), yielded))
      set(result, value);
    return success();
  }
  hoistChecks(op, bounds);
  return hasScalarBody(op) ? translateScalarForEach(op, bounds) : translateArrayForEach(op, bounds);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Checks that hold for all points at once
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The least and the greatest value of an index over all points of a comprehension, attained because no argument occurs
/// twice. The bounds are taken to be positive.
struct Range {
  Value low, high;
  bool unitSteps = true;
  llvm::SmallDenseSet<unsigned> arguments;
};

} // namespace

/// `outside` gives the new value of an old one from outside of the comprehension.
static std::optional<Range> rangeOf(OpBuilder &b, Location loc, Value old, ForEachOp op, ArrayRef<Value> bounds,
                                    function_ref<Value(Value)> outside) {
  if (isOutside(old, op) || old.getDefiningOp<SizeOp>() || old.getDefiningOp<arith::ConstantOp>()) {
    Value value = outside(old);
    if (!value)
      return std::nullopt;
    return Range{value, value, true, {}};
  }
  if (auto argument = dyn_cast<BlockArgument>(old)) {
    if (argument.getOwner() != &op.getBody().front())
      return std::nullopt;
    Value one = arith::ConstantIndexOp::create(b, loc, 1), zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value last = arith::SubIOp::create(b, loc, bounds[argument.getArgNumber()], one);
    return Range{zero, last, true, {argument.getArgNumber()}};
  }
  Operation *maker = old.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(maker) || maker->getBlock() != &op.getBody().front())
    return std::nullopt;
  auto lhs = rangeOf(b, loc, maker->getOperand(0), op, bounds, outside);
  auto rhs = rangeOf(b, loc, maker->getOperand(1), op, bounds, outside);
  if (!lhs || !rhs)
    return std::nullopt;
  Range result;
  result.arguments = lhs->arguments;
  for (unsigned argument : rhs->arguments)
    if (!result.arguments.insert(argument).second)
      return std::nullopt;
  result.unitSteps = lhs->unitSteps && rhs->unitSteps && !isa<arith::MulIOp>(maker);
  if (isa<arith::AddIOp>(maker)) {
    result.low = arith::AddIOp::create(b, loc, lhs->low, rhs->low);
    result.high = arith::AddIOp::create(b, loc, lhs->high, rhs->high);
  } else if (isa<arith::SubIOp>(maker)) {
    result.low = arith::SubIOp::create(b, loc, lhs->low, rhs->high);
    result.high = arith::SubIOp::create(b, loc, lhs->high, rhs->low);
  } else {
    // One factor is the same everywhere; its sign says which end is which.
    if (!lhs->arguments.empty() && !rhs->arguments.empty())
      return std::nullopt;
    Value atLow = arith::MulIOp::create(b, loc, lhs->low, rhs->low), atHigh = arith::MulIOp::create(b, loc, lhs->high, rhs->high);
    result.low = arith::MinSIOp::create(b, loc, atLow, atHigh);
    result.high = arith::MaxSIOp::create(b, loc, atLow, atHigh);
  }
  return result;
}

void Translator::hoistChecks(ForEachOp op, ArrayRef<Value> bounds) {
  Value some;
  auto anyPoint = [&](Location loc) {
    for (Value bound : bounds)
      if (!some) {
        some = arith::CmpIOp::create(b, loc, CmpIPredicate::sgt, bound, index(0, loc));
      } else {
        Value more = arith::CmpIOp::create(b, loc, CmpIPredicate::sgt, bound, index(0, loc));
        some = arith::AndIOp::create(b, loc, some, more);
      }
    return some;
  };
  // Every point reaches the ops of the body's own block.
  for (Operation &inner : op.getBody().front()) {
    Location loc = inner.getLoc();
    auto outside = [&](Value old) -> Value {
      if (isOutside(old, op))
        return plain(old);
      if (auto size = old.getDefiningOp<SizeOp>()) {
        auto polynomial = Size::parse(size.getSize());
        for (const std::string &symbol : polynomial->symbols())
          if (!sizes.isBound(symbol))
            return nullptr;
        return getValueOrCreateConstantIndexOp(b, loc, mixedSize(*polynomial, loc));
      }
      return b.clone(*old.getDefiningOp())->getResult(0);
    };
    if (auto check = dyn_cast<CheckedIndexOp>(inner)) {
      if (isWithin(check.getIndex(), check.getSize()))
        continue;
      auto range = rangeOf(b, loc, check.getIndex(), op, bounds, outside);
      auto bound = rangeOf(b, loc, check.getSize(), op, bounds, outside);
      if (!range || !bound || !bound->arguments.empty())
        continue;
      Value zero = index(0, loc), size = bound->low;
      Value below = arith::CmpIOp::create(b, loc, CmpIPredicate::slt, range->low, zero);
      Value above = arith::CmpIOp::create(b, loc, CmpIPredicate::sge, range->high, size);
      Value bad = arith::AndIOp::create(b, loc, anyPoint(loc), arith::OrIOp::create(b, loc, below, above));
      Value high = range->unitSteps ? Value(arith::MaxSIOp::create(b, loc, range->low, size)) : range->high;
      Value culprit = arith::SelectOp::create(b, loc, below, range->low, high);
      failIf(b, loc, bad, PMAP_FAIL_INDEX, {culprit, index(check.getDim(), loc), size});
      hoisted.insert(check);
    } else if (auto narrow = dyn_cast<FromIndexOp>(inner)) {
      auto type = dyn_cast<IntegerType>(cast<RankedTensorType>(narrow.getType()).getElementType());
      auto argument = dyn_cast<BlockArgument>(narrow.getIndex());
      if (!type || type.getWidth() >= 64 || !argument || argument.getOwner() != &op.getBody().front())
        continue;
      unsigned bits = type.getWidth() - (narrow.getIsUnsigned() ? 0 : 1);
      Value bound = bounds[argument.getArgNumber()];
      Value bad = arith::CmpIOp::create(b, loc, CmpIPredicate::sgt, bound, index(int64_t(1) << bits, loc));
      bad = arith::AndIOp::create(b, loc, anyPoint(loc), bad);
      failIf(b, loc, bad, PMAP_FAIL_NARROW, {arith::SubIOp::create(b, loc, bound, index(1, loc))},
             ((narrow.getIsUnsigned() ? "u" : "i") + Twine(type.getWidth())).str());
      hoisted.insert(narrow);
    }
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Scalar bodies
//===--------------------------------------------------------------------------------------------------------------===//

std::optional<Translator::Position> Translator::positionOf(Value oldIndex, ForEachOp op) {
  if (isOutside(oldIndex, op))
    return Position{std::nullopt, plain(oldIndex)};
  Location loc = oldIndex.getLoc();
  if (auto constant = oldIndex.getDefiningOp<arith::ConstantOp>())
    return Position{std::nullopt, b.clone(*constant)->getResult(0)};
  if (auto size = oldIndex.getDefiningOp<SizeOp>()) {
    auto polynomial = Size::parse(size.getSize());
    for (const std::string &symbol : polynomial->symbols())
      if (!sizes.isBound(symbol))
        return std::nullopt;
    return Position{std::nullopt, getValueOrCreateConstantIndexOp(b, loc, mixedSize(*polynomial, loc))};
  }
  if (auto argument = dyn_cast<BlockArgument>(oldIndex))
    if (argument.getOwner() == &op.getBody().front())
      return Position{argument.getArgNumber(), nullptr};
  if (auto check = oldIndex.getDefiningOp<CheckedIndexOp>()) {
    if (!hoisted.contains(check) && !isWithin(check.getIndex(), check.getSize()))
      return std::nullopt;
    return positionOf(check.getIndex(), op);
  }
  Operation *maker = oldIndex.getDefiningOp();
  if (!maker || !isa<arith::AddIOp, arith::SubIOp>(maker))
    return std::nullopt;
  auto lhs = positionOf(maker->getOperand(0), op), rhs = positionOf(maker->getOperand(1), op);
  bool subtracts = isa<arith::SubIOp>(maker);
  if (!lhs || !rhs || (rhs->argument && (lhs->argument || subtracts)))
    return std::nullopt;
  Position sum{lhs->argument ? lhs->argument : rhs->argument, lhs->offset};
  if (rhs->offset && !lhs->offset && !subtracts)
    sum.offset = rhs->offset;
  else if (rhs->offset) {
    Value left = lhs->offset ? lhs->offset : index(0, loc);
    sum.offset = subtracts ? Value(arith::SubIOp::create(b, loc, left, rhs->offset))
                           : Value(arith::AddIOp::create(b, loc, left, rhs->offset));
  }
  return sum;
}

LogicalResult Translator::translateScalarForEach(ForEachOp op, ArrayRef<Value> bounds) {
  Location loc = op.getLoc();
  Block &body = op.getBody().front();
  unsigned dims = bounds.size();
  SmallVector<OpFoldResult> mixedBounds = mixedSizes(op.getResult(0).getType(), loc);

  // Elements at the point itself, or at a fixed distance from it, are inputs: then the op is an ordinary elementwise one, which
  // fuses and vectorizes.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  DenseMap<Operation *, unsigned> inputOf;
  for (ExtractOp extract : body.getOps<ExtractOp>()) {
    if (!isOutside(extract.getInput(), op))
      continue;
    View source = view(extract.getInput());
    auto type = dyn_cast<RankedTensorType>(source.base.getType());
    if (!type || !llvm::all_of(source.map.getResults(), llvm::IsaPred<AffineDimExpr>))
      continue;
    SmallVector<AffineExpr> exprs;
    SmallVector<OpFoldResult> offsets, counts, strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    bool fits = true, moved = false;
    llvm::SmallDenseSet<unsigned> used;
    for (auto [dim, expr] : llvm::enumerate(source.map.getResults())) {
      auto position = positionOf(extract.getIndices()[cast<AffineDimExpr>(expr).getPosition()], op);
      if (!position || (position->argument && !used.insert(*position->argument).second)) {
        fits = false;
        break;
      }
      moved |= position->offset != nullptr;
      offsets.push_back(position->offset ? OpFoldResult(position->offset) : OpFoldResult(b.getIndexAttr(0)));
      if (!position->argument) {
        counts.push_back(b.getIndexAttr(1));
        continue;
      }
      counts.push_back(mixedBounds[*position->argument]);
      exprs.push_back(b.getAffineDimExpr(*position->argument));
      // Without an offset the whole dimension is meant only when its size is the bound.
      if (!position->offset && counts.back() != OpFoldResult(mixedSize(sizeOf(extract.getInput().getType(),
                                                                           cast<AffineDimExpr>(expr).getPosition()), loc)))
        moved = true;
      shape.push_back(cast<RankedTensorType>(op.getResult(0).getType()).getDimSize(*position->argument));
    }
    if (!fits || exprs.empty())
      continue;
    Value array = source.base;
    if (moved)
      array = tensor::ExtractSliceOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), array,
                                             offsets, counts, strides);
    inputOf[extract] = inputs.size();
    inputs.push_back(array);
    maps.push_back(AffineMap::get(dims, 0, exprs, b.getContext()));
  }

  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    outputs.push_back(empty(loc, mixedBounds, stored(cast<RankedTensorType>(result.getType()).getElementType())));
    types.push_back(outputs.back().getType());
    maps.push_back(b.getMultiDimIdentityMap(dims));
  }
  SmallVector<utils::IteratorType> iterators(dims, utils::IteratorType::parallel);
  LogicalResult done = success();
  auto generic = linalg::GenericOp::create(
      b, loc, types, inputs, outputs, maps, iterators, [&](OpBuilder &builder, Location at, ValueRange elements) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(builder.getInsertionBlock());
        SmallVector<Value> indices;
        for (unsigned dim = 0; dim < dims; ++dim)
          indices.push_back(linalg::IndexOp::create(b, at, dim));
        for (auto [extract, input] : inputOf) {
          Type element = cast<RankedTensorType>(extract->getResult(0).getType()).getElementType();
          set(extract->getResult(0), fromStored(b, at, elements[input], element));
        }
        done = translateRegion(body, *b.getInsertionBlock(), indices, [&](ArrayRef<Value> yielded) {
          linalg::YieldOp::create(
              b, at, llvm::map_to_vector(yielded, [&](Value value) { return toStored(b, at, value); }));
        });
      });
  for (auto [old, result] : llvm::zip(op.getResults(), generic.getResults()))
    set(old, result);
  return done;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Bodies with arrays
//===--------------------------------------------------------------------------------------------------------------===//

LogicalResult Translator::translateArrayForEach(ForEachOp op, ArrayRef<Value> bounds) {
  Location loc = op.getLoc();
  int64_t dims = bounds.size();
  SmallVector<Value> outputs;
  for (Value result : op.getResults())
    outputs.push_back(emptyLike(result.getType(), loc));
  SmallVector<OpFoldResult> mixedBounds = mixedSizes(op.getResult(0).getType(), loc);
  mixedBounds.resize(dims);
  auto loop = scf::ForallOp::create(b, loc, mixedBounds, outputs, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  LogicalResult done = success();
  {
    OpBuilder::InsertionGuard inner(b);
    // The block ends in its terminator already: what is translated goes before it.
    Block *block = loop.getBody();
    Operation *terminator = block->getTerminator();
    b.setInsertionPoint(terminator);
    Block &body = op.getBody().front();
    size_t mark = sizes.enterScope(block);
    for (auto [old, value] : llvm::zip(body.getArguments(), loop.getInductionVars()))
      set(old, value);
    SmallVector<Value> yielded;
    done = translateBlock(body, yielded);
    sizes.leaveScope(mark);
    if (failed(done))
      return failure();
    for (auto [result, value, destination] : llvm::zip(op.getResults(), yielded, loop.getRegionIterArgs())) {
      auto type = cast<RankedTensorType>(result.getType());
      SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
      SmallVector<OpFoldResult> counts = mixedSizes(type, loc);
      for (int64_t dim = 0; dim < dims; ++dim) {
        offsets[dim] = loop.getInductionVars()[dim];
        counts[dim] = b.getIndexAttr(1);
      }
      Value part = value;
      if (!isa<TensorType>(part.getType())) {
        // A scalar is written into the destination's own element.
        auto one = RankedTensorType::get(SmallVector<int64_t>(dims, 1), stored(part.getType()));
        Value slice = tensor::ExtractSliceOp::create(b, loc, one, destination, offsets, counts, strides);
        SmallVector<Value> zeros(dims, index(0, loc));
        part = tensor::InsertOp::create(b, loc, toStored(b, loc, part), slice, zeros);
      }
      OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getTerminator().getBody());
      tensor::ParallelInsertSliceOp::create(atEnd, loc, part, destination, offsets, counts, strides);
    }
  }
  for (auto [old, result] : llvm::zip(op.getResults(), loop.getResults()))
    set(old, result);
  return success();
}

} // namespace pmap
