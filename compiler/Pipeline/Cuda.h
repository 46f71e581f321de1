// The CUDA target as lists of passes: linalg on plain tensors in; kernels and host code, both in the LLVM dialect, out.
#pragma once

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace pmap {

struct CudaOptions {
  /// libdevice instead of polynomials (`--precise`).
  bool precise = false;
};

/// The front half: placement, fusion, bufferization, kernels. The kernels come out in a `gpu.module` in the NVVM
/// dialect, ready for PTX (compiler/Lower/Cuda/Ptx.h); the host's code still has memrefs.
void buildLinalgToKernelsPipeline(mlir::OpPassManager &pm, const CudaOptions &options);

/// The back half, for the host's code alone, once the `gpu.module` has been taken out.
void buildCudaHostPipeline(mlir::OpPassManager &pm);

/// Registers every dialect, external model and translation that the pipelines need beyond the CPU's.
void registerCudaDialects(mlir::DialectRegistry &registry);

} // namespace pmap
