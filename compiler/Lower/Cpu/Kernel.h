// A structured op on memrefs as the kernel generator sees it, and the loops made for it.
#pragma once

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace pmap {

/// A private function whose call in the body of an `scf.forall` states the work of one iteration, in additions.
inline constexpr llvm::StringLiteral workMarker = "pmap.work";

/// How one output of a reduction takes in one more value: `op(accumulator, value)`.
struct Combiner {
  mlir::Operation *op;
  /// The value taken in, in the body of the op.
  mlir::Value value;
  /// The identity of `op`.
  mlir::TypedAttr neutral;
};

/// A `linalg.generic` on memrefs and what is known about it.
struct Kernel {
  explicit Kernel(mlir::linalg::GenericOp op);

  mlir::linalg::GenericOp op;
  /// One map per operand, inputs first.
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<bool> isReduction;
  bool hasReduction = false;
  /// One per output when every output has one; else empty.
  llvm::SmallVector<Combiner> combiners;
  /// Work of one evaluation of the body, in additions.
  int64_t cost = 0;

  unsigned numLoops() const { return isReduction.size(); }
  unsigned numInputs() { return op.getNumDpsInputs(); }
  mlir::Value operand(unsigned index) { return op->getOperand(index); }
  /// The extent of loop `dim`.
  mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, unsigned dim);
  int64_t staticExtent(unsigned dim);
};

/// A dimension's size by the value it was made from where that is known, so that the buffer need not live for it.
mlir::Value sizeOf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer, unsigned dim);

/// A range of one loop.
struct Span {
  mlir::Value lower, upper;
};

/// Emits sequential loops, the innermost in vectors where it can be, that run `kernel` over `spans` (one per loop).
/// `buffers` replaces the op's operands where it has an entry that is not null; `shifts[i]`, where not null, is
/// subtracted from the first index of operand i.
struct NestOptions {
  VectorTarget target;
  llvm::SmallVector<mlir::Value> buffers, shifts;
  /// Reductions start from the identity instead of the output's old value.
  bool startFromNeutral = false;
  /// Where not null, per output: true when whole vectors should be stored past the caches (and are aligned).
  llvm::SmallVector<mlir::Value> streamed = {};
};
void emitNest(mlir::OpBuilder &builder, mlir::Location loc, Kernel &kernel, llvm::ArrayRef<Span> spans,
              const NestOptions &options);

/// What one evaluation of `op` costs in a body, in units of an addition.
int64_t costOf(mlir::Operation *op);

} // namespace pmap
