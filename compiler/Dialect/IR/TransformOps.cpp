// Builders and verifiers of the transformations: vmap, vjp, jvp, checkpoint and custom_vjp.
#include "compiler/Dialect/IR/Batch.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

//===- Rows -----------------------------------------------------------------------------------------------------===//

RankedTensorType Batch::rowType(RankedTensorType type) const {
  SmallVector<Size> sizes = sizesOf(type);
  for (Size &dim : sizes)
    dim = dim.substitute("@" + axis.str(), size);
  return withSizes(type, sizes);
}

RankedTensorType Batch::outerType(RankedTensorType type) const {
  RankedTensorType row = rowType(type);
  if (!varies(type))
    return row;
  SmallVector<Size> sizes = sizesOf(row);
  sizes.insert(sizes.begin(), size);
  return makeTensorType(row.getElementType(), sizes, differenceOf(varyOf(row), axis));
}

namespace {

// Makes the region's block with arguments of these types.
void addBody(OpBuilder &builder, OperationState &state, TypeRange arguments) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.addRegion());
  for (Type type : arguments)
    block->addArgument(type, state.location);
}

SmallVector<Type> floatingOf(TypeRange types) {
  return llvm::filter_to_vector(types, [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  });
}

LogicalResult verifyTypes(Operation *op, StringRef number, StringRef what, TypeRange expected, TypeRange got) {
  if (expected == got)
    return success();
  return op->emitOpError() << "(" << number << ") expected " << what << " of types (" << expected << "), got (" << got
                           << ")";
}

LogicalResult verifyWrt(Operation *op, StringRef number, ArrayRef<int64_t> wrt, ValueRange inputs) {
  for (auto [i, position] : llvm::enumerate(wrt))
    if (position < 0 || position >= static_cast<int64_t>(inputs.size()) ||
        llvm::is_contained(wrt.take_front(i), position) || floatingOf(inputs[position].getType()).empty())
      return op->emitOpError() << "(" << number << ") wrt must name floating operands, each once; got [" << wrt << "]";
  return success();
}

// A tangent or cotangent has its primal's type, and may vary over more axes, which are added to `added`.
LogicalResult verifyDerivative(Operation *op, StringRef number, StringRef what, RankedTensorType primal, Type got,
                               Axes &added) {
  if (withVary(primal, varyOf(got)) != got || !isSubset(varyOf(primal), varyOf(got)))
    return op->emitOpError() << "(" << number << ") expected a " << what << " of type " << primal << ", got " << got;
  added = unionOf(added, differenceOf(varyOf(got), varyOf(primal)));
  return success();
}

} // namespace

//===- vmap -----------------------------------------------------------------------------------------------------===//

void VmapOp::build(OpBuilder &builder, OperationState &state, TypeRange results, StringRef axis, const Size &size,
                   IntegerAttr chunk, ValueRange inputs) {
  state.addOperands(inputs);
  state.addTypes(results);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.axis = builder.getStringAttr(axis);
  properties.size = builder.getStringAttr(size.str());
  properties.chunk = chunk;
  SmallVector<Type> rows;
  for (Value input : inputs) {
    RankedTensorType type = tensorType(input);
    SmallVector<Size> sizes = sizesOf(type);
    sizes.erase(sizes.begin());
    rows.push_back(makeTensorType(type.getElementType(), sizes, unionOf(varyOf(type), properties.axis)));
  }
  addBody(builder, state, rows);
}

LogicalResult VmapOp::verify() {
  auto size = Size::parse(getSize());
  if (!size || size->symbols().count("@" + getAxis().str()))
    return emitOpError() << "(vmap-1) expected a size that does not mention '@" << getAxis() << "', got "
                         << getSizeAttr();
  for (Value input : getInputs())
    if (tensorType(input).getRank() == 0 || sizeOf(input.getType(), 0) != *size)
      return emitOpError() << "(vmap-1) expected a first dimension of size " << getSize() << ", got "
                           << input.getType();
  Batch batch{getAxisAttr(), *size};
  Block &block = getBody().front();
  SmallVector<Type> expected;
  for (Value argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !batch.varies(type))
      return emitOpError() << "(vmap-2) expected an argument that varies over '" << getAxis() << "', got "
                           << argument.getType();
    expected.push_back(batch.outerType(type));
  }
  if (failed(verifyTypes(*this, "vmap-2", "operands", expected, getInputs().getTypes())))
    return failure();
  expected.clear();
  for (Value value : block.getTerminator()->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return emitOpError() << "(vmap-3) expected tensors to be yielded, got " << value.getType();
    expected.push_back(batch.outerType(type));
  }
  if (failed(verifyTypes(*this, "vmap-3", "results", expected, getResultTypes())))
    return failure();
  for (Operation *parent = (*this)->getParentOp(); parent; parent = parent->getParentOp()) {
    auto vmap = dyn_cast<VmapOp>(parent);
    auto map = dyn_cast<MapOp>(parent);
    if ((vmap && vmap.getAxisAttr() == getAxisAttr()) ||
        (map && llvm::is_contained(map.getMesh().getAxes(), getAxisAttr())))
      return emitOpError() << "(vmap-4) '" << getAxis() << "' is already an axis here";
  }
  if (getChunk() && *getChunk() < 1)
    return emitOpError() << "(vmap-5) expected a chunk of at least 1, got " << *getChunk();
  return success();
}

//===- vjp and pullback -----------------------------------------------------------------------------------------===//

void VjpOp::build(OpBuilder &builder, OperationState &state, TypeRange yielded, ValueRange inputs,
                  ArrayRef<int64_t> wrt) {
  state.addOperands(inputs);
  state.addTypes(yielded);
  state.addTypes(ResidualsType::get(builder.getContext()));
  state.getOrAddProperties<Properties>().wrt = builder.getDenseI64ArrayAttr(wrt);
  addBody(builder, state, inputs.getTypes());
}

LogicalResult VjpOp::verify() {
  Block &block = getBody().front();
  if (failed(verifyTypes(*this, "vjp-1", "arguments", getInputs().getTypes(), block.getArgumentTypes())) ||
      failed(verifyWrt(*this, "vjp-2", getWrt(), getInputs())))
    return failure();
  SmallVector<Type> expected(block.getTerminator()->getOperandTypes());
  SmallVector<Type> floating = floatingOf(expected);
  expected.push_back(ResidualsType::get(getContext()));
  if (failed(verifyTypes(*this, "vjp-3", "results", expected, getResultTypes())))
    return failure();
  for (Type value : floating)
    for (int64_t position : getWrt())
      if (!isSubset(varyOf(value), varyOf(getInputs()[position].getType())))
        return emitOpError() << "(vjp-4) a result of type " << value
                             << " needs wrt operands that vary as much (G1), got " << getInputs()[position].getType();
  return success();
}

LogicalResult PullbackOp::verify() {
  auto vjp = getResiduals().getDefiningOp<VjpOp>();
  if (!vjp)
    return emitOpError() << "(pullback-1) expected the residuals of a pmap.vjp";
  SmallVector<Type> values = floatingOf(vjp.getValues().getTypes());
  if (values.size() != getCotangents().size())
    return emitOpError() << "(pullback-2) expected " << values.size() << " cotangents, got " << getCotangents().size();
  Axes added;
  for (auto [value, cotangent] : llvm::zip_equal(values, getCotangents())) {
    auto type = cast<RankedTensorType>(value);
    if (failed(verifyDerivative(*this, "pullback-2", "cotangent", type, cotangent.getType(), added)))
      return failure();
  }
  SmallVector<Type> expected;
  for (int64_t position : vjp.getWrt()) {
    RankedTensorType type = tensorType(vjp.getInputs()[position]);
    expected.push_back(withVary(type, unionOf(varyOf(type), added)));
  }
  return verifyTypes(*this, "pullback-3", "results", expected, getResultTypes());
}

//===- jvp, checkpoint and custom_vjp ---------------------------------------------------------------------------===//

void JvpOp::build(OpBuilder &builder, OperationState &state, TypeRange results, ValueRange inputs, ValueRange tangents,
                  ArrayRef<int64_t> wrt) {
  state.addOperands(inputs);
  state.addOperands(tangents);
  state.addTypes(results);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.wrt = builder.getDenseI64ArrayAttr(wrt);
  properties.operandSegmentSizes = {static_cast<int32_t>(inputs.size()), static_cast<int32_t>(tangents.size())};
  addBody(builder, state, inputs.getTypes());
}

LogicalResult JvpOp::verify() {
  Block &block = getBody().front();
  if (failed(verifyTypes(*this, "jvp-1", "arguments", getInputs().getTypes(), block.getArgumentTypes())) ||
      failed(verifyWrt(*this, "jvp-2", getWrt(), getInputs())))
    return failure();
  if (getWrt().size() != getTangents().size())
    return emitOpError() << "(jvp-2) expected " << getWrt().size() << " tangents, got " << getTangents().size();
  Axes added;
  for (auto [position, tangent] : llvm::zip_equal(getWrt(), getTangents())) {
    RankedTensorType type = tensorType(getInputs()[position]);
    if (failed(verifyDerivative(*this, "jvp-2", "tangent", type, tangent.getType(), added)))
      return failure();
  }
  SmallVector<Type> expected(block.getTerminator()->getOperandTypes());
  for (Type type : floatingOf(block.getTerminator()->getOperandTypes())) {
    auto value = cast<RankedTensorType>(type);
    expected.push_back(withVary(value, unionOf(varyOf(value), added)));
  }
  return verifyTypes(*this, "jvp-3", "results", expected, getResultTypes());
}

LogicalResult CheckpointOp::verify() {
  return verifyTypes(*this, "checkpoint-1", "results", getBody().front().getTerminator()->getOperandTypes(),
                     getResultTypes());
}

LogicalResult OpaqueOp::pullback(OpBuilder &, ArrayRef<Value> cotangents, SmallVectorImpl<Value> &result) {
  result.push_back(cotangents.front());
  return success();
}

LogicalResult OpaqueOp::pushforward(OpBuilder &, ArrayRef<Value> tangents, SmallVectorImpl<Value> &result) {
  result.push_back(tangents.front());
  return success();
}

LogicalResult OpaqueOp::batch(OpBuilder &builder, const Batch &, ArrayRef<Value> operands,
                              SmallVectorImpl<Value> &result) {
  result.push_back(OpaqueOp::create(builder, getLoc(), operands[0].getType(), operands[0]));
  return success();
}

LogicalResult CustomVjpOp::verify() {
  Block &primal = getPrimal().front(), &forward = getForward().front(), &backward = getBackward().front();
  for (Block *block : {&primal, &forward})
    if (failed(verifyTypes(*this, "custom_vjp-1", "arguments", getInputs().getTypes(), block->getArgumentTypes())))
      return failure();
  TypeRange results = getResultTypes(), kept = forward.getTerminator()->getOperandTypes();
  if (failed(verifyTypes(*this, "custom_vjp-2", "results", primal.getTerminator()->getOperandTypes(), results)) ||
      failed(verifyTypes(*this, "custom_vjp-2", "results of 'forward'", results,
                         kept.take_front(std::min(kept.size(), results.size())))))
    return failure();
  SmallVector<Type> arguments(kept.drop_front(results.size()));
  llvm::append_range(arguments, floatingOf(results));
  if (failed(verifyTypes(*this, "custom_vjp-3", "arguments of 'backward'", arguments, backward.getArgumentTypes())))
    return failure();
  return verifyTypes(*this, "custom_vjp-4", "cotangents", floatingOf(getInputs().getTypes()),
                     backward.getTerminator()->getOperandTypes());
}
