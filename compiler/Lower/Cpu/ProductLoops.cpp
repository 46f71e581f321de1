// Loops around a product of matrices that only add such products up, as those over the places of a convolution's kernel
// and the pullbacks of them: such a loop is one more loop of the call, which then keeps each part of the result in
// registers while it adds, instead of walking whole arrays once per trip.

#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

// What is computed inside of the loop `outermost` and how it depends on the counters of the loops there.
class Nest {
public:
  explicit Nest(scf::ForOp outermost) : outermost(outermost) {}

  bool isOutside(Value value) { return !outermost.getRegion().isAncestor(value.getParentRegion()); }

  // 0 for what no counter changes, 1 for what grows evenly with them; nothing where that is not known.
  std::optional<int> degree(Value value) {
    if (isOutside(value))
      return 0;
    if (isa<BlockArgument>(value))
      return 1;
    Operation *op = value.getDefiningOp();
    std::optional<int> sum = 0, most = 0;
    for (Value operand : op->getOperands()) {
      std::optional<int> part = degree(operand);
      if (!part)
        return std::nullopt;
      sum = *sum + *part;
      most = std::max(*most, *part);
    }
    if (isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>(op))
      return most;
    if (isa<arith::MulIOp>(op))
      return *sum <= 1 ? sum : std::nullopt;
    return *most == 0 ? most : std::nullopt;
  }

  bool isFixed(Value value) { return degree(value) == 0; }

  // The array that `buffer` is a view of, whose place grows evenly with the counters; nothing where that is not known.
  Value root(Value buffer) {
    while (!isOutside(buffer)) {
      Operation *view = buffer.getDefiningOp();
      if (!view || !isa<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(view))
        return Value();
      for (Value operand : view->getOperands().drop_front())
        if (!isFixed(operand) && !growsOnlyOffset(view, operand))
          return Value();
      buffer = view->getOperand(0);
    }
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
      buffer = view.getViewSource();
    return buffer;
  }

private:
  bool growsOnlyOffset(Operation *view, Value operand) {
    auto slice = dyn_cast<memref::SubViewOp>(view);
    return slice && !llvm::is_contained(slice.getSizes(), operand) &&
           !llvm::is_contained(slice.getStrides(), operand) && degree(operand) == 1;
  }

  scf::ForOp outermost;
};

} // namespace

// True when the loop's body computes indices and views for `inner`, and does nothing else.
static bool holdsOnly(scf::ForOp loop, Operation *inner) {
  return loop.getNumResults() == 0 && llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
           return &op == inner || (op.getNumRegions() == 0 && isPure(&op));
         });
}

// True when the memory of `result`, an allocation, cannot be that of `other`.
static bool isApart(memref::AllocOp result, Value other) {
  if (other == result.getResult())
    return false;
  if (other.getDefiningOp<memref::AllocOp>())
    return true;
  // What there was before the allocation.
  Block *block = other.getParentBlock();
  Operation *around = block->findAncestorOpInBlock(*result);
  if (!around)
    return false;
  return isa<BlockArgument>(other) || other.getDefiningOp()->isBeforeInBlock(around);
}

SmallVector<scf::ForOp> loopsOfSum(linalg::GenericOp op) {
  SmallVector<scf::ForOp> loops;
  if (op->hasAttr(startsFresh) || op.getNumDpsInits() != 1)
    return loops;
  for (Operation *inner = op;; inner = loops.back()) {
    auto loop = dyn_cast<scf::ForOp>(inner->getParentOp());
    if (!loop || !holdsOnly(loop, inner))
      return loops;
    Nest nest(loop);
    for (scf::ForOp within : loops)
      if (!nest.isFixed(within.getLowerBound()) || !nest.isFixed(within.getUpperBound()) ||
          !nest.isFixed(within.getStep()))
        return loops;
    auto result = nest.root(op.getDpsInits()[0]).getDefiningOp<memref::AllocOp>();
    if (!result)
      return loops;
    for (Value input : op.getDpsInputs()) {
      Value root = nest.root(input);
      if (!root || !isApart(result, root))
        return loops;
    }
    loops.push_back(loop);
  }
}

static Value copyOf(OpBuilder &builder, scf::ForOp outermost, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return mapping.lookup(value);
  if (Nest(outermost).isOutside(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, copyOf(builder, outermost, operand, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

SmallVector<Value> operandsAt(OpBuilder &builder, linalg::GenericOp op, ArrayRef<scf::ForOp> loops,
                              ArrayRef<Value> counters) {
  IRMapping mapping;
  for (auto [index, counter] : llvm::enumerate(counters))
    mapping.map(scf::ForOp(loops[index]).getInductionVar(), counter);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(copyOf(builder, scf::ForOp(loops.back()), operand, mapping));
  return operands;
}

} // namespace pmap
