// Loops for one structured op. The innermost loop runs in vectors with a masked tail whenever the body allows it:
//
//   elementwise           for outer... { for v step W { body; store }; masked tail }
//   reduction along v     for outer... { accs = identity; for reductions... { for v step W*U { U bodies, U accs };
//   masked rest };
//                                        accs -> one value by a fixed tree; store }
//   reduction, v parallel for outer... { for v step W*U { U accs; for reductions... { U bodies }; store }; masked rest
//   }
//
// Short lines of a reduction are taken together, several at a time.
//
// Where neighbouring rows of the output share an operand (products of matrices), several rows advance together. Where
// an input is transposed, the loops over rows and vectors are tiled, so that each line of it is used whole.
//
// The order in which a reduction adds depends on its extents only, so results never depend on threads or on the
// machine's load. W depends on the machine's vector width.

#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {
namespace {

class NestEmitter {
public:
  NestEmitter(OpBuilder &builder, Location loc, Kernel &kernel, ArrayRef<Span> spans, const NestOptions &options)
      : builder(builder), loc(loc), kernel(kernel), spans(spans), options(options),
        body(builder, loc, kernel, options) {}

  void run() {
    chooseVectorLoop();
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      if (!kernel.isReduction[dim] && dim != vectorDim)
        outer.push_back(dim);
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      if (kernel.isReduction[dim] && dim != vectorDim)
        reductions.push_back(dim);
    chooseRows();
    emitOuter(0, NestPoint(kernel));
  }

private:
  static constexpr unsigned none = ~0u;
  // Columns of a tile where an input is transposed: few pages are touched in turn, and whole pieces of them.
  static constexpr int64_t tileWidth = 256;

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

  // Whether the innermost outer loop steps by several rows, or is tiled together with the vector loop.
  void chooseRows() {
    if (vectorDim == none || outer.empty())
      return;
    unsigned row = outer.back();
    if (kernel.isReduction[vectorDim]) {
      int64_t length = kernel.staticExtent(vectorDim), count = kernel.staticExtent(row);
      together = reductions.empty() && kernel.cost <= 16 && lanes <= 16 && body.canVectorize(row) &&
                 body.lanes(row) == lanes && body.isTransposed(row, vectorDim) &&
                 (ShapedType::isDynamic(length) || length < lanes * unroll) &&
                 (ShapedType::isDynamic(count) || count >= lanes);
      return;
    }
    if (kernel.hasReduction && kernel.cost <= 4 && body.isReusedOver(row, vectorDim)) {
      rows = 4;
      unroll = options.target.bits == 512 ? 4 : 2;
    }
    tiled = !kernel.hasReduction && body.isTransposed(vectorDim, row);
  }

  // Loops over the parallel dimensions other than the vector one.
  void emitOuter(unsigned level, NestPoint point) {
    body.loadReady(point, kernel);
    if (level == outer.size())
      return emitInner(point);
    if (level + 1 == outer.size() && rows > 1)
      return emitRows(point);
    if (level + 1 == outer.size() && tiled)
      return emitTiles(point);
    if (level + 1 == outer.size() && together)
      return emitShortLines(point);
    forLoop(spans[outer[level]].lower, spans[outer[level]].upper, 1, {}, [&](Value iv, ValueRange) {
      NestPoint inner = point;
      inner.ivs[outer[level]] = iv;
      emitOuter(level + 1, inner);
      return SmallVector<Value>();
    });
  }

  // Groups of rows, then the rows left over one by one.
  void emitRows(NestPoint &point) {
    unsigned row = outer.back();
    Value main = roundDown(spans[row], rows);
    for (unsigned count : {rows, 1u})
      forLoop(count == 1 ? main : spans[row].lower, count == 1 ? spans[row].upper : main, count, {},
              [&](Value iv, ValueRange) {
                SmallVector<NestPoint> group(count, point);
                for (unsigned i = 0; i < count; ++i) {
                  group[i].ivs[row] = add(iv, constant(i));
                  body.loadReady(group[i], kernel);
                }
                emitVectorLoop(group, spans[vectorDim]);
                return SmallVector<Value>();
              });
  }

  void emitTiles(NestPoint &point) {
    unsigned row = outer.back();
    forLoop(spans[vectorDim].lower, spans[vectorDim].upper, tileWidth, {}, [&](Value begin, ValueRange) {
      Value end = builder.createOrFold<arith::MinSIOp>(loc, add(begin, constant(tileWidth)), spans[vectorDim].upper);
      emitSquares(point, {begin, end});
      Value main = roundDown(spans[row], lanes);
      forLoop(main, spans[row].upper, 1, {}, [&](Value iv, ValueRange) {
        emitVectorLoop(atRow(point, iv), {begin, end});
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
  }

  NestPoint atRow(NestPoint point, Value iv) {
    point.ivs[outer.back()] = iv;
    body.loadReady(point, kernel);
    return point;
  }

  // As many rows at a time as a vector has lanes: a square of the transposed input is loaded along its own lines and
  // transposed in registers. Columns that are no whole vector are gathered.
  void emitSquares(NestPoint &point, Span columns) {
    unsigned row = outer.back();
    forLoop(spans[row].lower, roundDown(spans[row], lanes), lanes, {}, [&](Value iv, ValueRange) {
      SmallVector<NestPoint> group;
      for (unsigned i = 0; i < lanes; ++i)
        group.push_back(atRow(point, add(iv, constant(i))));
      Value main = roundDown(columns, lanes);
      forLoop(columns.lower, main, lanes, {}, [&](Value column, ValueRange) {
        SmallVector<NestPoint> points(group);
        for (NestPoint &each : points)
          each.enterVector(vectorDim, column, lanes, Value());
        body.loadTransposed(points, row);
        for (NestPoint &each : points) {
          body.loadReady(each, kernel);
          body.store(each, body.evaluate(each, body.outputsReadBefore(each)));
        }
        return SmallVector<Value>();
      });
      forLoop(main, columns.upper, lanes, {}, [&](Value column, ValueRange) {
        emitVectors(group, column, 1, maskFrom(column, columns));
        return SmallVector<Value>();
      });
      return SmallVector<Value>();
    });
  }

  void emitInner(NestPoint &point) {
    if (vectorDim == none)
      return emitScalar(point);
    if (kernel.isReduction[vectorDim])
      return emitLaneReduction(point);
    emitVectorLoop(point, spans[vectorDim]);
  }

  // The parallel vector loop over `span` for one or several rows.
  void emitVectorLoop(ArrayRef<NestPoint> group, Span span) {
    SmallVector<unsigned> counts{kernel.hasReduction ? unroll : 1};
    // A row of two vectors, as of a narrow matrix whose columns are summed, needs no mask either.
    if (counts.front() > 2 && group.size() == 1)
      counts.push_back(2);
    Value main = span.lower;
    for (unsigned count : counts) {
      Value end = roundDown(span, lanes * count);
      forLoop(main, end, lanes * count, {}, [&](Value iv, ValueRange) {
        emitVectors(group, iv, count, Value());
        return SmallVector<Value>();
      });
      main = end;
    }
    forLoop(main, span.upper, lanes, {}, [&](Value iv, ValueRange) {
      emitVectors(group, iv, 1, maskFrom(iv, span));
      return SmallVector<Value>();
    });
  }

  // For each row `count` neighbouring vectors of the output: their reductions advance together, which hides the latency
  // of an addition.
  void emitVectors(ArrayRef<NestPoint> group, Value iv, unsigned count, Value mask) {
    SmallVector<NestPoint> points;
    SmallVector<Value> accumulators;
    for (const NestPoint &outside : group)
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
    for (auto [i, point] : llvm::enumerate(points))
      body.store(point, ArrayRef(accumulators).slice(i * outputs, outputs));
  }

  // Loops over reduction dimensions other than the vector one, with the accumulators of all points in registers.
  SmallVector<Value> emitReductions(unsigned level, ArrayRef<NestPoint> points, ArrayRef<Value> accumulators) {
    unsigned outputs = kernel.op.getNumDpsInits();
    if (level + 1 == reductions.size() && points.size() < unroll && !kernel.combiners.empty())
      return emitReductionInWays(points, accumulators);
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

  // The innermost reduction where few points advance together, as in a narrow matrix whose columns are summed: the next
  // steps of the loop have accumulators of their own, which are added up in a fixed order behind it.
  SmallVector<Value> emitReductionInWays(ArrayRef<NestPoint> points, ArrayRef<Value> accumulators) {
    unsigned dim = reductions.back(), ways = unroll / points.size(), each = accumulators.size();
    auto step = [&](Value iv, ArrayRef<Value> before) {
      SmallVector<NestPoint> inner(points);
      for (NestPoint &point : inner) {
        point.ivs[dim] = iv;
        body.loadReady(point, kernel);
      }
      return emitReductions(reductions.size(), inner, before);
    };
    SmallVector<Value> all(accumulators);
    for (unsigned way = 1; way < ways; ++way)
      for (NestPoint point : points)
        llvm::append_range(all, body.initialValues(point, /*neutral=*/true));
    Value main = roundDown(spans[dim], ways);
    all = forLoop(spans[dim].lower, main, ways, all, [&](Value iv, ValueRange carried) {
      SmallVector<Value> before(carried), after;
      for (unsigned way = 0; way < ways; ++way)
        llvm::append_range(after, step(add(iv, constant(way)), ArrayRef(before).slice(way * each, each)));
      return after;
    });
    unsigned outputs = kernel.op.getNumDpsInits();
    for (unsigned half = ways / 2; half >= 1; half /= 2)
      for (unsigned i = 0; i < half * each; ++i)
        all[i] = body.combine(i % outputs, all[i], all[i + half * each]);
    return forLoop(main, spans[dim].upper, 1, ArrayRef(all).take_front(each),
                   [&](Value iv, ValueRange carried) { return step(iv, SmallVector<Value>(carried)); });
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
      inner.enterVector(vectorDim, iv, lanes, maskFrom(iv, span));
      body.loadReady(inner, kernel);
      return body.accumulate(inner, SmallVector<Value>(carried));
    });
    llvm::copy(first, sums.begin());
    return sums;
  }

  // Short lines to be reduced: alone each would leave most lanes and additions idle. As many as a vector has lanes
  // advance together, their columns in vectors, which come from squares transposed in registers. Column j of a square
  // goes where lane j of the line's own loop would put it, so that the bits are the same.
  void emitShortLines(NestPoint &point) {
    unsigned row = outer.back();
    Span lines = spans[row], columns = spans[vectorDim];
    Value length = subtract(columns.upper, columns.lower);
    Value isShort = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, length, constant(lanes * unroll));
    Value main = arith::SelectOp::create(builder, loc, isShort, roundDown(lines, lanes), lines.lower);
    forLoop(lines.lower, main, lanes, {}, [&](Value iv, ValueRange) {
      NestPoint group = point;
      group.enterVector(row, iv, lanes, Value());
      body.loadReady(group, kernel);
      reduceTogether(group, columns);
      return SmallVector<Value>();
    });
    forLoop(main, lines.upper, 1, {}, [&](Value iv, ValueRange) {
      NestPoint line = atRow(point, iv);
      emitLaneReduction(line);
      return SmallVector<Value>();
    });
  }

  void reduceTogether(NestPoint &group, Span columns) {
    unsigned outputs = kernel.op.getNumDpsInits();
    SmallVector<Value> accumulators;
    for (unsigned lane = 0; lane < lanes; ++lane)
      llvm::append_range(accumulators, body.neutralVectors(lanes));
    Value whole = roundDown(columns, lanes);
    accumulators = forLoop(columns.lower, whole, lanes, accumulators, [&](Value column, ValueRange carried) {
      return accumulateSquare(group, column, carried, nullptr);
    });
    accumulators = forLoop(whole, columns.upper, lanes, accumulators, [&](Value column, ValueRange carried) {
      return accumulateSquare(group, column, carried, &columns);
    });
    for (unsigned half = lanes / 2; half >= 1; half /= 2)
      for (unsigned i = 0; i < half * outputs; ++i)
        accumulators[i] = body.combine(i % outputs, accumulators[i], accumulators[i + half * outputs]);
    SmallVector<Value> start = body.initialValues(group, options.startFromNeutral), results;
    for (unsigned output = 0; output < outputs; ++output)
      results.push_back(body.combine(output, start[output], accumulators[output]));
    body.store(group, results);
  }

  // One square of columns. With `within`, columns past the end of that span are left out: they stand at the last one.
  SmallVector<Value> accumulateSquare(const NestPoint &group, Value column, ValueRange carried, const Span *within) {
    unsigned outputs = kernel.op.getNumDpsInits();
    SmallVector<NestPoint> points;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      points.push_back(group);
      Value place = add(column, constant(lane));
      if (within)
        place = builder.createOrFold<arith::MinSIOp>(loc, place, subtract(within->upper, constant(1)));
      points.back().ivs[vectorDim] = place;
    }
    body.loadTransposed(points, vectorDim, within ? maskFrom(column, *within) : Value());
    SmallVector<Value> results;
    for (auto [lane, point] : llvm::enumerate(points)) {
      body.loadReady(point, kernel);
      SmallVector<Value> before(carried.slice(lane * outputs, outputs));
      SmallVector<Value> after = body.accumulate(point, before);
      if (within && lane > 0) {
        Value inside =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, add(column, constant(lane)), within->upper);
        for (auto [value, old] : llvm::zip(after, before))
          value = arith::SelectOp::create(builder, loc, inside, value, old);
      }
      llvm::append_range(results, after);
    }
    return results;
  }

  // The end of the part of the span that whole steps cover.
  Value roundDown(Span span, int64_t step) {
    Value length = subtract(span.upper, span.lower);
    Value rest = builder.createOrFold<arith::RemSIOp>(loc, length, constant(step));
    return subtract(span.upper, rest);
  }

  // Lane k is on while iv + k is inside the loop. Compared in 32 bits (8 for vectors of bytes), which one instruction
  // does.
  Value maskFrom(Value iv, Span span) {
    Type narrow = builder.getIntegerType(lanes > 16 ? 8 : 32);
    Value rest = builder.createOrFold<arith::MinSIOp>(loc, subtract(span.upper, iv), constant(lanes));
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
  unsigned lanes = 1, unroll = 1, rows = 1;
  bool tiled = false, together = false;
  SmallVector<unsigned> outer, reductions;
};

} // namespace

void emitNest(OpBuilder &builder, Location loc, Kernel &kernel, ArrayRef<Span> spans, const NestOptions &options) {
  NestEmitter(builder, loc, kernel, spans, options).run();
}

} // namespace pmap
