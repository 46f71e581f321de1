// `pmap-lower-runtime-calls`: each `pmap_rt.call` becomes an `llvm.call`, its arrays pointers, as RuntimeCalls.def
// says.
#include "compiler/Lower/Passes.h"
#include "compiler/Lower/RuntimeOps.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

class CallLowering {
public:
  CallLowering(rt::CallOp call, const LLVMTypeConverter &types)
      : call(call), loc(call.getLoc()), builder(call), types(types),
        pointer(LLVM::LLVMPointerType::get(call.getContext())) {}

  void run() {
    for (Value output : call.getOutputs())
      results.push_back({output, {}});
    for (Value result : call.getStoredResults())
      results.push_back({result, allocate(storageType(result.getType()))});
    SmallVector<Value> arguments;
    for (char letter : rt::findEntry(call.getCallee())->arguments)
      arguments.push_back(argument(letter));
    SmallVector<Type> returned;
    if (rt::findEntry(call.getCallee())->returnsPointer)
      returned.push_back(pointer);
    auto lowered = LLVM::CallOp::create(builder, loc, declare(arguments, returned), arguments);
    for (auto &[value, storage] : results)
      if (storage)
        value.replaceAllUsesWith(load(value.getType(), storage));
    if (!returned.empty())
      call->getResults().back().replaceAllUsesWith(lowered.getResult());
    call->erase();
  }

private:
  /// What the runtime reads or writes for a value of this type: a descriptor, or the scalar; a bool is one byte, a bf16
  /// its bits, since there are machines on which it is nothing else.
  Type storageType(Type type) {
    if (type.isInteger(1))
      return builder.getI8Type();
    if (type.isBF16())
      return builder.getI16Type();
    return types.convertType(type);
  }

  Value constant(Type type, int64_t value) { return LLVM::ConstantOp::create(builder, loc, type, value); }

  /// Stack space of the function, not of the loop the call stands in.
  Value allocate(Type type, int64_t count = 1) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&call->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
    return LLVM::AllocaOp::create(builder, loc, pointer, type, constant(builder.getI64Type(), count), 8);
  }

  Value descriptor(Value memref) {
    return UnrealizedConversionCastOp::create(builder, loc, types.convertType(memref.getType()), memref).getResult(0);
  }

  Value packed(Value value) {
    Value stored = value;
    if (isa<MemRefType>(value.getType()))
      stored = descriptor(value);
    else if (value.getType().isInteger(1))
      stored = LLVM::ZExtOp::create(builder, loc, builder.getI8Type(), value);
    else if (value.getType().isBF16())
      stored = arith::BitcastOp::create(builder, loc, builder.getI16Type(), value);
    else if (value.getType().isIndex())
      stored = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    Value storage = allocate(stored.getType());
    LLVM::StoreOp::create(builder, loc, stored, storage);
    return storage;
  }

  Value elements(Value value) {
    if (!isa<MemRefType>(value.getType()))
      return packed(value);
    // Bufferization has seen to it that the layout is the identity, so that the offset is 0.
    return LLVM::ExtractValueOp::create(builder, loc, descriptor(value), ArrayRef<int64_t>{1});
  }

  Value elementCount(Value value) {
    Value count = constant(builder.getI64Type(), 1);
    auto type = dyn_cast<MemRefType>(value.getType());
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
      Value size = memref::DimOp::create(builder, loc, value, dim);
      count = arith::MulIOp::create(builder, loc, count,
                                    arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size));
    }
    return count;
  }

  Value arrayOf(Type element, ArrayRef<Value> values) {
    Value array = allocate(element, std::max<int64_t>(1, values.size()));
    for (auto [index, value] : llvm::enumerate(values)) {
      Value place = LLVM::GEPOp::create(builder, loc, pointer, element, array,
                                        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
      LLVM::StoreOp::create(builder, loc, value, place);
    }
    return array;
  }

  Value argument(char letter) {
    auto inputs = [&](auto form) { return llvm::map_to_vector(call.getInputs(), form); };
    auto stored = [&](auto form) {
      return llvm::map_to_vector(results,
                                 [&](auto &result) { return result.second ? result.second : form(result.first); });
    };
    auto asPacked = [&](Value value) { return packed(value); };
    auto asElements = [&](Value value) { return elements(value); };
    switch (letter) {
    case 's':
      return call.getScalars()[nextScalar++];
    case '#':
      return constant(builder.getI32Type(), call.getInputs().empty() ? results.size() : call.getInputs().size());
    case 'I':
      return packed(call.getInputs().front());
    case 'L':
      return arrayOf(pointer, inputs(asPacked));
    case 'R':
      return stored(asPacked).front();
    case 'M':
      return arrayOf(pointer, stored(asPacked));
    case 'd':
      return elements(call.getInputs().front());
    case 'i':
      return arrayOf(pointer, inputs(asElements));
    case 'e':
      return stored(asElements).front();
    case 'o':
      return arrayOf(pointer, stored(asElements));
    case 'n':
      return arrayOf(builder.getI64Type(), inputs([&](Value value) { return elementCount(value); }));
    }
    llvm_unreachable("a letter that RuntimeCalls.def does not explain");
  }

  Value load(Type type, Value storage) {
    Value value = LLVM::LoadOp::create(builder, loc, storageType(type), storage);
    if (type.isInteger(1))
      return LLVM::TruncOp::create(builder, loc, type, value);
    if (type.isBF16())
      return arith::BitcastOp::create(builder, loc, type, value);
    if (isa<MemRefType>(type))
      return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
    return value;
  }

  LLVM::LLVMFuncOp declare(ArrayRef<Value> arguments, ArrayRef<Type> returned) {
    auto module = call->getParentOfType<ModuleOp>();
    if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(call.getCallee()))
      return function;
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type result = returned.empty() ? LLVM::LLVMVoidType::get(call.getContext()) : returned.front();
    SmallVector<Type> parameters = llvm::map_to_vector(arguments, [](Value value) { return value.getType(); });
    return LLVM::LLVMFuncOp::create(top, module.getLoc(), call.getCallee(),
                                    LLVM::LLVMFunctionType::get(result, parameters));
  }

  rt::CallOp call;
  Location loc;
  OpBuilder builder;
  const LLVMTypeConverter &types;
  Type pointer;
  unsigned nextScalar = 0;
  /// Each destination without storage, then each stored result with its storage.
  SmallVector<std::pair<Value, Value>> results;
};

struct LowerRuntimeCallsPass : PassWrapper<LowerRuntimeCallsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerRuntimeCallsPass)
  StringRef getArgument() const final { return "pmap-lower-runtime-calls"; }
  StringRef getDescription() const final { return "Turn calls of the runtime on memrefs into LLVM calls on pointers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, memref::MemRefDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    getOperation().walk([](rt::OpaqueOp op) {
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
    LLVMTypeConverter types(&getContext());
    SmallVector<rt::CallOp> calls;
    getOperation().walk([&](rt::CallOp call) { calls.push_back(call); });
    for (rt::CallOp call : calls)
      CallLowering(call, types).run();
  }
};

} // namespace

std::unique_ptr<Pass> createLowerRuntimeCallsPass() { return std::make_unique<LowerRuntimeCallsPass>(); }

} // namespace pmap
