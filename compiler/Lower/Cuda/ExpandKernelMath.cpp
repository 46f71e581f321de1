// Math functions in kernels.
//
// exp and tanh of f32 are the CPU's polynomials, so that both targets give the same bits. The others become calls of
// libdevice, NVIDIA's library of bit code, which Ptx.cpp links; without a toolkit, f32 takes upstream's polynomials
// where these are good to a few ulp, and what is left is an error.

#include "compiler/Lower/Cpu/VectorPolynomials.h"
#include "compiler/Lower/Cuda/Launch.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/Cuda/Ptx.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

using namespace mlir;

namespace pmap {
namespace {

struct LibraryFunction {
  StringRef name;
  unsigned arguments;
};

std::optional<LibraryFunction> libraryFunction(Operation *op) {
#define PMAP_KERNEL_MATH(Op, name, arguments)                                                                          \
  if (isa<math::Op>(op))                                                                                               \
    return LibraryFunction{#name, arguments};
#include "compiler/Lower/Cuda/KernelMath.def"
  if (isa<arith::RemFOp>(op))
    return LibraryFunction{"fmod", 2};
  return std::nullopt;
}

class MathExpander {
public:
  MathExpander(gpu::GPUModuleOp kernels) : kernels(kernels), builder(kernels.getContext()) {}

  // Narrow floats compute in f32, as on the CPU.
  void widen(Operation *op) {
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() >= 32)
      return;
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    Type wide = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(builder, loc, wide, operand));
    OperationState state(loc, op->getName().getStringRef(), operands, wide, op->getAttrs());
    Operation *computed = builder.create(state);
    op->getResult(0).replaceAllUsesWith(arith::TruncFOp::create(builder, loc, type, computed->getResult(0)));
    op->erase();
  }

  bool expandInPlace(Operation *op) {
    Type type = op->getResult(0).getType();
    if (!getElementTypeOrSelf(type).isF32() || !isa<math::ExpOp, math::TanhOp>(op))
      return false;
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    VectorTarget target{accessBits, false};
    Value x = op->getOperand(0);
    if (!isa<VectorType>(type))
      x = vector::BroadcastOp::create(builder, loc, VectorType::get(1, type), x);
    Value y = isa<math::ExpOp>(op) ? expandExp(builder, loc, x, target) : expandTanh(builder, loc, x, target);
    if (!isa<VectorType>(type))
      y = vector::ExtractOp::create(builder, loc, y, ArrayRef<int64_t>{0});
    op->getResult(0).replaceAllUsesWith(y);
    op->erase();
    return true;
  }

  // Element by element: a thread has no vector registers.
  void call(Operation *op, LibraryFunction function) {
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
    std::string name = ("__nv_" + function.name + (element.isF32() ? "f" : "")).str();
    auto callee = kernels.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder top = OpBuilder::atBlockBegin(&kernels.getBodyRegion().front());
      callee = LLVM::LLVMFuncOp::create(
          top, loc, name, LLVM::LLVMFunctionType::get(element, SmallVector<Type>(function.arguments, element)));
      auto none = LLVM::ModRefInfo::NoModRef;
      callee.setMemoryEffectsAttr(
          LLVM::MemoryEffectsAttr::get(builder.getContext(), none, none, none, none, none, none));
      callee.setNoUnwind(true);
      callee.setWillReturn(true);
    }
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      op->getResult(0).replaceAllUsesWith(LLVM::CallOp::create(builder, loc, callee, op->getOperands()).getResult());
      op->erase();
      return;
    }
    Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(vector::ExtractOp::create(builder, loc, operand, ArrayRef<int64_t>{lane}));
      Value part = LLVM::CallOp::create(builder, loc, callee, operands).getResult();
      result = vector::InsertOp::create(builder, loc, part, result, ArrayRef<int64_t>{lane});
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

private:
  gpu::GPUModuleOp kernels;
  OpBuilder builder;
};

struct ExpandKernelMathPass : PassWrapper<ExpandKernelMathPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandKernelMathPass)
  ExpandKernelMathPass(bool precise) : precise(precise) {}
  StringRef getArgument() const final { return "pmap-cuda-expand-math"; }
  StringRef getDescription() const final { return "Expand math functions in kernels, or call libdevice"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, vector::VectorDialect, arith::ArithDialect, scf::SCFDialect>();
  }

  template <typename Visit> void forMath(Visit visit) {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (libraryFunction(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      visit(op);
  }

  void runOnOperation() final {
    gpu::GPUModuleOp kernels = getOperation();
    MathExpander expander(kernels);
    expandPowers();
    forMath([&](Operation *op) { expander.widen(op); });
    if (!precise)
      forMath([&](Operation *op) { expander.expandInPlace(op); });
    if (findLibdevice().empty() && failed(approximate()))
      return signalPassFailure();
    forMath([&](Operation *op) { expander.call(op, *libraryFunction(op)); });
    // `a * b + c` may round once: the one liberty that is taken with floating arithmetic, on every target.
    auto contract = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::contract);
    kernels->walk([&](Operation *op) {
      if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op))
        op->setAttr("fastmath", contract);
    });
  }

  void expandPowers() {
    getOperation()->walk([](math::IPowIOp power) {
      OpBuilder builder(power);
      power.replaceAllUsesWith(expandIntegerPower(builder, power.getLoc(), power.getLhs(), power.getRhs()));
      power.erase();
    });
  }

  LogicalResult approximate() {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.log", "math.log2", "math.log1p", "math.erf", "math.erfc", "math.expm1",
                                 "math.atan", "math.atan2", "math.asin", "math.acos", "math.cbrt"},
                                name);
    });
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  bool precise;
};

} // namespace

std::unique_ptr<Pass> createExpandKernelMathPass(bool precise) {
  return std::make_unique<ExpandKernelMathPass>(precise);
}

} // namespace pmap
