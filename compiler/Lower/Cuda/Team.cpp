// Reductions across threads: butterflies of shuffles within a warp, shared memory between warps.

#include "compiler/Lower/Cuda/Team.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace pmap {

Team::Team(OpBuilder &builder, Location loc, Launch &launch, bool wholeBlock)
    : builder(builder), loc(loc), launch(launch), wholeBlock(wholeBlock) {
  IndexMath math(builder, loc);
  if (wholeBlock) {
    lane = launch.thread;
    number = launch.block;
    return;
  }
  Value width = math.constant(warpThreads), warps = math.constant(blockThreads / warpThreads);
  lane = math.rem(launch.thread, width);
  number = math.add(math.mul(launch.block, warps), math.div(launch.thread, width));
}

Value Team::blocksFor(OpBuilder &builder, Location loc, Value count, bool wholeBlock) {
  IndexMath math(builder, loc);
  return wholeBlock ? count : math.ceilDiv(count, math.constant(blockThreads / warpThreads));
}

Value Team::exchangeWord(Value word, int64_t distance) {
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, loc, value, 32); };
  return NVVM::ShflOp::create(builder, loc, word.getType(), i32(-1), word, i32(distance), i32(warpThreads - 1),
                              NVVM::ShflKind::bfly, UnitAttr());
}

// A shuffle moves 32 bits: narrower values are widened, wider ones move in halves.
Value Team::exchange(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isF32() || type.isInteger(32))
    return exchangeWord(value, distance);
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(bits);
  Value raw = value;
  if (type.isIndex())
    raw = arith::IndexCastOp::create(builder, loc, integer, value);
  else if (isa<FloatType>(type))
    raw = arith::BitcastOp::create(builder, loc, integer, value);
  Value moved;
  if (bits < 32) {
    moved = exchangeWord(arith::ExtUIOp::create(builder, loc, i32, raw), distance);
    moved = arith::TruncIOp::create(builder, loc, integer, moved);
  } else {
    Value shift = arith::ConstantIntOp::create(builder, loc, 32, 64);
    Value low = exchangeWord(arith::TruncIOp::create(builder, loc, i32, raw), distance);
    Value high = arith::ShRUIOp::create(builder, loc, raw, shift);
    high = exchangeWord(arith::TruncIOp::create(builder, loc, i32, high), distance);
    high = arith::ShLIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, integer, high), shift);
    moved = arith::OrIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, integer, low), high);
  }
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, moved);
  return isa<FloatType>(type) ? arith::BitcastOp::create(builder, loc, type, moved).getResult() : moved;
}

Value Team::reduce(Value value, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = warpThreads / 2; distance > 0; distance /= 2)
    value = combine(value, exchange(value, distance));
  if (!wholeBlock)
    return value;
  int64_t warps = blockThreads / warpThreads;
  Type type = value.getType();
  Value &memory = places[type];
  if (!memory)
    memory = launch.shared(type, warps);
  IndexMath math(builder, loc);
  Value width = math.constant(warpThreads), zero = math.constant(0);
  Value first = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, math.rem(lane, width), zero);
  emitIf(builder, loc, first, [&] { memref::StoreOp::create(builder, loc, value, memory, math.div(lane, width)); });
  NVVM::Barrier0Op::create(builder, loc);
  SmallVector<Value> parts;
  for (int64_t warp = 0; warp < warps; ++warp)
    parts.push_back(memref::LoadOp::create(builder, loc, memory, math.constant(warp)));
  for (size_t count = parts.size(); count > 1; count /= 2)
    for (size_t i = 0; i < count / 2; ++i)
      parts[i] = combine(parts[i], parts[i + count / 2]);
  // The places are written again only when all have read.
  NVVM::Barrier0Op::create(builder, loc);
  return parts[0];
}

} // namespace pmap
