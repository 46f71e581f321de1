// What the kernel generator needs to know about a structured op.

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace pmap {

int64_t costOf(Operation *op) {
  if (isa<arith::ConstantOp, linalg::IndexOp, linalg::YieldOp>(op))
    return 0;
  // A division is dear next to a multiplication, and a transcendental next to both.
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::RemFOp,
          arith::FloorDivSIOp, arith::CeilDivSIOp, math::SqrtOp, math::RsqrtOp>(op))
    return 8;
  if (isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
          math::CopySignOp, math::IsNaNOp, math::IsInfOp, math::IsFiniteOp>(op))
    return 1;
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return 32;
  if (op->getNumRegions())
    return 1000;
  if (isa<tensor::ExtractOp, memref::LoadOp>(op))
    return 4;
  return 1;
}

// The combiner of output `index`: one op on the accumulator that has an identity, used for nothing but the yield.
static std::optional<Combiner> matchCombiner(linalg::GenericOp op, unsigned index) {
  Value accumulator = op.getRegionOutputArgs()[index];
  if (!accumulator.hasOneUse())
    return std::nullopt;
  OpOperand &use = *accumulator.use_begin();
  Operation *combiner = use.getOwner();
  if (combiner->getBlock() != op.getBody() || combiner->getNumOperands() != 2 || combiner->getNumResults() != 1 ||
      op.getBody()->getTerminator()->getOperand(index) != combiner->getResult(0) || !combiner->getResult(0).hasOneUse())
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  if (!neutral)
    return std::nullopt;
  // The identity of a floating maximum is -inf; the finite lowest value would change a row of -inf.
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp>(combiner)) {
    auto type = cast<FloatType>(accumulator.getType());
    bool negative = isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner);
    neutral = FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), negative));
  }
  return Combiner{combiner, combiner->getOperand(1 - use.getOperandNumber()), *neutral};
}

Kernel::Kernel(linalg::GenericOp op) : op(op), maps(op.getIndexingMapsArray()) {
  for (utils::IteratorType iterator : op.getIteratorTypesArray())
    isReduction.push_back(iterator == utils::IteratorType::reduction);
  hasReduction = llvm::is_contained(isReduction, true);
  for (unsigned index = 0; index < op.getNumDpsInits() && hasReduction; ++index) {
    std::optional<Combiner> combiner = matchCombiner(op, index);
    if (!combiner) {
      combiners.clear();
      break;
    }
    combiners.push_back(*combiner);
  }
  for (Operation &inner : op.getBody()->without_terminator())
    cost += costOf(&inner);
}

// The operand and dimension that give the extent of a loop.
static std::pair<Value, unsigned> extentSource(Kernel &kernel, unsigned dim) {
  // Outputs first: their sizes are those that the caller computed for the allocation.
  for (unsigned i = kernel.maps.size(); i-- > 0;)
    for (auto [position, result] : llvm::enumerate(kernel.maps[i].getResults()))
      if (auto expr = dyn_cast<AffineDimExpr>(result))
        if (expr.getPosition() == dim)
          return {kernel.operand(i), static_cast<unsigned>(position)};
  return {Value(), 0};
}

Value sizeOf(OpBuilder &builder, Location loc, Value buffer, unsigned dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim));
  if (auto alloc = buffer.getDefiningOp<memref::AllocOp>())
    return alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)];
  if (auto collapse = buffer.getDefiningOp<memref::CollapseShapeOp>()) {
    Value size;
    ReassociationIndices parts = collapse.getReassociationIndices()[dim];
    for (int64_t part : parts) {
      Value factor = sizeOf(builder, loc, collapse.getSrc(), part);
      size = size ? builder.createOrFold<arith::MulIOp>(loc, size, factor) : factor;
    }
    return size;
  }
  return builder.createOrFold<memref::DimOp>(loc, buffer, dim);
}

Value Kernel::extent(OpBuilder &builder, Location loc, unsigned dim) {
  auto [source, position] = extentSource(*this, dim);
  return sizeOf(builder, loc, source, position);
}

int64_t Kernel::staticExtent(unsigned dim) {
  for (unsigned i = 0; i < maps.size(); ++i)
    for (auto [position, result] : llvm::enumerate(maps[i].getResults()))
      if (auto expr = dyn_cast<AffineDimExpr>(result))
        if (expr.getPosition() == dim)
          if (auto type = dyn_cast<MemRefType>(operand(i).getType()))
            if (!type.isDynamicDim(position))
              return type.getDimSize(position);
  return ShapedType::kDynamic;
}

} // namespace pmap
