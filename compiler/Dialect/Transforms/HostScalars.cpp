#include "compiler/Dialect/Transforms/HostScalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

namespace {

bool isScalar(Type type) { return type.isIndex() || type.isInteger(1) || isHostScalar(type); }

bool isOfScalars(Operation *op) {
  if (!llvm::all_of(op->getResultTypes(), isScalar) || !llvm::all_of(op->getOperandTypes(), isScalar))
    return false;
  if (!op->getNumRegions())
    return isMemoryEffectFree(op);
  return isa<scf::IfOp>(op) && llvm::all_of(op->getRegions(), [](Region &region) {
           return region.empty() || llvm::all_of(region.front().without_terminator(),
                                                 [](Operation &nested) { return isOfScalars(&nested); });
         });
}

// The scalar that an index is computed from: that enters the map, and not the index.
Value sourceOf(Value value) {
  auto index = value.getDefiningOp<ToIndexOp>();
  return index && isHostScalar(index.getInput().getType()) ? Value(index.getInput()) : value;
}

} // namespace

bool pmap::isHostScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getRank() && varyOf(tensor).empty();
}

bool pmap::computesScalars(Operation *op) {
  auto move = dyn_cast<MoveOp>(op);
  return move ? isHostScalar(move.getInput().getType()) || isHostScalar(move.getType()) : isOfScalars(op);
}

Value pmap::scalarIn(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (!mapping.contains(value)) {
    Operation *op = value.getDefiningOp();
    mapping.map(value, builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber()));
  }
  return mapping.lookup(value);
}

void pmap::copyScalars(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  if (auto move = dyn_cast<MoveOp>(op))
    return mapping.map(Value(move.getResult()), mapping.lookup(Value(move.getInput())));
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  for (Value value : read)
    (void)scalarIn(builder, value, mapping);
  builder.clone(*op, mapping);
}

Value pmap::replicate(OpBuilder &builder, Location loc, Value scalar, MeshAttr mesh) {
  auto type = cast<RankedTensorType>(scalar.getType());
  auto whole = DistType::get(builder.getContext(), type, SpecAttr::get(builder.getContext(), {}), mesh);
  return MoveOp::create(builder, loc, whole, scalar);
}

bool ScalarInputs::note(Value value) {
  if (matchPattern(value, m_Constant()))
    return true;
  value = sourceOf(value);
  // An index has no type that says whether it differs between the rows of a vmap.
  bool mayDiffer = value.getType().isIndex() && (isa<VmapOp>(value.getParentRegion()->getParentOp()) ||
                                                 value.getParentRegion()->getParentOfType<VmapOp>());
  if (mayDiffer || (!value.getType().isIndex() && !isHostScalar(value.getType())))
    return false;
  values.insert(value);
  return true;
}

bool ScalarInputs::noteOperands(Operation *op, llvm::function_ref<bool(Value)> isFromOutside) {
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return llvm::all_of(read, [&](Value value) { return !isFromOutside(value) || note(value); });
}

SmallVector<Value> ScalarInputs::enter(OpBuilder &builder, Location loc, MeshAttr mesh) const {
  SmallVector<Value> inputs;
  for (Value value : values) {
    if (value.getType().isIndex())
      value = FromIndexOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()), value);
    inputs.push_back(replicate(builder, loc, value, mesh));
  }
  return inputs;
}

void ScalarInputs::receive(OpBuilder &builder, ValueRange blocks, IRMapping &mapping) const {
  for (auto [value, block] : llvm::zip_equal(values, blocks)) {
    Value local = block;
    if (value.getType().isIndex())
      local = ToIndexOp::create(builder, value.getLoc(), builder.getIndexType(), block);
    mapping.map(value, local);
  }
}
