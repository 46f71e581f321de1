// From kernels in the NVVM dialect to PTX, and with NVIDIA's assembler to code for one chip.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

namespace pmap {

/// The code of all kernels of a program for one architecture.
struct KernelImage {
  /// `sm_90`.
  std::string arch;
  std::string ptx;
  /// What ptxas made of it; empty where there is no ptxas.
  std::string cubin;
};

/// The architectures that `--arch` takes, each with the version of PTX that it needs.
struct KernelArch {
  const char *name, *features;
};
llvm::ArrayRef<KernelArch> kernelArchs();

/// Makes PTX of a `gpu.module` in the NVVM and LLVM dialects, for each architecture. Returns an error message, or "".
std::string generatePtx(mlir::Operation *kernels, llvm::ArrayRef<std::string> archs, std::vector<KernelImage> &images);

/// The first instruction of a PTX text that PtxOpcodes.def does not have, with its line; or "".
std::string unknownPtxInstruction(llvm::StringRef ptx);

/// Where ptxas is installed ($PMAP_PTXAS, the PATH, $CUDA_HOME/bin, /usr/local/cuda/bin); "" where it is not.
std::string findPtxas();

/// Assembles each image's PTX, all at once. Returns an error message, or "".
std::string assemble(std::vector<KernelImage> &images, llvm::StringRef ptxas);

/// NVIDIA's library of math functions as bit code ($CUDA_HOME or /usr/local/cuda); "" where there is none.
std::string findLibdevice();

} // namespace pmap
