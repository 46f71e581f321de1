// Structured ops on memrefs to kernels: which kind of kernel an op becomes.

#include "compiler/Lower/Cpu/Clusters.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/Cuda/PointKernels.h"
#include "compiler/Lower/Cuda/RowKernels.h"
#include "compiler/Lower/RuntimeOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

using namespace mlir;

namespace pmap {
namespace {

void lowerAlone(OpBuilder &builder, linalg::GenericOp op) {
  if (isMatrixProduct(op))
    return emitMatrixProduct(builder, op);
  linalg::GenericOp collapsed = collapseLoops(builder, op);
  Kernel kernel(collapsed);
  bool whole = kernel.hasReduction && !kernel.combiners.empty() && !llvm::is_contained(kernel.isReduction, false);
  if (!kernel.hasReduction)
    emitElements(builder, collapsed);
  else if (whole)
    emitWholeReduction(builder, collapsed);
  else if (reducesRows(kernel))
    emitRowReduction(builder, collapsed);
  else
    emitPointReduction(builder, collapsed);
  if (collapsed != op)
    collapsed.erase();
}

void lower(OpBuilder &builder, Cluster &cluster, ExtentClasses &extents) {
  builder.setInsertionPoint(cluster.ops.back());
  if (cluster.ops.size() > 1 && fitsRows(cluster, extents)) {
    emitRows(builder, cluster);
  } else {
    for (linalg::GenericOp op : cluster.ops) {
      builder.setInsertionPoint(op);
      lowerAlone(builder, op);
    }
  }
  for (linalg::GenericOp op : llvm::reverse(cluster.ops))
    op.erase();
  for (memref::AllocOp local : cluster.locals)
    if (local->use_empty())
      local.erase();
}

// A check of numbers that are on the device: one thread looks.
void lowerCheck(OpBuilder &builder, rt::CallOp check) {
  builder.setInsertionPoint(check);
  Location loc = check.getLoc();
  IndexMath math(builder, loc);
  createLaunch(builder, loc, math.constant(1), "check", [&](Launch &launch) {
    auto value = [&](Value operand) -> Value {
      return isa<MemRefType>(operand.getType()) ? memref::LoadOp::create(builder, loc, operand).getResult() : operand;
    };
    Value first = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, launch.thread, math.constant(0));
    emitIf(builder, loc, first, [&] {
      emitIf(builder, loc, value(check.getInputs()[0]), [&] {
        SmallVector<Value> arguments(check.getScalars());
        for (Value input : check.getInputs().drop_front())
          arguments.push_back(value(input));
        func::CallOp::create(builder, loc, "pmap_rt_fail", TypeRange(), arguments);
      });
    });
  });
  check.erase();
}

// A comprehension whose body makes arrays launches kernels for one iteration after the other.
void sequenceForalls(func::FuncOp function) {
  SmallVector<scf::ForallOp> loops;
  function.walk([&](scf::ForallOp loop) { loops.push_back(loop); });
  IRRewriter rewriter(function.getContext());
  for (scf::ForallOp loop : loops) {
    rewriter.setInsertionPoint(loop);
    (void)scf::forallToForLoop(rewriter, loop);
  }
}

struct LowerCudaKernelsPass : PassWrapper<LowerCudaKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerCudaKernelsPass)
  StringRef getArgument() const final { return "pmap-cuda-lower-kernels"; }
  StringRef getDescription() const final { return "Structured ops to launches of kernels"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry
        .insert<scf::SCFDialect, vector::VectorDialect, memref::MemRefDialect, arith::ArithDialect,
                affine::AffineDialect, linalg::LinalgDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, gpu::GPUDialect>();
  }

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || function->hasAttr(hostFunction))
        continue;
      sequenceForalls(function);
      copiesToKernels(function);
      absorbFills(function);
      SmallVector<Cluster> clusters = formClusters(function);
      ExtentClasses extents(function);
      OpBuilder builder(function.getContext());
      for (Cluster &cluster : clusters)
        lower(builder, cluster, extents);
      SmallVector<rt::CallOp> checks;
      function.walk([&](rt::CallOp call) {
        if (call.getCallee() == "pmap_cuda_check")
          checks.push_back(call);
      });
      for (rt::CallOp check : checks)
        lowerCheck(builder, check);
    }
  }
};

} // namespace

std::unique_ptr<Pass> createLowerCudaKernelsPass() { return std::make_unique<LowerCudaKernelsPass>(); }

} // namespace pmap
