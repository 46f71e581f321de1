// The CPU target as a list of passes: the pmap dialect in, the LLVM dialect out.
//
// The pipeline has two halves that meet at linalg on plain tensors (docs/design/contracts.md, section 4). They can be
// run apart, which is what `--emit linalg` and the tests of each half do.
#pragma once

#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace pmap {

/// What the code generator may assume about the machine and what the user asked for. The number of threads is no
/// option: the compiled code asks the runtime, and its results do not depend on it.
struct CpuOptions {
  /// The LLVM names of the CPU and of its features (`znver3`, `+avx2,+fma`); empty for the generic x86-64.
  std::string cpu, features;
  /// Width of a vector register in bits: 128, 256 or 512.
  unsigned vectorBits = 256;
  /// libm instead of vector math (`--precise`).
  bool precise = false;
  /// Keep names and locations in the LLVM code (`--debug`).
  bool debug = false;
};

/// The whole pipeline; the module that comes out is in the LLVM dialect and holds `f.packed` for every entry point `f`.
void buildCpuPipeline(mlir::OpPassManager &pm, const CpuOptions &options);

/// Front half: the pmap dialect, after differentiation, to linalg on plain tensors.
void buildPmapToLinalgPipeline(mlir::OpPassManager &pm);

/// Back half: linalg on plain tensors to the LLVM dialect.
void buildLinalgToLlvmPipeline(mlir::OpPassManager &pm, const CpuOptions &options);

/// Registers every dialect, external model and translation that the pipelines need.
void registerCpuDialects(mlir::DialectRegistry &registry);

} // namespace pmap
