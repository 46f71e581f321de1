// Elementwise ops on slices of an array that was put together (a concat, a pad, a halo), without the array.
//
//   p = pad(concat(above, u, below)); f(p[:-2, 1:-1], p[2:, 1:-1], ...)
//
// copies `u` before each step of a stencil, twice here, and its derivative adds up as many padded arrays as there are
// neighbours. Nearly all points of `f` read all their neighbours from `u` alone: those, a box, are computed from slices
// of `u`. The few at the borders are slabs around the box: there each operand is a slice of one piece or a constant
// where that is certain, and else every element asks which piece it is in. Pieces that are cheap to compute are
// computed where they are read. Pieces.cpp finds out what can be looked through.
//
// A GPU has a thread for every element and launches for every region: there all elements ask.

#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cpu/Pieces.h"
#include "compiler/Lower/Cpu/ReadElements.h"

using namespace mlir;

namespace pmap {
namespace {

// Widest border, and longest body, for which the slabs are small beside the box.
constexpr int64_t widestBorder = 8;
constexpr size_t longestBody = 160;

//===--------------------------------------------------------------------------------------------------------------===//
// Borders
//===--------------------------------------------------------------------------------------------------------------===//

// How far the points that read something else than one piece reach into each loop, from its start and its end.
struct Borders {
  ArrayRef<Linear> extents; // Of the loops.
  SmallVector<int64_t> before, after;

  explicit Borders(ArrayRef<Linear> extents) : extents(extents), before(extents.size(), 0), after(extents.size(), 0) {}

  SmallVector<Range> box() const {
    SmallVector<Range> region(extents.size());
    for (auto [loop, range] : llvm::enumerate(region)) {
      range.atLeast = {Linear(before[loop])};
      range.below = {extents[loop] + -after[loop]};
    }
    return region;
  }

  // Widens the borders until the reading is from one piece between them; false where that is far. One that has fewer
  // dimensions than its array (a margin of it) may ask at every point which piece it lies in.
  bool cover(const Reading &reading) {
    if (!llvm::all_of(reading.operands, [&](const Reading *operand) { return cover(*operand); }))
      return false;
    if (reading.pieces.empty())
      return true;
    bool isThin = llvm::any_of(reading.places, [](const Place &place) { return !place.loop; });
    // Arrays first: the margins of a pad are constants.
    for (bool scalars : {false, true})
      for (const Piece &piece : reading.pieces) {
        if ((piece.content->kind == Reading::Kind::Scalar) != scalars)
          continue;
        Borders wider = *this;
        if (!wider.coverBy(reading, piece))
          continue;
        SmallVector<const Piece *> found = candidates(reading, wider.box());
        if (!llvm::is_contained(found, &piece) || (found.size() > 1 && !isThin) || !wider.cover(*piece.content))
          continue;
        *this = wider;
        return true;
      }
    return false;
  }

private:
  bool coverBy(const Reading &reading, const Piece &piece) {
    for (unsigned dim = 0; dim < piece.offsets.size(); ++dim) {
      const Place &place = reading.places[dim];
      Linear end = piece.offsets[dim] + piece.sizes[dim];
      if (!place.loop)
        continue;
      std::optional<int64_t> low = difference(piece.offsets[dim], place.offset);
      std::optional<int64_t> high = difference(extents[*place.loop] + place.offset, end);
      if (!low || !high || *low > widestBorder || *high > widestBorder)
        return false;
      before[*place.loop] = std::max(before[*place.loop], *low);
      after[*place.loop] = std::max(after[*place.loop], *high);
    }
    return true;
  }
};

//===--------------------------------------------------------------------------------------------------------------===//
// The op on one region of its loops
//===--------------------------------------------------------------------------------------------------------------===//

// Makes the inputs and the body of an op that computes `op` on a region from readings of its operands.
class RegionEmitter {
public:
  RegionEmitter(linalg::GenericOp op, ArrayRef<const Reading *> operands, ArrayRef<Range> region, OpBuilder &builder)
      : op(op), operands(operands), region(region), builder(builder), loc(op.getLoc()),
        elements(builder, op.getLoc(), region) {
    for (const Reading *operand : operands)
      collectInputs(*operand);
  }

  // Whether the inputs have all loops, without which nothing would say how often a reduction runs.
  bool hasAllLoops() const {
    llvm::SmallBitVector found(region.size());
    for (const Reading *input : inputReadings)
      for (const Place &place : input->places)
        if (place.loop)
          found.set(*place.loop);
    return found.all();
  }

  // The op, which computes into `outputs`.
  linalg::GenericOp emit(ArrayRef<Value> outputs) {
    for (const Reading *input : inputReadings)
      addInput(*input);
    if (op.getNumReductionLoops() > 0 && !hasAllLoops()) {
      // Read for its extents.
      auto extents = llvm::map_to_vector(region, [](const Range &range) { return range.size; });
      inputs.push_back(tensor::EmptyOp::create(builder, loc, extents, builder.getI8Type()));
      maps.push_back(builder.getMultiDimIdentityMap(region.size()));
    }
    for (unsigned output = 0; output < outputs.size(); ++output)
      maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(output)));
    return linalg::GenericOp::create(builder, loc, ValueRange(outputs).getTypes(), inputs, outputs, maps,
                                     op.getIteratorTypesArray(), [&](OpBuilder &inner, Location, ValueRange arguments) {
                                       OpBuilder::InsertionGuard guard(builder);
                                       builder.setInsertionPointToEnd(inner.getInsertionBlock());
                                       emitBody(arguments);
                                     });
  }

private:
  // Arrays that every point of the region reads become inputs.
  void collectInputs(const Reading &reading) {
    for (const Reading *operand : reading.operands)
      collectInputs(*operand);
    if (reading.kind == Reading::Kind::Assembled)
      if (SmallVector<const Piece *> found = candidates(reading, region); found.size() == 1)
        collectInputs(*found.front()->content);
    // One element for all points is read where they are: there may be none.
    if (reading.kind == Reading::Kind::Array &&
        llvm::any_of(reading.places, [](const Place &place) { return place.loop.has_value(); }))
      inputReadings.insert(&reading);
  }

  void addInput(const Reading &reading) {
    SmallVector<OpFoldResult> offsets, sizes, steps(reading.places.size(), builder.getIndexAttr(1));
    SmallVector<AffineExpr> loops;
    for (const Place &place : reading.places) {
      Linear offset = place.offset;
      if (place.loop) {
        offset = offset + linearOf(region[*place.loop].lower);
        loops.push_back(builder.getAffineDimExpr(*place.loop));
      }
      offsets.push_back(getAsOpFoldResult(valueOf(builder, loc, offset)));
      sizes.push_back(place.loop ? region[*place.loop].size : builder.getIndexAttr(1));
    }
    auto type = tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
        loops.size(), cast<RankedTensorType>(reading.value.getType()), sizes);
    inputs.push_back(tensor::ExtractSliceOp::create(builder, loc, type, reading.value, offsets, sizes, steps));
    maps.push_back(AffineMap::get(region.size(), 0, loops, builder.getContext()));
  }

  void emitBody(ValueRange arguments) {
    elements.beginBody();
    for (auto [reading, element] : llvm::zip(inputReadings, arguments))
      elements.know(*reading, element);
    IRMapping mapping;
    for (auto [number, operand] : llvm::enumerate(operands))
      mapping.map(op.getBody()->getArgument(number), elements.elementOf(*operand));
    for (unsigned output = 0; output < op.getNumDpsInits(); ++output)
      mapping.map(op.getBody()->getArgument(operands.size() + output), arguments[inputs.size() + output]);
    SmallVector<Place> points;
    for (unsigned loop = 0; loop < region.size(); ++loop)
      points.push_back({loop, Linear()});
    linalg::YieldOp::create(builder, loc, elements.cloneBody(op, points, mapping));
  }

  linalg::GenericOp op;
  ArrayRef<const Reading *> operands;
  ArrayRef<Range> region;
  OpBuilder &builder;
  Location loc;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  llvm::SetVector<const Reading *> inputReadings;
  ElementEmitter elements;
};

//===--------------------------------------------------------------------------------------------------------------===//
// The rewrite of one op
//===--------------------------------------------------------------------------------------------------------------===//

// The sizes of a tensor by the op that makes it, where that states them.
std::optional<SmallVector<OpFoldResult>> statedSizes(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  OpBuilder builder(tensor.getContext());
  if (type.hasStaticShape())
    return getAsIndexOpFoldResult(tensor.getContext(), type.getShape());
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  if (auto insert = tensor.getDefiningOp<tensor::InsertSliceOp>())
    return statedSizes(insert.getDest());
  if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
    SmallVector<OpFoldResult> sizes;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(dim))
        sizes.push_back(size);
    return sizes;
  }
  if (auto made = tensor.getDefiningOp<linalg::LinalgOp>())
    return statedSizes(made.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get());
  return std::nullopt;
}

class PieceReader {
public:
  PieceReader(linalg::GenericOp op, bool inRegions)
      : op(op), inRegions(inRegions), builder(op), loc(op.getLoc()),
        readings(op->getBlock(), op.getNumLoops(), /*elements=*/inRegions) {}

  bool run() {
    if (!canReadPieces(op) || (!inRegions && op.getNumReductionLoops() > 0) || !findSizes())
      return false;
    Borders borders(extents);
    if (!findReadings(borders))
      return false;
    auto isWide = [](int64_t width) { return width > 0; };
    bool isCut = inRegions && (llvm::any_of(borders.before, isWide) || llvm::any_of(borders.after, isWide));
    // A reduction goes on where the last region left it.
    results.assign(op.getDpsInits().begin(), op.getDpsInits().end());
    if (isCut && op.getNumReductionLoops() == 0)
      for (Value &result : results)
        result = tensor::EmptyOp::create(builder, loc, sizes, getElementTypeOrSelf(result.getType()));
    SmallVector<Range> whole;
    for (auto [size, extent] : llvm::zip(sizes, extents))
      whole.push_back({builder.getIndexAttr(0), size, {Linear()}, {extent}});
    if (isCut)
      emitSlabsAndBox(whole, borders);
    else
      results = llvm::to_vector_of<Value>(RegionEmitter(op, operands, whole, builder).emit(results).getResults());
    for (auto [old, made] : llvm::zip(op.getResults(), results)) {
      Value result = made;
      if (result.getType() != old.getType())
        result = tensor::CastOp::create(builder, loc, old.getType(), result);
      old.replaceAllUsesWith(result);
    }
    return true;
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value subtract(Value a, Value b) { return builder.createOrFold<arith::SubIOp>(loc, a, b); }
  Value minimum(Value a, Value b) { return builder.createOrFold<arith::MinSIOp>(loc, a, b); }
  Value maximum(Value a, Value b) { return builder.createOrFold<arith::MaxSIOp>(loc, a, b); }
  OpFoldResult folded(Value value) { return getAsOpFoldResult(value); }

  // The extents of the loops; false where they are not stated.
  bool findSizes() {
    sizes.assign(op.getNumLoops(), nullptr);
    for (unsigned number = op->getNumOperands(); number-- > 0;) {
      OpOperand &operand = op->getOpOperand(number);
      if (!isa<TensorType>(operand.get().getType()))
        continue;
      std::optional<SmallVector<OpFoldResult>> stated = statedSizes(operand.get());
      if (!stated)
        continue;
      for (auto [size, expr] : llvm::zip(*stated, op.getMatchingIndexingMap(&operand).getResults()))
        if (OpFoldResult &known = sizes[cast<AffineDimExpr>(expr).getPosition()]; !known)
          known = size;
    }
    if (llvm::any_of(sizes, [](OpFoldResult size) { return size.isNull(); }))
      return false;
    extents = linearOf(sizes);
    return true;
  }

  // What the operands are read from, and the borders around the box in which that is certain; false where all of them
  // are arrays.
  bool findReadings(Borders &borders) {
    size_t bodyOps = 0;
    for (OpOperand *input : op.getDpsInputOperands()) {
      SmallVector<Place> places;
      for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
        places.push_back({cast<AffineDimExpr>(expr).getPosition(), Linear()});
      const Reading *reading = readings.read(input->get(), places);
      size_t more = bodySize(*reading);
      if (bodyOps + more > longestBody || !borders.cover(*reading)) {
        reading = readings.readArray(input->get(), places);
        more = 0;
      }
      bodyOps += more;
      operands.push_back(reading);
    }
    if (llvm::all_of(operands, [](const Reading *reading) { return reading->isPlain(); }))
      return false;
    return op.getNumReductionLoops() == 0 || RegionEmitter(op, operands, borders.box(), builder).hasAllLoops();
  }

  // Slabs before and after the box along each loop; along the loops before it a slab is as wide as the box.
  void emitSlabsAndBox(ArrayRef<Range> whole, const Borders &borders) {
    SmallVector<Range> region(whole);
    for (unsigned dim = 0; dim < region.size(); ++dim) {
      int64_t before = borders.before[dim], after = borders.after[dim];
      if (before == 0 && after == 0)
        continue;
      Value extent = getValueOrCreateConstantIndexOp(builder, loc, sizes[dim]);
      Value low = minimum(constant(before), extent);
      Value high = maximum(low, subtract(extent, constant(after)));
      Linear first(before), last = extents[dim] + -after;
      if (before > 0) {
        region[dim] = {builder.getIndexAttr(0), folded(low), {Linear()}, {first, extents[dim]}};
        emit(region);
      }
      if (after > 0) {
        region[dim] = {folded(high), folded(subtract(extent, high)), {first, last}, {extents[dim]}};
        emit(region);
      }
      region[dim] = {folded(low), folded(subtract(high, low)), {first}, {last, extents[dim]}};
    }
    emit(region);
  }

  // The op on a region, written into the results.
  void emit(ArrayRef<Range> region) {
    // One that is known to be empty may lie where the dialect allows no slice to begin.
    if (llvm::any_of(region, [](const Range &range) { return isZeroInteger(range.size); }))
      return;
    RegionEmitter emitter(op, operands, region, builder);
    SmallVector<SmallVector<OpFoldResult>> offsets, extent;
    SmallVector<Value> outputs;
    for (auto [number, result] : llvm::enumerate(results)) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
      auto rangeOf = [&](AffineExpr expr) -> const Range & { return region[cast<AffineDimExpr>(expr).getPosition()]; };
      offsets.push_back(llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return rangeOf(expr).lower; }));
      extent.push_back(llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return rangeOf(expr).size; }));
      SmallVector<OpFoldResult> steps(map.getNumResults(), builder.getIndexAttr(1));
      outputs.push_back(result);
      if (!steps.empty())
        outputs.back() = tensor::ExtractSliceOp::create(builder, loc, result, offsets.back(), extent.back(), steps);
    }
    linalg::GenericOp part = emitter.emit(outputs);
    for (auto [number, computed] : llvm::enumerate(part.getResults())) {
      SmallVector<OpFoldResult> steps(offsets[number].size(), builder.getIndexAttr(1));
      Value whole = computed;
      if (!steps.empty())
        whole = tensor::InsertSliceOp::create(builder, loc, computed, results[number], offsets[number], extent[number],
                                              steps);
      results[number] = whole;
    }
  }

  linalg::GenericOp op;
  bool inRegions;
  OpBuilder builder;
  Location loc;
  Readings readings;
  SmallVector<const Reading *> operands;
  SmallVector<OpFoldResult> sizes;
  SmallVector<Linear> extents;
  SmallVector<Value> results;
};

//===--------------------------------------------------------------------------------------------------------------===//
// Single elements
//===--------------------------------------------------------------------------------------------------------------===//

// Reads an element of an array that was put together, or that is cheap to compute, without the array.
bool readElement(tensor::ExtractOp extract) {
  Readings readings(extract->getBlock(), /*loops=*/0, /*elements=*/true);
  SmallVector<Place> places;
  for (Value index : extract.getIndices())
    places.push_back({std::nullopt, linearOf(index)});
  const Reading *reading = readings.read(extract.getTensor(), places);
  if (reading->isPlain() || bodySize(*reading) > longestBody)
    return false;
  OpBuilder builder(extract);
  extract.replaceAllUsesWith(ElementEmitter(builder, extract.getLoc(), {}).elementOf(*reading));
  return true;
}

struct ReadPiecesPass : PassWrapper<ReadPiecesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReadPiecesPass)
  explicit ReadPiecesPass(bool inRegions) : inRegions(inRegions) {}
  StringRef getArgument() const final { return "pmap-cpu-read-pieces"; }
  StringRef getDescription() const final { return "Read slices of concats and pads from the pieces in place"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      bool isElement = inRegions && isa<tensor::ExtractOp>(op) && !op->getParentOfType<linalg::LinalgOp>();
      if (isElement || isa<linalg::GenericOp>(op))
        ops.push_back(op);
    });
    // Readers first: what they compute themselves then needs no op of its own.
    for (Operation *op : llvm::reverse(ops)) {
      auto extract = dyn_cast<tensor::ExtractOp>(op);
      if (op->use_empty() ||
          (extract ? readElement(extract) : PieceReader(cast<linalg::GenericOp>(op), inRegions).run()))
        eraseUnused(op);
    }
  }

private:
  // Erases an op that nobody uses, and what put its operands together.
  static void eraseUnused(Operation *op) {
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      if (Operation *maker = operand.getDefiningOp();
          maker && maker->use_empty() && isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(maker))
        eraseUnused(maker);
  }

  bool inRegions;
};

} // namespace

std::unique_ptr<Pass> createReadPiecesPass(bool inRegions) { return std::make_unique<ReadPiecesPass>(inRegions); }

} // namespace pmap
