// How a kernel reports a failed check.
#pragma once

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace pmap {

/// The record of the first failure in a module of kernels: `{i32 state, i32 kind, i64 a, i64 b, i64 c, i64 site}`, the
/// layout of pmap_cuda_failure in pmap/cuda.h. The host reads it where it waits for the device anyway.
inline constexpr llvm::StringLiteral failureRecord = "pmap_failure";

/// The device function `(site, kind, a, b, c)` that fills the record, unless another thread has.
mlir::LLVM::LLVMFuncOp kernelFailure(mlir::gpu::GPUModuleOp kernels);

} // namespace pmap
