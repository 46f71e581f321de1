// Registration of the CUDA passes, and of the dialects and translations they need beyond the CPU's.

#include "compiler/Lower/Cuda/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;

namespace pmap {

void registerCudaLoweringDialects(DialectRegistry &registry) {
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void registerCudaPasses() {
  registerPass(createPlaceScalarsPass);
  registerPass(createLowerCudaKernelsPass);
  registerPass(createOutlineKernelsPass);
  registerPass([] { return createExpandKernelMathPass(/*precise=*/false); });
  registerPass(createConvertKernelsPass);
  registerPass(createCudaHostCallsPass);
  registerPass(createDescribeFunctionsPass);
  registerPass(createCudaBoundaryPass);
}

} // namespace pmap
