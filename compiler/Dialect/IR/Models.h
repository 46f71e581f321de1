// The external models that give upstream ops our interfaces. Internal to this library: registerDialects attaches them
// all.
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace pmap {

/// DifferentiableOp for the elementwise ops of arith and math.
void registerArithModels(mlir::DialectRegistry &registry);
void registerMathModels(mlir::DialectRegistry &registry);

} // namespace pmap
