// The elementwise operations of the arith and math dialects, on arrays of one shape.
#pragma once

#include "compiler/Evaluate/NDArray.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace pmap::evaluate {

/// How an elementwise operation went on one device.
enum class ElementwiseStatus {
  Done,
  /// The evaluator does not know the operation.
  Unknown,
  /// An integer was divided by zero, which the language makes a run-time error.
  DivisionByZero,
};

/// Applies the arith or math operation `op` to `operands` element by element into `result`. Every operation is computed
/// in a wider format than its result has (long double for functions of <cmath>) and rounded once; integers wrap.
ElementwiseStatus evaluateElementwise(mlir::Operation *op, llvm::ArrayRef<NDArray> operands, NDArray &result);

} // namespace pmap::evaluate
