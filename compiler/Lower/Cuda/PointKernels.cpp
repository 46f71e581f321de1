// Kernels over points.

#include "compiler/Lower/Cuda/PointKernels.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"
#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {
namespace {

/// Rows that a piece of a sum of columns has. A constant: the bits of the sum depend on it.
constexpr int64_t pieceRows = 256;

const NestOptions &nestOptions() {
  static const NestOptions options{VectorTarget{accessBits, false}, {}, {}};
  return options;
}

Value globalThread(OpBuilder &builder, Location loc, Launch &launch) {
  IndexMath math(builder, loc);
  return math.add(math.mul(launch.block, math.constant(blockThreads)), launch.thread);
}

// The loop whose neighbours are neighbours in memory for most operands, the last of equals: neighbouring threads take
// it.
unsigned innermost(Kernel &kernel, NestBody &body) {
  unsigned best = kernel.numLoops() - 1;
  int score = std::numeric_limits<int>::min();
  for (unsigned loop = 0; loop < kernel.numLoops(); ++loop)
    if (!kernel.isReduction[loop] && kernel.staticExtent(loop) != 1 && body.contiguity(loop) >= score) {
      best = loop;
      score = body.contiguity(loop);
    }
  return best;
}

// A body that reads its output's old value, or has none to write, is no matter here: stores happen per point.
void emitPoint(NestBody &body, Kernel &kernel, NestPoint &point) {
  body.loadReady(point, kernel);
  body.store(point, body.evaluate(point, body.outputsReadBefore(point)));
}

} // namespace

void emitElements(OpBuilder &builder, linalg::GenericOp op) {
  Location loc = op.getLoc();
  Kernel kernel(op);
  NestBody body(builder, loc, kernel, nestOptions());
  IndexMath math(builder, loc);
  if (kernel.numLoops() == 0) {
    createLaunch(builder, loc, math.constant(1), "scalar", [&](Launch &launch) {
      Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, launch.thread, math.constant(0));
      emitIf(builder, loc, first, [&] {
        NestPoint point(kernel);
        emitPoint(body, kernel, point);
      });
    });
    return;
  }
  unsigned along = innermost(kernel, body);
  unsigned lanes = runsInVectors(kernel, along) ? body.lanes(along) : 1;
  // The last of these is the fastest.
  SmallVector<unsigned> loops;
  SmallVector<Value> extents;
  for (unsigned loop = 0; loop < kernel.numLoops(); ++loop)
    if (loop != along) {
      loops.push_back(loop);
      extents.push_back(kernel.extent(builder, loc, loop));
    }
  Value length = kernel.extent(builder, loc, along);
  Value vectors = lanes > 1 ? isAligned(builder, loc, kernel, along, lanes) : Value();
  // Units of a line: vectors, the last one perhaps in part, or elements.
  Value units = length;
  if (lanes > 1)
    units = math.select(vectors, math.ceilDiv(length, math.constant(lanes)), length);
  loops.push_back(along);
  extents.push_back(units);
  Value count = math.product(extents);

  Value blocks = math.ceilDiv(count, math.constant(blockThreads));
  createLaunch(builder, loc, blocks, lanes > 1 ? "map" : "map_scalar", [&](Launch &launch) {
    Value unit = globalThread(builder, loc, launch);
    emitIf(builder, loc, math.less(unit, count), [&] {
      SmallVector<Value> place = math.split(unit, extents);
      NestPoint outer(kernel);
      for (auto [loop, value] : llvm::zip(loops, place))
        if (loop != along)
          outer.ivs[loop] = value;
      auto element = [&](Value iv) {
        NestPoint point = outer;
        point.ivs[along] = iv;
        emitPoint(body, kernel, point);
      };
      if (lanes == 1)
        return element(place.back());
      emitIfElse(
          builder, loc, vectors,
          [&] {
            Value begin = math.mul(place.back(), math.constant(lanes));
            Value end = math.add(begin, math.constant(lanes));
            Value fits = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, end, length);
            emitIfElse(
                builder, loc, fits,
                [&] {
                  NestPoint point = outer;
                  point.enterVector(along, begin, lanes, Value());
                  emitPoint(body, kernel, point);
                },
                [&] {
                  emitLoop(builder, loc, begin, length, math.constant(1), {}, [&](Value iv, ValueRange) {
                    element(iv);
                    return SmallVector<Value>();
                  });
                });
          },
          [&] { element(place.back()); });
    });
  });
}

namespace {

class PointReduction {
public:
  PointReduction(OpBuilder &builder, linalg::GenericOp op)
      : builder(builder), loc(op.getLoc()), kernel(op), body(builder, loc, kernel, nestOptions()), math(builder, loc) {
    for (unsigned loop = 0; loop < kernel.numLoops(); ++loop)
      (kernel.isReduction[loop] ? reductions : loops).push_back(loop);
  }

  void run() {
    // Few results, each a sum down a column: pieces of rows run side by side.
    if (loops.size() == 1 && !kernel.combiners.empty())
      return emitPieces();
    emit(Value(), kernel.op->hasAttr(startsFresh), {});
  }

private:
  // With `pieces`, the first reduction loop is cut, and results go to `partials`, piece by piece.
  void emit(Value pieces, bool fresh, ArrayRef<Value> partials) {
    SmallVector<Value> extents;
    if (pieces)
      extents.push_back(pieces);
    for (unsigned loop : loops)
      extents.push_back(kernel.extent(builder, loc, loop));
    Value count = math.product(extents);
    Value blocks = math.ceilDiv(count, math.constant(blockThreads));
    createLaunch(builder, loc, blocks, pieces ? "columns" : "reduce_point", [&](Launch &launch) {
      Value unit = globalThread(builder, loc, launch);
      emitIf(builder, loc, math.less(unit, count), [&] {
        SmallVector<Value> place = math.split(unit, extents);
        NestPoint point(kernel);
        for (auto [loop, value] : llvm::zip(loops, ArrayRef(place).take_back(loops.size())))
          point.ivs[loop] = value;
        Span first{};
        if (pieces) {
          Value size = math.constant(pieceRows), lower = math.mul(place[0], size);
          first = {lower, math.min(math.add(lower, size), kernel.extent(builder, loc, reductions[0]))};
        }
        SmallVector<Value> results =
            sequence(0, point, body.initialValues(point, fresh || pieces), pieces ? &first : nullptr);
        if (!pieces)
          return body.store(point, results);
        for (auto [partial, value] : llvm::zip(partials, results))
          memref::StoreOp::create(builder, loc, value, partial, place);
      });
    });
  }

  SmallVector<Value> sequence(unsigned level, NestPoint point, ArrayRef<Value> carried, const Span *first) {
    body.loadReady(point, kernel);
    if (level == reductions.size())
      return body.accumulate(point, carried);
    unsigned loop = reductions[level];
    Span span = level == 0 && first ? *first : Span{math.constant(0), kernel.extent(builder, loc, loop)};
    return emitLoop(builder, loc, span.lower, span.upper, math.constant(1), carried, [&](Value iv, ValueRange inside) {
      NestPoint next = point;
      next.ivs[loop] = iv;
      return sequence(level + 1, next, SmallVector<Value>(inside), first);
    });
  }

  void emitPieces() {
    linalg::GenericOp op = kernel.op;
    Value pieces = math.ceilDiv(kernel.extent(builder, loc, reductions[0]), math.constant(pieceRows));
    Value length = kernel.extent(builder, loc, loops[0]);
    SmallVector<Value> partials;
    for (Combiner &combiner : kernel.combiners)
      partials.push_back(memref::AllocOp::create(
          builder, loc, MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic}, combiner.value.getType()),
          ValueRange{pieces, length}));
    emit(pieces, true, partials);
    // The pieces in order: a sum of few rows, one thread per column.
    MLIRContext *context = builder.getContext();
    AffineExpr column = getAffineDimExpr(0, context), piece = getAffineDimExpr(1, context);
    for (auto [index, combiner] : llvm::enumerate(kernel.combiners)) {
      auto combine = linalg::GenericOp::create(
          builder, loc, partials[index], op.getDpsInits()[index],
          ArrayRef<AffineMap>{AffineMap::get(2, 0, {piece, column}, context), AffineMap::get(2, 0, {column}, context)},
          ArrayRef<utils::IteratorType>{utils::IteratorType::parallel, utils::IteratorType::reduction},
          [&, &combiner = combiner](OpBuilder &inner, Location, ValueRange arguments) {
            OperationState state(combiner.op->getLoc(), combiner.op->getName().getStringRef(),
                                 {arguments[1], arguments[0]}, arguments[0].getType(), combiner.op->getAttrs());
            linalg::YieldOp::create(inner, loc, inner.create(state)->getResults());
          });
      PointReduction second(builder, combine);
      second.emit(Value(), op->hasAttr(startsFresh), {});
      combine.erase();
    }
  }

  OpBuilder &builder;
  Location loc;
  Kernel kernel;
  NestBody body;
  IndexMath math;
  SmallVector<unsigned> loops, reductions;
};

} // namespace

void emitPointReduction(OpBuilder &builder, linalg::GenericOp op) { PointReduction(builder, op).run(); }

} // namespace pmap
