// The inside of a nest: the body of a structured op on scalars or vectors.

#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {

static unsigned bitsOf(Type type) {
  if (type.isIndex())
    return 64;
  return std::max(8u, type.getIntOrFloatBitWidth());
}

NestBody::NestBody(OpBuilder &builder, Location loc, Kernel &kernel, const NestOptions &options)
    : builder(builder), loc(loc), kernel(kernel), options(options) {}

Value NestBody::buffer(unsigned operand) {
  if (operand < options.buffers.size() && options.buffers[operand])
    return options.buffers[operand];
  return kernel.operand(operand);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Whether and how to vectorize
//===--------------------------------------------------------------------------------------------------------------===//

int positionOf(AffineMap map, unsigned dim) {
  int position = -1;
  for (auto [index, result] : llvm::enumerate(map.getResults())) {
    if (!result.isFunctionOfDim(dim))
      continue;
    if (!isa<AffineDimExpr>(result) || position != -1)
      return -2;
    position = index;
  }
  return position;
}

bool hasUnitStride(MemRefType type, unsigned position) {
  if (position + 1 == type.getRank() && type.getLayout().isIdentity())
    return true;
  auto [strides, offset] = type.getStridesAndOffset();
  return strides[position] == 1;
}

bool NestBody::canVectorize(unsigned dim) {
  DenseSet<Value> vectors;
  for (auto [operand, argument] : llvm::enumerate(kernel.op.getBody()->getArguments())) {
    int position = positionOf(kernel.maps[operand], dim);
    if (position == -2)
      return false;
    bool isOutput = operand >= kernel.numInputs();
    if (position >= 0 || isOutput) {
      vectors.insert(argument);
      if (!argument.getType().isIntOrIndexOrFloat())
        return false;
    }
    // An output that does not move along a parallel loop would be written by every lane.
    if (isOutput && position < 0 && !kernel.isReduction[dim])
      return false;
  }
  return llvm::all_of(kernel.op.getBody()->without_terminator(),
                      [&](Operation &op) { return canVectorizeOp(op, dim, vectors); });
}

int NestBody::contiguity(unsigned dim) {
  int score = 0;
  for (unsigned operand = 0; operand < kernel.maps.size(); ++operand) {
    auto type = dyn_cast<MemRefType>(buffer(operand).getType());
    int position = positionOf(kernel.maps[operand], dim);
    if (!type || position < 0)
      continue;
    // An operand that moves with more loops is most of the traffic; stores cost more than loads.
    int dims = 0;
    for (unsigned loop = 0; loop < kernel.numLoops(); ++loop)
      dims += kernel.maps[operand].isFunctionOfDim(loop);
    int weight = dims * dims * (operand >= kernel.numInputs() ? 3 : 2);
    score += hasUnitStride(type, position) ? weight : -weight;
  }
  // Vectors without contiguous memory still help a body that computes much.
  return score <= 0 && kernel.cost >= 32 ? 1 : score;
}

bool NestBody::isTransposed(unsigned dim, unsigned other) {
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    auto type = dyn_cast<MemRefType>(buffer(operand).getType());
    int along = positionOf(kernel.maps[operand], dim), across = positionOf(kernel.maps[operand], other);
    if (type && along >= 0 && across >= 0 && !hasUnitStride(type, along) && hasUnitStride(type, across))
      return true;
  }
  return false;
}

bool NestBody::isReusedOver(unsigned other, unsigned dim) {
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand)
    if (positionOf(kernel.maps[operand], dim) >= 0 && !kernel.maps[operand].isFunctionOfDim(other))
      return true;
  return false;
}

unsigned NestBody::lanes(unsigned dim) {
  unsigned bits = 8;
  for (unsigned operand = 0; operand < kernel.maps.size(); ++operand)
    if (positionOf(kernel.maps[operand], dim) >= 0)
      bits = std::max(bits, bitsOf(getElementTypeOrSelf(kernel.operand(operand).getType())));
  kernel.op.getBody()->walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isa<FloatType>(type) && !isa<arith::ConstantOp>(op))
        bits = std::max(bits, bitsOf(type));
  });
  for (Combiner &combiner : kernel.combiners)
    bits = std::max(bits, bitsOf(combiner.value.getType()));
  return options.target.bits / bits;
}

//===--------------------------------------------------------------------------------------------------------------===//
// The body
//===--------------------------------------------------------------------------------------------------------------===//

void NestBody::emitGuard(const NestPoint &point, scf::IfOp guard, Value condition, const IRMapping &mapping) {
  if (point.mask)
    condition = arith::AndIOp::create(builder, loc, condition, point.mask);
  Value any = vector::ReductionOp::create(builder, loc, vector::CombiningKind::OR, condition);
  OpBuilder::InsertionGuard insertion(builder);
  auto cold = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(cold.thenBlock());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = arith::ConstantIndexOp::create(builder, loc, point.lanes);
  auto loop = scf::ForOp::create(builder, loc, zero, count, one);
  builder.setInsertionPointToStart(loop.getBody());
  auto lane = [&](Value vector) -> Value {
    return vector::ExtractOp::create(builder, loc, vector, OpFoldResult(loop.getInductionVar()));
  };
  auto single = scf::IfOp::create(builder, loc, lane(condition), /*withElseRegion=*/false);
  builder.setInsertionPointToStart(single.thenBlock());
  IRMapping scalars(mapping);
  guard.thenBlock()->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Value mapped = mapping.lookupOrNull(operand); mapped && isVector(mapped) && scalars.lookup(operand) == mapped)
        scalars.map(operand, lane(mapped));
  });
  for (Operation &op : guard.thenBlock()->without_terminator())
    builder.clone(op, scalars);
}

SmallVector<Value> NestBody::evaluate(const NestPoint &point, ArrayRef<Value> outputs) {
  return evaluate(point, outputs, /*values=*/false);
}

// The body's yields; or with `values`, what the combiners take in.
SmallVector<Value> NestBody::evaluate(const NestPoint &point, ArrayRef<Value> outputs, bool values) {
  Block *block = kernel.op.getBody();
  IRMapping mapping;
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand)
    if (point.loaded[operand])
      mapping.map(block->getArgument(operand), point.loaded[operand]);
  for (auto [output, value] : llvm::enumerate(outputs))
    if (value)
      mapping.map(block->getArgument(kernel.numInputs() + output), value);
  DenseSet<Operation *> skipped;
  if (values)
    for (Combiner &combiner : kernel.combiners)
      skipped.insert(combiner.op);

  for (Operation &op : block->without_terminator())
    if (!skipped.contains(&op))
      emitOp(point, op, mapping);

  SmallVector<Value> results;
  if (values)
    for (Combiner &combiner : kernel.combiners)
      results.push_back(mapping.lookupOrDefault(combiner.value));
  else
    for (Value yielded : block->getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(yielded));
  return results;
}

// An index that a check clamps is, behind the check, the one that it let through; null for any other choice.
static Value letThrough(arith::SelectOp select) {
  for (Operation *user : select.getCondition().getUsers()) {
    if (user->getBlock() != select->getBlock() || !user->isBeforeInBlock(select) || !isGuard(*user))
      continue;
    for (auto call : cast<scf::IfOp>(user).thenBlock()->getOps<func::CallOp>())
      if (call.getCallee() == "pmap_rt_fail")
        return select.getFalseValue();
  }
  return Value();
}

void NestBody::noteLine(Operation &op, ValueRange operands, Value result) {
  auto begin = [&](Value value) { return isVector(value) ? lineBegins.lookup(value) : value; };
  bool adds = isa<arith::AddIOp>(op) && isVector(operands[0]) != isVector(operands[1]);
  bool subtracts = isa<arith::SubIOp>(op) && !isVector(operands[1]);
  if (!adds && !subtracts && !isa<arith::IndexCastOp>(op))
    return;
  SmallVector<Value> firsts = llvm::map_to_vector(operands, begin);
  if (!llvm::all_of(firsts, [](Value value) { return value != nullptr; }))
    return;
  OperationState state(op.getLoc(), op.getName().getStringRef(), firsts, op.getResultTypes(), op.getAttrs());
  lineBegins[result] = builder.create(state)->getResult(0);
}

void NestBody::emitOp(const NestPoint &point, Operation &op, IRMapping &mapping) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    Value value = point.ivs[index.getDim()];
    if (static_cast<int>(index.getDim()) == point.vectorDim && point.lanes > 1) {
      Value step = vector::StepOp::create(builder, loc, VectorType::get(point.lanes, builder.getIndexType()));
      Value begin = value;
      value = arith::AddIOp::create(builder, loc, splat(value, point.lanes), step);
      lineBegins[value] = begin;
    }
    return mapping.map(index.getResult(), value);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (Value checked = letThrough(select))
      return mapping.map(select.getResult(), mapping.lookupOrDefault(checked));
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(mapping.lookupOrDefault(operand));
  if (op.getNumRegions() && dependsOnLanes(point, op, mapping)) {
    if (isGuard(op))
      return emitGuard(point, cast<scf::IfOp>(op), splat(operands[0], point.lanes), mapping);
    return emitRegions(point, op, mapping);
  }
  if (llvm::none_of(operands, isVector)) {
    Operation *copy = builder.clone(op, mapping);
    // Indices of the loops inside a region op.
    copy->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(point.ivs[index.getDim()]);
      index.erase();
    });
    return;
  }
  if (auto read = dyn_cast<memref::LoadOp>(op))
    return mapping.map(read.getResult(), gather(point, read, ArrayRef(operands).drop_front()));
  SmallVector<Value> unsplat(operands);
  for (Value &operand : operands)
    operand = splat(operand, point.lanes);
  // Lanes that are off may hold a zero, which their program never divided by.
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp,
                     arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
  if (divides && point.mask) {
    Value one = constantOf(builder.getOneAttr(getElementTypeOrSelf(operands[1].getType())), operands[1].getType());
    operands[1] = arith::SelectOp::create(builder, loc, point.mask, operands[1], one);
  }
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(VectorType::get(point.lanes, type));
  OperationState state(op.getLoc(), op.getName().getStringRef(), operands, types, op.getAttrs());
  Operation *made = builder.create(state);
  mapping.map(op.getResults(), made->getResults());
  noteLine(op, unsplat, made->getResult(0));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Accumulators
//===--------------------------------------------------------------------------------------------------------------===//

SmallVector<Value> NestBody::initialValues(NestPoint &point, bool neutral) {
  SmallVector<Value> values;
  for (unsigned output = 0; output < kernel.op.getNumDpsInits(); ++output) {
    bool hasCombiner = !kernel.combiners.empty();
    bool alongLanes = point.lanes > 1;
    if (neutral && hasCombiner) {
      TypedAttr identity = kernel.combiners[output].neutral;
      Type type = identity.getType();
      values.push_back(constantOf(identity, alongLanes ? Type(VectorType::get(point.lanes, type)) : type));
      continue;
    }
    values.push_back(load(point, kernel.numInputs() + output));
  }
  return values;
}

SmallVector<Value> NestBody::neutralVectors(unsigned lanes) {
  SmallVector<Value> values;
  for (Combiner &combiner : kernel.combiners) {
    TypedAttr identity = combiner.neutral;
    values.push_back(constantOf(identity, VectorType::get(lanes, identity.getType())));
  }
  return values;
}

Value NestBody::combine(unsigned output, Value accumulator, Value value) {
  Combiner &combiner = kernel.combiners[output];
  if (auto vector = dyn_cast<VectorType>(accumulator.getType()))
    value = splat(value, vector.getNumElements());
  OperationState state(combiner.op->getLoc(), combiner.op->getName().getStringRef(), {accumulator, value},
                       accumulator.getType(), combiner.op->getAttrs());
  return builder.create(state)->getResult(0);
}

SmallVector<Value> NestBody::accumulate(const NestPoint &point, ArrayRef<Value> accumulators) {
  if (kernel.combiners.empty()) {
    SmallVector<Value> results = evaluate(point, accumulators);
    for (auto [result, accumulator] : llvm::zip(results, accumulators))
      if (isVector(accumulator))
        result = splat(result, point.lanes);
    return results;
  }
  SmallVector<Value> results = evaluate(point, {}, /*values=*/true);
  bool lanesAreReduced = point.vectorDim >= 0 && kernel.isReduction[point.vectorDim];
  for (auto [output, value] : llvm::enumerate(results)) {
    if (point.mask && lanesAreReduced) {
      value = splat(value, point.lanes);
      Value identity = constantOf(kernel.combiners[output].neutral, value.getType());
      value = arith::SelectOp::create(builder, loc, point.mask, value, identity);
    }
    value = combine(output, accumulators[output], value);
  }
  return results;
}

Value NestBody::reduceLanes(unsigned output, Value vector, unsigned lanes) {
  for (unsigned half = lanes / 2; half >= 1; half /= 2) {
    auto first = llvm::to_vector(llvm::seq<int64_t>(0, half)),
         second = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    Value low = vector::ShuffleOp::create(builder, loc, vector, vector, first);
    Value high = vector::ShuffleOp::create(builder, loc, vector, vector, second);
    vector = combine(output, low, high);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

} // namespace pmap
