// The device function behind pmap_rt_fail. `site` is an address of the host, which only the host follows.

#include "compiler/Lower/Cuda/KernelFailure.h"

using namespace mlir;

namespace pmap {

// Device memory that the host can find by name.
static constexpr unsigned globalSpace = 1;

LLVM::LLVMFuncOp kernelFailure(gpu::GPUModuleOp kernels) {
  constexpr llvm::StringLiteral name = "pmap_fail";
  if (auto known = kernels.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  MLIRContext *context = kernels.getContext();
  Location loc = kernels.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernels.getBodyRegion().front());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto record = LLVM::LLVMStructType::getLiteral(context, {i32, i32, i64, i64, i64, i64});
  auto global = LLVM::GlobalOp::create(builder, loc, record, /*isConstant=*/false, LLVM::Linkage::External,
                                       failureRecord, Attribute(), /*alignment=*/8, globalSpace);
  {
    OpBuilder inside(context);
    inside.createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(inside, loc, LLVM::ZeroOp::create(inside, loc, record).getResult());
  }
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {i64, i32, i64, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  // Checks are many and failures rare: one copy of the code, out of the way of the kernel's registers.
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(builder);
  Block *first = builder.createBlock(&function.getBody()), *done = builder.createBlock(&function.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context, globalSpace);
  builder.setInsertionPointToStart(entry);
  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(value));
  };
  Value address = LLVM::AddressOfOp::create(builder, loc, pointer, failureRecord);
  Value zero = number(0);
  Value exchange = LLVM::AtomicCmpXchgOp::create(builder, loc, address, zero, number(1),
                                                 LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
  Value old = LLVM::ExtractValueOp::create(builder, loc, exchange, ArrayRef<int64_t>{0});
  Value isFirst = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, old, zero);
  LLVM::CondBrOp::create(builder, loc, isFirst, first, done);
  builder.setInsertionPointToStart(first);
  // The record's fields after the state: kind, a, b, c, site.
  int32_t field = 0;
  for (unsigned argument : {1, 2, 3, 4, 0}) {
    Value place = LLVM::GEPOp::create(builder, loc, pointer, record, address, ArrayRef<LLVM::GEPArg>{0, ++field});
    LLVM::StoreOp::create(builder, loc, entry->getArgument(argument), place);
  }
  LLVM::BrOp::create(builder, loc, done);
  builder.setInsertionPointToStart(done);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

} // namespace pmap
