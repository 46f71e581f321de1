// What host code does with the device's memory: reads and writes of elements, constants, collectives, moves.

#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/RuntimeOps.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

/// The runtime's functions that take arrays, and what stands for them when the arrays are a device's.
StringRef deviceForm(StringRef callee) {
  static constexpr StringLiteral forms[][2] = {
      {"pmap_rt_all_gather", "pmap_cuda_all_gather"},
      {"pmap_rt_all_reduce", "pmap_cuda_all_reduce"},
      {"pmap_rt_all_to_all", "pmap_cuda_all_to_all"},
      {"pmap_rt_move_to_dist", "pmap_cuda_move_to_dist"},
      {"pmap_rt_move_to_host", "pmap_cuda_move_to_host"},
      {"pmap_rt_print", "pmap_cuda_print"},
      {"pmap_rt_reduce_scatter", "pmap_cuda_reduce_scatter"},
      {"pmap_rt_send", "pmap_cuda_send"},
      {"pmap_rt_sort", "pmap_cuda_sort"},
  };
  for (auto &form : forms)
    if (form[0] == callee)
      return form[1];
  return "";
}

/// What a user knows such a function as.
StringRef userName(StringRef callee) {
  callee.consume_front("pmap_rt_");
  return callee;
}

class HostCalls {
public:
  HostCalls(ModuleOp module) : module(module), builder(module.getContext()), types(module.getContext()) {}

  LogicalResult run(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      builder.setInsertionPoint(op);
      if (auto load = dyn_cast<memref::LoadOp>(op))
        read(load);
      else if (auto store = dyn_cast<memref::StoreOp>(op))
        write(store);
      else if (auto global = dyn_cast<memref::GetGlobalOp>(op))
        constant(global);
      else if (auto call = dyn_cast<rt::CallOp>(op); call && failed(rename(call)))
        return failure();
    }
    return success();
  }

private:
  // Sizes for reshapes are the host's.
  static bool isHostMemory(MemRefType type) { return type.getElementType().isIndex(); }

  Type pointer() { return LLVM::LLVMPointerType::get(module.getContext()); }
  Value number(Location loc, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
  }

  // Storage in the function's frame.
  Value storage(Operation *op, Type type) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().getBody().front());
    return LLVM::AllocaOp::create(builder, op->getLoc(), pointer(), type, number(op->getLoc(), 1), 8);
  }

  Value call(Location loc, StringRef name, ArrayRef<Value> arguments, Type result = Type()) {
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      SmallVector<Type> parameters = llvm::map_to_vector(arguments, [](Value value) { return value.getType(); });
      Type returned = result ? result : LLVM::LLVMVoidType::get(module.getContext());
      callee = LLVM::LLVMFuncOp::create(top, module.getLoc(), name, LLVM::LLVMFunctionType::get(returned, parameters));
    }
    auto made = LLVM::CallOp::create(builder, loc, callee, arguments);
    return result ? made.getResult() : Value();
  }

  Type memoryType(Type element) { return element.isInteger(1) ? Type(builder.getI8Type()) : element; }
  int64_t bytesOf(Type element) { return std::max(8u, element.getIntOrFloatBitWidth()) / 8; }

  Value addressOf(Location loc, Value array, ValueRange indices) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, array);
    Value linear = metadata.getOffset();
    for (auto [index, stride] : llvm::zip(indices, metadata.getStrides()))
      linear =
          builder.createOrFold<arith::AddIOp>(loc, linear, builder.createOrFold<arith::MulIOp>(loc, index, stride));
    Type element = memoryType(cast<MemRefType>(array.getType()).getElementType());
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, array);
    Value number = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), base);
    Value address = LLVM::IntToPtrOp::create(builder, loc, pointer(), number);
    Value step = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linear);
    return LLVM::GEPOp::create(builder, loc, pointer(), element, address, ArrayRef<LLVM::GEPArg>{step});
  }

  void read(memref::LoadOp load) {
    if (isHostMemory(load.getMemRefType()))
      return;
    Location loc = load.getLoc();
    Type element = memoryType(load.getType());
    Value place = storage(load, element);
    call(loc, "pmap_cuda_read",
         {addressOf(loc, load.getMemRef(), load.getIndices()), place, number(loc, bytesOf(element))});
    Value value = LLVM::LoadOp::create(builder, loc, element, place);
    if (load.getType().isInteger(1))
      value = arith::TruncIOp::create(builder, loc, load.getType(), value);
    load.replaceAllUsesWith(value);
    load.erase();
  }

  void write(memref::StoreOp store) {
    if (isHostMemory(store.getMemRefType()))
      return;
    Location loc = store.getLoc();
    Value value = store.getValue();
    Type element = memoryType(value.getType());
    if (value.getType() != element)
      value = arith::ExtUIOp::create(builder, loc, element, value);
    Value place = storage(store, element);
    LLVM::StoreOp::create(builder, loc, value, place);
    call(loc, "pmap_cuda_write",
         {addressOf(loc, store.getMemRef(), store.getIndices()), place, number(loc, bytesOf(element))});
    store.erase();
  }

  // A table in the program's code is copied to the device once.
  void constant(memref::GetGlobalOp global) {
    auto type = cast<MemRefType>(global.getType());
    if (isHostMemory(type))
      return;
    Location loc = global.getLoc();
    builder.setInsertionPointAfter(global);
    auto onHost = UnrealizedConversionCastOp::create(builder, loc, types.convertType(type), global.getResult());
    Value host = LLVM::ExtractValueOp::create(builder, loc, onHost.getResult(0), ArrayRef<int64_t>{1});
    Value copy = call(loc, "pmap_cuda_constant",
                      {host, number(loc, type.getNumElements() * bytesOf(type.getElementType()))}, pointer());
    Value descriptor = LLVM::InsertValueOp::create(builder, loc, onHost.getResult(0), copy, ArrayRef<int64_t>{1});
    Value onDevice = UnrealizedConversionCastOp::create(builder, loc, type, descriptor).getResult(0);
    global.getResult().replaceAllUsesExcept(onDevice, onHost);
  }

  LogicalResult rename(rt::CallOp call) {
    auto isArray = [](Type type) { return isa<MemRefType>(type); };
    if (llvm::none_of(call->getOperandTypes(), isArray) && llvm::none_of(call->getResultTypes(), isArray))
      return success();
    if (call.getCallee().starts_with("pmap_cuda_"))
      return success();
    StringRef form = deviceForm(call.getCallee());
    if (form.empty())
      return call.emitError("the target 'cuda' cannot do this yet: ")
             << userName(call.getCallee()) << " on arrays of a GPU; use `--target cpu` [E0901]";
    call.setCallee(form);
    return success();
  }

  ModuleOp module;
  OpBuilder builder;
  LLVMTypeConverter types;
};

struct CudaHostCallsPass : PassWrapper<CudaHostCallsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CudaHostCallsPass)
  StringRef getArgument() const final { return "pmap-cuda-host-calls"; }
  StringRef getDescription() const final { return "Accesses of device memory by host code to calls of the runtime"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() final {
    HostCalls calls(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function->hasAttr(hostFunction) && failed(calls.run(function)))
        return signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createCudaHostCallsPass() { return std::make_unique<CudaHostCallsPass>(); }

} // namespace pmap
