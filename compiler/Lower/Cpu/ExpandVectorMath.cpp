// Math functions on vectors become polynomials in place (VectorPolynomials.cpp) or calls of the C library's vector
// variants (VectorMath.def); those on scalars stay for libm. Narrow floats compute in f32, as C does.

#include "compiler/Lower/Cpu/VectorPolynomials.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace pmap {
namespace {

struct VectorFunction {
  StringRef name;
  unsigned arguments;
};

std::optional<VectorFunction> vectorFunction(Operation *op) {
#define PMAP_VECTOR_MATH(Op, name, arguments)                                                                          \
  if (isa<math::Op>(op))                                                                                               \
    return VectorFunction{#name, arguments};
#include "compiler/Lower/Cpu/VectorMath.def"
  return std::nullopt;
}

class MathExpander {
public:
  MathExpander(ModuleOp module, VectorTarget target) : module(module), builder(module.getContext()), target(target) {}

  void expand(Operation *op, VectorFunction function) {
    builder.setInsertionPoint(op);
    loc = op->getLoc();
    auto type = cast<VectorType>(op->getResult(0).getType());
    Type element = type.getElementType();
    SmallVector<Value> operands(op->getOperands());
    if (!element.isF32() && !element.isF64())
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(builder, loc, type.clone(builder.getF32Type()), operand);
    Value result = expandInPlace(op, operands);
    if (!result)
      result = callInParts(function, operands);
    if (result.getType() != type)
      result = arith::TruncFOp::create(builder, loc, type, result);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

private:
  Value expandInPlace(Operation *op, ArrayRef<Value> operands) {
    if (!getElementTypeOrSelf(operands[0].getType()).isF32())
      return Value();
    if (isa<math::ExpOp>(op))
      return expandExp(builder, loc, operands[0], target);
    if (isa<math::TanhOp>(op))
      return expandTanh(builder, loc, operands[0], target);
    return Value();
  }

  // The library has variants for whole registers; wider vectors are cut and narrower ones padded.
  Value callInParts(VectorFunction function, ArrayRef<Value> operands) {
    auto type = cast<VectorType>(operands[0].getType());
    int64_t lanes = type.getNumElements(), bits = type.getElementTypeBitWidth();
    int64_t most = target.bits / bits, least = 128 / bits;
    if (lanes >= least && lanes <= most)
      return call(function, operands);
    SmallVector<Value> parts;
    int64_t width = lanes < least ? least : most;
    for (int64_t begin = 0; begin < lanes; begin += width) {
      SmallVector<int64_t> places;
      for (int64_t lane = 0; lane < width; ++lane)
        places.push_back(std::min(begin + lane, lanes - 1));
      SmallVector<Value> slices;
      for (Value operand : operands)
        slices.push_back(vector::ShuffleOp::create(builder, loc, operand, operand, places));
      parts.push_back(call(function, slices));
    }
    // Joined pairwise, the last one twice where the count is odd.
    while (parts.size() > 1) {
      SmallVector<Value> joined;
      for (size_t i = 0; i < parts.size(); i += 2) {
        Value low = parts[i], high = parts[std::min(i + 1, parts.size() - 1)];
        int64_t size = cast<VectorType>(low.getType()).getNumElements();
        joined.push_back(
            vector::ShuffleOp::create(builder, loc, low, high, llvm::to_vector(llvm::seq<int64_t>(0, 2 * size))));
      }
      parts = joined;
    }
    if (cast<VectorType>(parts[0].getType()).getNumElements() == lanes)
      return parts[0];
    return vector::ShuffleOp::create(builder, loc, parts[0], parts[0], llvm::to_vector(llvm::seq<int64_t>(0, lanes)));
  }

  // `_ZGVeN16v_expf`: e, d or b for the register, the lanes, one v per argument.
  Value call(VectorFunction function, ArrayRef<Value> operands) {
    auto type = cast<VectorType>(operands[0].getType());
    int64_t lanes = type.getNumElements(), bits = lanes * type.getElementTypeBitWidth();
    std::string name = "_ZGV";
    name += bits == 512 ? 'e' : bits == 256 ? 'd' : 'b';
    name += "N" + std::to_string(lanes) + std::string(function.arguments, 'v') + "_" + function.name.str();
    if (type.getElementType().isF32())
      name += 'f';
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      SmallVector<Type> arguments(function.arguments, type);
      callee = LLVM::LLVMFuncOp::create(builder, loc, name, LLVM::LLVMFunctionType::get(type, arguments));
      auto none = LLVM::ModRefInfo::NoModRef;
      callee.setMemoryEffectsAttr(
          LLVM::MemoryEffectsAttr::get(module.getContext(), none, none, none, none, none, none));
      callee.setNoUnwind(true);
      callee.setWillReturn(true);
    }
    return LLVM::CallOp::create(builder, loc, callee, operands).getResult();
  }

  ModuleOp module;
  OpBuilder builder;
  VectorTarget target;
  Location loc = builder.getUnknownLoc();
};

// `a * b + c` may round once: the one liberty that is taken with floating arithmetic, on every target.
void allowContraction(ModuleOp module) {
  auto contract = arith::FastMathFlagsAttr::get(module.getContext(), arith::FastMathFlags::contract);
  module.walk([&](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
      op->setAttr("fastmath", contract);
  });
}

void expandPowers(ModuleOp module) {
  module.walk([](math::IPowIOp power) {
    OpBuilder builder(power);
    power.replaceAllUsesWith(expandIntegerPower(builder, power.getLoc(), power.getLhs(), power.getRhs()));
    power.erase();
  });
}

struct ExpandVectorMathPass : PassWrapper<ExpandVectorMathPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandVectorMathPass)
  ExpandVectorMathPass(VectorTarget target) : target(target) {}
  StringRef getArgument() const final { return "pmap-cpu-expand-math"; }
  StringRef getDescription() const final { return "Call vector variants of math functions"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, vector::VectorDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    expandPowers(getOperation());
    allowContraction(getOperation());
    if (target.precise)
      return;
    SmallVector<std::pair<Operation *, VectorFunction>> calls;
    getOperation().walk([&](Operation *op) {
      if (op->getNumResults() == 1 && isa<VectorType>(op->getResult(0).getType()))
        if (std::optional<VectorFunction> function = vectorFunction(op))
          calls.push_back({op, *function});
    });
    MathExpander expander(getOperation(), target);
    for (auto &[op, function] : calls)
      expander.expand(op, function);
  }

  VectorTarget target;
};

} // namespace

std::unique_ptr<Pass> createExpandVectorMathPass(VectorTarget target) {
  return std::make_unique<ExpandVectorMathPass>(target);
}

} // namespace pmap
