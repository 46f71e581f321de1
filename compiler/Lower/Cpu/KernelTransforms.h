// Rewrites of structured ops on memrefs before loops are made for them.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

namespace pmap {

/// An attribute of reductions whose outputs start from the combiner's identity, whatever the buffer holds.
inline constexpr llvm::StringLiteral startsFresh = "pmap.starts_fresh";

/// Named structured ops and copies of memrefs as `linalg.generic`.
void copiesToKernels(mlir::func::FuncOp function);

/// Removes fills with the identity of the reduction that follows, and marks the reduction.
void absorbFills(mlir::func::FuncOp function);

/// Merges neighbouring loops that walk every operand as one line of memory, so that `[n, d]` elementwise becomes one
/// loop over n * d. Returns a new op before `op` (which stays), or `op` itself. Loop `keep` stays apart.
mlir::linalg::GenericOp collapseLoops(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                                      std::optional<unsigned> keep = std::nullopt);

/// Products of matrices with at most this many multiplications, known at compile time, are generated in place.
inline constexpr int64_t generatedProduct = 1 << 14;

/// True for a product of two matrices, or for many of them, that the runtime's library does best.
bool isMatrixProduct(mlir::linalg::GenericOp op);

/// For such an op, the condition under which a call of the library beats generated code; null when it always does.
mlir::Value worthCalling(mlir::OpBuilder &builder, mlir::linalg::GenericOp op);

/// The loops around `op`, innermost first, that do nothing but add it up into one array, or into slices of one that
/// move evenly, from slices of other arrays that do.
llvm::SmallVector<mlir::scf::ForOp> loopsOfSum(mlir::linalg::GenericOp op);

/// True for such products that the library adds up, whatever their size.
bool isSumOfProducts(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::scf::ForOp> loops);

/// The operands of `op` before the outermost of `loops`, for these values of the counters.
llvm::SmallVector<mlir::Value> operandsAt(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                                          llvm::ArrayRef<mlir::scf::ForOp> loops, llvm::ArrayRef<mlir::Value> counters);

/// Emits a call of the runtime's matrix product for an op of which isMatrixProduct is true, or for all trips of `loops`
/// before the outermost of them where isSumOfProducts is.
void emitMatrixProduct(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                       llvm::ArrayRef<mlir::scf::ForOp> loops = {});

} // namespace pmap
