// Math functions on vectors.

#include "compiler/Lower/Cpu/Passes.h"

using namespace mlir;

namespace pmap {
namespace {

struct ExpandVectorMathPass : PassWrapper<ExpandVectorMathPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandVectorMathPass)
  ExpandVectorMathPass(VectorTarget target) : target(target) {}
  StringRef getArgument() const final { return "pmap-cpu-expand-math"; }
  StringRef getDescription() const final { return "Expand math functions on vectors"; }

  void runOnOperation() final {}

  VectorTarget target;
};

} // namespace

std::unique_ptr<Pass> createExpandVectorMathPass(VectorTarget target) {
  return std::make_unique<ExpandVectorMathPass>(target);
}

} // namespace pmap
