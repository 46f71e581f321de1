// `pmap-to-linalg`: the pmap dialect to linalg on plain tensors, by the Translator.
#include "compiler/Lower/Passes.h"
#include "compiler/Lower/RuntimeOps.h"
#include "compiler/Lower/Translator.h"
#include "compiler/Lower/UnambiguousSlices.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "pmap/runtime.h"

using namespace mlir;

namespace pmap {

LogicalResult Translator::run() {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    if (function.isExternal())
      continue;
    hoistInvariants(function);
    if (failed(translateFunction(function)))
      return failure();
    views.clear();
    for (auto *set : {&hoisted, &preset, &skipped, &deferred})
      set->clear();
    function.erase();
  }
  return success();
}

LogicalResult Translator::translateFunction(func::FuncOp old) {
  auto type = FunctionType::get(b.getContext(), convert(old.getArgumentTypes()), convert(old.getResultTypes()));
  auto function = func::FuncOp::create(old.getLoc(), old.getName(), type);
  function.setVisibility(old.getVisibility());
  for (auto [index, argument] : llvm::enumerate(type.getInputs()))
    if (isa<TensorType>(argument))
      function.setArgAttr(index, "bufferization.writable", b.getBoolAttr(false));
  module.push_back(function);
  Block *entry = function.addEntryBlock();
  oldFunction = old;
  newFunction = function;
  mesh = nullptr;
  mapCount = 0;
  sizes.enterFunction(entry);
  if (auto symbols = old->getAttrOfType<ArrayAttr>("pmap.sizes"))
    for (auto [symbol, value] : llvm::zip(symbols.getAsValueRange<StringAttr>(), entry->getArguments()))
      sizes.bind(symbol, value, nullptr);
  return translateRegion(old.front(), *entry, entry->getArguments(), [&](ArrayRef<Value> results) {
    func::ReturnOp::create(b, old.front().getTerminator()->getLoc(), results);
  });
}

/// Ops on index and i1 values stay as they are.
LogicalResult Translator::translateScalarOp(Operation *op) {
  if (op->getNumRegions() || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ShapedType, DistType>) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<ShapedType, DistType>))
    return op->emitError("is not lowered by pmap-to-linalg: ") << op->getName();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, plain(operand));
  Operation *copy = b.clone(*op, mapping);
  for (auto [old, result] : llvm::zip(op->getResults(), copy->getResults()))
    set(old, result);
  return success();
}

LogicalResult Translator::translate(Operation *op) {
  Location loc = op->getLoc();
  // Adapts the members that cannot fail.
  auto always = [&](auto member) { return [this, member](auto typed) { return (this->*member)(typed), success(); }; };
  auto mayFail = [&](auto member) { return [this, member](auto typed) { return (this->*member)(typed); }; };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::ConstantOp>(mayFail(&Translator::translateConstant))
      .Case<BroadcastOp>(always(&Translator::translateBroadcast))
      .Case<TransposeOp>(always(&Translator::translateTranspose))
      .Case<IotaOp>(always(&Translator::translateIota))
      .Case<ReverseOp>(always(&Translator::translateReverse))
      .Case<RotateOp>(always(&Translator::translateRotate))
      .Case<GatherOp>(always(&Translator::translateGather))
      .Case<ReduceOp>([&](ReduceOp reduce) {
        auto forEach = reduce.getInput().getDefiningOp<ForEachOp>();
        if (forEach && deferred.contains(forEach))
          return translateReduceInLoop(reduce, forEach);
        return translateReduce(reduce), success();
      })
      .Case<ArgReduceOp>([&](ArgReduceOp reduce) {
        auto forEach = reduce.getInput().getDefiningOp<ForEachOp>();
        if (forEach && deferred.contains(forEach))
          return translateArgReduceInLoop(reduce, forEach);
        return translateArgReduce(reduce), success();
      })
      .Case<DotOp>(always(&Translator::translateDot))
      .Case<ScanOp>(always(&Translator::translateScan))
      .Case<ScatterOp>(always(&Translator::translateScatter))
      .Case<ReshapeOp>(always(&Translator::translateReshape))
      .Case<ConcatOp>(always(&Translator::translateConcat))
      .Case<PadOp>(always(&Translator::translatePad))
      .Case<SortOp, ArgSortOp>([&](auto sort) { return translateSort(sort), success(); })
      .Case<SliceOp>(always(&Translator::translateSlice))
      .Case<UpdateSliceOp>(always(&Translator::translateUpdateSlice))
      .Case<ExtractOp>(always(&Translator::translateExtract))
      .Case<CastOp>(always(&Translator::translateCast))
      .Case<CheckedIndexOp>(always(&Translator::translateCheckedIndex))
      .Case<FromIndexOp>(always(&Translator::translateFromIndex))
      .Case<BindSizeOp>(always(&Translator::translateBindSize))
      .Case<ForEachOp>(mayFail(&Translator::translateForEach))
      .Case<MapOp>(mayFail(&Translator::translateMap))
      .Case<MoveOp>(mayFail(&Translator::translateMove))
      .Case<ShardsOp>(mayFail(&Translator::translateShards))
      .Case<ToShardsOp>(mayFail(&Translator::translateToShards))
      .Case<AllReduceOp>(mayFail(&Translator::translateAllReduce))
      .Case<AllGatherOp>(mayFail(&Translator::translateAllGather))
      .Case<ReduceScatterOp>(mayFail(&Translator::translateReduceScatter))
      .Case<AllToAllOp>(mayFail(&Translator::translateAllToAll))
      .Case<PermuteOp>(mayFail(&Translator::translatePermute))
      .Case<AxisIndexOp>(mayFail(&Translator::translateAxisIndex))
      .Case<PrintOp>(mayFail(&Translator::translatePrint))
      .Case<scf::ForOp>(mayFail(&Translator::translateFor))
      .Case<scf::WhileOp>(mayFail(&Translator::translateWhile))
      .Case<scf::IfOp>(mayFail(&Translator::translateIf))
      .Case<WidenOp, StopGradientOp>([&](auto typed) {
        View source = view(typed.getInput());
        setView(typed, source.base, source.map);
        return success();
      })
      .Case<OpaqueOp>([&](OpaqueOp typed) {
        View source = view(typed.getInput());
        // Inside of a kernel an element is computed where it is used in any case.
        bool inKernel = isa<linalg::LinalgOp>(b.getInsertionBlock()->getParentOp());
        Value base = source.base;
        if (!inKernel)
          base = rt::OpaqueOp::create(b, typed.getLoc(), base.getType(), base);
        setView(typed, base, source.map);
        return success();
      })
      .Case<SizeOp>([&](SizeOp typed) {
        auto polynomial = Size::parse(typed.getSize());
        set(typed, getValueOrCreateConstantIndexOp(b, loc, mixedSize(*polynomial, loc)));
        return success();
      })
      .Case<AxisSizeOp>([&](AxisSizeOp typed) {
        set(typed, size(Size::axis(typed.getAxis()), loc));
        return success();
      })
      .Case<ToIndexOp>([&](ToIndexOp typed) {
        Value value = scalar(typed.getInput());
        set(typed, typed.getIsUnsigned() ? Value(arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value))
                                         : Value(arith::IndexCastOp::create(b, loc, b.getIndexType(), value)));
        return success();
      })
      .Case<ToBoolOp>([&](ToBoolOp typed) {
        set(typed, scalar(typed.getInput()));
        return success();
      })
      .Case<AssertOp>([&](AssertOp typed) {
        Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
        Value bad = arith::XOrIOp::create(b, loc, scalar(typed.getCondition()), yes);
        failIf(b, loc, bad, PMAP_FAIL_ASSERT, {}, typed.getMessage());
        return success();
      })
      .Default([&](Operation *other) {
        bool elementwise = other->getNumResults() == 1 && isa<RankedTensorType>(other->getResult(0).getType()) &&
                           isa<arith::ArithDialect, math::MathDialect>(other->getDialect());
        return elementwise ? translateElementwise(other) : translateScalarOp(other);
      });
}

namespace {

struct PmapToLinalgPass : PassWrapper<PmapToLinalgPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PmapToLinalgPass)
  StringRef getArgument() const final { return "pmap-to-linalg"; }
  StringRef getDescription() const final { return "Lower the pmap dialect to linalg on plain tensors"; }
  void getDependentDialects(DialectRegistry &registry) const override { registerLowerDialects(registry); }

  void runOnOperation() override {
    if (failed(Translator(getOperation()).run()))
      return signalPassFailure();
    // Before anything folds the slices.
    spellOutDroppedDimensions(getOperation());
  }
};

} // namespace

std::unique_ptr<Pass> createPmapToLinalgPass() { return std::make_unique<PmapToLinalgPass>(); }

void registerLowerDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, bufferization::BufferizationDialect, func::FuncDialect, linalg::LinalgDialect,
                  LLVM::LLVMDialect, math::MathDialect, rt::PmapRtDialect, scf::SCFDialect, tensor::TensorDialect>();
}

void registerLowerPasses() {
  registerPass(createPmapToLinalgPass);
  registerPass(createSplitDestinationsPass);
  registerPass(createLowerRuntimeCallsPass);
}

} // namespace pmap
