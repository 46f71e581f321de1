// Scalars of the device become arrays of rank 0.
//
// On linalg on tensors, before anything is fused: what computes with such a scalar is then a structured op like any
// other, and a training loop needs no word from the device until it ends. Where the host does need a number, a
// `tensor.extract` that says why stays behind; it becomes a read of the device, which waits for it.

#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Lower/Cuda/Passes.h"
#include "compiler/Lower/Cuda/Placement.h"
#include "compiler/Lower/Scan.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

class ScalarPlacer {
public:
  ScalarPlacer(func::FuncOp function) : function(function), placement(function), builder(function.getContext()) {}

  void run() {
    // Loops and branches first: the types of what they carry change in place, so that uses see arrays.
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      return isa<linalg::LinalgOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    for (Operation *op : ops)
      for (Region &region : op->getRegions())
        if (isa<scf::SCFDialect>(op->getDialect()))
          for (BlockArgument argument : region.getArguments())
            changeType(argument);
    for (Operation *op : ops)
      if (isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op))
        for (Value result : op->getResults())
          changeType(result);
    for (Operation *op : ops)
      rewrite(op);
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
  }

private:
  RankedTensorType rank0(Type element) { return RankedTensorType::get({}, element); }

  void changeType(Value value) {
    if (!placement.isOnDevice(value))
      return;
    value.setType(rank0(value.getType()));
    arrays[value] = value;
  }

  // The array that stands for a scalar of the device, or holds one of the host.
  Value arrayOf(Value value, Location loc) {
    if (Value known = arrays.lookup(value))
      return known;
    Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, value.getType());
    return generic(loc, {}, empty, [&](OpBuilder &, ValueRange) { return value; });
  }

  // An op of rank 0.
  Value generic(Location loc, ArrayRef<Value> inputs, Value output, function_ref<Value(OpBuilder &, ValueRange)> emit) {
    auto point = AffineMap::get(builder.getContext());
    return linalg::GenericOp::create(builder, loc, output.getType(), inputs, output,
                                     SmallVector<AffineMap>(inputs.size() + 1, point), ArrayRef<utils::IteratorType>{},
                                     [&](OpBuilder &inner, Location, ValueRange arguments) {
                                       linalg::YieldOp::create(inner, loc, emit(inner, arguments));
                                     })
        .getResult(0);
  }

  // The value for the host: what it is, and why it is wanted, goes into `--explain`.
  Value readFor(OpOperand &use) {
    Value array = arrays.lookup(use.get());
    auto read = tensor::ExtractOp::create(builder, use.getOwner()->getLoc(), array, ValueRange());
    read->setAttr(hostRead, builder.getStringAttr(reasonOfRead(use)));
    return read;
  }

  void rewrite(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      return addInputs(structured);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      readOperands(op);
      if (placement.isOnDevice(extract)) {
        arrays[extract] = element(extract);
        replaced.push_back(op);
      } else if (isNumber(extract.getType()) && !extract->hasAttr(hostRead)) {
        extract->setAttr(hostRead, builder.getStringAttr(reasonOfRead(extract)));
      }
      return;
    }
    if (op->getNumResults() == 1 && isScalarArithmetic(op) && placement.isOnDevice(op->getResult(0)))
      return compute(op);
    if (auto call = dyn_cast<rt::CallOp>(op); call && call.getCallee().starts_with("pmap_rt_all_reduce"))
      return reduceOnDevice(call);
    if (isCheck(op) && placement.isOnDevice(op->getOperand(0)))
      return check(cast<scf::IfOp>(op));
    if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
      return assemble(elements);
    if (auto insert = dyn_cast<tensor::InsertOp>(op); insert && placement.isOnDevice(insert.getScalar()))
      return insertScalar(insert);
    // What a loop or a branch carries is an array on both sides.
    for (OpOperand &operand : op->getOpOperands()) {
      bool carried = llvm::any_of(carriedAs(operand), [&](Value value) { return arrays.contains(value); });
      if (carried && !isa<TensorType>(operand.get().getType()))
        operand.set(arrayOf(operand.get(), op->getLoc()));
      else if (!carried && arrays.contains(operand.get()))
        operand.set(readFor(operand));
      else if (carried && arrays.contains(operand.get()))
        operand.set(arrays.lookup(operand.get()));
    }
  }

  void readOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (arrays.contains(operand.get()) && !isa<tensor::ExtractOp>(op))
        operand.set(readFor(operand));
      else if (arrays.contains(operand.get()) && operand.getOperandNumber() > 0)
        operand.set(readFor(operand));
  }

  // A read is explained by what becomes of it.
  StringRef reasonOfRead(tensor::ExtractOp extract) {
    StringRef reason = "a value of the host";
    SmallVector<Value> values{extract.getResult()};
    DenseSet<Value> seen;
    while (!values.empty()) {
      Value value = values.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      for (OpOperand &use : value.getUses()) {
        StringRef own = pmap::reasonOfRead(use);
        if (own != reason)
          return own;
        llvm::append_range(values, use.getOwner()->getResults());
      }
    }
    return reason;
  }
  StringRef reasonOfRead(OpOperand &use) { return pmap::reasonOfRead(use); }

  // One element of an array, as an array.
  Value element(tensor::ExtractOp extract) {
    Value source = extract.getTensor();
    auto type = cast<RankedTensorType>(source.getType());
    if (type.getRank() == 0)
      return source;
    Location loc = extract.getLoc();
    SmallVector<OpFoldResult> offsets(extract.getIndices()), ones(type.getRank(), builder.getIndexAttr(1));
    Value slice =
        tensor::ExtractSliceOp::create(builder, loc, rank0(type.getElementType()), source, offsets, ones, ones);
    // Of its own: the slice is a view of an array that may change.
    Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, type.getElementType());
    return generic(loc, slice, empty, [](OpBuilder &, ValueRange arguments) { return arguments[0]; });
  }

  void compute(Operation *op) {
    Location loc = op->getLoc();
    SmallVector<Value> inputs, operands;
    for (Value operand : op->getOperands())
      if (Value array = arrays.lookup(operand)) {
        inputs.push_back(array);
        operands.push_back(operand);
      }
    Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, op->getResult(0).getType());
    arrays[op->getResult(0)] = generic(loc, inputs, empty, [&](OpBuilder &inner, ValueRange arguments) {
      IRMapping mapping;
      for (auto [operand, argument] : llvm::zip(operands, arguments))
        mapping.map(operand, argument);
      return inner.clone(*op, mapping)->getResult(0);
    });
    replaced.push_back(op);
  }

  // Scalars of the device that a body uses become inputs of the op.
  void addInputs(linalg::LinalgOp structured) {
    llvm::SetVector<Value> scalars;
    auto collect = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (arrays.contains(operand))
          scalars.insert(operand);
    };
    structured->walk(collect);
    if (scalars.empty())
      return;
    auto generic = dyn_cast<linalg::GenericOp>(*structured);
    if (!generic) {
      // A fill with the scalar.
      Location loc = structured.getLoc();
      Value output = structured.getDpsInits()[0];
      unsigned rank = cast<RankedTensorType>(output.getType()).getRank();
      auto made = linalg::GenericOp::create(
          builder, loc, output.getType(), arrays.lookup(scalars[0]), output,
          ArrayRef<AffineMap>{AffineMap::get(rank, 0, builder.getContext()), builder.getMultiDimIdentityMap(rank)},
          SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
          [&](OpBuilder &inner, Location, ValueRange arguments) { linalg::YieldOp::create(inner, loc, arguments[0]); });
      structured->getResult(0).replaceAllUsesWith(made.getResult(0));
      replaced.push_back(structured);
      return;
    }
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    unsigned inputs = generic.getNumDpsInputs();
    auto point = AffineMap::get(generic.getNumLoops(), 0, builder.getContext());
    SmallVector<Value> newInputs(generic.getDpsInputs());
    for (Value scalar : scalars) {
      maps.insert(maps.begin() + newInputs.size(), point);
      newInputs.push_back(arrays.lookup(scalar));
    }
    auto made = linalg::GenericOp::create(builder, generic.getLoc(), generic.getResultTypes(), newInputs,
                                          generic.getOutputs(), maps, generic.getIteratorTypesArray());
    made->setDiscardableAttrs(generic->getDiscardableAttrDictionary());
    made.getRegion().takeBody(generic.getRegion());
    Block *body = made.getBody();
    for (auto [index, value] : llvm::enumerate(scalars)) {
      Value scalar = value;
      Type element = getElementTypeOrSelf(scalar.getType());
      Value argument = body->insertArgument(inputs + index, element, generic.getLoc());
      scalar.replaceUsesWithIf(
          argument, [&](OpOperand &use) { return made.getRegion().isAncestor(use.getOwner()->getParentRegion()); });
    }
    generic->replaceAllUsesWith(made->getResults());
    replaced.push_back(generic);
  }

  // A collective with an array among its operands has all of them on the device.
  void reduceOnDevice(rt::CallOp call) {
    bool onDevice = llvm::any_of(
        call.getInputs(), [&](Value input) { return arrays.contains(input) || isa<TensorType>(input.getType()); });
    if (!onDevice)
      return;
    Location loc = call.getLoc();
    SmallVector<Value> inputs, outputs(call.getOutputs());
    SmallVector<Type> results;
    for (Value input : call.getInputs())
      inputs.push_back(isa<TensorType>(input.getType()) && !arrays.contains(input) ? input : arrayOf(input, loc));
    for (Value result : call.getResults()) {
      if (isa<TensorType>(result.getType())) {
        results.push_back(result.getType());
        continue;
      }
      results.push_back(rank0(result.getType()));
      outputs.push_back(tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{}, result.getType()));
    }
    auto made = rt::CallOp::create(builder, loc, results, call.getCallee(), call.getScalars(), inputs, outputs);
    for (auto [old, result] : llvm::zip(call.getResults(), made.getResults())) {
      if (isa<TensorType>(old.getType()))
        old.replaceAllUsesWith(result);
      else
        arrays[old] = result;
    }
    // A scalar that only the host takes is read.
    for (Value old : call.getResults())
      if (arrays.contains(old) && !placement.isOnDevice(old)) {
        auto read = tensor::ExtractOp::create(builder, loc, arrays.lookup(old), ValueRange());
        arrays.erase(old);
        old.replaceAllUsesWith(read);
        read->setAttr(hostRead, builder.getStringAttr(reasonOfRead(read)));
      }
    replaced.push_back(call);
  }

  // A check of the device's numbers is a kernel: the failure is recorded, and the host finds it at the next read.
  void check(scf::IfOp branch) {
    Location loc = branch.getLoc();
    func::CallOp failure;
    for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator())) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        failure = call;
        continue;
      }
      // What the message says is computed in any case.
      op.moveBefore(branch);
      builder.setInsertionPoint(&op);
      rewrite(&op);
    }
    builder.setInsertionPoint(branch);
    SmallVector<Value> inputs{arrayOf(branch.getCondition(), loc)};
    for (Value argument : failure.getOperands().drop_front(2))
      inputs.push_back(arrays.contains(argument) ? arrays.lookup(argument) : argument);
    rt::CallOp::create(builder, loc, TypeRange(), "pmap_cuda_check",
                       ValueRange{failure.getOperand(0), failure.getOperand(1)}, inputs, ValueRange());
    failure.erase();
    replaced.push_back(branch);
  }

  void assemble(tensor::FromElementsOp elements) {
    if (llvm::none_of(elements.getElements(), [&](Value value) { return arrays.contains(value); }))
      return;
    Location loc = elements.getLoc();
    auto type = cast<RankedTensorType>(elements.getType());
    if (type.getRank() == 0) {
      elements.getResult().replaceAllUsesWith(arrays.lookup(elements.getElements()[0]));
      replaced.push_back(elements);
      return;
    }
    Value result = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
    SmallVector<OpFoldResult> ones(type.getRank(), builder.getIndexAttr(1));
    for (auto [index, value] : llvm::enumerate(elements.getElements())) {
      SmallVector<OpFoldResult> offsets(type.getRank());
      int64_t rest = index;
      for (int64_t dim = type.getRank(); dim-- > 0; rest /= type.getDimSize(dim))
        offsets[dim] = builder.getIndexAttr(rest % type.getDimSize(dim));
      result = tensor::InsertSliceOp::create(builder, loc, arrayOf(value, loc), result, offsets, ones, ones);
    }
    elements.getResult().replaceAllUsesWith(result);
    replaced.push_back(elements);
  }

  void insertScalar(tensor::InsertOp insert) {
    for (OpOperand &operand : insert->getOpOperands())
      if (operand.getOperandNumber() > 1 && arrays.contains(operand.get()))
        operand.set(readFor(operand));
    auto type = cast<RankedTensorType>(insert.getType());
    SmallVector<OpFoldResult> offsets(insert.getIndices()), ones(type.getRank(), builder.getIndexAttr(1));
    Value result = tensor::InsertSliceOp::create(builder, insert.getLoc(), arrays.lookup(insert.getScalar()),
                                                 insert.getDest(), offsets, ones, ones);
    insert.getResult().replaceAllUsesWith(result);
    replaced.push_back(insert);
  }

  func::FuncOp function;
  Placement placement;
  OpBuilder builder;
  /// The array that stands for a scalar; what loops carry stands for itself.
  DenseMap<Value, Value> arrays;
  SmallVector<Operation *> replaced;
};

/// A permutation of dimensions, which the CPU's runtime does, is an elementwise op here. The permutation is a table in
/// the program's code.
void permuteByKernel(rt::CallOp call) {
  auto address = call.getScalars()[2].getDefiningOp<LLVM::AddressOfOp>();
  auto table = call->getParentOfType<ModuleOp>().lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
  auto perm = llvm::to_vector(cast<DenseIntElementsAttr>(*table.getValue()).getValues<int32_t>());
  OpBuilder builder(call);
  auto type = cast<RankedTensorType>(call.getResult(0).getType());
  unsigned rank = type.getRank();
  // Dimension d of the result is dimension perm[d] of the source.
  SmallVector<AffineExpr> source(rank);
  for (unsigned dim = 0; dim < rank; ++dim)
    source[perm[dim]] = builder.getAffineDimExpr(dim);
  auto made = linalg::GenericOp::create(
      builder, call.getLoc(), type, call.getInputs()[0], call.getOutputs()[0],
      ArrayRef<AffineMap>{AffineMap::get(rank, 0, source, builder.getContext()), builder.getMultiDimIdentityMap(rank)},
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [](OpBuilder &inner, Location loc, ValueRange arguments) { linalg::YieldOp::create(inner, loc, arguments[0]); });
  call.getResult(0).replaceAllUsesWith(made.getResult(0));
  call.erase();
}

struct PlaceScalarsPass : PassWrapper<PlaceScalarsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlaceScalarsPass)
  StringRef getArgument() const final { return "pmap-cuda-place-scalars"; }
  StringRef getDescription() const final { return "Decide which scalars live on the device, and keep them there"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<linalg::LinalgDialect, scf::SCFDialect, tensor::TensorDialect>();
  }

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      SmallVector<rt::CallOp> permutations, scans;
      function.walk([&](rt::CallOp call) {
        if (call.getCallee() == "pmap_rt_permute")
          permutations.push_back(call);
        else if (call.getCallee() == scanCallee)
          scans.push_back(call);
      });
      llvm::for_each(permutations, permuteByKernel);
      llvm::for_each(scans, scanByLoops);
      if (touchesNoArray(function))
        function->setAttr(hostFunction, UnitAttr::get(&getContext()));
      else
        ScalarPlacer(function).run();
      explainReads(function);
    }
  }

  // Each read is a stop of the host, which in a loop is one for each trip.
  static void explainReads(func::FuncOp function) {
    if (!factsWanted(function.getContext()))
      return;
    function.walk([](tensor::ExtractOp read) {
      auto why = read->getAttrOfType<StringAttr>(hostRead);
      if (!why)
        return;
      bool inLoop = read->getParentOfType<LoopLikeOpInterface>();
      stateFact(read.getLoc(), fact::kMovement,
                "the host waits for a number of the GPU" + std::string(inLoop ? " in each trip: " : ": ") +
                    why.getValue().str());
    });
  }

  // Moves, maps and their like only: the arrays of such a function need not go to a device to come back.
  static bool touchesNoArray(func::FuncOp function) {
    return !function
                .walk([](Operation *op) {
                  bool array = llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<TensorType>(type); }) ||
                               llvm::any_of(op->getResultTypes(), [](Type type) { return isa<TensorType>(type); });
                  bool moves = isa<func::ReturnOp>(op);
                  if (auto call = dyn_cast<rt::CallOp>(op))
                    moves |= !call.getCallee().starts_with("pmap_rt_all") && call.getCallee() != "pmap_rt_permute" &&
                             call.getCallee() != "pmap_rt_sort";
                  return array && !moves ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted() &&
           !function->hasAttr("pmap.device_body");
  }
};

} // namespace

std::unique_ptr<Pass> createPlaceScalarsPass() { return std::make_unique<PlaceScalarsPass>(); }

} // namespace pmap
