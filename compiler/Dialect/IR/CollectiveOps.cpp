// Verifiers of the collectives that move arrays between devices (V3, V4).
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/VerifyHelpers.h"

using namespace mlir;
using namespace pmap;

namespace {

SmallVector<StringAttr> axesOf(ArrayAttr names) { return llvm::to_vector(names.getAsRange<StringAttr>()); }

// How many devices take part, once axes and groups are what they must be: groups of one size, because the size of the
// result depends on it.
FailureOr<Size> participants(Operation *op, StringRef axesNumber, StringRef groupsNumber, ArrayAttr names,
                             std::optional<ArrayAttr> groups) {
  SmallVector<StringAttr> axes = axesOf(names);
  if (axes.empty() || sorted(axes).size() != axes.size())
    return op->emitOpError() << "(" << axesNumber << ") expected axes, each once, got " << names;
  if (!groups)
    return participantsOf(op->getBlock(), axes, {});
  SmallVector<int64_t> seen;
  bool even = !groups->empty();
  for (auto group : groups->getAsRange<DenseI64ArrayAttr>()) {
    even &= group.size() == cast<DenseI64ArrayAttr>((*groups)[0]).size();
    llvm::append_range(seen, group.asArrayRef());
  }
  llvm::sort(seen);
  if (!even || seen.empty() || seen.front() < 0 || std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    return op->emitOpError() << "(" << groupsNumber
                             << ") groups of one size partition the positions along the axes (C3), got " << *groups;
  return participantsOf(op->getBlock(), axes, *groups);
}

} // namespace

void AllGatherOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> axes, int64_t dim,
                        bool tiled, ArrayAttr groups) {
  Size devices = participantsOf(builder.getInsertionBlock(), axes, groups);
  build(builder, state, inferAllGather(tensorType(input), axes, dim, tiled, devices, bool(groups)), input,
        builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())), builder.getI64IntegerAttr(dim),
        tiled ? builder.getUnitAttr() : UnitAttr(), groups);
}

SmallVector<StringAttr> AllGatherOp::getCollectiveAxes() { return axesOf(getAxes()); }

LogicalResult AllGatherOp::verify() {
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  int64_t dim = getDim();
  auto devices = participants(*this, "all_gather-4", "all_gather-5", getAxes(), getGroups());
  if (failed(devices) ||
      failed(verifyDim(*this, "all_gather-1", dim, getTiled() ? input.getRank() : input.getRank() + 1)))
    return failure();
  RankedTensorType expected =
      inferAllGather(input, axesOf(getAxes()), dim, getTiled(), *devices, getGroups().has_value());
  if (varyOf(result) != varyOf(expected))
    return emitOpError() << "(all_gather-3) expected the result type " << expected << ", got " << result;
  return verifyInferred(*this, "all_gather-2", expected, result);
}

SmallVector<StringAttr> ReduceScatterOp::getCollectiveAxes() { return axesOf(getAxes()); }

LogicalResult ReduceScatterOp::verify() {
  auto devices = participants(*this, "reduce_scatter-1", "reduce_scatter-5", getAxes(), getGroups());
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (failed(devices) || failed(verifyDim(*this, "reduce_scatter-2", getDim(), input.getRank())))
    return failure();
  if (input.getElementType().isInteger(1))
    return emitOpError() << "(reduce_scatter-6) i1 is converted to i32 first (C2)";
  Axes vary = unionOf(varyOf(input), sorted(axesOf(getAxes())));
  if (Axes(varyOf(result)) != vary)
    return emitOpError() << "(reduce_scatter-4) expected V of the operand plus the axes (V4), got " << result;
  SmallVector<Size> sizes = sizesOf(result);
  if (static_cast<int64_t>(sizes.size()) == input.getRank())
    sizes[getDim()] *= *devices;
  return verifyInferred(*this, "reduce_scatter-3", withVary(input, vary),
                        makeTensorType(result.getElementType(), sizes, vary));
}

SmallVector<StringAttr> AllToAllOp::getCollectiveAxes() { return axesOf(getAxes()); }

LogicalResult AllToAllOp::verify() {
  auto devices = participants(*this, "all_to_all-1", "all_to_all-5", getAxes(), getGroups());
  RankedTensorType input = tensorType(getInput()), result = tensorType(getResult());
  if (failed(devices) || failed(verifyDim(*this, "all_to_all-2", getSplit(), input.getRank())) ||
      failed(verifyDim(*this, "all_to_all-2", getConcat(), input.getRank())))
    return failure();
  Axes vary = unionOf(varyOf(input), sorted(axesOf(getAxes())));
  if (Axes(varyOf(result)) != vary)
    return emitOpError() << "(all_to_all-4) expected V of the operand plus the axes (V4), got " << result;
  // Both sides multiplied by the number of devices along `split`, so that no size is a quotient.
  SmallVector<Size> expected = sizesOf(input), got = sizesOf(result);
  expected[getConcat()] *= *devices;
  if (got.size() == expected.size())
    got[getSplit()] *= *devices;
  return verifyInferred(*this, "all_to_all-3", makeTensorType(input.getElementType(), expected, vary),
                        makeTensorType(result.getElementType(), got, vary));
}

SmallVector<StringAttr> PermuteOp::getCollectiveAxes() { return axesOf(getAxes()); }

LogicalResult PermuteOp::verify() {
  auto devices = participants(*this, "permute-1", "permute-1", getAxes(), std::nullopt);
  if (failed(devices))
    return failure();
  RankedTensorType input = tensorType(getInput()), destinations = tensorType(getDestinations()),
                   fill = tensorType(getFill());
  Axes axes = sorted(axesOf(getAxes()));
  bool fits = destinations.getRank() == 1 && destinations.getElementType().isSignlessInteger(32) &&
              (sizeOf(destinations, 0) == *devices || sizeOf(destinations, 0).isConstant());
  if (!fits || !isSubset(varyOf(destinations), differenceOf(varyOf(destinations), axes)))
    return emitOpError() << "(permute-2) expected one i32 for each device, the same on all, got " << destinations;
  if (fill.getRank() != 0 || fill.getElementType() != input.getElementType())
    return emitOpError() << "(permute-3) expected a scalar of " << input.getElementType() << ", got " << fill;
  Axes vary = unionOf(unionOf(varyOf(input), axes), unionOf(varyOf(destinations), varyOf(fill)));
  return verifyInferred(*this, "permute-4", withVary(input, vary), getResult().getType());
}
