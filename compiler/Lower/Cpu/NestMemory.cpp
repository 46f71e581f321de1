// The inside of a nest: loads and stores of elements and of vectors of them.

#include "compiler/Lower/Cpu/NestBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"

using namespace mlir;

namespace pmap {

Value NestBody::splat(Value value, unsigned lanes) {
  if (isVector(value))
    return value;
  return vector::BroadcastOp::create(builder, loc, VectorType::get(lanes, value.getType()), value);
}

Value NestBody::constantOf(TypedAttr value, Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, static_cast<Attribute>(value)));
  return arith::ConstantOp::create(builder, loc, value);
}

Value NestBody::asBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.getElementType().isInteger(1))
    return buffer;
  auto bytes = MemRefType::get(type.getShape(), builder.getI8Type(), type.getLayout());
  return UnrealizedConversionCastOp::create(builder, loc, bytes, buffer).getResult(0);
}

// A vector of bytes that stand for bools, as a vector of bools.
Value NestBody::fromMemory(Value value, Type element) {
  if (!element.isInteger(1) || getElementTypeOrSelf(value.getType()).isInteger(1))
    return value;
  Value zero = constantOf(builder.getI8IntegerAttr(0), value.getType());
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
}

Value NestBody::toMemory(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || !type.getElementType().isInteger(1))
    return value;
  return arith::ExtUIOp::create(builder, loc, VectorType::get(type.getShape(), builder.getI8Type()), value);
}

NestBody::Access NestBody::access(const NestPoint &point, unsigned operand) {
  Access result;
  result.buffer = buffer(operand);
  AffineMap map = kernel.maps[operand];
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    Value index;
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      index = point.ivs[dim.getPosition()];
      if (static_cast<int>(dim.getPosition()) == point.vectorDim)
        result.along = position;
    } else if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      index = arith::ConstantIndexOp::create(builder, loc, constant.getValue());
    } else {
      index = affine::expandAffineExpr(builder, loc, expr, point.ivs, {});
    }
    if (position == 0 && operand < options.shifts.size() && options.shifts[operand])
      index = builder.createOrFold<arith::SubIOp>(loc, index, options.shifts[operand]);
    result.indices.push_back(index);
  }
  return result;
}

// The buffer from its base as one line of elements, with the offset and strides that lead into it.
Value NestBody::flatView(Value buffer, Value &offset, SmallVector<Value> &strides) {
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
  offset = metadata.getOffset();
  strides.assign(metadata.getStrides().begin(), metadata.getStrides().end());
  auto type = cast<MemRefType>(buffer.getType());
  auto flat = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  Value most = arith::ConstantIndexOp::create(builder, loc, std::numeric_limits<int64_t>::max() / 8);
  return memref::ReinterpretCastOp::create(builder, loc, flat, metadata.getBaseBuffer(), builder.getIndexAttr(0),
                                           ArrayRef<OpFoldResult>{most},
                                           ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

Value NestBody::loadLanes(const NestPoint &point, Access access) {
  Value memory = asBytes(access.buffer);
  auto type = cast<MemRefType>(memory.getType());
  auto vector = VectorType::get(point.lanes, type.getElementType());
  // Lanes past the end hold 1, which no operation traps on.
  auto fill = [&]() -> Value { return constantOf(builder.getOneAttr(type.getElementType()), vector); };
  if (hasUnitStride(type, access.along) && access.along + 1 == type.getRank()) {
    if (point.mask)
      return vector::MaskedLoadOp::create(builder, loc, vector, memory, access.indices, point.mask, fill());
    return vector::LoadOp::create(builder, loc, vector, memory, access.indices);
  }
  Value offset;
  SmallVector<Value> strides;
  Value flat = flatView(memory, offset, strides);
  for (auto [index, stride] : llvm::zip(access.indices, strides))
    offset = arith::AddIOp::create(builder, loc, offset, arith::MulIOp::create(builder, loc, index, stride));
  auto indexType = VectorType::get(point.lanes, builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, indexType);
  Value places = arith::MulIOp::create(builder, loc, step, splat(strides[access.along], point.lanes));
  Value mask = point.mask ? point.mask
                          : constantOf(builder.getBoolAttr(true), VectorType::get(point.lanes, builder.getI1Type()));
  return vector::GatherOp::create(builder, loc, vector, flat, offset, places, mask, fill());
}

Value NestBody::load(const NestPoint &point, unsigned operand) {
  Value source = buffer(operand);
  auto type = dyn_cast<MemRefType>(source.getType());
  if (!type)
    return source;
  Access place = access(point, operand);
  if (place.along < 0 || point.lanes == 1)
    return memref::LoadOp::create(builder, loc, place.buffer, place.indices);
  return fromMemory(loadLanes(point, place), type.getElementType());
}

void NestBody::loadReady(NestPoint &point, Kernel &kernel) {
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    if (point.loaded[operand] || kernel.op.getBody()->getArgument(operand).use_empty())
      continue;
    bool ready = true;
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      ready &= point.ivs[dim] || !kernel.maps[operand].isFunctionOfDim(dim);
    if (ready)
      point.loaded[operand] = load(point, operand);
  }
}

// The lines of a square of `lines.size()` lanes become its columns: in each stage, blocks of `half` elements change
// places.
static void transposeInRegisters(OpBuilder &builder, Location loc, MutableArrayRef<Value> lines) {
  int64_t size = lines.size();
  for (int64_t half = 1; half < size; half *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < size; ++lane) {
      low.push_back(lane & half ? size + lane - half : lane);
      high.push_back(lane & half ? size + lane : lane + half);
    }
    for (int64_t line = 0; line < size; ++line) {
      if (line & half)
        continue;
      Value a = lines[line], b = lines[line + half];
      lines[line] = vector::ShuffleOp::create(builder, loc, a, b, low);
      lines[line + half] = vector::ShuffleOp::create(builder, loc, a, b, high);
    }
  }
}

void NestBody::loadTransposed(MutableArrayRef<NestPoint> points, unsigned row, Value mask) {
  NestPoint &first = points.front();
  for (unsigned operand = 0; operand < kernel.numInputs(); ++operand) {
    auto type = dyn_cast<MemRefType>(buffer(operand).getType());
    int along = positionOf(kernel.maps[operand], first.vectorDim), across = positionOf(kernel.maps[operand], row);
    if (!type || along < 0 || across < 0 || across + 1 != type.getRank() || !hasUnitStride(type, across) ||
        hasUnitStride(type, along) || first.loaded[operand] || kernel.op.getBody()->getArgument(operand).use_empty())
      continue;
    Access place = access(first, operand);
    Value memory = asBytes(place.buffer);
    auto vector = VectorType::get(points.size(), cast<MemRefType>(memory.getType()).getElementType());
    SmallVector<Value> lines;
    for (size_t lane = 0; lane < points.size(); ++lane) {
      SmallVector<Value> indices(place.indices);
      Value step = arith::ConstantIndexOp::create(builder, loc, lane);
      indices[along] = builder.createOrFold<arith::AddIOp>(loc, indices[along], step);
      if (mask)
        lines.push_back(vector::MaskedLoadOp::create(builder, loc, vector, memory, indices, mask,
                                                     constantOf(builder.getOneAttr(vector.getElementType()), vector)));
      else
        lines.push_back(vector::LoadOp::create(builder, loc, vector, memory, indices));
    }
    transposeInRegisters(builder, loc, lines);
    for (auto [point, line] : llvm::zip(points, lines))
      point.loaded[operand] = fromMemory(line, type.getElementType());
  }
}

SmallVector<Value> NestBody::outputsReadBefore(NestPoint &point) {
  SmallVector<Value> values;
  for (unsigned output = 0; output < kernel.op.getNumDpsInits(); ++output) {
    unsigned operand = kernel.numInputs() + output;
    bool used = !kernel.op.getBody()->getArgument(operand).use_empty();
    values.push_back(used ? load(point, operand) : Value());
  }
  return values;
}

// An array larger than the caches is not read again soon: a store past them saves reading its lines first.
void NestBody::storeVector(Value value, Value memory, ArrayRef<Value> indices, Value streamed) {
  auto plain = [&] { vector::StoreOp::create(builder, loc, value, memory, indices); };
  if (!streamed)
    return plain();
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, loc, streamed, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto vector = cast<VectorType>(value.getType());
  unsigned bytes = vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  auto store = vector::StoreOp::create(builder, loc, value, memory, indices, /*nontemporal=*/true);
  store.setAlignment(bytes);
  builder.setInsertionPointToStart(branch.elseBlock());
  plain();
}

void NestBody::store(const NestPoint &point, ArrayRef<Value> values) {
  for (auto [output, stored] : llvm::enumerate(values)) {
    Value value = stored;
    Access place = access(point, kernel.numInputs() + output);
    if (place.along < 0 || point.lanes == 1) {
      memref::StoreOp::create(builder, loc, value, place.buffer, place.indices);
      continue;
    }
    Value memory = asBytes(place.buffer);
    auto type = cast<MemRefType>(memory.getType());
    value = toMemory(splat(value, point.lanes));
    if (hasUnitStride(type, place.along) && place.along + 1 == type.getRank()) {
      if (point.mask)
        vector::MaskedStoreOp::create(builder, loc, memory, place.indices, point.mask, value);
      else
        storeVector(value, memory, place.indices,
                    output < options.streamed.size() ? options.streamed[output] : Value());
      continue;
    }
    Value offset;
    SmallVector<Value> strides;
    Value flat = flatView(memory, offset, strides);
    for (auto [index, stride] : llvm::zip(place.indices, strides))
      offset = arith::AddIOp::create(builder, loc, offset, arith::MulIOp::create(builder, loc, index, stride));
    Value step = vector::StepOp::create(builder, loc, VectorType::get(point.lanes, builder.getIndexType()));
    Value places = arith::MulIOp::create(builder, loc, step, splat(strides[place.along], point.lanes));
    Value mask = point.mask ? point.mask
                            : constantOf(builder.getBoolAttr(true), VectorType::get(point.lanes, builder.getI1Type()));
    vector::ScatterOp::create(builder, loc, Type(), flat, offset, places, mask, value);
  }
}

// Reads through an array of indices: a vector of addresses, unless the elements lie in one piece.
Value NestBody::gather(const NestPoint &point, memref::LoadOp load, ArrayRef<Value> indices) {
  Value memory = asBytes(load.getMemRef());
  auto type = cast<MemRefType>(memory.getType());
  Value begin = lineBegins.lookup(indices.back());
  if (begin && llvm::none_of(indices.drop_back(), isVector) && hasUnitStride(type, indices.size() - 1)) {
    Access access{memory, SmallVector<Value>(indices), static_cast<int>(indices.size()) - 1};
    access.indices.back() = begin;
    return fromMemory(loadLanes(point, access), load.getType());
  }
  Value offset;
  SmallVector<Value> strides;
  Value flat = flatView(memory, offset, strides);
  Value places;
  for (auto [index, stride] : llvm::zip(indices, strides)) {
    if (!isVector(index)) {
      offset = arith::AddIOp::create(builder, loc, offset, arith::MulIOp::create(builder, loc, index, stride));
      continue;
    }
    Value scaled = arith::MulIOp::create(builder, loc, index, splat(stride, point.lanes));
    places = places ? arith::AddIOp::create(builder, loc, places, scaled).getResult() : scaled;
  }
  auto vector = VectorType::get(point.lanes, type.getElementType());
  Value mask = point.mask ? point.mask
                          : constantOf(builder.getBoolAttr(true), VectorType::get(point.lanes, builder.getI1Type()));
  Value fill = constantOf(builder.getOneAttr(type.getElementType()), vector);
  Value loaded = vector::GatherOp::create(builder, loc, vector, flat, offset, places, mask, fill);
  return fromMemory(loaded, load.getType());
}

} // namespace pmap
