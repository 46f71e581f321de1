// pmap-opt: runs passes over pmap modules in text form; what the tests of the dialect, its transforms and the lowering
// use.
#include "compiler/Dialect/Transforms/Passes.h"
#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/Passes.h"
#include "compiler/Pipeline/Cpu.h"
#include "compiler/Pipeline/Cuda.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pmap::registerCpuDialects(registry);
  pmap::registerCudaDialects(registry);
  pmap::registerTransforms();
  pmap::registerLowerPasses();
  pmap::registerCpuPasses();
  pmap::registerCudaPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::PassPipelineRegistration<> linalg("pmap-to-linalg-pipeline", "The front half of the CPU target",
                                          [](mlir::OpPassManager &pm) { pmap::buildPmapToLinalgPipeline(pm); });
  mlir::PassPipelineRegistration<> cpu("pmap-cpu-pipeline", "The CPU target: pmap to the LLVM dialect",
                                       [](mlir::OpPassManager &pm) { pmap::buildCpuPipeline(pm, pmap::CpuOptions()); });
  mlir::PassPipelineRegistration<> kernels(
      "pmap-cuda-kernels-pipeline", "The front half of the CUDA target: linalg to kernels in the NVVM dialect",
      [](mlir::OpPassManager &pm) { pmap::buildLinalgToKernelsPipeline(pm, pmap::CudaOptions()); });
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Pmap pass driver\n", registry));
}
