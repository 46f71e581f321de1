// pmap-opt: runs passes over pmap modules in text form; what the tests of the dialect and its transforms use.
#include "compiler/Dialect/IR/PmapDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pmap::registerDialects(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Pmap pass driver\n", registry));
}
