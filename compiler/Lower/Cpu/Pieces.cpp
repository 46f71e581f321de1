// Looking through the operands of an op, down to arrays in memory.

#include "compiler/Lower/Cpu/Pieces.h"

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"

using namespace mlir;

namespace pmap {

// Most pieces and operations of a body for which the code is small beside what it saves.
static constexpr size_t mostPieces = 8, mostBodyOps = 64;

// Most rows of a slice that is read at next to no cost beside its array.
static constexpr int64_t thinSlice = 8;

// Most work, in additions, that is done for one element again and again rather than once for all that read it.
static constexpr int64_t mostRepeatedWork = 32;

//===--------------------------------------------------------------------------------------------------------------===//
// Regions
//===--------------------------------------------------------------------------------------------------------------===//

// What is known of the places that the region's points read at along one dimension: they are at least, or below, each
// of these.
static SmallVector<Linear> boundsOf(const Place &place, ArrayRef<Range> region, bool lowerSide) {
  if (!place.loop)
    return {lowerSide ? place.offset : place.offset + 1};
  const Range &range = region[*place.loop];
  return llvm::map_to_vector(lowerSide ? range.atLeast : range.below,
                             [&](const Linear &bound) { return bound + place.offset; });
}

static bool misses(const Reading &reading, const Piece &piece, ArrayRef<Range> region) {
  for (unsigned dim = 0; dim < piece.offsets.size(); ++dim) {
    const Place &place = reading.places[dim];
    Linear end = piece.offsets[dim] + piece.sizes[dim];
    for (const Linear &bound : boundsOf(place, region, /*lowerSide=*/false))
      if (isAtMost(bound, piece.offsets[dim]))
        return true;
    for (const Linear &bound : boundsOf(place, region, /*lowerSide=*/true))
      if (isAtMost(end, bound))
        return true;
  }
  return false;
}

bool isWithin(const Reading &reading, const Piece &piece, ArrayRef<Range> region, unsigned dim, bool lowerSide) {
  Linear end = piece.offsets[dim] + piece.sizes[dim];
  return llvm::any_of(boundsOf(reading.places[dim], region, lowerSide), [&](const Linear &bound) {
    return lowerSide ? isAtMost(piece.offsets[dim], bound) : isAtMost(bound, end);
  });
}

SmallVector<const Piece *> candidates(const Reading &reading, ArrayRef<Range> region) {
  SmallVector<const Piece *> found;
  for (const Piece &piece : llvm::reverse(reading.pieces)) {
    if (misses(reading, piece, region))
      continue;
    found.push_back(&piece);
    bool isCertain = llvm::all_of(llvm::seq<unsigned>(piece.offsets.size()), [&](unsigned dim) {
      return isWithin(reading, piece, region, dim, true) && isWithin(reading, piece, region, dim, false);
    });
    if (isCertain)
      break;
  }
  return found;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Which ops can be looked through
//===--------------------------------------------------------------------------------------------------------------===//

static bool hasUnitSteps(OffsetSizeAndStrideOpInterface slice) {
  return llvm::all_of(slice.getMixedStrides(), [](OpFoldResult stride) { return isOneInteger(stride); });
}

// A body without regions whose operands are read as they are, broadcast or transposed.
static bool hasPlainBody(linalg::GenericOp op) {
  return op.getNumLoops() > 0 && op.getBody()->getOperations().size() <= mostBodyOps &&
         !op->getParentOfType<scf::ForallOp>() &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         llvm::all_of(*op.getBody(), [](Operation &inner) { return inner.getNumRegions() == 0; });
}

// Elementwise over fresh arrays.
static bool isElementwise(linalg::GenericOp op) {
  return hasPlainBody(op) && op.getNumReductionLoops() == 0 &&
         llvm::all_of(llvm::seq<unsigned>(op.getNumDpsInits()), [&](unsigned index) {
           OpOperand *output = op.getDpsInitOperand(index);
           return op.getMatchingIndexingMap(output).isIdentity() && op.getMatchingBlockArgument(output).use_empty();
         });
}

bool canReadPieces(linalg::GenericOp op) {
  if (isElementwise(op))
    return true;
  // A reduction that reads every element of its operands once.
  return hasPlainBody(op) && op.getNumReductionLoops() > 0 && !Kernel(op).combiners.empty() &&
         llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return !isa<TensorType>(input->get().getType()) || op.getMatchingIndexingMap(input).isIdentity();
         });
}

// A few rows of an array, or columns, as a margin of it.
static bool isThin(tensor::ExtractSliceOp slice) {
  return llvm::any_of(llvm::zip(slice.getStaticSizes(), slice.getSourceType().getShape()), [](auto sizes) {
    auto [size, whole] = sizes;
    return !ShapedType::isDynamic(size) && size <= thinSlice && (ShapedType::isDynamic(whole) || size * 4 <= whole);
  });
}

// The ops that read `value` element by element, through slices of it and arrays that it is a piece of; nothing where
// something else wants it, which then needs it in memory. One that reads a single element, or a thin slice, is none of
// them, for it costs next to nothing.
std::optional<size_t> Readings::countReaders(Value value) {
  size_t count = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    std::optional<size_t> readers;
    if (elements && isa<tensor::ExtractOp>(user) && user->getBlock() == value.getParentBlock())
      readers = 0;
    else if (auto op = dyn_cast<linalg::GenericOp>(user); op && op.isDpsInput(&use) && canReadPieces(op))
      readers = 1;
    else if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(user) &&
             hasUnitSteps(cast<OffsetSizeAndStrideOpInterface>(user)))
      readers = countReaders(user->getResult(0));
    if (!readers)
      return std::nullopt;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isThin(slice))
      count += *readers;
  }
  return count;
}

size_t bodySize(const Reading &reading) {
  size_t size = reading.pieces.size();
  if (reading.kind == Reading::Kind::Computed)
    size += reading.op().getBody()->getOperations().size();
  for (const Reading *operand : reading.operands)
    size += bodySize(*operand);
  for (const Piece &piece : reading.pieces)
    size += bodySize(*piece.content);
  return size;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Readings
//===--------------------------------------------------------------------------------------------------------------===//

static bool areEqual(ArrayRef<Place> a, ArrayRef<Place> b) {
  return llvm::equal(a, b, [](const Place &left, const Place &right) {
    return left.loop == right.loop && difference(left.offset, right.offset) == 0;
  });
}

const Reading *Readings::make(Reading reading) {
  readings.push_back(std::make_unique<Reading>(std::move(reading)));
  return readings.back().get();
}

const Reading *Readings::readArray(Value value, ArrayRef<Place> places) {
  for (const std::unique_ptr<Reading> &known : readings)
    if (known->kind == Reading::Kind::Array && known->value == value && areEqual(known->places, places))
      return known.get();
  return make({Reading::Kind::Array, value, llvm::to_vector(places), {}, {}});
}

// The scalar that fills a tensor, if one does.
static Value fillOf(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0];
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic->getNumResults() != 1 || generic.getNumReductionLoops() > 0)
    return Value();
  Value yielded = generic.getBody()->getTerminator()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(yielded); argument && argument.getOwner() == generic.getBody()) {
    Value operand = generic->getOperand(argument.getArgNumber());
    return isa<TensorType>(operand.getType()) ? Value() : operand;
  }
  return generic.getRegion().isAncestor(yielded.getParentRegion()) ? Value() : yielded;
}

const Reading *Readings::read(Value value, ArrayRef<Place> places) {
  Value scalar = isa<TensorType>(value.getType()) ? fillOf(value) : value;
  if (scalar)
    return make({Reading::Kind::Scalar, scalar, {}, {}, {}});
  for (const std::unique_ptr<Reading> &known : readings)
    if (known->value == value && areEqual(known->places, places))
      return known.get();
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>(); slice && hasUnitSteps(slice)) {
    SmallVector<Place> inSource;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    const Place *next = places.begin();
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      Place place = dropped.test(dim) ? Place{std::nullopt, {}} : *next++;
      inSource.push_back({place.loop, place.offset + linearOf(offset)});
    }
    const Reading *source = read(slice.getSource(), inSource);
    return source->kind == Reading::Kind::Array && source->value == slice.getSource() ? readArray(value, places)
                                                                                      : source;
  }
  if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>(); insert && hasUnitSteps(insert) && countReaders(value))
    if (const Reading *assembled = readAssembled(value, places))
      return assembled;
  if (auto op = value.getDefiningOp<linalg::GenericOp>(); op && isWorthComputing(op, places))
    return readComputed(op, value, places);
  return readArray(value, places);
}

const Reading *Readings::readAssembled(Value whole, ArrayRef<Place> places) {
  Reading result{Reading::Kind::Assembled, whole, llvm::to_vector(places), {}, {}};
  if (!collectPieces(whole, places, result.pieces))
    return nullptr;
  return make(std::move(result));
}

// Adds the pieces of `whole` in the order in which they cover each other.
bool Readings::collectPieces(Value whole, ArrayRef<Place> places, SmallVectorImpl<Piece> &pieces) {
  auto insert = whole.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !hasUnitSteps(insert) || !countReaders(whole)) {
    // What no piece covers is never read.
    if (!whole.getDefiningOp<tensor::EmptyOp>())
      pieces.push_back({{}, {}, read(whole, places)});
    return true;
  }
  if (!collectPieces(insert.getDest(), places, pieces) || pieces.size() == mostPieces)
    return false;
  Piece piece{linearOf(insert.getMixedOffsets()), linearOf(insert.getMixedSizes()), nullptr};
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  SmallVector<Place> inPiece;
  for (auto [dim, place] : llvm::enumerate(places))
    if (!dropped.test(dim))
      inPiece.push_back({place.loop, place.offset - piece.offsets[dim]});
  piece.content = read(insert.getSource(), inPiece);
  pieces.push_back(std::move(piece));
  return true;
}

// Whether the results of an op are better computed where they are read: by one op once, or cheaply by several.
bool Readings::isWorthComputing(linalg::GenericOp op, ArrayRef<Place> places) {
  if (!isElementwise(op) || op->getBlock() != block)
    return false;
  // One that lacks a loop of the reader would be computed for every iteration of it.
  if (llvm::count_if(places, [](const Place &place) { return place.loop.has_value(); }) < loops)
    return false;
  int64_t readers = 0;
  for (Value result : op->getResults()) {
    std::optional<size_t> count = countReaders(result);
    if (!count)
      return false;
    readers += *count;
  }
  return readers <= 1 || Kernel(op).cost * readers <= mostRepeatedWork;
}

const Reading *Readings::readComputed(linalg::GenericOp op, Value value, ArrayRef<Place> places) {
  Reading result{Reading::Kind::Computed, value, llvm::to_vector(places), {}, {}};
  for (OpOperand *input : op.getDpsInputOperands()) {
    SmallVector<Place> ofInput;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      ofInput.push_back(places[cast<AffineDimExpr>(expr).getPosition()]);
    result.operands.push_back(read(input->get(), ofInput));
  }
  return make(std::move(result));
}

} // namespace pmap
