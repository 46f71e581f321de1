#include "compiler/Dialect/Transforms/HostCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

//===- Sizes ----------------------------------------------------------------------------------------------------===//

SizesInside::SizesInside(MeshAttr mesh, ValueRange operands, ArrayRef<SizeArgAttr> arguments) {
  // What a split of a size makes of it comes before the size itself: the whole is then spelt by its blocks.
  for (bool split : {true, false})
    for (auto [operand, argument] : llvm::zip_equal(operands, arguments)) {
      std::optional<Size> outside = polynomialOf(operand);
      std::optional<std::string> symbol = outside ? outside->asSymbol() : std::nullopt;
      if (!symbol || argument.getAxes().empty() == split || (split && argument.getRagged()))
        continue;
      Size whole = Size::symbol(argument.getSymbol().getValue());
      for (StringAttr axis : argument.getAxes()) {
        int64_t literal = mesh.getSize(axis.getValue());
        whole *= literal > 0 ? Size(literal) : Size::axis(axis.getValue());
      }
      sizes.try_emplace(*symbol, whole);
    }
}

RankedTensorType SizesInside::typeOf(Type outside) const {
  SmallVector<Size> result;
  for (const Size &size : sizesOf(outside)) {
    for (const std::string &symbol : size.symbols())
      if (!sizes.contains(symbol))
        return RankedTensorType();
    result.push_back(substitute(size, sizes));
  }
  return withSizes(cast<RankedTensorType>(outside), result);
}

//===- Code -----------------------------------------------------------------------------------------------------===//

namespace {

bool isScalar(Type type) {
  return type.isIndex() || type.isInteger(1) || (isHostTensor(type) && !cast<RankedTensorType>(type).getRank());
}

bool isOfHost(Type type) { return isScalar(type) || isHostTensor(type); }

bool isCheap(Operation *op) {
  if (!llvm::all_of(op->getResultTypes(), isOfHost) || !llvm::all_of(op->getOperandTypes(), isOfHost))
    return false;
  if (!op->getNumRegions())
    return isMemoryEffectFree(op) &&
           (isa<BroadcastOp>(op) || OpTrait::hasElementwiseMappableTraits(op) ||
            (llvm::all_of(op->getResultTypes(), isScalar) && llvm::all_of(op->getOperandTypes(), isScalar)));
  return isa<scf::IfOp>(op) && llvm::all_of(op->getRegions(), [](Region &region) {
           return region.empty() ||
                  llvm::all_of(region.front().without_terminator(), [](Operation &nested) { return isCheap(&nested); });
         });
}

bool isReplicated(Type type) {
  auto dist = dyn_cast<DistType>(type);
  return dist && dist.getSpec().isReplicated() && varyOf(dist).empty();
}

// Numbers and copies of them are made where they are needed.
bool isMadeAnew(Value value) {
  if (matchPattern(value, m_Constant()))
    return true;
  auto copies = value.getDefiningOp<BroadcastOp>();
  return copies && matchPattern(copies.getInput(), m_Constant());
}

// The scalar that an index is computed from: that enters the map, and not the index.
Value sourceOf(Value value) {
  auto index = value.getDefiningOp<ToIndexOp>();
  return index && isHostTensor(index.getInput().getType()) ? Value(index.getInput()) : value;
}

llvm::SetVector<Value> readBy(Operation *op) {
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

} // namespace

bool pmap::isHostTensor(Type type) { return isa<RankedTensorType>(type) && varyOf(type).empty(); }

bool pmap::runsOnDevices(Operation *op) {
  auto move = dyn_cast<MoveOp>(op);
  if (!move)
    return isCheap(op);
  Type from = move.getInput().getType(), to = move.getType();
  return (isHostTensor(from) && isReplicated(to)) || (isReplicated(from) && isHostTensor(to));
}

Value pmap::hostValueIn(OpBuilder &builder, Value value, IRMapping &mapping, const SizesInside &inside) {
  if (!mapping.contains(value)) {
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      (void)hostValueIn(builder, operand, mapping, inside);
    Operation *copy = builder.clone(*op, mapping);
    substituteSymbols(copy, inside.sizes);
    mapping.map(op->getResults(), copy->getResults());
  }
  return mapping.lookup(value);
}

void pmap::copyHostCode(OpBuilder &builder, Operation *op, IRMapping &mapping, const SizesInside &inside) {
  if (auto move = dyn_cast<MoveOp>(op))
    return mapping.map(Value(move.getResult()), hostValueIn(builder, move.getInput(), mapping, inside));
  for (Value value : readBy(op))
    (void)hostValueIn(builder, value, mapping, inside);
  substituteSymbols(builder.clone(*op, mapping), inside.sizes);
}

Value pmap::replicate(OpBuilder &builder, Location loc, Value value, MeshAttr mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  SpecAttr everywhere = SpecAttr::getReplicated(builder.getContext(), type.getRank());
  return MoveOp::create(builder, loc, DistType::get(builder.getContext(), type, everywhere, mesh), value);
}

//===- Inputs ---------------------------------------------------------------------------------------------------===//

bool HostInputs::note(Value value, const SizesInside &inside) {
  if (isMadeAnew(value))
    return !isa<RankedTensorType>(value.getType()) || inside.typeOf(value.getType());
  value = sourceOf(value);
  if (isHostTensor(value.getType())) {
    values.insert(value);
    return inside.typeOf(value.getType()) != nullptr;
  }
  // An index has no type that says whether it differs between the rows of a vmap.
  Operation *parent = value.getParentRegion()->getParentOp();
  if (!value.getType().isIndex() || isa<VmapOp>(parent) || parent->getParentOfType<VmapOp>())
    return false;
  values.insert(value);
  return true;
}

bool HostInputs::noteOperands(Operation *op, const SizesInside &inside, llvm::function_ref<bool(Value)> isFromOutside) {
  return llvm::all_of(readBy(op), [&](Value value) { return !isFromOutside(value) || note(value, inside); }) &&
         !op->walk([&](Operation *nested) {
              bool known = llvm::all_of(nested->getResultTypes(),
                                        [&](Type type) { return !isHostTensor(type) || inside.typeOf(type); });
              return known ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

SmallVector<Value> HostInputs::enter(OpBuilder &builder, Location loc, MeshAttr mesh) const {
  SmallVector<Value> inputs;
  for (Value value : values) {
    if (value.getType().isIndex())
      value = FromIndexOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()), value);
    inputs.push_back(replicate(builder, loc, value, mesh));
  }
  return inputs;
}

void HostInputs::receive(OpBuilder &builder, ValueRange blocks, IRMapping &mapping) const {
  for (auto [value, block] : llvm::zip_equal(values, blocks)) {
    Value local = block;
    if (value.getType().isIndex())
      local = ToIndexOp::create(builder, value.getLoc(), builder.getIndexType(), block);
    mapping.map(value, local);
  }
}
