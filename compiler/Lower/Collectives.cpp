// Collectives and a device's position: calls of the runtime.
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Lower/RuntimeOps.h"
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;

namespace pmap {

FailureOr<int32_t> Translator::axisNumber(Operation *op, StringAttr axis) {
  auto position = mesh ? llvm::find(mesh.getAxes(), axis) : nullptr;
  if (!mesh || position == mesh.getAxes().end())
    return op->emitError("is over an axis that no mesh around it has: ") << axis;
  return static_cast<int32_t>(std::distance(mesh.getAxes().begin(), position));
}

FailureOr<Value> Translator::among(Operation *op, ArrayAttr axes, std::optional<ArrayAttr> groups, bool byRank) {
  SmallVector<int32_t> table;
  for (auto axis : axes.getAsRange<StringAttr>()) {
    FailureOr<int32_t> number = axisNumber(op, axis);
    if (failed(number))
      return failure();
    table.push_back(*number);
  }
  // Positions in groups count along the axes as they are named, in the order of the mesh already.
  if (byRank && !groups)
    llvm::sort(table);
  table.insert(table.begin(), table.size());
  table.push_back(groups ? groups->size() : 0);
  if (groups)
    for (auto group : groups->getAsRange<DenseI64ArrayAttr>()) {
      SmallVector<int64_t> members(group.asArrayRef());
      if (byRank)
        llvm::sort(members);
      table.push_back(members.size());
      llvm::append_range(table, members);
    }
  return constants.table(b, op->getLoc(), table);
}

static int32_t runtimeKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Mean:
    return PMAP_REDUCE_MEAN;
  case ReductionKind::Max:
  case ReductionKind::MaxU:
    return PMAP_REDUCE_MAX;
  case ReductionKind::Min:
  case ReductionKind::MinU:
    return PMAP_REDUCE_MIN;
  case ReductionKind::Prod:
    return PMAP_REDUCE_PROD;
  default:
    return PMAP_REDUCE_SUM;
  }
}

static int64_t bytesPerElement(Type type) {
  return std::max(1u, cast<RankedTensorType>(type).getElementTypeBitWidth() / 8);
}

LogicalResult Translator::translateAllReduce(AllReduceOp op) {
  Location loc = op.getLoc();
  ReductionKind kind = op.getKind();
  bool isUnsigned = kind == ReductionKind::MaxU || kind == ReductionKind::MinU;
  FailureOr<Value> table = among(op, op.getAxes(), op.getGroups(), /*byRank=*/true);
  if (failed(table))
    return failure();
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  // One call per dtype, arrays before scalars.
  llvm::MapVector<Type, SmallVector<unsigned>> together;
  for (bool wantsScalars : {false, true})
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      auto type = cast<RankedTensorType>(input.getType());
      if ((type.getRank() == 0) == wantsScalars)
        together[type.getElementType()].push_back(index);
    }
  for (auto &[element, members] : together) {
    SmallVector<Value> inputs, outputs;
    SmallVector<Type> results;
    for (unsigned member : members) {
      Value old = op.getInputs()[member];
      inputs.push_back(plain(old));
      results.push_back(convert(old.getType()));
      if (isa<TensorType>(results.back()))
        outputs.push_back(emptyLike(old.getType(), loc));
    }
    SmallVector<Value> scalars{constants.site(b, loc), *table, i32(runtimeKind(kind)),
                               i32(runtimeDType(element, isUnsigned))};
    auto call = rt::CallOp::create(b, loc, results, "pmap_rt_all_reduce", scalars, inputs, outputs);
    for (auto [member, result] : llvm::zip(members, call.getResults()))
      set(op.getResults()[member], result);
  }
  return success();
}

LogicalResult Translator::translateAllGather(AllGatherOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> table = among(op, op.getAxes(), op.getGroups(), /*byRank=*/false);
  if (failed(table))
    return failure();
  Type inputType = op.getInput().getType();
  Size outer(1), inner(bytesPerElement(inputType));
  for (auto [dim, size] : llvm::enumerate(sizesOf(inputType)))
    (static_cast<int64_t>(dim) < static_cast<int64_t>(op.getDim()) ? outer : inner) *= size;
  auto asI64 = [&](const Size &count) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), size(count, loc));
  };
  SmallVector<Value> scalars{constants.site(b, loc), *table, asI64(outer), asI64(inner)};
  Value destination = emptyLike(op.getType(), loc);
  set(op, rt::CallOp::create(b, loc, destination.getType(), "pmap_rt_all_gather", scalars, plain(op.getInput()),
                             destination)
              .getResult(0));
  return success();
}

LogicalResult Translator::translateReduceScatter(ReduceScatterOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> table = among(op, op.getAxes(), op.getGroups(), /*byRank=*/false);
  if (failed(table))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  Size outer(1), inner(1);
  for (auto [dim, size] : llvm::enumerate(sizesOf(type)))
    (static_cast<int64_t>(dim) < static_cast<int64_t>(op.getDim()) ? outer : inner) *= size;
  auto asI64 = [&](const Size &count) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), size(count, loc));
  };
  // Where the devices do not divide the size, computing the result's says so.
  Value destination = emptyLike(type, loc);
  Value dtype = arith::ConstantIntOp::create(b, loc, runtimeDType(type.getElementType()), 32);
  SmallVector<Value> scalars{constants.site(b, loc), *table, dtype, asI64(outer), asI64(inner)};
  set(op, rt::CallOp::create(b, loc, destination.getType(), "pmap_rt_reduce_scatter", scalars, tensor(op.getInput()),
                             destination)
              .getResult(0));
  return success();
}

LogicalResult Translator::translateAllToAll(AllToAllOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> table = among(op, op.getAxes(), op.getGroups(), /*byRank=*/false);
  if (failed(table))
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  Value destination = emptyLike(type, loc);
  // The runtime checks the size that is cut, for where the pieces are put together again it shows in no type.
  SmallVector<Value> scalars{constants.site(b, loc, failureText(loc)),
                             *table,
                             i32(bytesPerElement(type)),
                             i32(type.getRank()),
                             i32(op.getSplit()),
                             i32(op.getConcat())};
  set(op, rt::CallOp::create(b, loc, destination.getType(), "pmap_rt_all_to_all", scalars, tensor(op.getInput()),
                             destination)
              .getResult(0));
  return success();
}

LogicalResult Translator::translatePermute(PermuteOp op) {
  Location loc = op.getLoc();
  FailureOr<Value> table = among(op, op.getAxes(), std::nullopt, /*byRank=*/false);
  if (failed(table))
    return failure();
  Value width = arith::ConstantIntOp::create(b, loc, bytesPerElement(op.getType()), 32);
  SmallVector<Value> scalars{constants.site(b, loc), *table, width};
  SmallVector<Value> inputs{plain(op.getInput()), tensor(op.getDestinations()), scalar(op.getFill())};
  Type result = convert(op.getType());
  SmallVector<Value> destinations;
  if (isa<TensorType>(result))
    destinations.push_back(emptyLike(op.getType(), loc));
  set(op, rt::CallOp::create(b, loc, result, "pmap_rt_send", scalars, inputs, destinations).getResult(0));
  return success();
}

LogicalResult Translator::translateAxisIndex(AxisIndexOp op) {
  Location loc = op.getLoc();
  FailureOr<int32_t> number = axisNumber(op, op.getAxisAttr());
  if (failed(number))
    return failure();
  SymbolRefAttr callee = declareRuntimeFunction(module, "pmap_rt_axis_index",
                                                FunctionType::get(b.getContext(), {b.getI32Type()}, {b.getI64Type()}));
  Value axis = arith::ConstantIntOp::create(b, loc, *number, 32);
  Value position = func::CallOp::create(b, loc, callee, b.getI64Type(), axis).getResult(0);
  set(op, arith::TruncIOp::create(b, loc, b.getI32Type(), position));
  return success();
}

} // namespace pmap
