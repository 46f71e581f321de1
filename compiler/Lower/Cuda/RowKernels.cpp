// Kernels over rows: which clusters fit, and their launches.

#include "compiler/Lower/Cuda/RowKernels.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"
#include "compiler/Lower/Cuda/RowEmitter.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

/// Rows of up to this many elements are walked by a warp, longer ones by a block. It is also the length of the pieces
/// that a reduction to one element is cut into.
constexpr int64_t longRow = 4096;

Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// Emits the kernel for the rows of the last op: by warps where rows are short, else by blocks.
void emitLaunches(OpBuilder &builder, Location loc, MutableArrayRef<RowOp> ops, ArrayRef<Value> extents,
                  RowEmitter &emitter, StringRef what) {
  IndexMath math(builder, loc);
  emitter.plan();
  Value count = math.product(extents);
  auto launch = [&](bool wholeBlock) {
    Value blocks = Team::blocksFor(builder, loc, count, wholeBlock);
    createLaunch(builder, loc, blocks, (what + (wholeBlock ? "_block" : "_warp")).str(), [&](Launch &launch) {
      Team team(builder, loc, launch, wholeBlock);
      emitIf(builder, loc, math.less(team.number, count),
             [&] { emitter.emitRow(team, math.split(team.number, extents)); });
    });
  };
  Value isLong = math.less(math.constant(longRow), emitter.longest());
  emitIfElse(builder, loc, isLong, [&] { launch(true); }, [&] { launch(false); });
}

SmallVector<Value> extentsOf(OpBuilder &builder, Location loc, RowOp &op) {
  SmallVector<Value> extents;
  for (unsigned loop : op.rows)
    extents.push_back(op.kernel.extent(builder, loc, loop));
  return extents;
}

/// The loops of an op whose outputs begin with `rank` row dimensions; nothing if they are not plain loops.
std::optional<RowOp> rowOpOf(linalg::GenericOp op, unsigned rank) {
  RowOp result(op);
  Kernel &kernel = result.kernel;
  for (unsigned output = 0; output < op.getNumDpsInits(); ++output) {
    AffineMap map = kernel.maps[kernel.numInputs() + output];
    if (map.getNumResults() < rank || !map.isProjectedPermutation())
      return std::nullopt;
    SmallVector<unsigned> rows;
    for (unsigned dim = 0; dim < rank; ++dim)
      rows.push_back(cast<AffineDimExpr>(map.getResult(dim)).getPosition());
    if (output > 0 && rows != result.rows)
      return std::nullopt;
    result.rows = rows;
    if (kernel.hasReduction && map.getNumResults() != rank)
      return std::nullopt;
    if (!kernel.hasReduction && map.getNumResults() != kernel.numLoops())
      return std::nullopt;
  }
  for (unsigned loop = 0; loop < kernel.numLoops(); ++loop) {
    bool isRow = llvm::is_contained(result.rows, loop);
    if (isRow && kernel.isReduction[loop])
      return std::nullopt;
    if (!isRow) {
      if (kernel.hasReduction && !kernel.isReduction[loop])
        return std::nullopt;
      result.inner.push_back(loop);
    }
  }
  if (kernel.hasReduction && kernel.combiners.empty())
    return std::nullopt;
  return result;
}

/// How many dimensions the reductions of a cluster keep; nothing if they differ.
std::optional<unsigned> rowRank(Cluster &cluster) {
  std::optional<unsigned> rank;
  for (linalg::GenericOp op : cluster.ops) {
    if (op.getNumReductionLoops() == 0)
      continue;
    unsigned own = cast<MemRefType>(op.getDpsInits()[0].getType()).getRank();
    if (rank && *rank != own)
      return std::nullopt;
    rank = own;
  }
  return rank;
}

} // namespace

bool fitsRows(Cluster &cluster, ExtentClasses &extents) {
  std::optional<unsigned> rank = rowRank(cluster);
  if (!rank || *rank == 0)
    return false;
  DenseMap<Value, unsigned> writers;
  DenseSet<Value> read;
  for (auto [index, op] : llvm::enumerate(cluster.ops)) {
    std::optional<RowOp> rowOp = rowOpOf(op, *rank);
    if (!rowOp)
      return false;
    Kernel &kernel = rowOp->kernel;
    Value output = op.getDpsInits()[0], first = cluster.ops.front().getDpsInits()[0];
    for (unsigned dim = 0; dim < *rank; ++dim)
      if (!extents.areEqual(output, dim, first, dim))
        return false;
    for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
      Value input = kernel.operand(operand);
      if (!isa<MemRefType>(input.getType()))
        continue;
      auto writer = writers.find(rootOf(input));
      if (writer == writers.end()) {
        read.insert(rootOf(input));
        continue;
      }
      // What the cluster makes is read at the very row, by plain loops.
      AffineMap map = kernel.maps[operand];
      if (!llvm::is_contained(cluster.ops[writer->second].getDpsInits(), input) || !map.isProjectedPermutation())
        return false;
      for (auto [dim, loop] : llvm::enumerate(rowOp->rows))
        if (map.getResult(dim) != getAffineDimExpr(loop, op.getContext()))
          return false;
    }
    for (auto [position, written] : llvm::enumerate(op.getDpsInits())) {
      Value root = rootOf(written);
      bool reads = op.payloadUsesValueFromOperand(op.getDpsInitOperand(position)) && !op->hasAttr(startsFresh);
      // What overwrites its input can be computed only once, so nothing may come after it.
      bool isLast = index + 1 == cluster.ops.size();
      if ((reads && !kernel.hasReduction) || (read.contains(root) && !isLast))
        return false;
      // Several ops may write one buffer, as a whole each: what an earlier one wrote is known by who reads it in
      // between.
      if (auto before = writers.find(root);
          before != writers.end() && !llvm::is_contained(cluster.ops[before->second].getDpsInits(), written))
        return false;
      writers[root] = index;
    }
  }
  return true;
}

void emitRows(OpBuilder &builder, Cluster &cluster) {
  Location loc = cluster.ops.back().getLoc();
  SmallVector<RowOp, 0> ops;
  unsigned rank = *rowRank(cluster);
  for (linalg::GenericOp op : cluster.ops)
    ops.push_back(*rowOpOf(op, rank));
  RowEmitter emitter(builder, loc, ops);
  for (memref::AllocOp local : cluster.locals)
    emitter.locals.insert(local);
  for (RowOp &op : ops)
    op.deferred = !op.kernel.hasReduction && !op.inner.empty() && emitter.isLocal(op);
  SmallVector<Value> extents = extentsOf(builder, loc, ops.back());
  emitLaunches(builder, loc, ops, extents, emitter, "rows");
}

bool reducesRows(Kernel &kernel) {
  if (!kernel.hasReduction || kernel.combiners.empty())
    return false;
  bool hasRows = llvm::is_contained(kernel.isReduction, false);
  for (unsigned dim = 0; dim < kernel.numLoops() && hasRows; ++dim)
    if (kernel.isReduction[dim] && kernel.staticExtent(dim) != 1 && runsInVectors(kernel, dim))
      return rowOpOf(kernel.op, cast<MemRefType>(kernel.op.getDpsInits()[0].getType()).getRank()).has_value();
  return false;
}

void emitRowReduction(OpBuilder &builder, linalg::GenericOp op) {
  Location loc = op.getLoc();
  SmallVector<RowOp, 0> ops{*rowOpOf(op, cast<MemRefType>(op.getDpsInits()[0].getType()).getRank())};
  RowEmitter emitter(builder, loc, ops);
  emitLaunches(builder, loc, ops, extentsOf(builder, loc, ops[0]), emitter, "reduce");
}

void emitWholeReduction(OpBuilder &builder, linalg::GenericOp op) {
  Location loc = op.getLoc();
  IndexMath math(builder, loc);
  SmallVector<RowOp, 0> ops{RowOp(op)};
  Kernel &kernel = ops[0].kernel;
  // Pieces of the last loop, at every point of the others.
  unsigned last = kernel.numLoops() - 1;
  SmallVector<Value> extents;
  for (unsigned loop = 0; loop < last; ++loop) {
    ops[0].rows.push_back(loop);
    extents.push_back(kernel.extent(builder, loc, loop));
  }
  ops[0].inner.push_back(last);
  Value length = kernel.extent(builder, loc, last), size = math.constant(longRow);
  extents.push_back(math.ceilDiv(length, size));
  Value count = math.product(extents);

  SmallVector<Value> partials;
  for (Combiner &combiner : kernel.combiners)
    partials.push_back(memref::AllocOp::create(
        builder, loc, MemRefType::get({ShapedType::kDynamic}, combiner.value.getType()), count));
  {
    RowEmitter emitter(builder, loc, ops);
    emitter.plan();
    createLaunch(builder, loc, Team::blocksFor(builder, loc, count, false), "partial", [&](Launch &launch) {
      Team team(builder, loc, launch, /*wholeBlock=*/false);
      emitIf(builder, loc, math.less(team.number, count), [&] {
        SmallVector<Value> row = math.split(team.number, extents);
        Value lower = math.mul(row.pop_back_val(), size);
        Span part{lower, math.min(math.add(lower, size), length)};
        emitter.storeInstead = [&](unsigned output, Value value) {
          memref::StoreOp::create(builder, loc, value, partials[output], team.number);
        };
        emitter.emitRow(team, row, &part);
      });
    });
  }

  // One block combines them.
  MLIRContext *context = builder.getContext();
  auto line = AffineMap::getMultiDimIdentityMap(1, context), point = AffineMap::get(1, 0, context);
  for (auto [index, combiner] : llvm::enumerate(kernel.combiners)) {
    auto combine = linalg::GenericOp::create(
        builder, loc, partials[index], op.getDpsInits()[index], ArrayRef<AffineMap>{line, point},
        ArrayRef<utils::IteratorType>{utils::IteratorType::reduction},
        [&, &combiner = combiner](OpBuilder &inner, Location, ValueRange arguments) {
          OperationState state(combiner.op->getLoc(), combiner.op->getName().getStringRef(),
                               {arguments[1], arguments[0]}, arguments[0].getType(), combiner.op->getAttrs());
          linalg::YieldOp::create(inner, loc, inner.create(state)->getResults());
        });
    if (op->hasAttr(startsFresh))
      combine->setAttr(startsFresh, builder.getUnitAttr());
    SmallVector<RowOp, 0> second{RowOp(combine)};
    second[0].inner.push_back(0);
    RowEmitter emitter(builder, loc, second);
    emitter.plan();
    createLaunch(builder, loc, math.constant(1), "combine", [&](Launch &launch) {
      Team team(builder, loc, launch, /*wholeBlock=*/true);
      emitter.emitRow(team, {});
    });
    combine.erase();
  }
}

} // namespace pmap
