// Groups of structured ops that share one loop over blocks of rows.

#include "compiler/Lower/Cpu/Clusters.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {

//===--------------------------------------------------------------------------------------------------------------===//
// Equal extents
//===--------------------------------------------------------------------------------------------------------------===//

unsigned ExtentClasses::newId(std::pair<void *, int64_t> key) {
  auto [entry, isNew] = ids.try_emplace(key, ids.size());
  if (isNew)
    classes.insert(entry->second);
  return entry->second;
}

unsigned ExtentClasses::idOf(Value buffer, unsigned dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return newId({nullptr, type.getDimSize(dim)});
  return newId({buffer.getAsOpaquePointer(), dim});
}

unsigned ExtentClasses::idOfSize(Value size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return newId({nullptr, *constant});
  return newId({size.getAsOpaquePointer(), -1});
}

ExtentClasses::ExtentClasses(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      unsigned next = 0;
      for (int64_t dim = 0; dim < alloc.getType().getRank(); ++dim)
        if (alloc.getType().isDynamicDim(dim))
          classes.unionSets(idOf(alloc, dim), idOfSize(alloc.getDynamicSizes()[next++]));
    } else if (auto dim = dyn_cast<memref::DimOp>(op)) {
      if (std::optional<int64_t> index = dim.getConstantIndex(); index && isa<MemRefType>(dim.getSource().getType()))
        classes.unionSets(idOfSize(dim), idOf(dim.getSource(), *index));
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      SmallVector<std::optional<unsigned>> loops(generic.getNumLoops());
      for (OpOperand &operand : generic->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType()))
          continue;
        for (auto [position, result] : llvm::enumerate(generic.getMatchingIndexingMap(&operand).getResults()))
          if (auto loop = dyn_cast<AffineDimExpr>(result)) {
            unsigned id = idOf(operand.get(), position);
            std::optional<unsigned> &known = loops[loop.getPosition()];
            if (known)
              classes.unionSets(*known, id);
            known = id;
          }
      }
    }
  });
}

bool ExtentClasses::areEqual(Value a, unsigned dimOfA, Value b, unsigned dimOfB) {
  return classes.isEquivalent(idOf(a, dimOfA), idOf(b, dimOfB));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Clusters
//===--------------------------------------------------------------------------------------------------------------===//

std::optional<unsigned> rowLoop(linalg::GenericOp op) {
  std::optional<unsigned> row;
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    auto first = map.getNumResults() ? dyn_cast<AffineDimExpr>(map.getResult(0)) : AffineDimExpr(nullptr);
    if (!first || (row && *row != first.getPosition()))
      return std::nullopt;
    row = first.getPosition();
  }
  if (!row || op.getIteratorTypesArray()[*row] != utils::IteratorType::parallel)
    return std::nullopt;
  return row;
}

namespace {

// The allocation, argument or other value that a buffer is a view of.
Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

// What decides about clustering, beyond the row loop: bodies that read memory by themselves could read any row.
bool isEligible(linalg::GenericOp op) {
  if (!rowLoop(op) || isMatrixProduct(op))
    return false;
  return !op.getBody()
              ->walk([](Operation *inner) {
                return isa<memref::LoadOp, memref::StoreOp, CallOpInterface>(inner) ? WalkResult::interrupt()
                                                                                    : WalkResult::advance();
              })
              .wasInterrupted();
}

// True when `op` reaches `buffer` only at its own row.
bool staysInRow(linalg::GenericOp op, Value buffer) {
  unsigned row = *rowLoop(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()) || rootOf(operand.get()) != rootOf(buffer))
      continue;
    if (operand.get() != buffer)
      return false;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() == 0 || map.getResult(0) != getAffineDimExpr(row, op.getContext()))
      return false;
    for (AffineExpr other : map.getResults().drop_front())
      if (other.isFunctionOfDim(row))
        return false;
  }
  return true;
}

bool writes(linalg::GenericOp op, Value root) {
  return llvm::any_of(op.getDpsInits(), [&](Value output) { return rootOf(output) == root; });
}

class ClusterFormer {
public:
  explicit ClusterFormer(func::FuncOp function) : extents(function) {}

  void runOnBlock(Block &block) {
    for (Operation &op : block) {
      if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
        add(generic);
        continue;
      }
      bool movesPast = isMemoryEffectFree(&op) || isa<memref::AllocOp>(op);
      if (!movesPast || op.getNumRegions())
        finish();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          runOnBlock(inner);
    }
    finish();
  }

  SmallVector<Cluster> take() { return std::move(clusters); }

private:
  void add(linalg::GenericOp op) {
    bool eligible = isEligible(op);
    if (!current.ops.empty() && !(eligible && fits(op)))
      finish();
    current.ops.push_back(op);
    if (!eligible)
      finish();
  }

  // The same rows as the ops so far, every shared buffer that is written reached at the row only, and something shared.
  bool fits(linalg::GenericOp op) {
    linalg::GenericOp first = current.ops.front();
    Value output = op.getDpsInits()[0], firstOutput = first.getDpsInits()[0];
    if (!extents.areEqual(output, 0, firstOutput, 0))
      return false;
    bool shares = false;
    for (linalg::GenericOp other : current.ops)
      for (Value mine : op->getOperands()) {
        if (!isa<MemRefType>(mine.getType()))
          continue;
        for (Value theirs : other->getOperands()) {
          if (!isa<MemRefType>(theirs.getType()) || rootOf(mine) != rootOf(theirs))
            continue;
          shares = true;
          Value root = rootOf(mine);
          if ((writes(op, root) || writes(other, root)) &&
              (mine != theirs || !staysInRow(op, mine) || !staysInRow(other, theirs)))
            return false;
        }
      }
    return shares;
  }

  void finish() {
    if (current.ops.empty())
      return;
    if (current.ops.size() > 1)
      findLocals();
    clusters.push_back(std::move(current));
    current = Cluster();
  }

  // Allocations that nothing outside of the cluster uses.
  void findLocals() {
    DenseSet<Operation *> members;
    for (linalg::GenericOp op : current.ops)
      members.insert(op);
    DenseSet<Value> seen;
    for (linalg::GenericOp op : current.ops)
      for (Value output : op.getDpsInits()) {
        auto alloc = output.getDefiningOp<memref::AllocOp>();
        if (alloc && seen.insert(output).second &&
            llvm::all_of(alloc->getUsers(), [&](Operation *user) { return members.contains(user); }))
          current.locals.push_back(alloc);
      }
  }

  ExtentClasses extents;
  SmallVector<Cluster> clusters;
  Cluster current;
};

} // namespace

SmallVector<Cluster> formClusters(func::FuncOp function) {
  ClusterFormer former(function);
  for (Block &block : function.getBody())
    former.runOnBlock(block);
  return former.take();
}

} // namespace pmap
