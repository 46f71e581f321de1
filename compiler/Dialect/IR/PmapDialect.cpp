#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Dialect/IR/Models.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FoldInterfaces.h"

using namespace mlir;
using namespace pmap;

#include "compiler/Dialect/IR/PmapDialect.cpp.inc"
#include "compiler/Dialect/IR/PmapEnums.cpp.inc"
#include "compiler/Dialect/IR/PmapInterfaces.cpp.inc"

namespace {

// Folding puts constants at the start of a function. One whose type varies over the axis of a vmap means nothing
// outside.
struct Folding : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final { return isa<VmapOp>(region->getParentOp()); }
};

} // namespace

namespace {

// A constant of a type that varies over the axis of a vmap exists inside of it alone: folding leaves it there.
struct FoldWithinVmap : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final { return isa<VmapOp>(region->getParentOp()); }
};

} // namespace

void PmapDialect::initialize() {
  addInterfaces<FoldWithinVmap>();
  addInterfaces<Folding>();
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
