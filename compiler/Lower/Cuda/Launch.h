// Kernels while they are still regions of host code: `gpu.launch`, whose body uses the host's values freely.
// OutlineKernels.cpp makes functions of them.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace pmap {

/// Threads of a block: every kernel has the same number, which divides what an SM can hold on all supported chips.
inline constexpr int64_t blockThreads = 256;
inline constexpr int64_t warpThreads = 32;
/// Bytes of the widest access to memory.
inline constexpr unsigned accessBits = 128;

/// A launch and the values that tell its threads apart, as `index`.
struct Launch {
  mlir::gpu::LaunchOp op;
  mlir::Value thread, block;

  /// Shared memory for `count` elements.
  mlir::Value shared(mlir::Type element, int64_t count);
};

/// Makes a launch of `blocks` blocks and lets `emit` fill it; `what` becomes part of the kernel's name.
Launch createLaunch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value blocks, llvm::StringRef what,
                    llvm::function_ref<void(Launch &)> emit);

/// The attribute of a launch that holds `what`.
inline constexpr llvm::StringLiteral kernelWhat = "pmap.what";

/// Arithmetic on `index` values that folds constants.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value product(llvm::ArrayRef<mlir::Value> values);
  /// The coordinates of point `linear` of a box, the last dimension fastest.
  llvm::SmallVector<mlir::Value> split(mlir::Value linear, llvm::ArrayRef<mlir::Value> extents);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// A sequential loop with carried values.
llvm::SmallVector<mlir::Value>
emitLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper, mlir::Value step,
         llvm::ArrayRef<mlir::Value> carried,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> emit);

/// `emit` under a condition; nothing is emitted where the condition is known to be false.
void emitIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> emit);
void emitIfElse(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> then,
                llvm::function_ref<void()> otherwise);

/// True when loop `dim` can run in vectors: the body has a vector form, and what moves along the loop is contiguous.
bool runsInVectors(Kernel &kernel, unsigned dim);

/// True for an array that is known to lie in one piece from where the allocator put it. Its type is no proof:
/// bufferization casts views to identity layouts where functions return and loops begin.
bool isDense(mlir::Value array);

/// An `i1` of the host: every operand of `kernel` that moves along loop `dim` is aligned for vectors of `lanes`
/// elements at every multiple of `lanes`. Arrays of identity layout begin where the allocator put them, which is
/// aligned.
mlir::Value isAligned(mlir::OpBuilder &builder, mlir::Location loc, Kernel &kernel, unsigned dim, unsigned lanes);

} // namespace pmap
