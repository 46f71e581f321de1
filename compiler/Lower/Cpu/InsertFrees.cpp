// Frees for buffers. Buffers are reference counted by the runtime, which makes the rule local: an allocation, a buffer
// that comes out of a region op, and a buffer a loop carries each own one reference, given back after their last use in
// their own block or handed on by its terminator. What is handed on without being owned is retained first. Arguments
// are borrowed.

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

// Buffers up to this size live on the stack when their size is constant.
constexpr int64_t maxStackBytes = 1024;

bool isBuffer(Value value) { return isa<MemRefType>(value.getType()); }

// Region ops take over the reference of every buffer that enters their loop, and give out owned ones.
bool carriesBuffers(Operation *op) { return isa<scf::ForOp, scf::WhileOp>(op); }

// A terminator that gives its operands to someone who will own them.
bool handsOn(Operation *op) {
  return !op->hasTrait<OpTrait::IsTerminator>() || isa<func::ReturnOp, scf::YieldOp, scf::ConditionOp>(op);
}

bool takesReferences(Operation *op) {
  return carriesBuffers(op) || (op->hasTrait<OpTrait::IsTerminator>() && handsOn(op));
}

bool isChoice(Operation *op);

// A value that shares its operand's buffer, or holds its address.
bool isView(Operation *op) {
  return isa<ViewLikeOpInterface, memref::CastOp, memref::ReshapeOp, memref::ExtractStridedMetadataOp,
             UnrealizedConversionCastOp, LLVM::ExtractValueOp, LLVM::GEPOp>(op) ||
         (isa<arith::SelectOp>(op) && !isChoice(op));
}

// One of two buffers that is handed on: which of them it is, and so whose reference could go with it, is not known
// where references are counted. It has its own.
bool isChoice(Operation *op) {
  if (!isa<arith::SelectOp>(op) || !isBuffer(op->getResult(0)))
    return false;
  SmallVector<Value> aliases{op->getResult(0)};
  while (!aliases.empty()) {
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      if (takesReferences(user) || isChoice(user))
        return true;
      if (isView(user))
        append_range(aliases, user->getResults());
    }
  }
  return false;
}

class FreeInserter {
public:
  FreeInserter(ModuleOp module, bool onHost)
      : module(module), onHost(onHost), converter(module.getContext()), builder(module.getContext()) {}

  void run(func::FuncOp function) {
    entry = &function.front();
    givesReferences = function->hasAttr("pmap.device_body");
    for (Block &block : function.getBody())
      runOnBlock(block, /*ownsArguments=*/false);
  }

private:
  void runOnBlock(Block &block, bool ownsArguments) {
    SmallVector<Value> owned;
    if (ownsArguments)
      llvm::copy_if(block.getArguments(), std::back_inserter(owned), isBuffer);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          runOnBlock(inner, carriesBuffers(&op));
      if (!isView(&op) && !isa<memref::AllocaOp, memref::GetGlobalOp>(op))
        llvm::copy_if(op.getResults(), std::back_inserter(owned), isBuffer);
      if (isChoice(&op))
        retained[&op] = retain(op.getResult(0), op.getNextNode());
    }
    // Loops take over a reference of their initial buffers.
    DenseSet<OpOperand *> consumed;
    for (Value value : owned)
      endLife(value, block, consumed);
    for (Operation &op : block)
      if (carriesBuffers(&op) || op.hasTrait<OpTrait::IsTerminator>())
        for (OpOperand &operand : op.getOpOperands())
          // An entry's result that aliases an argument or another result is no reference of its own: its caller sees
          // that. A device body's always is one (runtime.h).
          if (isBuffer(operand.get()) && !consumed.contains(&operand) && handsOn(&op) &&
              (!isa<func::ReturnOp>(op) || (onHost && givesReferences)))
            retain(operand.get(), &op);
  }

  void endLife(Value value, Block &block, DenseSet<OpOperand *> &consumed) {
    Operation *last = nullptr;
    OpOperand *handover = nullptr;
    bool usedInside = false, hasOtherOwners = false;
    SmallVector<Value> aliases{value};
    DenseSet<Value> seen{value};
    while (!aliases.empty()) {
      Value alias = aliases.pop_back_val();
      for (OpOperand &use : alias.getUses()) {
        Operation *user = use.getOwner();
        // The shape that a reshape reads is no part of what it gives.
        bool isShape = isa<memref::ReshapeOp>(user) && use.getOperandNumber() != 0;
        if (isView(user) && !isShape)
          for (Value result : user->getResults())
            if (seen.insert(result).second)
              aliases.push_back(result);
        Operation *ancestor = block.findAncestorOpInBlock(*user);
        bool takesReference = takesReferences(user);
        // Where it is not handed over, another owner, that of a branch's result or of what a loop carries, gets a
        // reference of its own and may keep it beyond its last use here.
        hasOtherOwners |= takesReference || isChoice(user);
        if (!last || last->isBeforeInBlock(ancestor)) {
          last = ancestor;
          handover = nullptr;
          usedInside = false;
        }
        if (ancestor == last) {
          if (user != ancestor)
            usedInside = true;
          else if (takesReference && !handover)
            handover = &use;
        }
      }
    }
    if (handover && !usedInside) {
      consumed.insert(handover);
      return;
    }
    if (last && last->hasTrait<OpTrait::IsTerminator>() && !handover) {
      // The terminator only reads it (it cannot happen to ours); free before it.
      last = last->getPrevNode();
    }
    auto alloc = value.getDefiningOp<memref::AllocOp>();
    if (alloc && !hasOtherOwners && moveToStack(alloc))
      return;
    // A choice has its reference before those that it was made from are given back.
    if (Operation *reference = retained.lookup(last))
      last = reference;
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointAfterValue(value);
    memref::DeallocOp::create(builder, value.getLoc(), value);
  }

  bool moveToStack(memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() || !type.getElementType().isIntOrIndexOrFloat())
      return false;
    // Of a device's buffers only those with sizes, for reshapes, are the host's.
    if (!onHost && !type.getElementType().isIndex())
      return false;
    unsigned bits = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
    if (type.getNumElements() * llvm::divideCeil(bits, 8) > maxStackBytes)
      return false;
    // Inside a parallel body the stack is that of the thread that runs it.
    Operation *parallel = alloc->getParentOfType<scf::ForallOp>();
    builder.setInsertionPointToStart(parallel ? &parallel->getRegion(0).front() : entry);
    auto stack = memref::AllocaOp::create(builder, alloc.getLoc(), type, builder.getI64IntegerAttr(64));
    alloc.getResult().replaceAllUsesWith(stack);
    alloc.erase();
    return true;
  }

  Operation *retain(Value buffer, Operation *before) {
    builder.setInsertionPoint(before);
    Location loc = before->getLoc();
    Type pointer = LLVM::LLVMPointerType::get(module.getContext());
    if (!module.lookupSymbol("pmap_rt_retain")) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(module.getContext()), {pointer});
      LLVM::LLVMFuncOp::create(builder, loc, "pmap_rt_retain", type);
    }
    Value descriptor =
        UnrealizedConversionCastOp::create(builder, loc, converter.convertType(buffer.getType()), buffer).getResult(0);
    Value allocated = LLVM::ExtractValueOp::create(builder, loc, descriptor, ArrayRef<int64_t>{0});
    return LLVM::CallOp::create(builder, loc, TypeRange(), "pmap_rt_retain", ValueRange(allocated));
  }

  ModuleOp module;
  bool onHost;
  LLVMTypeConverter converter;
  OpBuilder builder;
  Block *entry = nullptr;
  /// Where choices get their references.
  DenseMap<Operation *, Operation *> retained;
  bool givesReferences = false;
};

struct InsertFreesPass : PassWrapper<InsertFreesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(InsertFreesPass)
  InsertFreesPass(bool onHost) : onHost(onHost) {}
  StringRef getArgument() const final { return "pmap-cpu-insert-frees"; }
  StringRef getDescription() const final { return "Free every buffer after its last use"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, memref::MemRefDialect>();
  }

  void runOnOperation() final {
    FreeInserter inserter(getOperation(), onHost);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        inserter.run(function);
  }

  bool onHost;
};

} // namespace

std::unique_ptr<Pass> createInsertFreesPass(bool onHost) { return std::make_unique<InsertFreesPass>(onHost); }

} // namespace pmap
