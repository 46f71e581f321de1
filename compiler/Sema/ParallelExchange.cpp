// psum_scatter and all_to_all: every device gets a part from every other (V4, V8, V10).

#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/ParallelCollectives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;

namespace {

/// The dimension that `parameter` names, of a leaf that has one; nothing (reported) otherwise.
std::optional<int64_t> readDimension(CallContext &c, const Operand &operand, const char *parameter) {
  if (operand.rank() == 0)
    return c.e.error(Code::E0403, operand.range,
                     spelt(c) + " cuts arrays along a dimension: expected at least one, got the scalar " +
                         shown(c, operand));
  return c.has(parameter) ? Arguments(c).dimension(c[parameter], operand.rank()) : std::optional<int64_t>(0);
}

/// A size divided among the devices that meet. What is not known here is checked at run time.
std::optional<Size> shareOf(CallContext &c, const Operand &operand, int64_t dim, const Collective &collective) {
  Size whole = c.e.sizesOf(operand.ssa)[dim];
  Size devices =
      participantsOf(c.e.builder.getInsertionBlock(), collective.attributes(&c.e.context), collective.groups);
  auto literal = devices.constant();
  if (auto size = whole.constant(); size && literal && *literal > 0 && *size % *literal != 0)
    return c.e.error(Code::E0712, operand.range,
                     spelt(c) + ": dimension " + std::to_string(dim) + " of size " + std::to_string(*size) +
                         " does not divide by the " + std::to_string(*literal) + " " + membersOf(c, collective.axes) +
                         " that meet");
  return Size::exactQuotient(whole, devices);
}

/// The place of an exchange, with what a size that only the run knows says there where it does not divide.
mlir::Location placeOf(CallContext &c, const Operand &operand, int64_t dim, const Collective &collective,
                       const char *parameter) {
  std::string members = membersOf(c, collective.axes);
  return toldAs(c.e.loc(c.range), "E1103",
                spelt(c) + " over " + quotedAxes(collective.axes) + ": dimension " + llvm::Twine(dim) + " of '" +
                    c.e.sourceText(operand.range) + "' (`" + parameter + ":`) does not divide by the " + members +
                    " that meet: {a} / {b} leaves a rest\npad that dimension, or choose a number of " + members +
                    " that divides it");
}

Value psumScatter(CallContext &c) {
  auto collective = readCollective(c, c["x"], Members::OneNumber, GroupSizes::Equal);
  if (!collective)
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 4> results;
  for (auto [operand, missing] : llvm::zip(collective->leaves, collective->missing)) {
    auto dim = readDimension(c, operand, "dim");
    auto share = dim ? shareOf(c, operand, *dim, *collective) : std::nullopt;
    if (!share)
      return Value::error();
    if (!missing.empty())
      warnInvariant(c, operand, missing);
    if (isBool(operand.dtype)) { // C2: counts
      operand.ssa = m.convert(operand.ssa, operand.dtype, DType::I32);
      operand.dtype = DType::I32;
    }
    mlir::Value value = c.e.widen(operand.ssa, collective->set);
    SmallVector<Size> sizes = c.e.sizesOf(value);
    sizes[*dim] = *share;
    auto type = withSizes(mlir::cast<mlir::RankedTensorType>(value.getType()), sizes);
    auto axes = collective->attributes(&c.e.context);
    results.push_back(
        ReduceScatterOp::create(m.builder, placeOf(c, operand, *dim, *collective, "dim"), type, value,
                                m.builder.getArrayAttr(SmallVector<mlir::Attribute>(axes.begin(), axes.end())),
                                m.builder.getI64IntegerAttr(*dim), collective->groups));
  }
  return finishCollective(c, c["x"], results, *collective);
}

Value allToAll(CallContext &c) {
  auto collective = readCollective(c, c["x"], Members::OneNumber, GroupSizes::Equal);
  if (!collective)
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 4> results;
  for (const Operand &operand : collective->leaves) {
    auto split = readDimension(c, operand, "split"),
         concat = split ? readDimension(c, operand, "concat") : std::nullopt;
    auto share = concat ? shareOf(c, operand, *split, *collective) : std::nullopt;
    if (!share)
      return Value::error();
    mlir::Value value = c.e.widen(operand.ssa, collective->set);
    auto axes = collective->attributes(&c.e.context);
    SmallVector<Size> sizes = c.e.sizesOf(value);
    sizes[*split] = *share;
    sizes[*concat] *= participantsOf(m.builder.getInsertionBlock(), axes, collective->groups);
    auto type = withSizes(mlir::cast<mlir::RankedTensorType>(value.getType()), sizes);
    results.push_back(AllToAllOp::create(m.builder, placeOf(c, operand, *split, *collective, "split"), type, value,
                                         m.builder.getArrayAttr(SmallVector<mlir::Attribute>(axes.begin(), axes.end())),
                                         m.builder.getI64IntegerAttr(*split), m.builder.getI64IntegerAttr(*concat),
                                         collective->groups));
  }
  return finishCollective(c, c["x"], results, *collective);
}

} // namespace

void sema::registerExchangeBuiltins(BuiltinTable &table) {
  table.add("psum_scatter", "x, axis, dim:?, groups:?", psumScatter);
  table.add("all_to_all", "x, axis, split:, concat:, groups:?", allToAll);
}
