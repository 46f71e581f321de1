// The passes between Sema and everything that runs a program: the pmap dialect in, the pmap dialect without `pmap.grad`
// out.
#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace pmap {

/// Removes derivatives and simplifies. The reference evaluator and the lowering both start from what comes out.
void buildTransformPipeline(mlir::OpPassManager &pm);

} // namespace pmap
