// Math functions that are computed in place: exp and tanh on vectors of f32, where that is faster than a call of the
// vector library, and integer powers.
#pragma once

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/IR/Builders.h"

namespace pmap {

/// exp(x) for a vector of f32: within 1 ulp over the whole range (every 101st bit pattern tried), infinities and NaN
/// included.
mlir::Value expandExp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, VectorTarget target);

/// tanh(x) for a vector of f32: within 2.5 ulp over the whole range (every 67th bit pattern tried).
mlir::Value expandTanh(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, VectorTarget target);

/// base ** exponent for integers of one type, scalars or vectors, wrapping.
mlir::Value expandIntegerPower(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value base, mlir::Value exponent);

} // namespace pmap
