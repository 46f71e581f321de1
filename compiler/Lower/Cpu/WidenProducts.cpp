// Products of matrices of f16 or bf16 as products of f32.
//
// They sum in f32 anyway, and each element takes part in many products: it is cheaper to convert both matrices once
// than to convert what every product reads, and the library has kernels for f32 only. The conversion fuses with what
// makes the matrix, so that a weight kept in f32 for the optimizer is rounded on its way, and never stored in half
// precision.

#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace pmap {
namespace {

bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

// Whether the body adds the product of both inputs, each converted from half precision, to an f32.
bool multipliesHalves(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || body->getOperations().size() != 5)
    return false;
  for (Value input : op.getDpsInputs())
    if (!isa<RankedTensorType>(input.getType()) || !isHalf(getElementTypeOrSelf(input.getType())))
      return false;
  auto sum = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || !sum.getType().isF32())
    return false;
  bool accumulatorFirst = sum.getLhs() == body->getArgument(2);
  if (!accumulatorFirst && sum.getRhs() != body->getArgument(2))
    return false;
  auto product = (accumulatorFirst ? sum.getRhs() : sum.getLhs()).getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  auto left = product.getLhs().getDefiningOp<arith::ExtFOp>(), right = product.getRhs().getDefiningOp<arith::ExtFOp>();
  return left && right && left.getIn() != right.getIn() && isa<BlockArgument>(left.getIn()) &&
         isa<BlockArgument>(right.getIn());
}

// Whether both inputs are read several times: each lacks a loop of the result that the other one has. A product of a
// matrix and a vector reads the matrix once, and half as many bytes as it is.
bool readsOften(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto hasOwnLoop = [&](unsigned input) {
    return llvm::any_of(llvm::seq(op.getNumLoops()), [&](unsigned loop) {
      return op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel && maps[input].isFunctionOfDim(loop) &&
             !maps[1 - input].isFunctionOfDim(loop);
    });
  };
  return hasOwnLoop(0) && hasOwnLoop(1);
}

bool isSmall(linalg::GenericOp op) {
  int64_t work = 1;
  for (int64_t extent : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(extent))
      return false;
    work *= extent;
  }
  return work <= generatedProduct;
}

Value widened(OpBuilder &builder, Location loc, Value half) {
  auto type = cast<RankedTensorType>(half.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(tensor::DimOp::create(builder, loc, half, dim));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), builder.getF32Type(), sizes);
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto convert = [](OpBuilder &inner, Location at, ValueRange elements) {
    Value wide = arith::ExtFOp::create(inner, at, inner.getF32Type(), elements[0]);
    linalg::YieldOp::create(inner, at, wide);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{empty.getType()}, ValueRange{half}, ValueRange{empty}, maps,
                                   loops, convert)
      .getResult(0);
}

void widen(linalg::GenericOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> inputs;
  for (Value input : op.getDpsInputs()) {
    // A matrix that a loop reads in every trip, as weights are, is converted before it.
    Operation *place = op;
    for (auto loop = op->getParentOfType<scf::ForOp>(); loop && place->getParentOp() == loop;
         loop = loop->getParentOfType<scf::ForOp>())
      if (loop.isDefinedOutsideOfLoop(input))
        place = loop;
    OpBuilder before(place);
    inputs.push_back(widened(before, loc, input));
  }
  auto body = [](OpBuilder &inner, Location at, ValueRange elements) {
    Value product = arith::MulFOp::create(inner, at, elements[0], elements[1]);
    Value sum = arith::AddFOp::create(inner, at, elements[2], product);
    linalg::YieldOp::create(inner, at, sum);
  };
  auto wide = linalg::GenericOp::create(builder, loc, op.getResultTypes(), inputs, op.getDpsInits(),
                                        op.getIndexingMapsArray(), op.getIteratorTypesArray(), body);
  op->replaceAllUsesWith(wide);
  op->erase();
}

struct WidenProductsPass : PassWrapper<WidenProductsPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WidenProductsPass)
  StringRef getArgument() const final { return "pmap-cpu-widen-products"; }
  StringRef getDescription() const final { return "Compute products of half precision matrices in f32"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<tensor::TensorDialect>(); }

  void runOnOperation() final {
    SmallVector<linalg::GenericOp> products;
    getOperation().walk([&](linalg::GenericOp op) {
      // In a loop over the points of a comprehension products are generated in place.
      if (multipliesHalves(op) && readsOften(op) && !isSmall(op) && !op->getParentOfType<scf::ForallOp>())
        products.push_back(op);
    });
    for (linalg::GenericOp op : products)
      widen(op);
  }
};

} // namespace

std::unique_ptr<Pass> createWidenProductsPass() { return std::make_unique<WidenProductsPass>(); }

} // namespace pmap
