// Comprehensions. A scalar body, whatever loops and branches it holds, is a `linalg.generic` over the index space; a
// body that makes arrays is an `scf.forall`.
#include "compiler/Dialect/IR/NeedsElements.h"
#include "compiler/Lower/IndexSpace.h"
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;
using utils::IteratorType;

namespace pmap {

LogicalResult Translator::translateForEach(ForEachOp op) {
  // What a reduction consumes is computed there.
  if (deferred.contains(op))
    return success();
  if (op.getBounds().empty()) {
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
  IndexSpace space;
  extend(space, op);
  hoistChecks(space);
  return hasScalarBody(op) ? translateScalarForEach(space) : translateArrayForEach(space);
}

void Translator::extend(IndexSpace &space, ForEachOp op) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<OpFoldResult> mixed = mixedSizes(type, op.getLoc());
  IndexSpace outer = space;
  space.loops.push_back(op);
  for (auto [dim, bound] : llvm::enumerate(op.getBounds())) {
    space.bounds.push_back(outer.loops.empty() ? plain(bound) : invariantIndex(bound, outer));
    space.sizes.push_back(mixed[dim]);
    space.shape.push_back(type.getDimSize(dim));
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Elements as inputs
//===--------------------------------------------------------------------------------------------------------------===//

bool Translator::addInput(ExtractOp extract, const IndexSpace &space, KernelInputs &kernel, bool readInOrder) {
  if (!space.isOutside(extract.getInput()))
    return false;
  Location loc = extract.getLoc();
  View source = view(extract.getInput());
  auto type = dyn_cast<RankedTensorType>(source.base.getType());
  if (!type || !llvm::all_of(source.map.getResults(), llvm::IsaPred<AffineDimExpr>))
    return false;
  SmallVector<AffineExpr> exprs;
  SmallVector<OpFoldResult> offsets, counts, strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  bool isPart = false;
  llvm::SmallDenseSet<unsigned> used;
  for (AffineExpr expr : source.map.getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    auto position = positionOf(extract.getIndices()[dim], space);
    if (!position || (position->argument && !used.insert(*position->argument).second))
      return false;
    isPart |= position->offset != nullptr;
    offsets.push_back(position->offset ? OpFoldResult(position->offset) : OpFoldResult(b.getIndexAttr(0)));
    if (!position->argument) {
      counts.push_back(b.getIndexAttr(1));
      continue;
    }
    counts.push_back(space.sizes[*position->argument]);
    exprs.push_back(b.getAffineDimExpr(*position->argument));
    shape.push_back(space.shape[*position->argument]);
    // Without an offset the whole dimension is meant only when its size is the bound.
    isPart |= counts.back() != mixedSize(sizeOf(extract.getInput().getType(), dim), loc);
  }
  if (exprs.empty())
    return false;
  Value array = source.base;
  if (isPart)
    array = tensor::ExtractSliceOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), array, offsets,
                                           counts, strides);
  Operand input{array, AffineMap::get(space.rank(), 0, exprs, b.getContext())};
  if (readInOrder)
    input = inOrder(input, loc);
  kernel.inputOf[extract] = kernel.inputs.size();
  kernel.inputs.push_back(input.base);
  kernel.maps.push_back(input.map);
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Scalar bodies
//===--------------------------------------------------------------------------------------------------------------===//

LogicalResult Translator::translateScalarForEach(const IndexSpace &space) {
  ForEachOp op = space.loops.front();
  Location loc = op.getLoc();
  unsigned dims = space.rank();
  // Elements at the point itself, or at a fixed distance from it, are inputs: then the op is an ordinary elementwise
  // one, which fuses and vectorizes. So are reductions over comprehensions that are elementwise in this sense: they are
  // computed first, for all points. All other comprehensions inside become loops.
  KernelInputs kernel;
  for (Operation &inner : space.body()) {
    if (auto extract = dyn_cast<ExtractOp>(inner))
      addInput(extract, space, kernel, /*readInOrder=*/true);
    else if (auto reduce = dyn_cast<ReduceOp>(inner))
      addReduction(reduce, space, kernel);
  }
  op.getBody().walk([&](ForEachOp inner) { deferred.insert(inner); });

  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    outputs.push_back(empty(loc, space.sizes, stored(cast<RankedTensorType>(result.getType()).getElementType())));
    types.push_back(outputs.back().getType());
    kernel.maps.push_back(b.getMultiDimIdentityMap(dims));
  }
  SmallVector<IteratorType> iterators(dims, IteratorType::parallel);
  LogicalResult done = success();
  auto generic = linalg::GenericOp::create(
      b, loc, types, kernel.inputs, outputs, kernel.maps, iterators,
      [&](OpBuilder &builder, Location at, ValueRange elements) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(builder.getInsertionBlock());
        SmallVector<Value> indices;
        for (unsigned dim = 0; dim < dims; ++dim)
          indices.push_back(linalg::IndexOp::create(b, at, dim));
        setInputs(kernel, elements, at);
        done = translateRegion(op.getBody().front(), *b.getInsertionBlock(), indices, [&](ArrayRef<Value> yielded) {
          auto asStored = [&](Value value) { return toStored(b, at, value); };
          linalg::YieldOp::create(b, at, llvm::map_to_vector(yielded, asStored));
        });
        clearInputs(kernel);
      });
  for (auto [old, result] : llvm::zip(op.getResults(), generic.getResults()))
    set(old, result);
  return done;
}

void Translator::setInputs(const KernelInputs &kernel, ValueRange elements, Location loc) {
  for (auto [op, input] : kernel.inputOf) {
    Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    set(op->getResult(0), fromStored(b, loc, elements[input], element));
    preset.insert(op);
  }
}

void Translator::clearInputs(const KernelInputs &kernel) {
  for (auto [op, input] : kernel.inputOf)
    preset.erase(op);
}

/// The ops of a comprehension's body that its value needs, when that is arithmetic on elements that `isInput` accepts
/// and on what is the same at every point.
static std::optional<llvm::DenseSet<Operation *>> elementwiseOps(const IndexSpace &space,
                                                                 function_ref<bool(ExtractOp)> isInput,
                                                                 function_ref<bool(Operation *)> isChecked) {
  Block &body = space.body();
  if (!llvm::all_of(body.without_terminator(), [](Operation &op) { return isMemoryEffectFree(&op); }))
    return std::nullopt;
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work(body.getTerminator()->getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (space.isOutside(value) || space.numberOf(value))
      continue;
    Operation *op = value.getDefiningOp();
    // Values of the outer body would have to be computed again.
    if (!op || op->getBlock() != &body || op->getNumRegions())
      return std::nullopt;
    if (!needed.insert(op).second)
      continue;
    if (auto extract = dyn_cast<ExtractOp>(op)) {
      if (!isInput(extract))
        return std::nullopt;
      continue;
    }
    // Division is checked, which is no matter of one point alone.
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp>(op))
      return std::nullopt;
    bool plainOp =
        isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) || isa<SizeOp, ToIndexOp, ToBoolOp>(op);
    if (!plainOp && !(isa<FromIndexOp, CheckedIndexOp>(op) && isChecked(op)))
      return std::nullopt;
    llvm::append_range(work, op->getOperands());
  }
  return needed;
}

void Translator::addReduction(ReduceOp reduce, const IndexSpace &space, KernelInputs &kernel) {
  auto inner = reduce.getInput().getDefiningOp<ForEachOp>();
  if (!inner || !isReducedAtOnce(inner) || !hasScalarBody(inner) ||
      !llvm::all_of(inner.getBounds(), [&](Value bound) { return invariantIndex(bound, space) != nullptr; }))
    return;
  // Its bounds must be known out here.
  for (const Size &bound : sizesOf(inner.getResult(0).getType()))
    for (const std::string &symbol : bound.symbols())
      if (!sizes.isBound(symbol))
        return;
  Location loc = reduce.getLoc();
  IndexSpace whole = space;
  extend(whole, inner);
  hoistChecks(whole);
  KernelInputs elements;
  auto isInput = [&](ExtractOp extract) { return addInput(extract, whole, elements, /*readInOrder=*/false); };
  auto isChecked = [&](Operation *op) {
    auto narrow = dyn_cast<FromIndexOp>(op);
    auto check = dyn_cast<CheckedIndexOp>(op);
    return hoisted.contains(op) || (check && isWithin(check.getIndex(), check.getSize())) ||
           (narrow && isa<FloatType>(cast<RankedTensorType>(narrow.getType()).getElementType()));
  };
  auto needed = elementwiseOps(whole, isInput, isChecked);
  if (!needed)
    return;
  // Every loop must show in an input, for that is where its bound comes from.
  llvm::SmallBitVector seen(whole.rank());
  for (AffineMap map : elements.maps)
    for (AffineExpr expr : map.getResults())
      seen.set(cast<AffineDimExpr>(expr).getPosition());
  if (!seen.all())
    return;
  ReductionKind kind = reduce.getKind();
  Type element = stored(cast<RankedTensorType>(reduce.getType()).getElementType());
  if (element.isF16() || element.isBF16())
    return;
  if (needsElements(reduce))
    checkHasElements(reduce, ArrayRef(whole.bounds).drop_front(space.rank()), space.bounds);
  Value identity = arith::ConstantOp::create(b, loc, reductionIdentity(b, kind, element));
  Value init = linalg::FillOp::create(b, loc, identity, empty(loc, space.sizes, element)).getResult(0);
  SmallVector<AffineExpr> kept;
  SmallVector<IteratorType> iterators;
  for (unsigned dim = 0; dim < whole.rank(); ++dim) {
    iterators.push_back(dim < space.rank() ? IteratorType::parallel : IteratorType::reduction);
    if (dim < space.rank())
      kept.push_back(b.getAffineDimExpr(dim));
  }
  elements.maps.push_back(AffineMap::get(whole.rank(), 0, kept, b.getContext()));
  auto generic = linalg::GenericOp::create(
      b, loc, init.getType(), elements.inputs, init, elements.maps, iterators,
      [&](OpBuilder &builder, Location at, ValueRange values) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(builder.getInsertionBlock());
        setInputs(elements, values, at);
        SmallVector<Value> indices;
        for (unsigned dim = 0; dim < whole.rank(); ++dim)
          indices.push_back(linalg::IndexOp::create(b, at, dim));
        Block &outer = space.loops.front()->getRegion(0).front();
        for (auto [argument, value] : llvm::zip(outer.getArguments(), indices))
          set(argument, value);
        for (Operation &op : inner.getBody().front().without_terminator())
          if (!needed->contains(&op))
            skipped.insert(&op);
        (void)translateRegion(inner.getBody().front(), *b.getInsertionBlock(),
                              ArrayRef(indices).drop_front(space.rank()), [&](ArrayRef<Value> yielded) {
                                Value value = toStored(b, at, yielded.front());
                                linalg::YieldOp::create(b, at, combine(b, at, kind, values.back(), value));
                              });
        for (Operation &op : inner.getBody().front())
          skipped.erase(&op);
        clearInputs(elements);
      });
  kernel.inputOf[reduce] = kernel.inputs.size();
  kernel.inputs.push_back(generic.getResult(0));
  kernel.maps.push_back(b.getMultiDimIdentityMap(space.rank()));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Reductions inside of scalar bodies
//===--------------------------------------------------------------------------------------------------------------===//

LogicalResult
Translator::reduceInLoop(Operation *op, ForEachOp forEach, ArrayRef<Value> init,
                         function_ref<SmallVector<Value>(Value element, Value i, ValueRange carried)> step) {
  Location loc = op->getLoc();
  OpBuilder::InsertionGuard guard(b);
  Value zero = index(0, loc), one = index(1, loc);
  SmallVector<Value> bounds = plain(forEach.getBounds()), points;
  SmallVector<Value> carried(init);
  SmallVector<scf::ForOp> loops;
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(b, loc, zero, bound, one, carried);
    loops.push_back(loop);
    points.push_back(loop.getInductionVar());
    carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    b.setInsertionPointToStart(loop.getBody());
  }
  LogicalResult result =
      translateRegion(forEach.getBody().front(), *loops.back().getBody(), points, [&](ArrayRef<Value> yielded) {
        scf::YieldOp::create(b, loc, step(yielded.front(), points.back(), carried));
      });
  for (scf::ForOp loop : llvm::reverse(ArrayRef(loops).drop_back())) {
    b.setInsertionPointToEnd(loop.getBody());
    auto inner = cast<scf::ForOp>(loop.getBody()->back());
    scf::YieldOp::create(b, loc, inner.getResults());
  }
  reduced.assign(loops.front().getResults().begin(), loops.front().getResults().end());
  return result;
}

LogicalResult Translator::translateReduceInLoop(ReduceOp op, ForEachOp forEach) {
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  bool widens = element.isF16() || element.isBF16();
  Type running = widens ? Type(b.getF32Type()) : element;
  SmallVector<Value> bounds = plain(forEach.getBounds());
  if (needsElements(op))
    checkHasElements(op, bounds, {});
  Value init = arith::ConstantOp::create(b, loc, reductionIdentity(b, kind, running));
  LogicalResult result = reduceInLoop(op, forEach, init, [&](Value value, Value, ValueRange carried) {
    if (widens)
      value = arith::ExtFOp::create(b, loc, running, value);
    return SmallVector<Value>{combine(b, loc, kind, carried.front(), value)};
  });
  Value total = reduced.front();
  set(op, widens ? Value(arith::TruncFOp::create(b, loc, element, total)) : total);
  return result;
}

LogicalResult Translator::translateArgReduceInLoop(ArgReduceOp op, ForEachOp forEach) {
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  auto type = cast<RankedTensorType>(op.getInput().getType());
  Type element = type.getElementType();
  bool isMax = kind == ReductionKind::Max || kind == ReductionKind::MaxU;
  if (!sizeOf(type, 0).provablyPositive()) {
    Value none = arith::CmpIOp::create(b, loc, CmpIPredicate::eq, plain(forEach.getBounds()[0]), index(0, loc));
    failIf(b, loc, none, PMAP_FAIL_EMPTY, {}, isMax ? "argmax" : "argmin");
  }
  Value best = arith::ConstantOp::create(b, loc, reductionIdentity(b, kind, element));
  LogicalResult result =
      reduceInLoop(op, forEach, {best, index(0, loc)}, [&](Value value, Value i, ValueRange carried) {
        Value better;
        if (isa<FloatType>(element)) {
          // A NaN wins over every number, and nothing wins over a NaN.
          auto order = isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT;
          better = arith::CmpFOp::create(b, loc, order, value, carried[0]);
          Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, carried[0], carried[0]);
          better = arith::AndIOp::create(b, loc, better, isNumber);
        } else {
          auto order = kind == ReductionKind::Max    ? CmpIPredicate::sgt
                       : kind == ReductionKind::MaxU ? CmpIPredicate::ugt
                       : kind == ReductionKind::Min  ? CmpIPredicate::slt
                                                     : CmpIPredicate::ult;
          better = arith::CmpIOp::create(b, loc, order, value, carried[0]);
        }
        return SmallVector<Value>{arith::SelectOp::create(b, loc, better, value, carried[0]),
                                  arith::SelectOp::create(b, loc, better, i, carried[1])};
      });
  set(op, arith::IndexCastOp::create(b, loc, b.getI32Type(), reduced[1]));
  return result;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Bodies with arrays
//===--------------------------------------------------------------------------------------------------------------===//

// What all devices take part in they do in the same order, and what is printed appears in the order of the points:
// those are computed one after the other.
static bool needsOrder(ForEachOp op) {
  return op
      .walk([](Operation *inner) {
        return isa<MapOp, CollectiveOp, PrintOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Translator::translateArrayForEach(const IndexSpace &space) {
  ForEachOp op = space.loops.front();
  Location loc = op.getLoc();
  int64_t dims = space.rank();
  SmallVector<Value> outputs;
  for (Value result : op.getResults())
    outputs.push_back(emptyLike(result.getType(), loc));
  // Translates the body for one point, before the builder's place, and hands each result to `insert`.
  using Insert = llvm::function_ref<void(Value part, Value destination, ArrayRef<OpFoldResult> offsets,
                                         ArrayRef<OpFoldResult> counts, ArrayRef<OpFoldResult> strides)>;
  auto translatePoint = [&](ValueRange point, ValueRange destinations, Insert insert) -> LogicalResult {
    Block &body = op.getBody().front();
    size_t mark = sizes.enterScope(b.getInsertionBlock());
    for (auto [old, value] : llvm::zip(body.getArguments(), point))
      set(old, value);
    SmallVector<Value> yielded;
    LogicalResult result = translateBlock(body, yielded);
    sizes.leaveScope(mark);
    if (failed(result))
      return failure();
    for (auto [result, value, destination] : llvm::zip(op.getResults(), yielded, destinations)) {
      auto type = cast<RankedTensorType>(result.getType());
      SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)), strides(type.getRank(), b.getIndexAttr(1));
      SmallVector<OpFoldResult> counts = mixedSizes(type, loc);
      for (int64_t dim = 0; dim < dims; ++dim) {
        offsets[dim] = point[dim];
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
      insert(part, destination, offsets, counts, strides);
    }
    return success();
  };

  OpBuilder::InsertionGuard guard(b);
  if (needsOrder(op)) {
    LogicalResult translated = success();
    SmallVector<Value> lower(dims, index(0, loc)), step(dims, index(1, loc));
    scf::LoopNest nest = scf::buildLoopNest(
        b, loc, lower, space.bounds, step, outputs,
        [&](OpBuilder &inner, Location, ValueRange point, ValueRange destinations) {
          OpBuilder::InsertionGuard guard(b);
          b.restoreInsertionPoint(inner.saveInsertionPoint());
          scf::ValueVector filled;
          translated = translatePoint(point, destinations, [&](Value part, Value destination, auto... place) {
            filled.push_back(tensor::InsertSliceOp::create(b, loc, part, destination, place...));
          });
          return succeeded(translated) ? filled : scf::ValueVector(destinations.begin(), destinations.end());
        });
    for (auto [old, result] : llvm::zip(op.getResults(), nest.results))
      set(old, result);
    return translated;
  }
  auto loop = scf::ForallOp::create(b, loc, space.sizes, outputs, std::nullopt);
  for (auto [old, result] : llvm::zip(op.getResults(), loop.getResults()))
    set(old, result);
  // The block ends in its terminator already: what is translated goes before it.
  b.setInsertionPoint(loop.getBody()->getTerminator());
  return translatePoint(loop.getInductionVars(), loop.getRegionIterArgs(),
                        [&](Value part, Value destination, auto... place) {
                          OpBuilder atEnd = OpBuilder::atBlockEnd(loop.getTerminator().getBody());
                          tensor::ParallelInsertSliceOp::create(atEnd, loc, part, destination, place...);
                        });
}

} // namespace pmap
