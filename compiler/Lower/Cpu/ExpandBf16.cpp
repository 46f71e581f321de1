// bf16 for machines without bf16 instructions. LLVM would call helpers of the compiler's library that not every system
// has, one per element. So arithmetic is done in f32, the conversions are integer operations, and from then on a bf16
// is the i16 with its bits: the module says so to the conversion to LLVM by the attribute `pmap.bf16_as_bits`.

#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"

using namespace mlir;

namespace pmap {
namespace {

bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

// Ops that move or convert bits and need no arithmetic. A bf16 becomes an f64 by way of f32.
bool staysNarrow(Operation *op) {
  if (auto extend = dyn_cast<arith::ExtFOp>(op))
    return getElementTypeOrSelf(extend.getType()).isF32();
  return isa<arith::ConstantOp, arith::TruncFOp, arith::BitcastOp, arith::SelectOp>(op);
}

Type asF32(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(f32);
  return f32;
}

void computeInF32(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isBf16(operand.getType())
                           ? arith::ExtFOp::create(builder, loc, asF32(operand.getType()), operand).getResult()
                           : operand);
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(isBf16(type) ? asF32(type) : type);
  OperationState state(loc, op->getName().getStringRef(), operands, types, op->getAttrs());
  Operation *wide = builder.create(state);
  for (auto [result, wideResult] : llvm::zip(op->getResults(), wide->getResults())) {
    Value value = wideResult;
    if (value.getType() != result.getType())
      value = arith::TruncFOp::create(builder, loc, result.getType(), value);
    result.replaceAllUsesWith(value);
  }
  op->erase();
}

void constantAsBits(arith::ConstantOp constant) {
  OpBuilder builder(constant);
  Type i16 = builder.getI16Type();
  auto bits = [](const APFloat &value) { return value.bitcastToAPInt(); };
  TypedAttr value;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    value = builder.getIntegerAttr(i16, bits(number.getValue()));
  else
    value = cast<DenseFPElementsAttr>(constant.getValue()).mapValues(i16, bits);
  Value integer = arith::ConstantOp::create(builder, constant.getLoc(), value);
  Value result = arith::BitcastOp::create(builder, constant.getLoc(), constant.getType(), integer);
  constant.replaceAllUsesWith(result);
  constant.erase();
}

Value bitcast(OpBuilder &builder, Location loc, Value value, Type element) {
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  return arith::BitcastOp::create(builder, loc, type, value);
}

// Ops that move bf16 between scalars and vectors do so on i16.
void moveAsBits(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isBf16(operand.getType()) ? bitcast(builder, loc, operand, builder.getI16Type()) : operand);
  Type type = builder.getI16Type();
  if (auto vector = dyn_cast<VectorType>(op->getResult(0).getType()))
    type = vector.clone(type);
  OperationState state(loc, op->getName().getStringRef(), operands, type, op->getAttrs());
  Value moved = bitcast(builder, loc, builder.create(state)->getResult(0), builder.getBF16Type());
  op->getResult(0).replaceAllUsesWith(moved);
  op->erase();
}

struct ExpandBf16Pass : PassWrapper<ExpandBf16Pass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBf16Pass)
  StringRef getArgument() const final { return "pmap-cpu-expand-bf16"; }
  StringRef getDescription() const final { return "Compute bf16 in f32 and convert by integer operations"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, vector::VectorDialect>();
  }

  void runOnOperation() final {
    SmallVector<Operation *> ops;
    SmallVector<arith::ConstantOp> constants;
    bool conversions = false;
    getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
          !(llvm::any_of(op->getOperandTypes(), isBf16) || llvm::any_of(op->getResultTypes(), isBf16)))
        return;
      auto constant = dyn_cast<arith::ConstantOp>(op);
      if (constant && !isa<TensorType>(constant.getType()))
        constants.push_back(constant);
      else if (!staysNarrow(op))
        ops.push_back(op);
      else
        conversions = true;
    });
    getOperation()->setAttr("pmap.bf16_as_bits", UnitAttr::get(&getContext()));
    if (ops.empty() && constants.empty() && !conversions)
      return;
    SmallVector<Operation *> moves;
    getOperation().walk([&](Operation *op) {
      if (isa<vector::BroadcastOp, vector::ExtractOp, vector::ShuffleOp>(op) && isBf16(op->getResult(0).getType()))
        moves.push_back(op);
    });
    for (Operation *op : moves)
      moveAsBits(op);
    for (Operation *op : ops)
      computeInF32(op);
    for (arith::ConstantOp constant : constants)
      constantAsBits(constant);
    RewritePatternSet patterns(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), GreedyRewriteConfig().enableFolding(false))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createExpandBf16Pass() { return std::make_unique<ExpandBf16Pass>(); }

} // namespace pmap
