// The passes that take linalg on plain tensors to host code in the LLVM dialect and kernels in PTX.
// compiler/Pipeline/Cuda.cpp is the list of passes in their order; docs/design/cuda.md says why.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace pmap {

/// A function all of whose arrays stay on the host: it moves and maps values, and computes nothing with them.
inline constexpr llvm::StringLiteral hostFunction = "pmap.on_host";
/// A read of a device's scalar by the host, on the op that does it; its value says why.
inline constexpr llvm::StringLiteral hostRead = "pmap.host_read";

/// The global that the host code's kernel records refer to; the driver defines it when the kernels have become PTX
/// (pmap_cuda_image in pmap/cuda.h).
inline constexpr llvm::StringLiteral kernelImageSymbol = "pmap_cuda_kernels";

/// Decides for each scalar whether it lives on the host or on the device. Device scalars become arrays of rank 0, and
/// what computes with them kernels of one thread; where the host needs one, it reads it.
std::unique_ptr<mlir::Pass> createPlaceScalarsPass();

/// Every structured op on memrefs to `gpu.launch`: clusters over rows, elementwise ops, reductions. Products of
/// matrices become calls of the runtime. Allocations, reads and copies of the host stay as they are.
std::unique_ptr<mlir::Pass> createLowerCudaKernelsPass();

/// `gpu.launch` to functions in a `gpu.module` and calls of the runtime. Kernels that are equal become one.
std::unique_ptr<mlir::Pass> createOutlineKernelsPass();

/// Math functions in kernels to polynomials, where they are as exact as the CPU's; the others are left to libdevice.
std::unique_ptr<mlir::Pass> createExpandKernelMathPass(bool precise);

/// The functions of the `gpu.module` to the NVVM and LLVM dialects.
std::unique_ptr<mlir::Pass> createConvertKernelsPass();

/// Host code: reads and writes of device memory, constants, collectives and moves become calls of the runtime.
std::unique_ptr<mlir::Pass> createCudaHostCallsPass();

/// Notes on each function which of its arguments and results are arrays, before these become descriptors.
std::unique_ptr<mlir::Pass> createDescribeFunctionsPass();

/// After the conversion to LLVM: memory is the device's, and the packed form of a function takes arrays of the host,
/// which the runtime copies (pmap_cuda_call in pmap/cuda.h).
std::unique_ptr<mlir::Pass> createCudaBoundaryPass();

/// Registers the passes above by name, for pmap-opt.
void registerCudaPasses();

/// Registers the dialects and translations that the passes and the code generator need beyond the CPU's.
void registerCudaLoweringDialects(mlir::DialectRegistry &registry);

} // namespace pmap
