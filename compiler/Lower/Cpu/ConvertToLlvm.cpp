// The last conversion: arith, math, memref, vector, cf and func to the LLVM dialect, in one go.

#include "compiler/Lower/Constants.h"
#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"

using namespace mlir;

namespace pmap {
namespace {

// Ops that another op of the same dialects expresses: ceiling division, views as pointer arithmetic, vector steps.
LogicalResult expandComposedOps(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  memref::populateExpandOpsPatterns(patterns);
  memref::populateExpandStridedMetadataPatterns(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  populateAffineToStdConversionPatterns(patterns);
  GreedyRewriteConfig config;
  config.enableFolding(true).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  return applyPatternsGreedily(module, std::move(patterns), config);
}

// The conversion of math would compute expm1(x) as exp(x) - 1, which loses every digit of a small x: libm does better.
LogicalResult callLibmForExpm1(Operation *module) {
  ConversionTarget target(*module->getContext());
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalOp<math::ExpM1Op>();
  RewritePatternSet patterns(module->getContext());
  populateMathToLibmConversionPatterns(patterns);
  return applyPartialConversion(module, target, std::move(patterns));
}

// The memref conversion calls malloc and free; the buffers are the runtime's, which wants to know for which line of the
// program it may have no memory.
void renameAllocator(ModuleOp module) {
  SymbolTable symbols(module);
  Constants constants(module, "pmap.alloc.");
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  auto declare = [&](StringRef name, LLVM::LLVMFunctionType type) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    if (!symbols.lookup(name))
      LLVM::LLVMFuncOp::create(top, module.getLoc(), name, type);
  };
  SmallVector<LLVM::CallOp> allocations, releases;
  module.walk([&](LLVM::CallOp call) {
    if (call.getCallee() == "malloc")
      allocations.push_back(call);
    else if (call.getCallee() == "free")
      releases.push_back(call);
  });
  if (!allocations.empty())
    declare("pmap_rt_alloc_at", LLVM::LLVMFunctionType::get(pointer, {i64, pointer}));
  for (LLVM::CallOp call : allocations) {
    OpBuilder builder(call);
    Value site = constants.site(builder, call.getLoc());
    auto at = LLVM::CallOp::create(builder, call.getLoc(), TypeRange{pointer}, "pmap_rt_alloc_at",
                                   ValueRange{call.getArgOperands().front(), site});
    call.replaceAllUsesWith(at);
    call.erase();
  }
  if (!releases.empty())
    declare("pmap_rt_free", LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer}));
  for (LLVM::CallOp call : releases)
    call.setCallee("pmap_rt_free");
  for (StringRef name : {"malloc", "free"})
    if (Operation *function = symbols.lookup(name))
      function->erase();
}

struct ConvertToLlvmPass : PassWrapper<ConvertToLlvmPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLlvmPass)
  StringRef getArgument() const final { return "pmap-cpu-to-llvm"; }
  StringRef getDescription() const final { return "Convert loops, memrefs and vectors to the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, affine::AffineDialect, arith::ArithDialect, memref::MemRefDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    if (failed(callLibmForExpm1(module)) || failed(expandComposedOps(module)))
      return signalPassFailure();

    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    if (module->removeAttr("pmap.bf16_as_bits")) {
      converter.addConversion([](BFloat16Type type) -> Type { return IntegerType::get(type.getContext(), 16); });
      converter.addConversion([](VectorType type) -> std::optional<Type> {
        if (!type.getElementType().isBF16() || type.getRank() != 1)
          return std::nullopt;
        return type.clone(IntegerType::get(type.getContext(), 16));
      });
    }
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    // An intrinsic, which LLVM folds and expands, is preferred to a call of libm.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false, /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    cf::populateAssertToLLVMConversionPattern(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    renameAllocator(module);
  }
};

} // namespace

std::unique_ptr<Pass> createConvertToLlvmPass() { return std::make_unique<ConvertToLlvmPass>(); }

} // namespace pmap
