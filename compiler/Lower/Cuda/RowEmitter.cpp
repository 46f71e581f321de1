// The code of a kernel for one row.

#include "compiler/Lower/Cuda/RowEmitter.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"

using namespace mlir;

namespace pmap {

RowEmitter::RowEmitter(OpBuilder &builder, Location loc, MutableArrayRef<RowOp> ops)
    : builder(builder), loc(loc), ops(ops) {
  for (RowOp &op : ops)
    bodies.push_back(std::make_unique<NestBody>(builder, loc, op.kernel, options));
  for (auto [index, op] : llvm::enumerate(ops))
    for (unsigned output = 0; output < op.kernel.op.getNumDpsInits(); ++output)
      makers[op.kernel.op.getDpsInits()[output]].push_back({static_cast<unsigned>(index), output});
}

void RowEmitter::plan() {
  for (auto [index, op] : llvm::enumerate(ops)) {
    if (op.inner.empty() || op.deferred)
      continue;
    op.along = op.inner.back();
    for (unsigned loop : op.inner) {
      unsigned lanes = lanesAlong(index, loop);
      if (lanes > 1 && op.kernel.staticExtent(loop) != 1) {
        op.along = loop;
        op.lanes = lanes;
      }
    }
    if (op.lanes > 1) {
      op.vectors = arith::ConstantIntOp::create(builder, loc, 1, 1);
      requireAligned(index, op.along, op);
    }
  }
}

void RowEmitter::emitRow(Team &team, ArrayRef<Value> row, const Span *part) {
  this->team = &team;
  this->row = row;
  this->part = part;
  registers.clear();
  for (auto [index, op] : llvm::enumerate(ops)) {
    if (op.deferred)
      continue;
    if (op.kernel.hasReduction)
      emitReduction(index);
    else if (op.inner.empty())
      emitRowScalars(index);
    else
      emitElements(index);
  }
}

Value RowEmitter::longest() {
  Value longest = arith::ConstantIndexOp::create(builder, loc, 1);
  for (RowOp &op : ops) {
    Value length = arith::ConstantIndexOp::create(builder, loc, 1);
    for (unsigned loop : op.inner)
      length = builder.createOrFold<arith::MulIOp>(loc, length, op.kernel.extent(builder, loc, loop));
    longest = builder.createOrFold<arith::MaxUIOp>(loc, longest, length);
  }
  return longest;
}

bool RowEmitter::isLocal(RowOp &op) {
  for (Value output : op.kernel.op.getDpsInits())
    if (!locals.contains(output) && makers[output].back().op == static_cast<unsigned>(&op - ops.data()))
      return false;
  return true;
}

// What a buffer holds when op `reader` reads it, if an op of the kernel has written it by then.
std::optional<RowEmitter::Maker> RowEmitter::makerOf(Value buffer, unsigned reader) {
  std::optional<Maker> last;
  auto known = makers.find(buffer);
  if (known != makers.end())
    for (Maker maker : known->second)
      if (maker.op < reader)
        last = maker;
  return last;
}

// Vectors along `loop` of op `index`, if it and all that it computes again can run in them; else 1.
unsigned RowEmitter::lanesAlong(unsigned index, unsigned loop) {
  RowOp &op = ops[index];
  if (!runsInVectors(op.kernel, loop))
    return 1;
  unsigned lanes = bodies[index]->lanes(loop);
  forDeferred(index, loop, [&](unsigned maker, std::optional<unsigned> moved) {
    if (moved)
      lanes = std::min(lanes, lanesAlong(maker, *moved));
  });
  return lanes;
}

void RowEmitter::requireAligned(unsigned index, unsigned loop, RowOp &into) {
  Value aligned = isAligned(builder, loc, ops[index].kernel, loop, into.lanes);
  into.vectors = builder.createOrFold<arith::AndIOp>(loc, into.vectors, aligned);
  forDeferred(index, loop, [&](unsigned maker, std::optional<unsigned> moved) {
    if (moved)
      requireAligned(maker, *moved, into);
  });
}

// The ops that `index` computes again, with the loop of theirs that moves with `loop`.
void RowEmitter::forDeferred(unsigned index, unsigned loop,
                             function_ref<void(unsigned, std::optional<unsigned>)> visit) {
  Kernel &kernel = ops[index].kernel;
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    std::optional<Maker> maker = makerOf(kernel.operand(operand), index);
    if (!maker || !ops[maker->op].deferred)
      continue;
    RowOp &made = ops[maker->op];
    AffineMap output = made.kernel.maps[made.kernel.numInputs() + maker->output];
    int position = positionOf(kernel.maps[operand], loop);
    std::optional<unsigned> moved;
    if (position >= 0)
      moved = cast<AffineDimExpr>(output.getResult(position)).getPosition();
    visit(maker->op, moved);
  }
}

NestPoint RowEmitter::pointOf(unsigned index) {
  RowOp &op = ops[index];
  NestPoint point(op.kernel);
  for (auto [loop, value] : llvm::zip(op.rows, row))
    point.ivs[loop] = value;
  return point;
}

// Everything the body reads at a point whose loops are all entered.
void RowEmitter::fill(NestPoint &point, unsigned index) {
  Kernel &kernel = ops[index].kernel;
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    if (point.loaded[operand] || kernel.op.getBody()->getArgument(operand).use_empty())
      continue;
    std::optional<Maker> maker = makerOf(kernel.operand(operand), index);
    if (!maker)
      continue;
    if (Value value = registers.lookup({maker->op, maker->output}))
      point.loaded[operand] = value;
    else
      point.loaded[operand] = computeAgain(maker->op, maker->output, point, kernel.maps[operand]);
  }
  bodies[index]->loadReady(point, kernel);
}

Value RowEmitter::computeAgain(unsigned index, unsigned output, const NestPoint &at, AffineMap access) {
  Kernel &kernel = ops[index].kernel;
  NestPoint point(kernel);
  for (auto [place, result] : llvm::zip(kernel.maps[kernel.numInputs() + output].getResults(), access.getResults())) {
    unsigned loop = cast<AffineDimExpr>(place).getPosition(), outer = cast<AffineDimExpr>(result).getPosition();
    if (static_cast<int>(outer) == at.vectorDim && at.lanes > 1)
      point.enterVector(loop, at.ivs[outer], at.lanes, Value());
    else
      point.ivs[loop] = at.ivs[outer];
  }
  fill(point, index);
  return bodies[index]->evaluate(point, {})[output];
}

// Work that one thread does for the team.
void RowEmitter::onFirstLane(function_ref<void()> emit) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, team->lane, zero);
  emitIf(builder, loc, first, emit);
}

void RowEmitter::keep(unsigned index, ArrayRef<Value> values) {
  for (auto [output, value] : llvm::enumerate(values))
    registers[{index, static_cast<unsigned>(output)}] = value;
  if (!storeInstead && isLocal(ops[index]))
    return;
  onFirstLane([&] {
    if (!storeInstead)
      return bodies[index]->store(pointOf(index), values);
    for (auto [output, value] : llvm::enumerate(values))
      storeInstead(output, value);
  });
}

void RowEmitter::emitRowScalars(unsigned index) {
  NestPoint point = pointOf(index);
  fill(point, index);
  keep(index, bodies[index]->evaluate(point, bodies[index]->outputsReadBefore(point)));
}

Span RowEmitter::spanOf(RowOp &op, unsigned loop) {
  if (part)
    return *part;
  IndexMath math(builder, loc);
  return {math.constant(0), op.kernel.extent(builder, loc, loop)};
}

// Loops over the inner dimensions other than the one along the lanes.
SmallVector<Value> RowEmitter::emitOuter(RowOp &op, unsigned level, NestPoint point, ArrayRef<Value> carried,
                                         function_ref<SmallVector<Value>(NestPoint &, ArrayRef<Value>)> emit) {
  if (level == op.inner.size())
    return emit(point, carried);
  unsigned loop = op.inner[level];
  if (loop == op.along)
    return emitOuter(op, level + 1, point, carried, emit);
  Span span = spanOf(op, loop);
  IndexMath math(builder, loc);
  return emitLoop(builder, loc, span.lower, span.upper, math.constant(1), carried, [&](Value iv, ValueRange inside) {
    NestPoint next = point;
    next.ivs[loop] = iv;
    return emitOuter(op, level + 1, next, SmallVector<Value>(inside), emit);
  });
}

// Where whole vectors end.
Value RowEmitter::vectorEnd(RowOp &op, Span span) {
  IndexMath math(builder, loc);
  Value length = math.sub(span.upper, span.lower);
  Value end = math.sub(span.upper, math.rem(length, math.constant(op.lanes)));
  return math.select(op.vectors, end, span.lower);
}

void RowEmitter::emitElements(unsigned index) {
  RowOp &op = ops[index];
  emitOuter(op, 0, pointOf(index), {}, [&](NestPoint &outer, ArrayRef<Value>) {
    IndexMath math(builder, loc);
    Span span = spanOf(op, op.along);
    auto storeAt = [&](Value iv, unsigned lanes) {
      NestPoint point = outer;
      if (lanes > 1)
        point.enterVector(op.along, iv, lanes, Value());
      else
        point.ivs[op.along] = iv;
      fill(point, index);
      bodies[index]->store(point, bodies[index]->evaluate(point, bodies[index]->outputsReadBefore(point)));
      return SmallVector<Value>();
    };
    Value main = span.lower;
    if (op.lanes > 1) {
      main = vectorEnd(op, span);
      Value first = math.add(span.lower, math.mul(team->lane, math.constant(op.lanes)));
      emitLoop(builder, loc, first, main, math.constant(team->size() * op.lanes), {},
               [&](Value iv, ValueRange) { return storeAt(iv, op.lanes); });
    }
    emitLoop(builder, loc, math.add(main, team->lane), span.upper, math.constant(team->size()), {},
             [&](Value iv, ValueRange) { return storeAt(iv, 1); });
    return SmallVector<Value>();
  });
}

void RowEmitter::emitReduction(unsigned index) {
  RowOp &op = ops[index];
  NestBody &body = *bodies[index];
  unsigned outputs = op.kernel.op.getNumDpsInits();
  NestPoint start = pointOf(index);
  // One accumulator per output for single elements, one for vectors of them.
  SmallVector<Value> accumulators = body.initialValues(start, /*neutral=*/true);
  if (op.lanes > 1)
    llvm::append_range(accumulators, body.neutralVectors(op.lanes));
  accumulators = emitOuter(op, 0, start, accumulators, [&](NestPoint &outer, ArrayRef<Value> carried) {
    return reduceLine(index, outer, carried);
  });
  SmallVector<Value> results(ArrayRef(accumulators).take_front(outputs));
  for (unsigned output = 0; output < outputs; ++output) {
    if (op.lanes > 1)
      results[output] =
          body.combine(output, results[output], body.reduceLanes(output, accumulators[outputs + output], op.lanes));
    results[output] = team->reduce(results[output], [&](Value a, Value b) { return body.combine(output, a, b); });
  }
  if (!op.kernel.op->hasAttr(startsFresh) && !storeInstead) {
    for (unsigned output = 0; output < outputs; ++output)
      results[output] = body.combine(output, oldValue(index, output, start), results[output]);
  }
  keep(index, results);
}

// What a reduction starts from.
Value RowEmitter::oldValue(unsigned index, unsigned output, NestPoint &start) {
  if (std::optional<Maker> maker = makerOf(ops[index].kernel.op.getDpsInits()[output], index))
    return registers.lookup({maker->op, maker->output});
  return bodies[index]->initialValues(start, /*neutral=*/false)[output];
}

// Along the lanes: whole vectors, then single elements.
SmallVector<Value> RowEmitter::reduceLine(unsigned index, NestPoint &outer, ArrayRef<Value> carried) {
  RowOp &op = ops[index];
  NestBody &body = *bodies[index];
  IndexMath math(builder, loc);
  unsigned outputs = op.kernel.op.getNumDpsInits();
  Span span = spanOf(op, op.along);
  SmallVector<Value> single(carried.take_front(outputs)), vectors(carried.drop_front(outputs));
  Value main = span.lower;
  if (op.lanes > 1) {
    main = vectorEnd(op, span);
    Value first = math.add(span.lower, math.mul(team->lane, math.constant(op.lanes)));
    vectors = emitLoop(builder, loc, first, main, math.constant(team->size() * op.lanes), vectors,
                       [&](Value iv, ValueRange inside) {
                         NestPoint point = outer;
                         point.enterVector(op.along, iv, op.lanes, Value());
                         fill(point, index);
                         return body.accumulate(point, SmallVector<Value>(inside));
                       });
  }
  single = emitLoop(builder, loc, math.add(main, team->lane), span.upper, math.constant(team->size()), single,
                    [&](Value iv, ValueRange inside) {
                      NestPoint point = outer;
                      point.ivs[op.along] = iv;
                      fill(point, index);
                      return body.accumulate(point, SmallVector<Value>(inside));
                    });
  llvm::append_range(single, vectors);
  return single;
}

} // namespace pmap
