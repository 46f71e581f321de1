// Tensors to memrefs, by one-shot bufferization.

#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/Cpu/WhileBuffers.h"
#include "compiler/Lower/UnambiguousSlices.h"

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"

using namespace mlir;

namespace pmap {
namespace {

struct BufferizePass : PassWrapper<BufferizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BufferizePass)
  StringRef getArgument() const final { return "pmap-cpu-bufferize"; }
  StringRef getDescription() const final { return "Turn tensors into buffers, in place where the old value is dead"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<bufferization::BufferizationDialect, memref::MemRefDialect, tensor::TensorDialect>();
  }

  void runOnOperation() final {
    spellOutDroppedDimensions(getOperation());
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(bufferization::LayoutMapOption::IdentityLayoutMap);
    options.inferFunctionResultLayout = false;
    // A value of unknown origin has any layout; ours all begin at an allocation or an argument.
    options.unknownTypeConverterFn = [](TensorType type, Attribute space, const bufferization::BufferizationOptions &) {
      return bufferization::getMemRefTypeWithStaticIdentityLayout(type, space);
    };
    // Buffers are reference counted (createInsertFreesPass), so a loop may carry a fresh one.
    options.allowReturnAllocsFromLoops = true;
    // The runtime's allocator aligns every buffer to 64 bytes.
    options.bufferAlignment = 0;
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(getOperation(), options, state)))
      return signalPassFailure();
    bufferization::removeBufferizationAttributesInModule(getOperation());
    handOnBuffersOfWhiles(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> createBufferizePass() { return std::make_unique<BufferizePass>(); }

} // namespace pmap
