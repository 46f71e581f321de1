#include "compiler/Dialect/Transforms/Passes.h"
#include "mlir/Pass/Pass.h"

void pmap::registerTransforms() {
  mlir::registerPass(createTransformPass);
  mlir::registerPass(createCheckVariancePass);
  mlir::registerPass(createSimplifyPass);
  mlir::registerPass(createSimplifyCollectivesPass);
  mlir::registerPass(createHoistCollectivesPass);
  mlir::registerPass(createFuseCollectivesPass);
  mlir::registerPass(createReportParallelPass);
}
