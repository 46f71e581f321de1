// Products of two matrices as calls of the runtime's library.

#include "compiler/Lower/Cpu/KernelTransforms.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {

// Products with at most this many multiplications, known at compile time, are generated in place.
static constexpr int64_t generatedProduct = 1 << 14;

namespace {
// The roles of the three loops, and of the operands: c[i, j] += a[i, k] * b[k, j].
struct Roles {
  unsigned i, j, k;
  unsigned a, b;
};
} // namespace

static bool isLoop(AffineExpr expr, unsigned loop) {
  auto dim = dyn_cast<AffineDimExpr>(expr);
  return dim && dim.getPosition() == loop;
}

static bool walks(AffineMap map, unsigned first, unsigned second) {
  return map.getNumResults() == 2 && ((isLoop(map.getResult(0), first) && isLoop(map.getResult(1), second)) ||
                                      (isLoop(map.getResult(0), second) && isLoop(map.getResult(1), first)));
}

// One loop reduces a product of the two inputs, the others walk the output in order.
static std::optional<Roles> matchRoles(linalg::GenericOp op) {
  if (op.getNumLoops() != 3 || op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return std::nullopt;
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  if (!element.isF32() && !element.isF64())
    return std::nullopt;
  for (Value input : op.getDpsInputs())
    if (!isa<MemRefType>(input.getType()) || getElementTypeOrSelf(input.getType()) != element)
      return std::nullopt;
  Kernel kernel(op);
  if (kernel.combiners.empty() || !isa<arith::AddFOp>(kernel.combiners[0].op) ||
      op.getBody()->getOperations().size() != 3)
    return std::nullopt;
  auto product = kernel.combiners[0].value.getDefiningOp<arith::MulFOp>();
  Block *body = op.getBody();
  if (!product)
    return std::nullopt;
  Value left = product.getLhs(), right = product.getRhs();
  if (!((left == body->getArgument(0) && right == body->getArgument(1)) ||
        (left == body->getArgument(1) && right == body->getArgument(0))))
    return std::nullopt;
  AffineMap output = kernel.maps[2];
  if (output.getNumResults() != 2 || !isa<AffineDimExpr>(output.getResult(0)) ||
      !isa<AffineDimExpr>(output.getResult(1)))
    return std::nullopt;
  Roles roles;
  roles.i = cast<AffineDimExpr>(output.getResult(0)).getPosition();
  roles.j = cast<AffineDimExpr>(output.getResult(1)).getPosition();
  roles.k = std::distance(kernel.isReduction.begin(), llvm::find(kernel.isReduction, true));
  if (roles.i == roles.j)
    return std::nullopt;
  for (unsigned a : {0u, 1u})
    if (walks(kernel.maps[a], roles.i, roles.k) && walks(kernel.maps[1 - a], roles.k, roles.j)) {
      roles.a = a;
      roles.b = 1 - a;
      return roles;
    }
  return std::nullopt;
}

bool isMatrixProduct(linalg::GenericOp op) {
  if (!matchRoles(op) || op->getParentOfType<scf::ForallOp>())
    return false;
  auto type = cast<MemRefType>(op.getDpsInits()[0].getType());
  auto [strides, offset] = type.getStridesAndOffset();
  if (strides.back() != 1)
    return false;
  Kernel kernel(op);
  int64_t work = 1;
  for (unsigned loop = 0; loop < 3; ++loop) {
    int64_t extent = kernel.staticExtent(loop);
    if (ShapedType::isDynamic(extent))
      return true;
    work *= extent;
  }
  return work > generatedProduct;
}

namespace {

// A matrix as the library wants it: the address of its first element and two strides.
struct Operand {
  Value address, rowStride, columnStride;
};

class ProductEmitter {
public:
  ProductEmitter(OpBuilder &builder, Location loc) : builder(builder), loc(loc), converter(builder.getContext()) {}

  // Strides by loop: `row` moves along the first dimension of the product's view of the matrix, `column` along the
  // second.
  Operand operand(Value buffer, AffineMap map, unsigned row) {
    auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    auto type = cast<MemRefType>(buffer.getType());
    Value descriptor =
        UnrealizedConversionCastOp::create(builder, loc, converter.convertType(type), buffer).getResult(0);
    Value base = LLVM::ExtractValueOp::create(builder, loc, descriptor, ArrayRef<int64_t>{1});
    Value address = LLVM::GEPOp::create(builder, loc, base.getType(), type.getElementType(), base,
                                        ArrayRef<LLVM::GEPArg>{toI64(metadata.getOffset())});
    unsigned first = isLoop(map.getResult(0), row) ? 0 : 1;
    return {address, toI64(metadata.getStrides()[first]), toI64(metadata.getStrides()[1 - first])};
  }

  Value toI64(Value index) { return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index); }

private:
  OpBuilder &builder;
  Location loc;
  LLVMTypeConverter converter;
};

} // namespace

void emitMatrixProduct(OpBuilder &builder, linalg::GenericOp op) {
  Location loc = op.getLoc();
  Roles roles = *matchRoles(op);
  Kernel kernel(op);
  ProductEmitter emitter(builder, loc);
  SmallVector<Value> arguments;
  for (unsigned loop : {roles.i, roles.j, roles.k})
    arguments.push_back(emitter.toI64(kernel.extent(builder, loc, loop)));
  Operand a = emitter.operand(kernel.operand(roles.a), kernel.maps[roles.a], roles.i);
  Operand b = emitter.operand(kernel.operand(roles.b), kernel.maps[roles.b], roles.k);
  Operand c = emitter.operand(kernel.operand(2), kernel.maps[2], roles.i);
  arguments.append(
      {a.address, a.rowStride, a.columnStride, b.address, b.rowStride, b.columnStride, c.address, c.rowStride});
  arguments.push_back(arith::ConstantIntOp::create(builder, loc, op->hasAttr(startsFresh) ? 0 : 1, 32));

  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  StringRef name = element.isF32() ? "pmap_rt_gemm_f32" : "pmap_rt_gemm_f64";
  auto module = op->getParentOfType<ModuleOp>();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                            llvm::to_vector(ValueRange(arguments).getTypes()));
    callee = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  }
  LLVM::CallOp::create(builder, loc, callee, arguments);
}

} // namespace pmap
