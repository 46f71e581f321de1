#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Dialect/IR/Models.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace pmap;

#include "compiler/Dialect/IR/PmapDialect.cpp.inc"
#include "compiler/Dialect/IR/PmapEnums.cpp.inc"
#include "compiler/Dialect/IR/PmapInterfaces.cpp.inc"

void PmapDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/IR/PmapOps.cpp.inc"
      >();
}

Operation *PmapDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

void pmap::registerDialects(DialectRegistry &registry) {
  registry.insert<PmapDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
  registerArithModels(registry);
  registerMathModels(registry);
}
