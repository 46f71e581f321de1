// Kernels to the NVVM and LLVM dialects.

#include "compiler/Lower/Cuda/Launch.h"
#include "compiler/Lower/Cuda/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"

using namespace mlir;

namespace pmap {
namespace {

struct ConvertKernelsPass : PassWrapper<ConvertKernelsPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertKernelsPass)
  StringRef getArgument() const final { return "pmap-cuda-convert-kernels"; }
  StringRef getDescription() const final { return "Convert kernels to the NVVM and LLVM dialects"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, NVVM::NVVMDialect, cf::ControlFlowDialect>();
  }

  void runOnOperation() final {
    gpu::GPUModuleOp kernels = getOperation();
    MLIRContext *context = &getContext();
    if (failed(flattenLoops()) || failed(expandComposedOps()))
      return signalPassFailure();
    SmallVector<StringAttr> names;
    for (auto kernel : kernels.getOps<func::FuncOp>())
      names.push_back(kernel.getSymNameAttr());

    LLVMTypeConverter converter(context);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    if (failed(applyPartialConversion(kernels, target, std::move(patterns))))
      return signalPassFailure();

    Builder builder(context);
    for (StringAttr name : names) {
      auto kernel = kernels.lookupSymbol<LLVM::LLVMFuncOp>(name);
      kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
      // The block is never larger, which bounds the registers that a thread may have.
      kernel->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), builder.getDenseI32ArrayAttr({blockThreads, 1, 1}));
    }
  }

  LogicalResult flattenLoops() {
    ConversionTarget target(getContext());
    target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  LogicalResult expandComposedOps() {
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    GreedyRewriteConfig config;
    config.enableFolding(true).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    return applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }
};

} // namespace

std::unique_ptr<Pass> createConvertKernelsPass() { return std::make_unique<ConvertKernelsPass>(); }

} // namespace pmap
