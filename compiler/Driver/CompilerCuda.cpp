// The compiler's part that is about GPUs: from linalg to PTX and host code.

#include "compiler/Driver/Compiler.h"
#include "compiler/Pipeline/Cuda.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace pmap {

bool Compiler::lowerToCuda(mlir::ModuleOp module, CudaProgram &program, bool kernelsOnly) {
  CudaOptions cuda;
  cuda.precise = options.precise;
  if (!run(
          module, [&](mlir::OpPassManager &pm) { buildLinalgToKernelsPipeline(pm, cuda); },
          "lowering to kernels failed"))
    return false;
  auto kernels = *module.getOps<mlir::gpu::GPUModuleOp>().begin();
  for (auto function : kernels.getOps<mlir::LLVM::LLVMFuncOp>())
    program.kernelCount += function->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName());
  std::string error = generatePtx(kernels, options.archs, program.images);
  if (error.empty() && !kernelsOnly)
    if (std::string ptxas = findPtxas(); !ptxas.empty())
      error = assemble(program.images, ptxas);
  if (!error.empty()) {
    // What is not built yet says so; anything else is a fault of ours.
    bool isUsers = llvm::StringRef(error).starts_with("the target 'cuda'");
    diagnostics.error(isUsers ? Code::E0901 : Code::E1201, SourceRange(), (isUsers ? "" : "internal error: ") + error)
        .report();
    return false;
  }
  kernels.erase();
  return kernelsOnly ||
         run(module, [](mlir::OpPassManager &pm) { buildCudaHostPipeline(pm); }, "lowering host code for GPUs failed");
}

} // namespace pmap
