// Sorts are calls of the runtime, which finds only the first of each line where nothing else is used.
#include "compiler/Lower/RuntimeOps.h"
#include "compiler/Lower/Translator.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pmap {

/// The dimension that `op` sorts along; none for other ops.
static std::optional<int64_t> sortedDim(Operation *op) {
  if (auto sort = dyn_cast_or_null<SortOp>(op))
    return sort.getDim();
  if (auto sort = dyn_cast_or_null<ArgSortOp>(op))
    return sort.getDim();
  return std::nullopt;
}

bool Translator::isPrefixOfSort(SliceOp op) {
  Operation *sort = op.getInput().getDefiningOp();
  std::optional<int64_t> sorted = sortedDim(sort);
  if (!sorted || !sort->hasOneUse() || sort->getBlock() != op->getBlock())
    return false;
  for (auto [dim, offset, stride] : llvm::enumerate(op.getOffsets(), op.getStrides()))
    if (stride != 1 || !matchPattern(offset, m_Zero()) ||
        (static_cast<int64_t>(dim) != *sorted && sizeOf(op.getType(), dim) != sizeOf(op.getInput().getType(), dim)))
      return false;
  return true;
}

void Translator::translateSort(Operation *op) {
  // Done where the slice stands, whose size may not be known yet.
  if (op->hasOneUse())
    if (auto slice = dyn_cast<SliceOp>(*op->user_begin()); slice && isPrefixOfSort(slice))
      return;
  translateSort(op, op);
}

void Translator::translateSort(Operation *op, Operation *result) {
  Location loc = op->getLoc();
  Value input = op->getOperand(0), sorted = result->getResult(0);
  Type inputType = input.getType();
  int64_t dim = *sortedDim(op);
  auto argsort = dyn_cast<ArgSortOp>(op);
  bool descending = argsort ? argsort.getDescending() : cast<SortOp>(op).getDescending();
  bool isUnsigned = argsort ? argsort.getIsUnsigned() : cast<SortOp>(op).getIsUnsigned();
  auto flag = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  Size outer(1), inner(1);
  for (auto [d, extent] : llvm::enumerate(sizesOf(inputType)))
    if (static_cast<int64_t>(d) != dim)
      (static_cast<int64_t>(d) < dim ? outer : inner) *= extent;
  auto asI64 = [&](const Size &count) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), size(count, loc));
  };
  Value destination = emptyLike(sorted.getType(), loc);
  Type element = cast<RankedTensorType>(inputType).getElementType();
  SmallVector<Value> scalars{flag(runtimeDType(element, isUnsigned)),
                             flag(descending),
                             flag(argsort ? 1 : 0),
                             asI64(outer),
                             asI64(sizeOf(inputType, dim)),
                             asI64(inner),
                             asI64(sizeOf(sorted.getType(), dim))};
  set(sorted, rt::CallOp::create(b, loc, destination.getType(), "pmap_rt_sort", scalars, tensor(input), destination)
                  .getResult(0));
}

} // namespace pmap
