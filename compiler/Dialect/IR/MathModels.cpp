#include "compiler/Dialect/IR/Models.h"
#include "mlir/IR/DialectRegistry.h"

void pmap::registerMathModels(mlir::DialectRegistry &) {}
