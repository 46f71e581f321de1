// pmap-report-parallel: states the facts that `--explain` lists of what the optimisation of collectives left: movements
// (P5), collectives, and what loops store for their derivatives (G5). Changes nothing, and does nothing unless asked.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "compiler/Dialect/Transforms/SizeNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace pmap;

namespace {

// The name in the language.
StringRef nameOf(Operation *op) {
  if (isa<AllGatherOp>(op))
    return "all_gather";
  if (isa<ReduceScatterOp>(op))
    return "psum_scatter";
  if (isa<AllToAllOp>(op))
    return "all_to_all";
  if (isa<PermuteOp>(op))
    return "ppermute";
  auto allReduce = dyn_cast<AllReduceOp>(op);
  if (!allReduce)
    return op->getName().stripDialect();
  switch (allReduce.getKind()) {
  case ReductionKind::Mean:
    return "pmean";
  case ReductionKind::Prod:
    return "pprod";
  case ReductionKind::Max:
  case ReductionKind::MaxU:
    return "pmax";
  case ReductionKind::Min:
  case ReductionKind::MinU:
    return "pmin";
  default:
    return "psum";
  }
}

// Bytes on the way: sums of narrow floats travel as f32 (C2).
Size travellingBytes(Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  bool sums = isa<ReduceScatterOp>(op);
  if (auto allReduce = dyn_cast<AllReduceOp>(op))
    sums = llvm::is_contained({ReductionKind::Sum, ReductionKind::Mean, ReductionKind::Prod}, allReduce.getKind());
  if (sums && isa<FloatType>(tensor.getElementType()) && tensor.getElementTypeBitWidth() < 32)
    return elementCountOf(type) * Size(4);
  return bytesOf(type);
}

void listAxes(llvm::raw_ostream &os, ArrayRef<StringAttr> axes) {
  llvm::interleave(axes, os, [&](StringAttr axis) { os << '"' << axis.getValue() << '"'; }, ", ");
}

// What says how often, and whether, an op is reached: the loops and conditions around it.
void placeInside(llvm::raw_ostream &os, Operation *op) {
  unsigned loops = 0;
  bool condition = false;
  for (Operation *parent = op->getParentOp(); parent && !isa<MapOp, func::FuncOp>(parent);
       parent = parent->getParentOp()) {
    loops += isa<scf::ForOp, scf::WhileOp, ForEachOp>(parent);
    condition |= isa<scf::IfOp>(parent);
  }
  if (loops)
    os << ", in every trip of " << (loops == 1 ? "a loop" : std::to_string(loops) + " nested loops");
  if (condition)
    os << ", under a condition";
}

// The other lines of a fused collective, which is listed at the first.
void otherLines(llvm::raw_ostream &os, Location location) {
  SmallVector<unsigned> lines;
  location->walk([&](Location part) {
    if (auto place = dyn_cast<FileLineColLoc>(part); place && !llvm::is_contained(lines, place.getLine()))
      lines.push_back(place.getLine());
    return WalkResult::advance();
  });
  if (lines.size() < 2)
    return;
  os << (lines.size() == 2 ? ", with line " : ", with lines ");
  llvm::interleaveComma(ArrayRef(lines).drop_front(), os);
}

void reportCollective(CollectiveOp op, const SizeNames &names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << nameOf(op) << " over ";
  listAxes(os, op.getCollectiveAxes());
  os << ": ";
  Size bytes;
  bool first = true;
  for (Value operand : op->getOperands()) {
    // The destinations and the fill of a permutation stay where they are.
    if (isa<PermuteOp>(op) && operand != op->getOperand(0))
      continue;
    os << (first ? "" : ", ") << names.showType(operand.getType());
    first = false;
    bytes += travellingBytes(op, operand.getType());
  }
  if (auto allReduce = dyn_cast<AllReduceOp>(op.getOperation()); allReduce && allReduce.getNumResults() > 1)
    os << " at once";
  otherLines(os, op->getLoc());
  placeInside(os, op);
  if (allPartsNamed(op->getLoc(), kAddedByDerivative))
    os << ", added by a gradient";
  else if (anyPartNamed(op->getLoc(), kAddedByDerivative))
    os << ", in part added by a gradient";
  stateFact(op->getLoc(), fact::kCollective, text, names.show(bytes));
}

// "split along dimension 0 over "data"", or what replicated values are.
void showSplit(llvm::raw_ostream &os, DistType type) {
  SpecAttr spec = type.getSpec();
  auto devices = type.getMesh().getDevices();
  if (spec.isReplicated() && devices.size() == 1) {
    os << "on device " << devices[0] << " alone";
    return;
  }
  bool any = false;
  for (int64_t dim = 0; dim < spec.getRank(); ++dim)
    if (auto axes = spec.getAxes(dim); !axes.empty()) {
      os << (any ? " and " : "split along ") << "dimension " << dim << " over ";
      listAxes(os, axes);
      any = true;
    }
  if (!any)
    os << "the same on every device";
  if (!devices.empty()) {
    os << " of devices ";
    llvm::interleaveComma(devices, os);
  }
}

void reportMove(Operation *op, Value from, Value to, const SizeNames &names) {
  auto source = dyn_cast<DistType>(from.getType()), target = dyn_cast<DistType>(to.getType());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << names.showType(to.getType()) << " ";
  if (!source) {
    os << "from the host to the devices, ";
    showSplit(os, target);
  } else if (!target) {
    os << "from the devices to the host";
    if (!source.getSpec().isReplicated() || source.getMesh().getDevices().size() == 1) {
      os << ": gathered, it was ";
      showSplit(os, source);
    }
  } else {
    os << "between devices: before ";
    showSplit(os, source);
    os << ", after ";
    showSplit(os, target);
  }
  placeInside(os, op);
  stateFact(op->getLoc(), fact::kMovement, text, names.show(bytesOf(to.getType())));
}

void reportBlocks(Operation *op, ValueRange blocks, StringRef how, const SizeNames &names) {
  Size bytes;
  for (Value block : blocks)
    bytes += bytesOf(block.getType());
  std::string text =
      std::to_string(blocks.size()) + " blocks of " + names.showType(blocks.front().getType()) + " " + how.str();
  stateFact(op->getLoc(), fact::kMovement, text, names.show(bytes));
}

// The stacks of carried values that a derivative reads: `yield (update_slice (carried) ...)`, made by
// BackwardLoops.cpp.
void reportStored(scf::ForOp loop, const SizeNames &names) {
  Size bytes;
  std::string text;
  for (auto [yielded, argument] : llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs())) {
    auto update = yielded.getDefiningOp<UpdateSliceOp>();
    if (!update || update.getInput() != argument || !anyPartNamed(update.getLoc(), kStoredForDerivative))
      continue;
    text += (text.empty() ? "" : ", ") + names.showType(argument.getType());
    bytes += bytesOf(argument.getType());
  }
  if (!text.empty())
    stateFact(loop.getLoc(), fact::kStored, "the loop keeps what a gradient reads of each trip: " + text,
              names.show(bytes));
}

// The blocks that a backward map reads of its forward one, named by BackwardRegions.cpp.
void reportKept(MapOp map, const SizeNames &names) {
  Size bytes;
  std::string text;
  for (auto [block, input] : llvm::zip_equal(map.getBlocks(), map.getInputs()))
    if (anyPartNamed(block.getLoc(), kStoredForDerivative)) {
      text += (text.empty() ? "" : ", ") + names.showType(input.getType());
      bytes += bytesOf(input.getType());
    }
  if (!text.empty())
    stateFact(map.getLoc(), fact::kStored, "the devices keep what a gradient reads of the map: " + text,
              names.show(bytes));
}

struct ReportParallelPass : PassWrapper<ReportParallelPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReportParallelPass)
  StringRef getArgument() const final { return "pmap-report-parallel"; }
  StringRef getDescription() const final { return "state movements, collectives and stored values for --explain"; }

  void runOnOperation() override {
    if (!factsWanted(&getContext()))
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SizeNames names(function);
      function.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (auto collective = dyn_cast<CollectiveOp>(op))
          reportCollective(collective, names);
        else if (auto move = dyn_cast<MoveOp>(op))
          reportMove(move, move.getInput(), move.getResult(), names);
        else if (auto shards = dyn_cast<ShardsOp>(op))
          reportBlocks(shards, shards.getBlocks(), "from the host to the devices, one each", names);
        else if (auto toShards = dyn_cast<ToShardsOp>(op))
          reportBlocks(toShards, toShards.getBlocks(), "from the devices to the host", names);
        else if (auto loop = dyn_cast<scf::ForOp>(op))
          reportStored(loop, names);
        else if (auto map = dyn_cast<MapOp>(op))
          reportKept(map, names);
      });
    }
  }
};

} // namespace

std::unique_ptr<Pass> pmap::createReportParallelPass() { return std::make_unique<ReportParallelPass>(); }
