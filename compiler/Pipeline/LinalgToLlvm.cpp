// The back half of the CPU target: linalg on plain tensors in, the LLVM dialect out.

#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/Passes.h"
#include "compiler/Pipeline/Cpu.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pmap {

void buildLinalgToLlvmPipeline(OpPassManager &pm, const CpuOptions &options) {
  VectorTarget target{options.vectorBits, options.precise};

  // On tensors: values, so that fusion needs no proof about memory.
  OpPassManager &tensors = pm.nest<func::FuncOp>();
  tensors.addPass(createWidenProductsPass());
  tensors.addPass(createCSEPass());
  tensors.addPass(createFuseElementwisePass());
  tensors.addPass(createCSEPass());
  tensors.addPass(createReadPiecesPass(/*inRegions=*/true));
  tensors.addPass(createGroupReadersPass());
  tensors.addPass(createReuseDestinationsPass());
  tensors.addPass(createCSEPass());
  tensors.addPass(createSplitDestinationsPass());

  // Tensors to buffers. Canonicalization drops the loop-carried buffers that are the same in every iteration.
  pm.addPass(createBufferizePass());
  OpPassManager &buffers = pm.nest<func::FuncOp>();
  buffers.addPass(createCanonicalizerPass());
  buffers.addPass(createCSEPass());
  buffers.addPass(createStackInPlacePass());

  // Kernels: blocks of rows in parallel, vectors inside.
  pm.addPass(createLowerKernelsPass(target));
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(createExpandVectorMathPass(target));
  if (!StringRef(options.features).contains("+avx512bf16"))
    pm.addPass(createExpandBf16Pass());

  // Buffers have their final uses now.
  pm.addPass(createInsertFreesPass());
  pm.addPass(createOutlineParallelPass());
  pm.addPass(createPackedCallsPass());

  // To LLVM.
  pm.addPass(createLowerRuntimeCallsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertToLlvmPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

} // namespace pmap
