// How the loops of a kernel are best cut into blocks.

#include "compiler/Lower/Cpu/KernelShape.h"

using namespace mlir;

namespace pmap {

// Ops of at most this much work in all, known at compile time, get no parallel loop.
static constexpr int64_t inlineWork = 16384;

bool isFlat(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 &&
         llvm::all_of(op->getOpOperands(),
                      [&](OpOperand &operand) {
                        auto type = dyn_cast<MemRefType>(operand.get().getType());
                        return type && type.getLayout().isIdentity() &&
                               op.getMatchingIndexingMap(&operand).isIdentity();
                      }) &&
         !op.getBody()->walk([](linalg::IndexOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

bool isSmall(Kernel &kernel) {
  int64_t work = std::max<int64_t>(1, kernel.cost);
  for (unsigned dim = 0; dim < kernel.numLoops(); ++dim) {
    int64_t extent = kernel.staticExtent(dim);
    if (ShapedType::isDynamic(extent) || (work *= extent) > inlineWork)
      return false;
  }
  return true;
}

unsigned firstReduction(Kernel &kernel) {
  return std::distance(kernel.isReduction.begin(), llvm::find(kernel.isReduction, true));
}

std::optional<unsigned> parallelSplit(Kernel &kernel) {
  std::optional<unsigned> first;
  unsigned parallel = 0;
  for (unsigned dim = 0; dim < kernel.numLoops(); ++dim) {
    if (kernel.isReduction[dim] || kernel.staticExtent(dim) == 1)
      continue;
    ++parallel;
    if (!first)
      first = dim;
  }
  if (parallel == 1 && !kernel.combiners.empty()) {
    for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
      ArrayRef<AffineExpr> results = kernel.maps[operand].getResults();
      if (results.size() >= 2)
        if (auto dim = dyn_cast<AffineDimExpr>(results.front()))
          if (kernel.isReduction[dim.getPosition()] &&
              results.back() == getAffineDimExpr(*first, kernel.op.getContext()))
            return std::nullopt;
    }
  }
  return first;
}

int64_t leastRows(Kernel &kernel, unsigned split) {
  if (kernel.hasReduction)
    return llvm::count(kernel.isReduction, false) > 1 ? 8 : 1;
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    AffineMap map = kernel.maps[operand];
    if (map.getNumResults() > 1 && map.getResults().back() == getAffineDimExpr(split, map.getContext()))
      return transposedTile;
  }
  return 1;
}

bool readsAcrossRows(Kernel &kernel, unsigned row) {
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    AffineMap map = kernel.maps[operand];
    if (map.getNumResults() > 1 && map.getResults().back() == getAffineDimExpr(row, map.getContext()))
      return true;
  }
  return false;
}

} // namespace pmap
