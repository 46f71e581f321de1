// The passes that take linalg on plain tensors to the LLVM dialect for CPUs, and the code generation after them.
// compiler/Pipeline/LinalgToLlvm.cpp is the list of passes in their order.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace pmap {

/// What kernels are generated for.
struct VectorTarget {
  /// Width of a vector register in bits: 128, 256 or 512.
  unsigned bits = 256;
  /// libm instead of vector math.
  bool precise = false;
};

/// Computes products of f16 and bf16 matrices as products of f32, which the library has and which sum in f32 as well.
std::unique_ptr<mlir::Pass> createWidenProductsPass();

/// Brings every structured op into the one form `linalg.generic`, folds reshapes by unit dimensions and data movement
/// into their consumers, and fuses elementwise producers where that does not compute an expensive value twice.
std::unique_ptr<mlir::Pass> createFuseElementwisePass();

/// Computes elementwise ops on slices of concats and pads from the pieces themselves, so that the whole is never made:
/// with `inRegions` each part of the loops that reads the same pieces on its own, else all at once.
std::unique_ptr<mlir::Pass> createReadPiecesPass(bool inRegions);

/// Moves elementwise ops behind others that read the same arrays, so that they share a loop and the arrays die there.
std::unique_ptr<mlir::Pass> createGroupReadersPass();

/// Lets an elementwise op write into the buffer of an operand that dies there: loop-carried arrays first of all.
std::unique_ptr<mlir::Pass> createReuseDestinationsPass();

/// Tensors to memrefs by one-shot bufferization, with identity layouts at function boundaries.
std::unique_ptr<mlir::Pass> createBufferizePass();

/// Lets an array that a loop carries, and stacks for the derivative, live in the stack, where each trip makes the next
/// row; and fills of such a stack only the rows that the loop does not write.
std::unique_ptr<mlir::Pass> createStackInPlacePass();

/// Every structured op on memrefs to loops: clusters of ops share a loop over blocks of rows, blocks run in parallel
/// (`scf.forall`), the innermost loop is a vector with a masked tail. Large contractions become calls of the runtime.
std::unique_ptr<mlir::Pass> createLowerKernelsPass(VectorTarget target);

/// Inserts the frees and retains that make every buffer owned exactly once, at the end of its life; small buffers of
/// constant size move to the stack when buffers are `onHost`.
std::unique_ptr<mlir::Pass> createInsertFreesPass(bool onHost = true);

/// `scf.forall` to a function of its own and a call of `pmap_rt_parallel_for`.
std::unique_ptr<mlir::Pass> createOutlineParallelPass();

/// Gives every entry point and device body `f` its packed form `f.packed`.
std::unique_ptr<mlir::Pass> createPackedCallsPass();

/// Math functions on vectors: polynomials, or calls of the C library's vector variants.
std::unique_ptr<mlir::Pass> createExpandVectorMathPass(VectorTarget target);

/// bf16 arithmetic in f32 and conversions by integer operations, for machines without bf16 instructions.
std::unique_ptr<mlir::Pass> createExpandBf16Pass();

/// What is left (`arith math memref vector cf func`) to the LLVM dialect; allocation to the runtime's allocator.
std::unique_ptr<mlir::Pass> createConvertToLlvmPass();

/// Registers the passes above by name, for pmap-opt.
void registerCpuPasses();

/// Registers the dialects, external models and translations that the passes above and the code generator need.
void registerCpuLoweringDialects(mlir::DialectRegistry &registry);

} // namespace pmap
