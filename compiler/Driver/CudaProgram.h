// The half of a program that is for GPUs: its kernels, and the host code that launches them.
#pragma once

#include "compiler/Driver/ProgramTable.h"
#include "compiler/Lower/Cuda/Ptx.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pmap {

/// What a program with code for GPUs runs on when its command line does not say.
enum class GpuChoice {
  Auto, ///< GPUs if there are any, else the CPU
  Cuda, ///< GPUs; it is an error if there are none
};

struct CudaProgram {
  /// In the LLVM dialect.
  mlir::OwningOpRef<mlir::ModuleOp> host;
  std::vector<KernelImage> images;
  int32_t kernelCount = 0;
};

/// The global that holds the packed form of `main` for GPUs.
inline constexpr llvm::StringLiteral cudaEntrySymbol = "pmap_cuda_entry";

/// Adds the half for GPUs to a module that has the CPU's and the program table: embeds the kernels, and lets the C
/// `main` choose (pmap_cuda_program_main). Returns an error message, or "".
std::string addCudaProgram(llvm::Module &module, CudaProgram &program, llvm::ArrayRef<ProgramEntry> entries,
                           GpuChoice choice);

} // namespace pmap
