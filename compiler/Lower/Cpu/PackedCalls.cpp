// The packed form of every entry point and device body: `void f.packed(void **args)`, where args[i] points at argument
// i and, after the arguments, at storage for each result (docs/design/contracts.md, "Packed calls").

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

// The body is small: load the arguments, call, store the results. Descriptors cross by value through a cast that the
// conversion to LLVM resolves.
void createPacked(func::FuncOp function, const LLVMTypeConverter &converter) {
  MLIRContext *context = function.getContext();
  Location loc = function.getLoc();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(function);
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer});
  // A map descriptor may have named it already.
  std::string name = (function.getName() + ".packed").str();
  auto packed = function->getParentOfType<ModuleOp>().lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!packed)
    packed = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  packed.setLinkage(LLVM::Linkage::External);
  Block *entry = packed.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value slots = entry->getArgument(0);
  int32_t next = 0;
  auto slot = [&]() -> Value {
    Value address = LLVM::GEPOp::create(builder, loc, pointer, pointer, slots, ArrayRef<LLVM::GEPArg>{next++});
    return LLVM::LoadOp::create(builder, loc, pointer, address);
  };
  // A bf16 travels as its bits (see createExpandBf16Pass).
  auto kept = [&](Type type) -> Type { return type.isBF16() ? builder.getI16Type() : converter.convertType(type); };
  auto cast = [&](Value value, Type to) -> Value {
    if (value.getType() == to)
      return value;
    if (value.getType().isBF16() || to.isBF16())
      return arith::BitcastOp::create(builder, loc, to, value);
    return UnrealizedConversionCastOp::create(builder, loc, to, value).getResult(0);
  };
  SmallVector<Value> arguments;
  for (Type argument : function.getArgumentTypes()) {
    Value loaded = LLVM::LoadOp::create(builder, loc, kept(argument), slot());
    arguments.push_back(cast(loaded, argument));
  }
  auto call = func::CallOp::create(builder, loc, function, arguments);
  for (Value result : call.getResults())
    LLVM::StoreOp::create(builder, loc, cast(result, kept(result.getType())), slot());
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

struct PackedCallsPass : PassWrapper<PackedCallsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackedCallsPass)
  StringRef getArgument() const final { return "pmap-cpu-packed-calls"; }
  StringRef getDescription() const final { return "Give entry points and device bodies their packed form"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() final {
    LLVMTypeConverter converter(&getContext());
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && (function.isPublic() || function->hasAttr("pmap.device_body")))
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      createPacked(function, converter);
      // Only the packed form is called from outside, so LLVM may fold the plain one into it.
      function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(&getContext(), LLVM::Linkage::Internal));
    }
  }
};

} // namespace

std::unique_ptr<Pass> createPackedCallsPass() { return std::make_unique<PackedCallsPass>(); }

} // namespace pmap
