// Builders, verifiers and folders of the parallel ops.
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

namespace {

SmallVector<SpecAttr> specsOf(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) { return cast<DistType>(type).getSpec(); });
}

Axes axesOf(ArrayAttr names) {
  Axes axes;
  llvm::append_range(axes, names.getAsRange<StringAttr>());
  return axes;
}

// The one dimension a distributed value is split in, over one axis; nothing when there is no such.
std::optional<int64_t> soleSplitDim(SpecAttr spec) {
  std::optional<int64_t> result;
  for (int64_t dim = 0; dim < spec.getRank(); ++dim) {
    size_t axes = spec.getAxes(dim).size();
    if (axes > 1 || (axes == 1 && result))
      return std::nullopt;
    if (axes == 1)
      result = dim;
  }
  return result;
}

} // namespace

//===- map
//------------------------------------------------------------------------------------------------------------===//

void MapOp::build(OpBuilder &builder, OperationState &state, TypeRange results, MeshAttr mesh, ValueRange sizes,
                  ArrayRef<SizeArgAttr> sizeArgs, ValueRange inputs, TypeRange blocks) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(sizes);
  state.addOperands(inputs);
  state.addTypes(results);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.mesh = mesh;
  properties.size_args = builder.getArrayAttr(SmallVector<Attribute>(sizeArgs.begin(), sizeArgs.end()));
  properties.operandSegmentSizes = {static_cast<int32_t>(sizes.size()), static_cast<int32_t>(inputs.size())};
  Block *block = builder.createBlock(state.addRegion());
  for (Value size : sizes)
    block->addArgument(builder.getIndexType(), size.getLoc());
  for (auto [type, input] : llvm::zip_equal(blocks, inputs))
    block->addArgument(type, input.getLoc());
}

SmallVector<SpecAttr> MapOp::getInSpecs() { return specsOf(getInputs().getTypes()); }
SmallVector<SpecAttr> MapOp::getOutSpecs() { return specsOf(getResultTypes()); }

SmallVector<SizeArgAttr> MapOp::getSizeArguments() { return llvm::to_vector(getSizeArgs().getAsRange<SizeArgAttr>()); }

LogicalResult MapOp::verify() {
  if (getSizeArgs().size() != getSizes().size())
    return emitOpError() << "(map-1) expected " << getSizes().size() << " size arguments, got " << getSizeArgs().size();
  for (SizeArgAttr argument : getSizeArguments())
    for (StringAttr axis : argument.getAxes())
      if (!getMesh().hasAxis(axis.getValue()))
        return emitOpError() << "(map-7) axis " << axis << " is not of the mesh " << getMesh();
  auto overMesh = [&](Type type) { return cast<DistType>(type).getMesh() == getMesh(); };
  if (!llvm::all_of(getInputs().getTypes(), overMesh) || !llvm::all_of(getResultTypes(), overMesh))
    return emitOpError() << "(map-2) inputs and results must be over the mesh " << getMesh();

  Block &block = getBody().front();
  size_t numSizes = getSizes().size();
  if (block.getNumArguments() != numSizes + getInputs().size() ||
      !llvm::all_of(block.getArguments().take_front(numSizes), [](Value size) { return size.getType().isIndex(); }))
    return emitOpError() << "(map-3) expected " << numSizes << " index arguments, then one per input";
  auto isBlockOf = [](Type block, DistType dist) {
    auto tensor = dyn_cast<RankedTensorType>(block);
    return tensor && tensor.getElementType() == dist.getTensor().getElementType() &&
           tensor.getRank() == dist.getTensor().getRank();
  };
  for (auto [argument, input] : llvm::zip_equal(block.getArguments().drop_front(numSizes), getInputs())) {
    auto dist = cast<DistType>(input.getType());
    Axes vary = unionOf(dist.getSpec().getAllAxes(), varyOf(dist));
    if (!isBlockOf(argument.getType(), dist) || varyOf(argument.getType()) != ArrayRef(vary))
      return emitOpError() << "(map-3) " << argument.getType() << " is not a block of " << dist;
  }
  Operation *yield = block.getTerminator();
  if (yield->getNumOperands() != getNumResults())
    return emitOpError() << "(map-4) expected " << getNumResults() << " yielded values, got "
                         << yield->getNumOperands();
  for (auto [value, result] : llvm::zip_equal(yield->getOperands(), getResults())) {
    auto dist = cast<DistType>(result.getType());
    if (!isBlockOf(value.getType(), dist))
      return emitOpError() << "(map-4) " << value.getType() << " is not a block of " << dist;
    if (!isSubset(varyOf(value.getType()), unionOf(dist.getSpec().getAllAxes(), varyOf(dist))))
      return emitOpError() << "(map-5) a block that varies more than " << dist.getSpec()
                           << " splits (V7): " << value.getType();
  }
  if ((*this)->getParentOfType<MapOp>())
    return emitOpError() << "(map-6) a map within a map (P1)";
  return success();
}

//===- move, shards, to_shards
//----------------------------------------------------------------------------------------===//

LogicalResult MoveOp::verify() {
  Type from = getInput().getType(), to = getType();
  if (!isa<DistType>(from) && !isa<DistType>(to))
    return emitOpError() << "(move-1) expected a distributed value on one side";
  auto tensorOf = [](Type type) {
    return isa<DistType>(type) ? cast<DistType>(type).getTensor() : cast<RankedTensorType>(type);
  };
  if (tensorOf(from) != tensorOf(to))
    return emitOpError() << "(move-2) " << from << " cannot be moved to " << to;
  return success();
}

OpFoldResult MoveOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}

LogicalResult ShardsOp::verify() {
  auto dist = cast<DistType>(getType());
  std::optional<int64_t> dim = soleSplitDim(dist.getSpec());
  if (!dim || getBlocks().empty())
    return emitOpError() << "(shards-1) expected blocks of one dimension split over one axis";
  SmallVector<RankedTensorType> types;
  for (Value block : getBlocks()) {
    RankedTensorType type = tensorType(block);
    types.push_back(type);
    bool agrees = type.getRank() == dist.getTensor().getRank();
    for (int64_t other = 0; agrees && other < type.getRank(); ++other)
      agrees = other == *dim || sizeOf(type, other) == sizeOf(dist, other);
    if (!agrees || type.getElementType() != dist.getTensor().getElementType())
      return emitOpError() << "(shards-2) " << type << " is not a block of " << dist;
  }
  return verifyInferred(*this, "shards-2", inferConcat(types, *dim), dist.getTensor());
}

LogicalResult ToShardsOp::verify() {
  auto dist = cast<DistType>(getInput().getType());
  if (!soleSplitDim(dist.getSpec()))
    return emitOpError() << "(to_shards-1) expected one dimension split over one axis";
  int64_t devices = 1;
  for (int64_t size : dist.getMesh().getSizes())
    devices = size < 0 || devices < 0 ? -1 : devices * size;
  if (devices != static_cast<int64_t>(getNumResults()))
    return emitOpError() << "(to_shards-2) expected one result per device of " << dist.getMesh();
  for (Value block : getBlocks()) {
    RankedTensorType type = tensorType(block);
    if (type.getRank() != dist.getTensor().getRank() || type.getElementType() != dist.getTensor().getElementType() ||
        varyOf(type) != varyOf(dist))
      return emitOpError() << "(to_shards-3) " << type << " is not a block of " << dist;
  }
  return success();
}

//===- widen
//----------------------------------------------------------------------------------------------------------===//

void WidenOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> axes) {
  RankedTensorType type = tensorType(input);
  build(builder, state, withVary(type, unionOf(varyOf(type), axes)), input);
}

LogicalResult WidenOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (withVary(input, varyOf(result)) != result)
    return emitOpError() << "(widen-1) sizes and element type must stay: " << input << " and " << result;
  if (!isSubset(varyOf(input), varyOf(result)))
    return emitOpError() << "(widen-2) V cannot shrink (V2): " << input << " and " << result;
  return success();
}

OpFoldResult WidenOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getInput()))
    return elements.isSplat() ? elements.resizeSplat(tensorType(getResult()))
                              : DenseElementsAttr::getFromRawBuffer(tensorType(getResult()), elements.getRawData());
  if (auto inner = getInput().getDefiningOp<WidenOp>()) {
    getInputMutable().assign(inner.getInput());
    return getResult();
  }
  return {};
}

//===- collectives
//----------------------------------------------------------------------------------------------------===//

void AllReduceOp::build(OpBuilder &builder, OperationState &state, ReductionKind kind, ValueRange inputs,
                        ArrayRef<StringAttr> axes, ArrayAttr groups) {
  SmallVector<Type> results;
  for (Value input : inputs)
    results.push_back(inferAllReduce(tensorType(input), axes, static_cast<bool>(groups)));
  build(builder, state, results, kind, inputs, builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())),
        groups);
}

SmallVector<StringAttr> AllReduceOp::getCollectiveAxes() {
  Axes axes = axesOf(getAxes());
  return SmallVector<StringAttr>(axes.begin(), axes.end());
}

LogicalResult AllReduceOp::verify() {
  if (getKind() == ReductionKind::And || getKind() == ReductionKind::Or)
    return emitOpError() << "(all_reduce-1) expected sum, mean, prod, max, min, maxu or minu, got "
                         << stringifyReductionKind(getKind());
  Axes axes = axesOf(getAxes());
  if (axes.empty() || sorted(axes).size() != axes.size())
    return emitOpError() << "(all_reduce-2) expected axes, each once, got " << getAxes();
  if (getInputs().empty() || getInputs().size() != getNumResults())
    return emitOpError() << "(all_reduce-3) expected one result for each of at least one operand";
  for (auto [input, result] : llvm::zip_equal(getInputs(), getResults())) {
    if (tensorType(input).getElementType().isInteger(1))
      return emitOpError() << "(all_reduce-6) i1 is converted to i32 first (C2)";
    if (failed(verifyInferred(*this, "all_reduce-4",
                              inferAllReduce(tensorType(input), axes, static_cast<bool>(getGroups())),
                              result.getType())))
      return failure();
  }
  if (!getGroups())
    return success();
  SmallVector<int64_t> seen;
  for (auto group : getGroups()->getAsRange<DenseI64ArrayAttr>())
    llvm::append_range(seen, group.asArrayRef());
  llvm::sort(seen);
  bool repeated = std::adjacent_find(seen.begin(), seen.end()) != seen.end();
  if (repeated || (!seen.empty() && seen.front() < 0))
    return emitOpError() << "(all_reduce-5) groups partition the positions along the axes (C3), got " << *getGroups();
  return success();
}

//===- axis_index, axis_size
//------------------------------------------------------------------------------------------===//

void AxisIndexOp::build(OpBuilder &builder, OperationState &state, StringRef axis) {
  StringAttr name = builder.getStringAttr(axis);
  build(builder, state, makeScalarType(builder.getI32Type(), name), name);
}

LogicalResult AxisIndexOp::verify() {
  return verifyInferred(*this, "axis_index-1", makeScalarType(IntegerType::get(getContext(), 32), getAxisAttr()),
                        getType());
}

LogicalResult AxisSizeOp::verify() {
  if (getAxis().empty())
    return emitOpError() << "(axis_size-1) expected the name of an axis";
  return success();
}
