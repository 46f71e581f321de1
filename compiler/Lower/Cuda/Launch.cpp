// What all emitters of kernels share.

#include "compiler/Lower/Cuda/Launch.h"
#include "compiler/Lower/Cpu/NestBody.h"

using namespace mlir;

namespace pmap {

Value Launch::shared(Type element, int64_t count) {
  auto space = gpu::AddressSpaceAttr::get(op.getContext(), gpu::AddressSpace::Workgroup);
  return op.addWorkgroupAttribution(MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space), op.getLoc());
}

Launch createLaunch(OpBuilder &builder, Location loc, Value blocks, StringRef what, function_ref<void(Launch &)> emit) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value threads = arith::ConstantIndexOp::create(builder, loc, blockThreads);
  Launch launch;
  launch.op = gpu::LaunchOp::create(builder, loc, blocks, one, one, threads, one, one);
  launch.op->setAttr(kernelWhat, builder.getStringAttr(what));
  launch.thread = launch.op.getThreadIds().x;
  launch.block = launch.op.getBlockIds().x;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&launch.op.getBody().front());
  auto terminator = gpu::TerminatorOp::create(builder, loc);
  builder.setInsertionPoint(terminator);
  emit(launch);
  return launch;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Arithmetic and control flow
//===--------------------------------------------------------------------------------------------------------------===//

// Sizes and indices are never negative, so that division is that of unsigned numbers, which is a shift by a power of
// two.
Value IndexMath::constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
Value IndexMath::add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
Value IndexMath::sub(Value a, Value b) { return builder.createOrFold<arith::SubIOp>(loc, a, b); }
Value IndexMath::mul(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }
Value IndexMath::div(Value a, Value b) { return builder.createOrFold<arith::DivUIOp>(loc, a, b); }
Value IndexMath::rem(Value a, Value b) { return builder.createOrFold<arith::RemUIOp>(loc, a, b); }
Value IndexMath::min(Value a, Value b) { return builder.createOrFold<arith::MinUIOp>(loc, a, b); }

Value IndexMath::ceilDiv(Value a, Value b) {
  if (std::optional<int64_t> divisor = getConstantIntValue(b); divisor == 1)
    return a;
  return div(add(a, sub(b, constant(1))), b);
}

Value IndexMath::less(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, b);
}

Value IndexMath::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}

Value IndexMath::product(ArrayRef<Value> values) {
  Value result = constant(1);
  for (Value value : values)
    result = mul(result, value);
  return result;
}

SmallVector<Value> IndexMath::split(Value linear, ArrayRef<Value> extents) {
  SmallVector<Value> coordinates(extents.size());
  for (size_t dim = extents.size(); dim-- > 0;) {
    coordinates[dim] = dim == 0 ? linear : rem(linear, extents[dim]);
    if (dim > 0)
      linear = div(linear, extents[dim]);
  }
  return coordinates;
}

SmallVector<Value> emitLoop(OpBuilder &builder, Location loc, Value lower, Value upper, Value step,
                            ArrayRef<Value> carried, function_ref<SmallVector<Value>(Value, ValueRange)> emit) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = emit(loop.getInductionVar(), loop.getRegionIterArgs());
  builder.setInsertionPointToEnd(loop.getBody());
  if (loop.getBody()->empty() || !loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
    scf::YieldOp::create(builder, loc, results);
  return SmallVector<Value>(loop.getResults());
}

void emitIf(OpBuilder &builder, Location loc, Value condition, function_ref<void()> emit) {
  emitIfElse(builder, loc, condition, emit, {});
}

void emitIfElse(OpBuilder &builder, Location loc, Value condition, function_ref<void()> then,
                function_ref<void()> otherwise) {
  if (std::optional<int64_t> known = getConstantIntValue(condition)) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Vectors
//===--------------------------------------------------------------------------------------------------------------===//

bool runsInVectors(Kernel &kernel, unsigned dim) {
  NestOptions options{VectorTarget{accessBits, false}, {}, {}};
  OpBuilder builder(kernel.op);
  NestBody body(builder, kernel.op.getLoc(), kernel, options);
  if (!body.canVectorize(dim) || body.lanes(dim) < 2)
    return false;
  for (unsigned operand = 0; operand < kernel.maps.size(); ++operand) {
    auto type = dyn_cast<MemRefType>(kernel.operand(operand).getType());
    int position = positionOf(kernel.maps[operand], dim);
    if (type && position >= 0 && (position + 1 != type.getRank() || !hasUnitStride(type, position)))
      return false;
  }
  // What reads memory by itself, or fails, does so thread by thread.
  return !kernel.op.getBody()
              ->walk([](Operation *inner) {
                return isa<memref::LoadOp, CallOpInterface>(inner) || inner->getNumRegions() ? WalkResult::interrupt()
                                                                                             : WalkResult::advance();
              })
              .wasInterrupted();
}

bool isDense(Value array) {
  while (true) {
    if (!cast<MemRefType>(array.getType()).getLayout().isIdentity())
      return false;
    if (auto argument = dyn_cast<BlockArgument>(array))
      return isa<func::FuncOp>(argument.getOwner()->getParentOp());
    Operation *maker = array.getDefiningOp();
    if (isa<memref::AllocOp, memref::AllocaOp, memref::GetGlobalOp>(maker))
      return true;
    // What keeps the layout keeps the place.
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(maker))
      return false;
    array = maker->getOperand(0);
  }
}

Value isAligned(OpBuilder &builder, Location loc, Kernel &kernel, unsigned dim, unsigned lanes) {
  IndexMath math(builder, loc);
  Value aligned = arith::ConstantIntOp::create(builder, loc, 1, 1);
  auto require = [&](Value count, int64_t multiple) {
    if (multiple <= 1)
      return;
    Value rest = math.rem(count, math.constant(multiple));
    Value fits = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, rest, math.constant(0));
    aligned = builder.createOrFold<arith::AndIOp>(loc, aligned, fits);
  };
  for (unsigned operand = 0; operand < kernel.maps.size(); ++operand) {
    auto type = dyn_cast<MemRefType>(kernel.operand(operand).getType());
    if (!type || positionOf(kernel.maps[operand], dim) < 0)
      continue;
    Value buffer = kernel.operand(operand);
    unsigned bytes = std::max(8u, type.getElementTypeBitWidth()) / 8;
    if (isDense(buffer)) {
      // Every row begins at a multiple of the last dimension.
      if (type.getRank() > 1)
        require(sizeOf(builder, loc, buffer, type.getRank() - 1), lanes);
      continue;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
    require(math.add(base, math.mul(metadata.getOffset(), math.constant(bytes))), int64_t(lanes) * bytes);
    for (Value stride : metadata.getStrides().drop_back())
      require(stride, lanes);
  }
  return aligned;
}

} // namespace pmap
