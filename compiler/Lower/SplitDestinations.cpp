// `pmap-split-destinations`: gives every op that writes over a filled array a filled array of its own.
//
// Common subexpression elimination merges equal fills, and hoisting moves them out of loops. Bufferization must then
// copy the one fill for each op that accumulates into it, which reads and writes memory where filling only writes.
//
// It merges destinations as well, and moves them out of loops. Bufferization keeps apart what lives in them at the same
// time, except for arrays that a distributed value looks at while no op reads them: these get a destination of their
// own. So do arrays that are written part by part, since what it would do to keep those apart is to copy them.
#include "compiler/Lower/Passes.h"
#include "compiler/Lower/RuntimeOps.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace pmap {
namespace {

/// A structured op that only writes constants, or what it computes from indices, into a fresh array.
bool isFill(Operation *op) {
  auto structured = dyn_cast_or_null<linalg::LinalgOp>(op);
  return structured && structured->getNumResults() == 1 &&
         structured.getNumParallelLoops() == structured.getNumLoops() &&
         llvm::none_of(structured.getDpsInputs(), [](Value input) { return isa<TensorType>(input.getType()); }) &&
         structured.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() &&
         !structured.payloadUsesValueFromOperand(structured.getDpsInitOperand(0));
}

/// True when the use's owner may write over the array.
bool mayWrite(OpOperand &use) {
  Operation *owner = use.getOwner();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(owner))
    return destination.isDpsInit(&use);
  return isa<scf::ForOp, scf::WhileOp, scf::ForallOp>(owner);
}

void split(Operation *fill) {
  SmallVector<OpOperand *> writers;
  for (OpOperand &use : fill->getResult(0).getUses())
    if (mayWrite(use))
      writers.push_back(&use);
  bool shared = !fill->getResult(0).hasOneUse();
  for (OpOperand *use : writers) {
    Operation *owner = use->getOwner();
    if (!shared && owner->getBlock() == fill->getBlock())
      continue;
    OpBuilder builder(owner);
    Operation *empty = builder.clone(*fill->getOperand(fill->getNumOperands() - 1).getDefiningOp());
    IRMapping mapping;
    mapping.map(fill->getOperand(fill->getNumOperands() - 1), empty->getResult(0));
    use->set(builder.clone(*fill, mapping)->getResult(0));
  }
  if (fill->use_empty())
    fill->erase();
}

/// Gives an array that a distributed value will look at an allocation that nothing else writes to: bufferization sees
/// no reader of it behind the call that takes it.
void ownAllocation(Value array) {
  while (auto result = dyn_cast<OpResult>(array)) {
    auto maker = dyn_cast<DestinationStyleOpInterface>(result.getOwner());
    if (!maker || result.getResultNumber() >= maker.getNumDpsInits())
      return;
    OpOperand *destination = maker.getDpsInitOperand(result.getResultNumber());
    auto empty = destination->get().getDefiningOp<tensor::EmptyOp>();
    if (empty && !empty->hasOneUse()) {
      OpBuilder builder(maker);
      destination->set(builder.clone(*empty)->getResult(0));
      return;
    }
    array = destination->get();
  }
}

/// Gives an array that is put together, beginning with `first`, an allocation where that is done.
void ownParts(tensor::InsertSliceOp first) {
  auto empty = first.getDest().getDefiningOp<tensor::EmptyOp>();
  auto maker = first.getSource().getDefiningOp<DestinationStyleOpInterface>();
  if (!empty || (maker && maker->getBlock() != first->getBlock()))
    return;
  // The place where the part is computed, if that is in the array.
  OpOperand *place = maker ? maker.getTiedOpOperand(cast<OpResult>(first.getSource())) : nullptr;
  auto slice = place ? place->get().getDefiningOp<tensor::ExtractSliceOp>() : nullptr;
  bool isInside = slice && slice.getSource() == empty.getResult();
  OpBuilder builder(isInside ? maker.getOperation() : first.getOperation());
  Operation *own = builder.clone(*empty);
  if (isInside) {
    IRMapping mapping;
    mapping.map(empty.getResult(), own->getResult(0));
    place->set(builder.clone(*slice, mapping)->getResult(0));
    if (slice->use_empty())
      slice.erase();
  }
  first.getDestMutable().assign(own->getResult(0));
  if (empty->use_empty())
    empty.erase();
}

struct SplitDestinationsPass : PassWrapper<SplitDestinationsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitDestinationsPass)
  StringRef getArgument() const final { return "pmap-split-destinations"; }
  StringRef getDescription() const final { return "Give every op that writes over a filled array one of its own"; }

  void runOnOperation() override {
    SmallVector<Operation *> fills;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isFill(op))
        fills.push_back(op);
    });
    for (Operation *fill : fills)
      split(fill);
    SmallVector<tensor::InsertSliceOp> inserts;
    getOperation().walk([&](tensor::InsertSliceOp insert) { inserts.push_back(insert); });
    for (tensor::InsertSliceOp insert : inserts)
      ownParts(insert);
    getOperation().walk([&](rt::CallOp call) {
      if (call.getCallee() == "pmap_rt_move_to_dist" || call.getCallee() == "pmap_rt_shards")
        for (Value input : call.getInputs())
          ownAllocation(input);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createSplitDestinationsPass() { return std::make_unique<SplitDestinationsPass>(); }

} // namespace pmap
