// Loops for one structured op. The innermost loop runs in vectors with a masked tail whenever the body allows it:
//
//   elementwise           for outer... { for v step W { body; store }; masked tail }
//   reduction along v     for outer... { accs = identity; for reductions... { for v step W*U { U bodies, U accs }; masked rest };
//                                        accs -> one value by a fixed tree; store }
//   reduction, v parallel for outer... { for v step W*U { U accs; for reductions... { U bodies }; store }; masked rest }
//
// The order in which a reduction adds depends on its extents only, so results never depend on threads or on the machine's
// load. W depends on the machine's vector width.

#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {
namespace {

class NestEmitter {
public:
  NestEmitter(OpBuilder &builder, Location loc, Kernel &kernel, ArrayRef<Span> spans, const NestOptions &options)
      : builder(builder), loc(loc), kernel(kernel), spans(spans), options(options), body(builder, loc, kernel, options) {}

  void run() {
    chooseVectorLoop();
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      if (!kernel.isReduction[dim] && dim != vectorDim)
        outer.push_back(dim);
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      if (kernel.isReduction[dim] && dim != vectorDim)
        reductions.push_back(dim);
    emitOuter(0, NestPoint(kernel));
  }

private:
  static constexpr unsigned none = ~0u;

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
  Value subtract(Value a, Value b) { return builder.createOrFold<arith::SubIOp>(loc, a, b); }

  // The loop along which operands are contiguous, if the body can run in vectors along it.
  void chooseVectorLoop() {
    vectorDim = none;
    int best = 0;
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim) {
      if (kernel.staticExtent(dim) == 1 || (kernel.isReduction[dim] && kernel.combiners.empty()) ||
          !body.canVectorize(dim))
        continue;
      int score = body.contiguity(dim);
      // Of two equal loops the inner one, and rather a parallel loop, which needs no reduction of lanes.
      if (score > best || (score == best && score > 0 && !kernel.isReduction[dim])) {
        best = score;
        vectorDim = dim;
      }
    }
    if (vectorDim == none)
      return;
    lanes = body.lanes(vectorDim);
    if (lanes < 2)
      vectorDim = none;
    if (kernel.hasReduction)
      unroll = kernel.cost <= 16 ? 4 : kernel.cost <= 80 ? 2 : 1;
  }

  // Loops over the parallel dimensions other than the vector one.
  void emitOuter(unsigned level, NestPoint point) {
    body.loadReady(point, kernel);
    if (level == outer.size())
      return emitInner(point);
    forLoop(spans[outer[level]].lower, spans[outer[level]].upper, 1, {}, [&](Value iv, ValueRange) {
      NestPoint inner = point;
      inner.ivs[outer[level]] = iv;
      emitOuter(level + 1, inner);
      return SmallVector<Value>();
    });
  }

  void emitInner(NestPoint &point) {
    if (vectorDim == none)
      return emitScalar(point);
    if (kernel.isReduction[vectorDim])
      return emitLaneReduction(point);
    Span span = spans[vectorDim];
    unsigned step = lanes * (kernel.hasReduction ? unroll : 1);
    Value main = roundDown(span, step);
    forLoop(span.lower, main, step, {}, [&](Value iv, ValueRange) {
      emitVectors(point, iv, step / lanes, Value());
      return SmallVector<Value>();
    });
    forLoop(main, span.upper, lanes, {}, [&](Value iv, ValueRange) {
      emitVectors(point, iv, 1, maskFrom(iv));
      return SmallVector<Value>();
    });
  }

  // `count` neighbouring vectors of the output: their reductions advance together, which hides the latency of an addition.
  void emitVectors(NestPoint &outside, Value iv, unsigned count, Value mask) {
    SmallVector<NestPoint> points;
    SmallVector<Value> accumulators;
    for (unsigned i = 0; i < count; ++i) {
      NestPoint point = outside;
      point.enterVector(vectorDim, add(iv, constant(i * lanes)), lanes, mask);
      body.loadReady(point, kernel);
      if (kernel.hasReduction)
        llvm::append_range(accumulators, body.initialValues(point, options.startFromNeutral));
      points.push_back(point);
    }
    if (!kernel.hasReduction) {
      for (NestPoint &point : points)
        body.store(point, body.evaluate(point, body.outputsReadBefore(point)));
      return;
    }
    accumulators = emitReductions(0, points, accumulators);
    unsigned outputs = kernel.op.getNumDpsInits();
    for (unsigned i = 0; i < count; ++i)
      body.store(points[i], ArrayRef(accumulators).slice(i * outputs, outputs));
  }

  // Loops over reduction dimensions other than the vector one, with the accumulators of all points in registers.
  SmallVector<Value> emitReductions(unsigned level, ArrayRef<NestPoint> points, ArrayRef<Value> accumulators) {
    unsigned outputs = kernel.op.getNumDpsInits();
    if (level == reductions.size()) {
      SmallVector<Value> results;
      for (auto [i, point] : llvm::enumerate(points))
        llvm::append_range(results, body.accumulate(point, accumulators.slice(i * outputs, outputs)));
      return results;
    }
    unsigned dim = reductions[level];
    return forLoop(spans[dim].lower, spans[dim].upper, 1, accumulators, [&](Value iv, ValueRange carried) {
      SmallVector<NestPoint> inner(points);
      for (NestPoint &point : inner) {
        point.ivs[dim] = iv;
        body.loadReady(point, kernel);
      }
      return emitReductions(level + 1, inner, SmallVector<Value>(carried));
    });
  }

  void emitScalar(NestPoint &point) {
    if (!kernel.hasReduction)
      return body.store(point, body.evaluate(point, body.outputsReadBefore(point)));
    SmallVector<Value> accumulators = body.initialValues(point, options.startFromNeutral);
    accumulators = emitReductions(0, point, accumulators);
    body.store(point, accumulators);
  }

  // The vector loop is itself a reduction: U accumulators of W lanes each, then a tree.
  void emitLaneReduction(NestPoint &point) {
    unsigned outputs = kernel.op.getNumDpsInits();
    SmallVector<Value> accumulators;
    for (unsigned i = 0; i < unroll; ++i)
      llvm::append_range(accumulators, body.neutralVectors(lanes));
    accumulators = emitLaneReductionLoops(0, point, accumulators);
    for (unsigned count = unroll; count > 1; count /= 2)
      for (unsigned i = 0; i < count / 2; ++i)
        for (unsigned output = 0; output < outputs; ++output)
          accumulators[i * outputs + output] = body.combine(output, accumulators[i * outputs + output],
                                                            accumulators[(i + count / 2) * outputs + output]);
    SmallVector<Value> start = body.initialValues(point, options.startFromNeutral), results;
    for (unsigned output = 0; output < outputs; ++output)
      results.push_back(body.combine(output, start[output], body.reduceLanes(output, accumulators[output], lanes)));
    body.store(point, results);
  }

  SmallVector<Value> emitLaneReductionLoops(unsigned level, NestPoint &point, ArrayRef<Value> accumulators) {
    if (level < reductions.size()) {
      unsigned dim = reductions[level];
      return forLoop(spans[dim].lower, spans[dim].upper, 1, accumulators, [&](Value iv, ValueRange carried) {
        NestPoint inner = point;
        inner.ivs[dim] = iv;
        body.loadReady(inner, kernel);
        return emitLaneReductionLoops(level + 1, inner, SmallVector<Value>(carried));
      });
    }
    unsigned outputs = kernel.op.getNumDpsInits();
    Span span = spans[vectorDim];
    unsigned step = lanes * unroll;
    Value main = roundDown(span, step);
    SmallVector<Value> sums = forLoop(span.lower, main, step, accumulators, [&](Value iv, ValueRange carried) {
      SmallVector<Value> results;
      for (unsigned i = 0; i < unroll; ++i) {
        NestPoint inner = point;
        inner.enterVector(vectorDim, add(iv, constant(i * lanes)), lanes, Value());
        body.loadReady(inner, kernel);
        SmallVector<Value> mine(carried.slice(i * outputs, outputs));
        llvm::append_range(results, body.accumulate(inner, mine));
      }
      return results;
    });
    SmallVector<Value> first(ArrayRef(sums).take_front(outputs));
    first = forLoop(main, span.upper, lanes, first, [&](Value iv, ValueRange carried) {
      NestPoint inner = point;
      inner.enterVector(vectorDim, iv, lanes, maskFrom(iv));
      body.loadReady(inner, kernel);
      return body.accumulate(inner, SmallVector<Value>(carried));
    });
    llvm::copy(first, sums.begin());
    return sums;
  }

  // The end of the part of the span that whole steps cover.
  Value roundDown(Span span, int64_t step) {
    Value length = subtract(span.upper, span.lower);
    Value rest = builder.createOrFold<arith::RemSIOp>(loc, length, constant(step));
    return subtract(span.upper, rest);
  }

  // Lane k is on while iv + k is inside the loop. Compared in 32 bits (8 for vectors of bytes), which one instruction does.
  Value maskFrom(Value iv) {
    Type narrow = builder.getIntegerType(lanes > 16 ? 8 : 32);
    Value rest = builder.createOrFold<arith::MinSIOp>(loc, subtract(spans[vectorDim].upper, iv), constant(lanes));
    rest = arith::IndexCastOp::create(builder, loc, narrow, rest);
    auto type = VectorType::get(lanes, narrow);
    SmallVector<Attribute> numbers;
    for (unsigned lane = 0; lane < lanes; ++lane)
      numbers.push_back(builder.getIntegerAttr(narrow, lane));
    Value number = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, numbers));
    Value bound = vector::BroadcastOp::create(builder, loc, type, rest);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, bound);
  }

  SmallVector<Value> forLoop(Value lower, Value upper, int64_t step, ArrayRef<Value> carried,
                             function_ref<SmallVector<Value>(Value, ValueRange)> emit) {
    auto loop = scf::ForOp::create(builder, loc, lower, upper, constant(step), carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> results = emit(loop.getInductionVar(), loop.getRegionIterArgs());
    builder.setInsertionPointToEnd(loop.getBody());
    if (loop.getBody()->empty() || !loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      scf::YieldOp::create(builder, loc, results);
    return SmallVector<Value>(loop.getResults());
  }

  OpBuilder &builder;
  Location loc;
  Kernel &kernel;
  ArrayRef<Span> spans;
  const NestOptions &options;
  NestBody body;
  unsigned vectorDim = none;
  unsigned lanes = 1, unroll = 1;
  SmallVector<unsigned> outer, reductions;
};

} // namespace

void emitNest(OpBuilder &builder, Location loc, Kernel &kernel, ArrayRef<Span> spans, const NestOptions &options) {
  NestEmitter(builder, loc, kernel, spans, options).run();
}

} // namespace pmap
