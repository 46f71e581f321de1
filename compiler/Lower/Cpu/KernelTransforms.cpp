// Rewrites of structured ops on memrefs before loops are made for them.

#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

namespace pmap {

static void copyToKernel(IRRewriter &rewriter, memref::CopyOp copy) {
  rewriter.setInsertionPoint(copy);
  Value source = copy.getSource(), target = copy.getTarget();
  if (source != target) {
    unsigned rank = cast<MemRefType>(target.getType()).getRank();
    auto map = AffineMap::getMultiDimIdentityMap(rank, copy.getContext());
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(rewriter, copy.getLoc(), source, target, ArrayRef<AffineMap>{map, map}, iterators,
                              [](OpBuilder &builder, Location loc, ValueRange arguments) {
                                linalg::YieldOp::create(builder, loc, arguments[0]);
                              });
  }
  rewriter.eraseOp(copy);
}

void copiesToKernels(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<memref::CopyOp, linalg::LinalgOp>(op) && !isa<linalg::GenericOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      copyToKernel(rewriter, copy);
      continue;
    }
    rewriter.setInsertionPoint(op);
    (void)linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(op));
  }
}

// True when loops `dim` and `dim + 1` walk each operand in one line.
static bool areOneLine(linalg::GenericOp op, ArrayRef<AffineMap> maps, unsigned dim) {
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps)) {
    int first = -1, second = -1;
    for (auto [position, result] : llvm::enumerate(map.getResults())) {
      auto expr = dyn_cast<AffineDimExpr>(result);
      if (!expr) {
        if (!isa<AffineConstantExpr>(result))
          return false;
        continue;
      }
      if (expr.getPosition() == dim)
        first = first == -1 ? position : -2;
      if (expr.getPosition() == dim + 1)
        second = second == -1 ? position : -2;
    }
    if (first == -1 && second == -1)
      continue;
    if (first < 0 || second != first + 1)
      return false;
    if (!cast<MemRefType>(operand.getType()).getLayout().isIdentity())
      return false;
  }
  return true;
}

linalg::GenericOp collapseLoops(OpBuilder &builder, linalg::GenericOp op, std::optional<unsigned> keep) {
  unsigned loops = op.getNumLoops();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  // Regions nested in the body could hide an index; a body that asks for indices keeps its loops.
  bool usesIndices = op.getBody()->walk([](linalg::IndexOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (loops < 2 || usesIndices)
    return op;
  SmallVector<unsigned> group(loops);
  unsigned groups = 1;
  for (unsigned dim = 1; dim < loops; ++dim) {
    bool merge =
        keep != dim && keep != dim - 1 && iterators[dim] == iterators[dim - 1] && areOneLine(op, maps, dim - 1);
    groups += !merge;
    group[dim] = groups - 1;
  }
  if (groups == loops)
    return op;

  MLIRContext *context = op.getContext();
  SmallVector<Value> operands;
  SmallVector<AffineMap> newMaps;
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps)) {
    SmallVector<ReassociationIndices> reassociation;
    SmallVector<AffineExpr> results;
    std::optional<unsigned> previous;
    for (auto [position, result] : llvm::enumerate(map.getResults())) {
      auto expr = dyn_cast<AffineDimExpr>(result);
      std::optional<unsigned> own = expr ? std::optional<unsigned>(group[expr.getPosition()]) : std::nullopt;
      if (own && own == previous) {
        reassociation.back().push_back(position);
        continue;
      }
      reassociation.push_back({static_cast<int64_t>(position)});
      results.push_back(own ? getAffineDimExpr(*own, context) : result);
      previous = own;
    }
    Value collapsed = operand;
    if (auto type = dyn_cast<MemRefType>(operand.getType());
        type && static_cast<int64_t>(reassociation.size()) != type.getRank())
      collapsed = memref::CollapseShapeOp::create(builder, op.getLoc(), operand, reassociation);
    operands.push_back(collapsed);
    newMaps.push_back(AffineMap::get(groups, 0, results, context));
  }
  SmallVector<utils::IteratorType> newIterators(groups);
  for (unsigned dim = 0; dim < loops; ++dim)
    newIterators[group[dim]] = iterators[dim];
  unsigned inputs = op.getNumDpsInputs();
  auto collapsed = linalg::GenericOp::create(builder, op.getLoc(), ArrayRef(operands).take_front(inputs),
                                             ArrayRef(operands).drop_front(inputs), newMaps, newIterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&collapsed.getRegion(), mapping);
  collapsed->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  builder.setInsertionPointAfter(collapsed);
  return collapsed;
}

// The constant that a fill writes, or nothing.
static TypedAttr filledWith(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() > 0 || op.getBody()->getOperations().size() > 2)
    return nullptr;
  Value value = op.getBody()->getTerminator()->getOperand(0);
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getOwner() == op.getBody() && argument.getArgNumber() < op.getNumDpsInputs())
      value = op.getDpsInputs()[argument.getArgNumber()];
  TypedAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return nullptr;
  return constant;
}

static bool isIdentity(TypedAttr value, TypedAttr identity) {
  if (auto number = dyn_cast<FloatAttr>(value))
    if (auto other = dyn_cast<FloatAttr>(identity))
      // -0.0 and 0.0 both do.
      return number.getValue().compare(other.getValue()) == APFloat::cmpEqual;
  return value == identity;
}

void absorbFills(func::FuncOp function) {
  SmallVector<linalg::GenericOp> fills;
  function.walk([&](linalg::GenericOp op) {
    if (filledWith(op))
      fills.push_back(op);
  });
  for (linalg::GenericOp fill : fills) {
    Value buffer = fill.getDpsInits()[0];
    if (!buffer.getDefiningOp<memref::AllocOp>())
      continue;
    // The next op on the buffer.
    Operation *next = nullptr;
    bool local = true;
    for (Operation *user : buffer.getUsers()) {
      if (user == fill || isa<memref::DimOp>(user))
        continue;
      Operation *ancestor = fill->getBlock()->findAncestorOpInBlock(*user);
      local &= ancestor && fill->isBeforeInBlock(ancestor);
      if (local && (!next || ancestor->isBeforeInBlock(next)))
        next = ancestor;
    }
    auto reduction = dyn_cast_or_null<linalg::GenericOp>(next);
    if (!local || !reduction || reduction.getNumDpsInits() != 1 || reduction.getDpsInits()[0] != buffer ||
        llvm::is_contained(reduction.getDpsInputs(), buffer))
      continue;
    Kernel kernel(reduction);
    if (kernel.combiners.empty() || !isIdentity(filledWith(fill), kernel.combiners[0].neutral))
      continue;
    reduction->setAttr(startsFresh, UnitAttr::get(fill.getContext()));
    fill.erase();
  }
}

} // namespace pmap
