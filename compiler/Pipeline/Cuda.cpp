// The passes of the CUDA target. They begin where the CPU target's back half does, at linalg on plain tensors
// (docs/design/contracts.md, section 4), and share with it what is about tensors and buffers.

#include "compiler/Pipeline/Cuda.h"
#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pmap {

void buildLinalgToKernelsPipeline(OpPassManager &pm, const CudaOptions &options) {
  // Before fusion, so that what the device's scalars are computed with is fused like everything else.
  pm.addPass(createPlaceScalarsPass());

  // On tensors: as for the CPU.
  OpPassManager &tensors = pm.nest<func::FuncOp>();
  tensors.addPass(createCSEPass());
  tensors.addPass(createFuseElementwisePass());
  tensors.addPass(createCSEPass());
  tensors.addPass(createReadPiecesPass(/*inRegions=*/false));
  tensors.addPass(createReuseDestinationsPass());
  tensors.addPass(createCSEPass());
  tensors.addPass(createSplitDestinationsPass());

  pm.addPass(createBufferizePass());
  OpPassManager &buffers = pm.nest<func::FuncOp>();
  buffers.addPass(createCanonicalizerPass());
  buffers.addPass(createCSEPass());

  // Launches use the buffers themselves, so lifetimes are settled while they do: a kernel's parameters are addresses.
  pm.addPass(createLowerCudaKernelsPass());
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(createInsertFreesPass(/*onHost=*/false));
  pm.addPass(createOutlineKernelsPass());

  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createExpandKernelMathPass(options.precise));
  kernels.addPass(createConvertKernelsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

void buildCudaHostPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(createCudaHostCallsPass());
  pm.addPass(createDescribeFunctionsPass());
  pm.addPass(createPackedCallsPass());
  pm.addPass(createLowerRuntimeCallsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLlvmPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCudaBoundaryPass());
}

void registerCudaDialects(DialectRegistry &registry) { registerCudaLoweringDialects(registry); }

} // namespace pmap
