// Elementwise ops that read the same arrays, one after another.
//
// An optimizer computes the new moments of all leaves, then the new parameters of all leaves from the old moments (the
// new ones are computed again inside, which is cheaper than to read them back). So each array would come from memory
// twice, and the old moments could not be overwritten in place, since they are read later. Where an op's arrays are
// among those that a later op reads, it moves behind that one: then the two share a loop over blocks, and the arrays
// die there.

#include "compiler/Lower/Cpu/Kernel.h"

using namespace mlir;

namespace pmap {
namespace {

// Elementwise with every array read and written at the very point.
bool isPointwise(linalg::GenericOp op) {
  return op.getNumLoops() > 0 && op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return !isa<TensorType>(operand.get().getType()) || op.getMatchingIndexingMap(&operand).isIdentity();
         });
}

SmallVector<Value> arraysOf(linalg::GenericOp op) {
  SmallVector<Value> arrays;
  for (Value input : op.getDpsInputs())
    if (isa<TensorType>(input.getType()))
      arrays.push_back(input);
  return arrays;
}

// Whether every use of the op's results is behind `other`, in the same block.
bool isUsedBehindOnly(linalg::GenericOp op, linalg::GenericOp other) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && inBlock != other && other->isBeforeInBlock(inBlock);
  });
}

void groupReaders(Block &block) {
  SmallVector<linalg::GenericOp> ops;
  for (linalg::GenericOp op : block.getOps<linalg::GenericOp>())
    if (isPointwise(op) && !arraysOf(op).empty())
      ops.push_back(op);
  for (size_t index = 0; index < ops.size(); ++index) {
    linalg::GenericOp op = ops[index];
    for (linalg::GenericOp later : ArrayRef(ops).drop_front(index + 1)) {
      SmallVector<Value> theirs = arraysOf(later);
      bool isAmong = llvm::all_of(arraysOf(op), [&](Value array) { return llvm::is_contained(theirs, array); });
      if (!isAmong || op.getNumLoops() != later.getNumLoops() || !isUsedBehindOnly(op, later))
        continue;
      op->moveAfter(later);
      break;
    }
  }
}

struct GroupReadersPass : PassWrapper<GroupReadersPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GroupReadersPass)
  StringRef getArgument() const final { return "pmap-cpu-group-readers"; }
  StringRef getDescription() const final { return "Move elementwise ops behind those that read the same arrays"; }

  void runOnOperation() final {
    getOperation().walk([](Block *block) {
      if (!isa<linalg::LinalgOp>(block->getParentOp()))
        groupReaders(*block);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createGroupReadersPass() { return std::make_unique<GroupReadersPass>(); }

} // namespace pmap
