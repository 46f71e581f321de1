// Where host code of the program meets device code: the packed form of a function takes arrays of the host, the
// function itself arrays of a device. Two passes, around the conversion to LLVM.

#include "compiler/Lower/Cuda/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

/// On a function: per argument, then per result, the rank (-1 for a scalar) and the bytes of an element.
constexpr llvm::StringLiteral signatureAttr = "pmap.cuda_signature";
/// On a function: its count of arguments.
constexpr llvm::StringLiteral argumentsAttr = "pmap.cuda_arguments";

struct DescribeFunctionsPass : PassWrapper<DescribeFunctionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DescribeFunctionsPass)
  StringRef getArgument() const final { return "pmap-cuda-describe"; }
  StringRef getDescription() const final { return "Note which arguments and results are arrays"; }

  void runOnOperation() final {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr(hostFunction))
        continue;
      SmallVector<int32_t> table;
      auto describe = [&](Type type) {
        auto array = dyn_cast<MemRefType>(type);
        table.push_back(array ? array.getRank() : -1);
        table.push_back(array ? std::max(8u, array.getElementTypeBitWidth()) / 8 : 0);
      };
      llvm::for_each(function.getArgumentTypes(), describe);
      llvm::for_each(function.getResultTypes(), describe);
      function->setAttr(signatureAttr, builder.getDenseI32ArrayAttr(table));
      function->setAttr(argumentsAttr, builder.getI32IntegerAttr(function.getNumArguments()));
    }
  }
};

struct CudaBoundaryPass : PassWrapper<CudaBoundaryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CudaBoundaryPass)
  StringRef getArgument() const final { return "pmap-cuda-boundary"; }
  StringRef getDescription() const final { return "Copy arrays to and from the device where functions are entered"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() final {
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (function->hasAttr(signatureAttr))
        functions.push_back(function);
    for (LLVM::LLVMFuncOp function : functions) {
      useDeviceMemory(function);
      std::string name = (function.getName() + ".packed").str();
      if (auto packed = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name); packed && !packed.isExternal())
        addBoundary(function, packed);
      function->removeAttr(signatureAttr);
      function->removeAttr(argumentsAttr);
    }
  }

private:
  // The conversion to LLVM allocates by the host's functions; so do products of matrices.
  void useDeviceMemory(LLVM::LLVMFuncOp function) {
    ModuleOp module = getOperation();
    function.walk([&](LLVM::CallOp call) {
      StringRef callee = call.getCallee().value_or("");
      if (callee == "pmap_rt_alloc_at")
        return useDeviceAllocator(call);
      bool isMemory = callee == "pmap_rt_alloc" || callee == "pmap_rt_free" || callee == "pmap_rt_retain";
      if (!isMemory && !callee.starts_with("pmap_rt_gemm"))
        return;
      std::string name = "pmap_cuda_" + callee.drop_front(StringRef("pmap_rt_").size()).str();
      if (!module.lookupSymbol(name)) {
        auto old = module.lookupSymbol<LLVM::LLVMFuncOp>(callee);
        OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
        LLVM::LLVMFuncOp::create(top, module.getLoc(), name, old.getFunctionType());
      }
      call.setCallee(name);
    });
  }

  // The device's allocator does not ask for the line.
  void useDeviceAllocator(LLVM::CallOp call) {
    ModuleOp module = getOperation();
    StringRef name = "pmap_cuda_alloc";
    Type i64 = call.getArgOperands().front().getType();
    if (!module.lookupSymbol(name)) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(call.getResult().getType(), {i64});
      LLVM::LLVMFuncOp::create(top, module.getLoc(), name, type);
    }
    OpBuilder builder(call);
    auto allocation = LLVM::CallOp::create(builder, call.getLoc(), call.getResultTypes(), name,
                                           ValueRange{call.getArgOperands().front()});
    call.replaceAllUsesWith(allocation);
    call.erase();
  }

  // f.packed(args) { pmap_cuda_call(&record, args); }, with what was f.packed as f.on_device.
  void addBoundary(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp packed) {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    Location loc = function.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = IntegerType::get(context, 32);
    std::string name = packed.getName().str(), inner = (function.getName() + ".on_device").str();
    packed.setSymName(inner);
    packed.setLinkage(LLVM::Linkage::Internal);

    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    auto table = function->getAttrOfType<DenseI32ArrayAttr>(signatureAttr);
    int32_t count = table.size() / 2, arguments = function->getAttrOfType<IntegerAttr>(argumentsAttr).getInt();
    std::string tableName = inner + ".table", recordName = inner + ".record";
    SmallVector<int32_t> values(table.asArrayRef());
    if (values.empty())
      values.push_back(0);
    LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(i32, values.size()), /*isConstant=*/true,
                           LLVM::Linkage::Internal, tableName, top.getI32TensorAttr(values));
    auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i32, i32});
    auto record =
        LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, recordName, Attribute());
    {
      OpBuilder init(context);
      init.createBlock(&record.getInitializerRegion());
      Value fields[] = {LLVM::AddressOfOp::create(init, loc, pointer, inner),
                        LLVM::AddressOfOp::create(init, loc, pointer, tableName),
                        LLVM::ConstantOp::create(init, loc, i32, init.getI32IntegerAttr(arguments)),
                        LLVM::ConstantOp::create(init, loc, i32, init.getI32IntegerAttr(count - arguments))};
      Value value = LLVM::UndefOp::create(init, loc, type);
      for (auto [index, field] : llvm::enumerate(fields))
        value = LLVM::InsertValueOp::create(init, loc, value, field, ArrayRef<int64_t>{static_cast<int64_t>(index)});
      LLVM::ReturnOp::create(init, loc, value);
    }
    constexpr llvm::StringLiteral enter = "pmap_cuda_call";
    if (!module.lookupSymbol(enter))
      LLVM::LLVMFuncOp::create(top, loc, enter,
                               LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer}));
    auto outer = LLVM::LLVMFuncOp::create(top, loc, name,
                                          LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
    Block *entry = outer.addEntryBlock(top);
    top.setInsertionPointToStart(entry);
    Value address = LLVM::AddressOfOp::create(top, loc, pointer, recordName);
    LLVM::CallOp::create(top, loc, TypeRange(), enter, ValueRange{address, entry->getArgument(0)});
    LLVM::ReturnOp::create(top, loc, ValueRange());
  }
};

} // namespace

std::unique_ptr<Pass> createDescribeFunctionsPass() { return std::make_unique<DescribeFunctionsPass>(); }
std::unique_ptr<Pass> createCudaBoundaryPass() { return std::make_unique<CudaBoundaryPass>(); }

} // namespace pmap
