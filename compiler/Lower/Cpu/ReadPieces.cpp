// Elementwise ops on slices of an array that was put together (a concat, a pad, a halo), without the array.
//
//   p = pad(concat(above, u, below)); f(p[:-2, 1:-1], p[2:, 1:-1], ...)
//
// copies `u` before each step of a stencil, twice here. Nearly all points of `f` read all their neighbours from `u`
// alone: those, a box, are computed from slices of `u`. The few at the borders are slabs around the box: there each
// operand is a slice of one piece or a constant where that is certain, and else every element asks which piece it is
// in.

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace pmap {
namespace {

// Widest border, and most pieces and operations of a body, for which the slabs are small beside the box.
constexpr int64_t widestBorder = 8;
constexpr size_t mostPieces = 8, mostBodyOps = 64;

//===--------------------------------------------------------------------------------------------------------------===//
// Sizes and offsets as a value plus a constant
//===--------------------------------------------------------------------------------------------------------------===//

struct Linear {
  Value base; // Null for a constant.
  int64_t offset = 0;
};

Linear linearOf(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return {Value(), *constant};
  Linear result{cast<Value>(value), 0};
  while (auto sum = result.base.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> constant = getConstantIntValue(sum.getRhs());
    if (!constant)
      break;
    result = {sum.getLhs(), result.offset + *constant};
  }
  return result;
}

SmallVector<Linear> linearOf(ArrayRef<OpFoldResult> values) {
  return llvm::map_to_vector(values, [](OpFoldResult value) { return linearOf(value); });
}

std::optional<Linear> operator+(Linear a, Linear b) {
  if (a.base && b.base)
    return std::nullopt;
  return Linear{a.base ? a.base : b.base, a.offset + b.offset};
}

std::optional<int64_t> difference(Linear a, Linear b) {
  if (a.base != b.base)
    return std::nullopt;
  return a.offset - b.offset;
}

bool isAtMost(std::optional<Linear> a, std::optional<Linear> b) {
  if (!a || !b)
    return false;
  std::optional<int64_t> more = difference(*a, *b);
  return more && *more <= 0;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Arrays that were put together
//===--------------------------------------------------------------------------------------------------------------===//

// A box of the whole that one array or one scalar fills. Later pieces lie over earlier ones.
struct Piece {
  Value source;
  SmallVector<Linear> offsets, sizes;

  bool isScalar() const { return !isa<TensorType>(source.getType()); }
};

bool hasUnitSteps(OffsetSizeAndStrideOpInterface slice) {
  return llvm::all_of(slice.getMixedStrides(), [](OpFoldResult stride) { return isOneInteger(stride); });
}

// The scalar that fills a tensor, if one does.
Value fillOf(Value tensor) {
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

// Adds the pieces of `whole`, which fills the box of `place`, in the order in which they cover each other.
bool collectPieces(Value whole, const Piece &place, bool isNested, SmallVectorImpl<Piece> &pieces) {
  if (pieces.size() > mostPieces)
    return false;
  if (auto insert = whole.getDefiningOp<tensor::InsertSliceOp>();
      insert && hasUnitSteps(insert) && insert.getSourceType().getRank() == insert.getType().getRank()) {
    if (!collectPieces(insert.getDest(), place, isNested, pieces))
      return false;
    Piece part{insert.getSource(), {}, linearOf(insert.getMixedSizes())};
    for (auto [outer, inner] : llvm::zip(place.offsets, linearOf(insert.getMixedOffsets()))) {
      std::optional<Linear> sum = outer + inner;
      if (!sum)
        return false;
      part.offsets.push_back(*sum);
    }
    return collectPieces(insert.getSource(), part, /*isNested=*/true, pieces);
  }
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return true;
  Value scalar = fillOf(whole);
  if (!scalar && !isNested)
    return false;
  pieces.push_back({scalar ? scalar : whole, place.offsets, place.sizes});
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Regions of the loops
//===--------------------------------------------------------------------------------------------------------------===//

// A part of one loop: its bounds as values, and what is known of every index in it.
struct Range {
  OpFoldResult lower, size;
  SmallVector<Linear> atLeast, below;
};

// An operand that is a slice of a whole made of pieces.
struct Assembled {
  SmallVector<Piece> pieces;
  SmallVector<Linear> offsets; // Of the slice in the whole.

  bool misses(const Piece &piece, ArrayRef<Range> region) const {
    for (auto [dim, range] : llvm::enumerate(region)) {
      std::optional<Linear> end = piece.offsets[dim] + piece.sizes[dim];
      for (Linear bound : range.below)
        if (isAtMost(bound + offsets[dim], piece.offsets[dim]))
          return true;
      for (Linear bound : range.atLeast)
        if (isAtMost(end, bound + offsets[dim]))
          return true;
    }
    return false;
  }

  bool isWithin(const Piece &piece, ArrayRef<Range> region, unsigned dim, bool lowerSide) const {
    std::optional<Linear> end = piece.offsets[dim] + piece.sizes[dim];
    return llvm::any_of(lowerSide ? region[dim].atLeast : region[dim].below, [&](Linear bound) {
      std::optional<Linear> place = bound + offsets[dim];
      return lowerSide ? isAtMost(piece.offsets[dim], place) : isAtMost(place, end);
    });
  }

  bool isWithin(const Piece &piece, ArrayRef<Range> region) const {
    for (unsigned dim = 0; dim < region.size(); ++dim)
      if (!isWithin(piece, region, dim, true) || !isWithin(piece, region, dim, false))
        return false;
    return true;
  }

  // The pieces that a point of the region may be in, the uppermost first. The last one is where all others are not.
  SmallVector<const Piece *> candidates(ArrayRef<Range> region) const {
    SmallVector<const Piece *> found;
    for (const Piece &piece : llvm::reverse(pieces)) {
      if (misses(piece, region))
        continue;
      found.push_back(&piece);
      if (isWithin(piece, region))
        break;
    }
    return found;
  }
};

// How far the points that read something else than one piece reach into each loop, from its start and its end.
struct Borders {
  SmallVector<int64_t> before, after;

  // Widens the borders until `piece` is all that the slice is read from between them; false where that is far.
  bool cover(const Assembled &operand, const Piece &piece, ArrayRef<Linear> extents) {
    for (unsigned dim = 0; dim < extents.size(); ++dim) {
      std::optional<int64_t> low = difference(piece.offsets[dim], operand.offsets[dim]);
      std::optional<Linear> end = piece.offsets[dim] + piece.sizes[dim], last = extents[dim] + operand.offsets[dim];
      std::optional<int64_t> high = end && last ? difference(*last, *end) : std::nullopt;
      if (!low || !high || *low > widestBorder || *high > widestBorder)
        return false;
      before[dim] = std::max(before[dim], *low);
      after[dim] = std::max(after[dim], *high);
    }
    return true;
  }
};

//===--------------------------------------------------------------------------------------------------------------===//
// The rewrite of one op
//===--------------------------------------------------------------------------------------------------------------===//

// Elementwise over fresh arrays, with every operand as it is or broadcast.
bool isPlain(linalg::GenericOp op) {
  if (op.getNumReductionLoops() > 0 || op.getNumLoops() == 0 || op.getBody()->getOperations().size() > mostBodyOps ||
      op->getParentOfType<scf::ForallOp>())
    return false;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&output).isIdentity() || !op.getMatchingBlockArgument(&output).use_empty())
      return false;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation())
      return false;
  return llvm::all_of(*op.getBody(), [](Operation &inner) { return inner.getNumRegions() == 0; });
}

// A whole that nothing but such slices of it reads.
bool isReadBySlicesOnly(Value whole) {
  return llvm::all_of(whole.getUsers(), [](Operation *user) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    return slice && hasUnitSteps(slice) && slice.getSourceType().getRank() == slice.getType().getRank() &&
           llvm::all_of(slice->getUsers(), [&](Operation *reader) {
             auto generic = dyn_cast<linalg::GenericOp>(reader);
             return generic && isPlain(generic) && llvm::is_contained(generic.getDpsInputs(), slice.getResult());
           });
  });
}

class PieceReader {
public:
  explicit PieceReader(linalg::GenericOp op) : op(op), builder(op), loc(op.getLoc()) {}

  bool run() {
    if (!isPlain(op) || !findAssembled())
      return false;
    unsigned rank = op.getNumLoops();
    SmallVector<Range> region(rank), whole(rank);
    for (unsigned dim = 0; dim < rank; ++dim)
      whole[dim] = {builder.getIndexAttr(0), sizes[dim], {Linear{}}, {extents[dim]}};
    for (OpOperand &output : op.getDpsInitsMutable())
      results.push_back(tensor::EmptyOp::create(builder, loc, sizes, getElementTypeOrSelf(output.get().getType())));
    // Slabs before and after the box along each loop; along the loops before it a slab is as wide as the box.
    region = whole;
    for (unsigned dim = 0; dim < rank; ++dim) {
      int64_t before = borders.before[dim], after = borders.after[dim];
      Value extent = getValueOrCreateConstantIndexOp(builder, loc, sizes[dim]);
      Value low = minimum(constant(before), extent);
      Value high = maximum(low, add(extent, -after));
      Linear last{extents[dim].base, extents[dim].offset - after};
      if (before > 0) {
        region[dim] = {builder.getIndexAttr(0), folded(low), {Linear{}}, {{Value(), before}, extents[dim]}};
        emit(region);
      }
      if (after > 0) {
        region[dim] = {folded(high), folded(subtract(extent, high)), {{Value(), before}, last}, {extents[dim]}};
        emit(region);
      }
      region[dim] = {folded(low), folded(subtract(high, low)), {{Value(), before}}, {last, extents[dim]}};
      if (before == 0 && after == 0)
        region[dim] = whole[dim];
    }
    emit(region);
    for (auto [old, made] : llvm::zip(op.getResults(), results)) {
      Value result = made;
      if (result.getType() != old.getType())
        result = tensor::CastOp::create(builder, loc, old.getType(), result);
      old.replaceAllUsesWith(result);
    }
    op.erase();
    return true;
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, int64_t b) { return b ? builder.createOrFold<arith::AddIOp>(loc, a, constant(b)) : a; }
  Value subtract(Value a, Value b) { return builder.createOrFold<arith::SubIOp>(loc, a, b); }
  Value minimum(Value a, Value b) { return builder.createOrFold<arith::MinSIOp>(loc, a, b); }
  Value maximum(Value a, Value b) { return builder.createOrFold<arith::MaxSIOp>(loc, a, b); }

  OpFoldResult folded(Value value) { return getAsOpFoldResult(value); }

  Value valueOf(Linear linear) { return linear.base ? add(linear.base, linear.offset) : constant(linear.offset); }

  // The operands that are slices of wholes, and the borders around what all of them read from one piece each.
  bool findAssembled() {
    unsigned rank = op.getNumLoops();
    borders.before.assign(rank, 0);
    borders.after.assign(rank, 0);
    operands.resize(op.getNumDpsInputs());
    bool any = false;
    for (OpOperand *input : op.getDpsInputOperands()) {
      auto slice = input->get().getDefiningOp<tensor::ExtractSliceOp>();
      if (!slice || !slice.getSource().getDefiningOp<tensor::InsertSliceOp>() ||
          !op.getMatchingIndexingMap(input).isIdentity() || !isReadBySlicesOnly(slice.getSource()))
        continue;
      Assembled operand{{}, linearOf(slice.getMixedOffsets())};
      Piece place{Value(), SmallVector<Linear>(rank), SmallVector<Linear>(rank)};
      if (!collectPieces(slice.getSource(), place, /*isNested=*/false, operand.pieces) ||
          operand.pieces.size() > mostPieces)
        return false;
      // A fill of the whole is below all else: its box is the loops'.
      sizes = slice.getMixedSizes();
      extents = linearOf(sizes);
      for (Piece &piece : operand.pieces)
        if (piece.isScalar() && llvm::all_of(piece.sizes, [](Linear size) { return !size.base && size.offset == 0; })) {
          piece.offsets = operand.offsets;
          piece.sizes = extents;
        }
      bool covered = llvm::any_of(operand.pieces, [&](const Piece &piece) {
        Borders wider = borders;
        bool fits = !piece.isScalar() && wider.cover(operand, piece, extents);
        if (fits)
          borders = wider;
        return fits;
      });
      if (!covered)
        return false;
      operands[input->getOperandNumber()] = std::move(operand);
      any = true;
    }
    return any && isCertainInBox();
  }

  // Whether no point of the box has to ask where its operands are.
  bool isCertainInBox() {
    SmallVector<Range> box(op.getNumLoops());
    for (auto [dim, range] : llvm::enumerate(box)) {
      range.atLeast = {{Value(), borders.before[dim]}};
      range.below = {{extents[dim].base, extents[dim].offset - borders.after[dim]}};
    }
    return llvm::all_of(operands, [&](const std::optional<Assembled> &operand) {
      return !operand || operand->candidates(box).size() == 1;
    });
  }

  Value slice(Value source, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> extents) {
    SmallVector<OpFoldResult> steps(offsets.size(), builder.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(builder, loc, source, offsets, extents, steps);
  }

  // The op on a region, written into the results.
  void emit(ArrayRef<Range> region) {
    // One that is known to be empty may lie where the dialect allows no slice to begin.
    if (llvm::any_of(region, [](const Range &range) { return isZeroInteger(range.size); }))
      return;
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    SmallVector<std::optional<unsigned>> position(op.getNumDpsInputs());
    SmallVector<SmallVector<const Piece *>> candidates(op.getNumDpsInputs());
    auto offsetsOf = [&](AffineMap map) {
      return llvm::map_to_vector(
          map.getResults(), [&](AffineExpr expr) { return region[cast<AffineDimExpr>(expr).getPosition()].lower; });
    };
    auto sizesOf = [&](AffineMap map) {
      return llvm::map_to_vector(map.getResults(),
                                 [&](AffineExpr expr) { return region[cast<AffineDimExpr>(expr).getPosition()].size; });
    };
    for (OpOperand *input : op.getDpsInputOperands()) {
      unsigned number = input->getOperandNumber();
      AffineMap map = op.getMatchingIndexingMap(input);
      Value value = input->get();
      if (operands[number]) {
        candidates[number] = operands[number]->candidates(region);
        if (candidates[number].size() != 1 || candidates[number][0]->isScalar())
          continue;
        const Piece &piece = *candidates[number][0];
        SmallVector<OpFoldResult> offsets;
        for (auto [dim, range] : llvm::enumerate(region)) {
          Value lower = getValueOrCreateConstantIndexOp(builder, loc, range.lower);
          offsets.push_back(folded(toPiece(*operands[number], piece, dim, lower)));
        }
        value = slice(piece.source, offsets, sizesOf(map));
      } else if (isa<TensorType>(value.getType())) {
        value = slice(value, offsetsOf(map), sizesOf(map));
      }
      position[number] = inputs.size();
      inputs.push_back(value);
      maps.push_back(map);
    }
    auto identity = builder.getMultiDimIdentityMap(region.size());
    for (Value result : results) {
      outputs.push_back(slice(result, offsetsOf(identity), sizesOf(identity)));
      maps.push_back(identity);
    }
    auto part =
        linalg::GenericOp::create(builder, loc, ValueRange(outputs).getTypes(), inputs, outputs, maps,
                                  op.getIteratorTypesArray(), [&](OpBuilder &inner, Location, ValueRange arguments) {
                                    OpBuilder::InsertionGuard guard(builder);
                                    builder.setInsertionPointToEnd(inner.getInsertionBlock());
                                    emitBody(region, arguments, position, candidates);
                                  });
    SmallVector<OpFoldResult> steps(region.size(), builder.getIndexAttr(1));
    for (auto [result, computed] : llvm::zip(results, part.getResults()))
      result =
          tensor::InsertSliceOp::create(builder, loc, computed, result, offsetsOf(identity), sizesOf(identity), steps);
  }

  // The place in a piece of what the loops read at `index`.
  Value toPiece(const Assembled &operand, const Piece &piece, unsigned dim, Value index) {
    if (std::optional<int64_t> step = difference(operand.offsets[dim], piece.offsets[dim]))
      return add(index, *step);
    Value place = builder.createOrFold<arith::AddIOp>(loc, index, valueOf(operand.offsets[dim]));
    return subtract(place, valueOf(piece.offsets[dim]));
  }

  void emitBody(ArrayRef<Range> region, ValueRange arguments, ArrayRef<std::optional<unsigned>> position,
                ArrayRef<SmallVector<const Piece *>> candidates) {
    IRMapping mapping;
    Block *body = op.getBody();
    SmallVector<Value> indices(region.size());
    auto indexOf = [&](unsigned dim) {
      if (!indices[dim])
        indices[dim] =
            builder.createOrFold<arith::AddIOp>(loc, linalg::IndexOp::create(builder, loc, dim),
                                                getValueOrCreateConstantIndexOp(builder, loc, region[dim].lower));
      return indices[dim];
    };
    for (unsigned number = 0; number < position.size(); ++number) {
      Value value;
      if (position[number]) {
        value = arguments[*position[number]];
      } else {
        bool certain = candidates[number].size() == 1 && candidates[number][0]->isScalar();
        for (unsigned dim = 0; dim < region.size() && !certain; ++dim)
          indexOf(dim);
        value = certain ? candidates[number][0]->source : read(*operands[number], region, candidates[number], indices);
      }
      mapping.map(body->getArgument(number), value);
    }
    for (Operation &inner : body->without_terminator())
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), indexOf(index.getDim()));
      else
        builder.clone(inner, mapping);
    SmallVector<Value> yields;
    for (Value value : body->getTerminator()->getOperands())
      yields.push_back(mapping.lookupOrDefault(value));
    linalg::YieldOp::create(builder, loc, yields);
  }

  // The element at `indices` from the first of the candidates that holds it.
  Value read(const Assembled &operand, ArrayRef<Range> region, ArrayRef<const Piece *> candidates,
             ArrayRef<Value> indices) {
    const Piece &piece = *candidates.front();
    if (candidates.size() == 1 && piece.isScalar())
      return piece.source;
    SmallVector<Value> place;
    for (unsigned dim = 0; dim < region.size(); ++dim)
      place.push_back(toPiece(operand, piece, dim, indices[dim]));
    auto element = [&]() -> Value {
      return piece.isScalar() ? piece.source : tensor::ExtractOp::create(builder, loc, piece.source, place).getResult();
    };
    if (candidates.size() == 1)
      return element();
    Value inside = arith::ConstantIntOp::create(builder, loc, 1, 1);
    for (unsigned dim = 0; dim < region.size(); ++dim) {
      auto require = [&](arith::CmpIPredicate predicate, Value bound) {
        Value holds = arith::CmpIOp::create(builder, loc, predicate, place[dim], bound);
        inside = builder.createOrFold<arith::AndIOp>(loc, inside, holds);
      };
      if (!operand.isWithin(piece, region, dim, true))
        require(arith::CmpIPredicate::sge, constant(0));
      if (!operand.isWithin(piece, region, dim, false))
        require(arith::CmpIPredicate::slt, valueOf(piece.sizes[dim]));
    }
    auto branch = scf::IfOp::create(builder, loc, getElementTypeOrSelf(piece.source.getType()), inside, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, element());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, read(operand, region, candidates.drop_front(), indices));
    return branch.getResult(0);
  }

  linalg::GenericOp op;
  OpBuilder builder;
  Location loc;
  SmallVector<std::optional<Assembled>> operands;
  SmallVector<OpFoldResult> sizes;
  SmallVector<Linear> extents;
  Borders borders;
  SmallVector<Value> results;
};

struct ReadPiecesPass : PassWrapper<ReadPiecesPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReadPiecesPass)
  StringRef getArgument() const final { return "pmap-cpu-read-pieces"; }
  StringRef getDescription() const final { return "Read slices of concats and pads from the pieces in place"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    bool changed = false;
    for (linalg::GenericOp op : ops)
      changed |= PieceReader(op).run();
    // What put the wholes together is dead now, the last of it first.
    if (!changed)
      return;
    SmallVector<Operation *> dead;
    getOperation().walk([&](Operation *op) {
      if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op))
        dead.push_back(op);
    });
    for (Operation *op : llvm::reverse(dead))
      if (op->use_empty())
        op->erase();
  }
};

} // namespace

std::unique_ptr<Pass> createReadPiecesPass() { return std::make_unique<ReadPiecesPass>(); }

} // namespace pmap
