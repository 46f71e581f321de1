// The CPU target as a whole, and its front half.

#include "compiler/Pipeline/Cpu.h"
#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pmap {

void buildPmapToLinalgPipeline(OpPassManager &pm) {
  // On the pmap dialect, where a size is known to equal itself and an array op is one op.
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createLoopInvariantCodeMotionPass());

  pm.addPass(createPmapToLinalgPass());

  // Each op brought its own constants and sizes. Checks that always hold go away.
  OpPassManager &lowered = pm.nest<func::FuncOp>();
  lowered.addPass(createCanonicalizerPass());
  lowered.addPass(createCSEPass());
}

void buildCpuPipeline(OpPassManager &pm, const CpuOptions &options) {
  buildPmapToLinalgPipeline(pm);
  buildLinalgToLlvmPipeline(pm, options);
}

void registerCpuDialects(DialectRegistry &registry) {
  registerDialects(registry);
  registerLowerDialects(registry);
  registerCpuLoweringDialects(registry);
}

} // namespace pmap
