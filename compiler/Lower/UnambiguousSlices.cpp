// Slices whose dropped dimensions a memref type would not tell apart from kept ones.

#include "compiler/Lower/UnambiguousSlices.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pmap {
namespace {

// The dimensions of the whole slice that each dimension of the smaller one stands for: a kept one, and the dropped ones
// beside it.
SmallVector<ReassociationIndices> groupsOf(const llvm::SmallBitVector &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  for (auto dim : llvm::seq<int64_t>(dropped.size())) {
    if (dropped.test(dim)) {
      (groups.empty() ? leading : groups.back()).push_back(dim);
    } else {
      groups.push_back(std::exchange(leading, {}));
      groups.back().push_back(dim);
    }
  }
  return groups;
}

// The type of a slice that drops nothing, if one that drops `dropped` would be ambiguous.
RankedTensorType spelledOut(ArrayRef<OpFoldResult> sizes, const llvm::SmallBitVector &dropped, Type elementType) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  if (dropped.none() || static_cast<size_t>(llvm::count(shape, 1)) == dropped.count())
    return nullptr;
  return RankedTensorType::get(shape, elementType);
}

void spellOut(tensor::ExtractSliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  RankedTensorType whole = spelledOut(slice.getMixedSizes(), dropped, slice.getType().getElementType());
  if (!whole)
    return;
  OpBuilder builder(slice);
  Value all = tensor::ExtractSliceOp::create(builder, slice.getLoc(), whole, slice.getSource(), slice.getMixedOffsets(),
                                             slice.getMixedSizes(), slice.getMixedStrides());
  Value collapsed = tensor::CollapseShapeOp::create(builder, slice.getLoc(), all, groupsOf(dropped));
  if (collapsed.getType() != slice.getType())
    collapsed = tensor::CastOp::create(builder, slice.getLoc(), slice.getType(), collapsed);
  slice.replaceAllUsesWith(collapsed);
  slice.erase();
}

// `Insert` is an op that inserts a slice; what it needs is computed before `place`.
template <typename Insert> void spellOutInsert(Insert insert, Operation *place) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  RankedTensorType whole = spelledOut(insert.getMixedSizes(), dropped, insert.getSourceType().getElementType());
  if (!whole)
    return;
  OpBuilder builder(place);
  Value expanded = tensor::ExpandShapeOp::create(builder, insert.getLoc(), whole, insert.getSource(), groupsOf(dropped),
                                                 insert.getMixedSizes());
  insert.getSourceMutable().assign(expanded);
}

} // namespace

void spellOutDroppedDimensions(ModuleOp module) {
  module.walk([](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([](tensor::ExtractSliceOp slice) { spellOut(slice); })
        .Case([](tensor::InsertSliceOp insert) { spellOutInsert(insert, insert); })
        .Case([](tensor::ParallelInsertSliceOp insert) { spellOutInsert(insert, insert->getParentOp()); });
  });
}

} // namespace pmap
