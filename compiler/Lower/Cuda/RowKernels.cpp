// Kernels over rows.
//
// For each op of a cluster, in order: what is local and elementwise is computed again where it is used, which costs less
// than a trip through memory; a reduction runs over the row with 16-byte loads, lane after lane, then across lanes, and
// stays in a register; what others need is stored.

#include "compiler/Lower/Cuda/RowKernels.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"
#include "compiler/Lower/Cuda/Team.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

/// Rows of up to this many elements are walked by a warp, longer ones by a block. It is also the length of the pieces
/// that a reduction to one element is cut into.
constexpr int64_t longRow = 4096;

/// An op of the kernel: its loops are rows, in the order of the rows' coordinates, or run inside of a row.
struct RowOp {
  explicit RowOp(linalg::GenericOp op) : kernel(op) {}

  Kernel kernel;
  SmallVector<unsigned> rows, inner;
  /// Not stored: its consumers compute it again.
  bool deferred = false;
  /// The inner loop that the lanes run along, how many elements each takes at a time, and whether they may (an `i1` of
  /// the host).
  unsigned along = 0;
  unsigned lanes = 1;
  Value vectors;
};

Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

class RowEmitter {
public:
  RowEmitter(OpBuilder &builder, Location loc, MutableArrayRef<RowOp> ops) : builder(builder), loc(loc), ops(ops) {
    for (RowOp &op : ops)
      bodies.push_back(std::make_unique<NestBody>(builder, loc, op.kernel, options));
    for (auto [index, op] : llvm::enumerate(ops))
      for (unsigned output = 0; output < op.kernel.op.getNumDpsInits(); ++output)
        makers[op.kernel.op.getDpsInits()[output]].push_back({static_cast<unsigned>(index), output});
  }

  /// Decides on the host how each op walks its rows.
  void plan() {
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

  /// One row, by the team's threads. `part`, where not null, is the piece of the one inner loop to walk.
  void emitRow(Team &team, ArrayRef<Value> row, const Span *part = nullptr) {
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

  /// Extent of the longest row.
  Value longest() {
    Value longest = arith::ConstantIndexOp::create(builder, loc, 1);
    for (RowOp &op : ops) {
      Value length = arith::ConstantIndexOp::create(builder, loc, 1);
      for (unsigned loop : op.inner)
        length = builder.createOrFold<arith::MulIOp>(loc, length, op.kernel.extent(builder, loc, loop));
      longest = builder.createOrFold<arith::MaxUIOp>(loc, longest, length);
    }
    return longest;
  }

  /// Where a reduction's results go instead of its outputs: index of the output → (buffer, indices).
  std::function<void(unsigned, Value)> storeInstead;

  /// Buffers that only the ops of this kernel use.
  DenseSet<Value> locals;
  bool isLocal(RowOp &op) {
    for (Value output : op.kernel.op.getDpsInits())
      if (!locals.contains(output) && makers[output].back().op == static_cast<unsigned>(&op - ops.data()))
        return false;
    return true;
  }

private:
  /// An op of the kernel and which of its outputs.
  struct Maker {
    unsigned op, output;
  };

  // What a buffer holds when op `reader` reads it, if an op of the kernel has written it by then.
  std::optional<Maker> makerOf(Value buffer, unsigned reader) {
    std::optional<Maker> last;
    auto known = makers.find(buffer);
    if (known != makers.end())
      for (Maker maker : known->second)
        if (maker.op < reader)
          last = maker;
    return last;
  }

  // Vectors along `loop` of op `index`, if it and all that it computes again can run in them; else 1.
  unsigned lanesAlong(unsigned index, unsigned loop) {
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

  void requireAligned(unsigned index, unsigned loop, RowOp &into) {
    Value aligned = isAligned(builder, loc, ops[index].kernel, loop, into.lanes);
    into.vectors = builder.createOrFold<arith::AndIOp>(loc, into.vectors, aligned);
    forDeferred(index, loop, [&](unsigned maker, std::optional<unsigned> moved) {
      if (moved)
        requireAligned(maker, *moved, into);
    });
  }

  // The ops that `index` computes again, with the loop of theirs that moves with `loop`.
  void forDeferred(unsigned index, unsigned loop, function_ref<void(unsigned, std::optional<unsigned>)> visit) {
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

  NestPoint pointOf(unsigned index) {
    RowOp &op = ops[index];
    NestPoint point(op.kernel);
    for (auto [loop, value] : llvm::zip(op.rows, row))
      point.ivs[loop] = value;
    return point;
  }

  // Everything the body reads at a point whose loops are all entered.
  void fill(NestPoint &point, unsigned index) {
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

  Value computeAgain(unsigned index, unsigned output, const NestPoint &at, AffineMap access) {
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
  void onFirstLane(function_ref<void()> emit) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, team->lane, zero);
    emitIf(builder, loc, first, emit);
  }

  void keep(unsigned index, ArrayRef<Value> values) {
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

  void emitRowScalars(unsigned index) {
    NestPoint point = pointOf(index);
    fill(point, index);
    keep(index, bodies[index]->evaluate(point, bodies[index]->outputsReadBefore(point)));
  }

  Span spanOf(RowOp &op, unsigned loop) {
    if (part)
      return *part;
    IndexMath math(builder, loc);
    return {math.constant(0), op.kernel.extent(builder, loc, loop)};
  }

  // Loops over the inner dimensions other than the one along the lanes.
  SmallVector<Value> emitOuter(RowOp &op, unsigned level, NestPoint point, ArrayRef<Value> carried,
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
  Value vectorEnd(RowOp &op, Span span) {
    IndexMath math(builder, loc);
    Value length = math.sub(span.upper, span.lower);
    Value end = math.sub(span.upper, math.rem(length, math.constant(op.lanes)));
    return math.select(op.vectors, end, span.lower);
  }

  void emitElements(unsigned index) {
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

  void emitReduction(unsigned index) {
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
      results[output] =
          team->reduce(results[output], [&](Value a, Value b) { return body.combine(output, a, b); });
    }
    if (!op.kernel.op->hasAttr(startsFresh) && !storeInstead) {
      for (unsigned output = 0; output < outputs; ++output)
        results[output] = body.combine(output, oldValue(index, output, start), results[output]);
    }
    keep(index, results);
  }

  // What a reduction starts from.
  Value oldValue(unsigned index, unsigned output, NestPoint &start) {
    if (std::optional<Maker> maker = makerOf(ops[index].kernel.op.getDpsInits()[output], index))
      return registers.lookup({maker->op, maker->output});
    return bodies[index]->initialValues(start, /*neutral=*/false)[output];
  }

  // Along the lanes: whole vectors, then single elements.
  SmallVector<Value> reduceLine(unsigned index, NestPoint &outer, ArrayRef<Value> carried) {
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

  OpBuilder &builder;
  Location loc;
  MutableArrayRef<RowOp> ops;
  NestOptions options{VectorTarget{accessBits, false}, {}, {}};
  SmallVector<std::unique_ptr<NestBody>> bodies;
  /// The ops that write a buffer, in order.
  DenseMap<Value, SmallVector<Maker, 1>> makers;
  /// What reductions and ops on whole rows gave, by op and output.
  DenseMap<std::pair<unsigned, unsigned>, Value> registers;
  Team *team = nullptr;
  ArrayRef<Value> row;
  const Span *part = nullptr;
};

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
      // Several ops may write one buffer, as a whole each: what an earlier one wrote is known by who reads it in between.
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
