// Elements of arrays that are read from their pieces.

#include "compiler/Lower/Cpu/ReadElements.h"

using namespace mlir;

namespace pmap {

void ElementEmitter::beginBody() {
  body = builder.getInsertionBlock();
  indices.assign(region.size(), Value());
}

SmallVector<Value> ElementEmitter::cloneBody(linalg::GenericOp source, ArrayRef<Place> places, IRMapping &mapping) {
  for (Operation &inner : source.getBody()->without_terminator())
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), indexAt(places[index.getDim()], Linear()));
    else
      builder.clone(inner, mapping);
  return llvm::map_to_vector(source.getBody()->getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

// The index that a point reads at along a dimension, counted from `origin`.
Value ElementEmitter::indexAt(const Place &place, const Linear &origin) {
  Linear offset = place.offset - origin;
  if (!place.loop)
    return valueOf(builder, loc, offset);
  return builder.createOrFold<arith::AddIOp>(loc, indexOf(*place.loop),
                                             valueOf(builder, loc, offset + linearOf(region[*place.loop].lower)));
}

// The index of a loop, which is asked for at the start of the body, outside of all branches.
Value ElementEmitter::indexOf(unsigned loop) {
  Value &index = indices[loop];
  if (!index) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body);
    index = linalg::IndexOp::create(builder, loc, loop);
  }
  return index;
}

Value ElementEmitter::elementOf(const Reading &reading) {
  if (Value known = elements.lookup(&reading))
    return known;
  Value element;
  switch (reading.kind) {
  case Reading::Kind::Scalar:
    return reading.value;
  case Reading::Kind::Array:
    element = tensor::ExtractOp::create(
        builder, loc, reading.value,
        llvm::map_to_vector(reading.places, [&](const Place &place) { return indexAt(place, Linear()); }));
    break;
  case Reading::Kind::Computed: {
    IRMapping mapping;
    linalg::GenericOp source = reading.op();
    for (auto [number, operand] : llvm::enumerate(reading.operands))
      mapping.map(source.getBody()->getArgument(number), elementOf(*operand));
    element = cloneBody(source, reading.places, mapping)[cast<OpResult>(reading.value).getResultNumber()];
    break;
  }
  case Reading::Kind::Assembled:
    element = elementOfFirst(reading, candidates(reading, region));
    break;
  }
  return elements[&reading] = element;
}

// The element from the first of the candidates that holds it.
Value ElementEmitter::elementOfFirst(const Reading &reading, ArrayRef<const Piece *> found) {
  const Piece &piece = *found.front();
  if (found.size() == 1)
    return elementOf(*piece.content);
  Value inside = arith::ConstantIntOp::create(builder, loc, 1, 1);
  for (unsigned dim = 0; dim < piece.offsets.size(); ++dim) {
    auto require = [&](arith::CmpIPredicate predicate, const Linear &bound) {
      Value holds = arith::CmpIOp::create(builder, loc, predicate, indexAt(reading.places[dim], piece.offsets[dim]),
                                          valueOf(builder, loc, bound));
      inside = builder.createOrFold<arith::AndIOp>(loc, inside, holds);
    };
    if (!isWithin(reading, piece, region, dim, /*lowerSide=*/true))
      require(arith::CmpIPredicate::sge, Linear());
    if (!isWithin(reading, piece, region, dim, /*lowerSide=*/false))
      require(arith::CmpIPredicate::slt, piece.sizes[dim]);
  }
  auto branch =
      scf::IfOp::create(builder, loc, getElementTypeOrSelf(reading.value.getType()), inside, /*withElseRegion=*/true);
  // What a branch computes is not known behind it.
  auto yieldIn = [&](Block *block, function_ref<Value()> element) {
    OpBuilder::InsertionGuard guard(builder);
    DenseMap<const Reading *, Value> outside = elements;
    builder.setInsertionPointToStart(block);
    scf::YieldOp::create(builder, loc, element());
    elements = std::move(outside);
  };
  yieldIn(branch.thenBlock(), [&] { return elementOf(*piece.content); });
  yieldIn(branch.elseBlock(), [&] { return elementOfFirst(reading, found.drop_front()); });
  return branch.getResult(0);
}

} // namespace pmap
