// What every target shares between Sema and the lowering.

#include "compiler/Pipeline/Transform.h"
#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

void pmap::buildTransformPipeline(mlir::OpPassManager &pm) {
  pm.addPass(createTransformPass());
  // A derivative's collectives sit where the forward code put values, so (V6) is checked on what came out.
  pm.addPass(createCheckVariancePass());
  pm.addPass(createSimplifyPass());

  // Fewer and smaller collectives. Hoisting comes after, since it looks for sums as they finally are, and fusion last:
  // it puts together what is left, wherever that now stands.
  pm.addPass(createSimplifyCollectivesPass());
  pm.addPass(createHoistCollectivesPass());
  pm.addPass(createFuseCollectivesPass());
  pm.addPass(createReportParallelPass());
}
