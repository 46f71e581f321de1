// all_gather, the position and number of devices, pvary, and what is made of these: pbroadcast, assert_same.

#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/ParallelCollectives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

//===--- all_gather, axis_index, axis_size, pvary -------------------------------------------------------------===//

Value allGather(CallContext &c) {
  Arguments arguments(c);
  auto collective = readCollective(c, c["x"], Members::OneNumber, GroupSizes::Equal);
  auto tiled = arguments.flag("tiled", true);
  if (!collective || !tiled)
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 4> results;
  for (const Operand &operand : collective->leaves) {
    // A scalar per device has nothing to concatenate: it is stacked.
    bool stacks = !*tiled || operand.rank() == 0;
    int64_t dim = 0;
    if (c.has("dim")) {
      auto given = arguments.dimension(c["dim"], operand.rank() + (stacks ? 1 : 0));
      if (!given)
        return Value::error();
      dim = *given;
    }
    mlir::Value value = c.e.widen(operand.ssa, collective->set);
    value = AllGatherOp::create(m.builder, m.loc, value, collective->attributes(&c.e.context), dim, !stacks,
                                collective->groups);
    results.push_back(value);
  }
  return finishCollective(c, c["x"], results, *collective);
}

} // namespace

mlir::Value sema::positionAlong(Emit &m, ArrayRef<std::string> axes) {
  mlir::Value position;
  for (const std::string &axis : axes) {
    mlir::Value index = AxisIndexOp::create(m.builder, m.loc, StringRef(axis));
    if (position) {
      Size size = axisSizeIn(m.builder.getInsertionBlock(), axis);
      SmallVector<mlir::Value, 2> parts = {m.mul(position, m.sizeLike(position, size, DType::I32)), index};
      m.unifyVary(parts);
      index = m.add(parts[0], parts[1]);
    }
    position = index;
  }
  return position;
}

namespace {

/// With several axes the position among all their devices, major first.
Value axisIndex(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`axis_index`");
  if (!axes || !expectOneNumber(c, *axes))
    return Value::error();
  Emit m(c);
  return Value::array(c.e.widen(positionAlong(m, *axes), unevenOver(c.e, *axes)), DType::I32, c.range);
}

/// Whether a device is the root of a broadcast, where `root:` is literal: it stands at that position along the axes, or
/// at that place of its group. Null (reported) where no device does.
mlir::Value isLiteralRoot(CallContext &c, const Collective &collective, int64_t root) {
  SmallVector<int64_t, 4> roots = {root};
  int64_t devices = literalDevices(c, collective.axes);
  if (collective.groups) {
    roots.clear();
    for (auto group : collective.groups.getAsRange<mlir::DenseI64ArrayAttr>()) {
      devices = devices < 0 ? group.size() : std::min<int64_t>(devices, group.size());
      roots.push_back(root >= 0 && root < group.size() ? group[root] : 0);
    }
  }
  if (root < 0 || (devices > 0 && root >= devices)) {
    c.e.error(Code::E0520, c.rangeOf("root"),
              (collective.groups ? "`root:` must be a place in every group, got "
                                 : "`root:` must be the position of one of the " + membersOf(c, collective.axes) +
                                       " of " + quotedAxes(collective.axes) + ", got ") +
                  std::to_string(root));
    return {};
  }
  Emit m(c);
  mlir::Value position = positionAlong(m, collective.axes), isRoot;
  if (devices < 0) {
    SmallVector<mlir::Value, 2> positions = {
        position, checkedPosition(c, c.e.indexOf(Size(root), c.range), {},
                                  productOf(c.e, collective.attributes(&c.e.context)), collective.axes, "reads from")};
    m.unifyVary(positions);
    return m.equal(positions[0], positions[1]);
  }
  for (int64_t at : roots) {
    mlir::Value here = m.equal(position, m.likeInt(position, at, DType::I32));
    isRoot = isRoot ? m.logicalOr(isRoot, here) : here;
  }
  return isRoot;
}

/// The same where `root:` is a number that the program computes, as in a loop over the devices that send in turn.
mlir::Value isComputedRoot(CallContext &c, const Collective &collective) {
  Operand root = Arguments(c).array("root", DType::I32);
  if (!root)
    return {};
  if (root.rank() != 0 || !isInteger(root.dtype)) {
    c.e.error(Code::E0520, c.rangeOf("root"), spelt(c) + ": `root:` must be an integer, got " + shown(c, root));
    return {};
  }
  for (mlir::StringAttr axis : c.e.varyOf(root.ssa))
    if (contains(collective.set, axis.getValue())) {
      Report report = c.e.error(Code::E0520, c.rangeOf("root"),
                                spelt(c) + ": `root:` must be the same everywhere along \"" + axis.str() +
                                    "\", but this one differs");
      c.e.noteVariance(report, root.ssa, axis.getValue());
      return {};
    }
  Emit m(c);
  mlir::Value index = ToIndexOp::create(m.builder, m.loc, m.builder.getIndexType(), root.ssa, isUnsigned(root.dtype));
  mlir::Value at = checkedPosition(c, index, c.e.varyOf(root.ssa), productOf(c.e, collective.attributes(&c.e.context)),
                                   collective.axes, "reads from");
  SmallVector<mlir::Value, 2> positions = {positionAlong(m, collective.axes), at};
  m.unifyVary(positions);
  return m.equal(positions[0], positions[1]);
}

/// pbroadcast(x, a, root:): the root's value, as the sum of it and of zeros from the others. The zero of floats is -0,
/// which leaves every value as it is.
Value broadcastFrom(CallContext &c) {
  auto collective = readCollective(c, c["x"]);
  if (!collective)
    return Value::error();
  const Value &given = c["root"];
  // Groups name their members by literals, and so does their root.
  const auto *size = given ? given.as<SizeValue>() : nullptr;
  bool isComputed =
      !collective->groups && ((given && given.is(ValueKind::Array)) || (size && !size->polynomial.constant()));
  mlir::Value isRoot;
  if (isComputed)
    isRoot = isComputedRoot(c, *collective);
  else if (auto root = given ? Arguments(c).integer(given, "`root:`") : std::optional<int64_t>(0))
    isRoot = isLiteralRoot(c, *collective, *root);
  if (!isRoot)
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 4> values;
  SmallVector<VarySet, 4> axesOf;
  for (const Operand &operand : collective->leaves) {
    VarySet present = differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(operand.ssa)));
    mlir::Value ssa = isBool(operand.dtype) ? m.convert(operand.ssa, DType::Bool, DType::I32) : operand.ssa;
    axesOf.push_back(present.empty() ? present : collective->set);
    if (!present.empty()) {
      SmallVector<mlir::Value, 2> parts = {ssa, c.e.broadcastTo(isRoot, c.e.sizesOf(ssa), c.range)};
      m.unifyVary(parts);
      ssa = m.select(parts[1], parts[0], m.like(parts[0], -0.0, isBool(operand.dtype) ? DType::I32 : operand.dtype));
    }
    values.push_back(ssa);
  }
  allReduce(c, ReductionKind::Sum, values, axesOf, collective->groups);
  for (auto [value, operand] : llvm::zip(values, collective->leaves))
    if (isBool(operand.dtype))
      value = m.notEqual(value, m.likeInt(value, 0, DType::I32));
  return finishCollective(c, c["x"], values, *collective);
}

/// assert_same(x, a): checked at run time, then invariant: the largest and the least value over the devices are equal,
/// and where one device has a NaN all have.
Value assertSame(CallContext &c) {
  auto collective = readCollective(c, c["x"], Members::AnyNumber);
  if (!collective)
    return Value::error();
  Emit m(c);
  SmallVector<mlir::Value, 4> results;
  auto reduceOver = [&](ReductionKind kind, mlir::Value value, const VarySet &axes) -> mlir::Value {
    SmallVector<mlir::Value, 4> values = {value};
    allReduce(c, kind, values, axes);
    return values[0];
  };
  for (const Operand &operand : collective->leaves) {
    VarySet present = differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(operand.ssa)));
    if (present.empty()) {
      results.push_back(operand.ssa);
      continue;
    }
    DType dtype = isBool(operand.dtype) ? DType::U8 : operand.dtype;
    mlir::Value value = m.convert(operand.ssa, operand.dtype, dtype);
    mlir::Value most = reduceOver(maxKind(dtype), value, present), least = reduceOver(minKind(dtype), value, present);
    mlir::Value same = m.equal(most, least);
    if (isFloat(dtype)) {
      mlir::Value isNan = m.convert(m.notEqual(value, value), DType::Bool, DType::U8);
      mlir::Value any = reduceOver(ReductionKind::MaxU, isNan, present);
      mlir::Value all = reduceOver(ReductionKind::MinU, isNan, present);
      mlir::Value both = m.logicalAnd(m.equal(any, all), m.equal(any, m.likeInt(any, 1, DType::U8)));
      same = m.logicalOr(same, both);
    }
    SmallVector<int64_t, 4> dims;
    for (int64_t i = 0; i < operand.rank(); ++i)
      dims.push_back(i);
    mlir::Value condition = m.reduce(ReductionKind::And, same, dims);
    std::string message = "'" + c.e.sourceText(operand.range) + "' differs between the " +
                          membersOf(c, collective->axes) + " of " + quotedAxes(collective->axes);
    AssertOp::create(m.builder, m.loc, condition, m.builder.getStringAttr(message));
    results.push_back(m.convert(most, dtype, operand.dtype));
  }
  return finishCollective(c, c["x"], results, *collective);
}

Value axisSize(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`axis_size`");
  if (!axes || !expectOneNumber(c, *axes))
    return Value::error();
  return Value::size(productOf(c.e, axisAttributes(&c.e.context, *axes)), c.range);
}

Value pvary(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`pvary`");
  if (!axes || !c["x"] || c["x"].isError())
    return Value::error();
  VarySet set = unionOf(sorted(axisAttributes(&c.e.context, *axes)), unevenOver(c.e, *axes));
  SmallVector<Value, 4> leaves, results;
  c.e.flatten(c["x"], leaves);
  for (const Value &leaf : leaves) {
    Operand operand = Arguments(c).asArray(leaf);
    if (!operand)
      return Value::error();
    results.push_back(Value::array(c.e.widen(operand.ssa, set), operand.dtype, c.range));
  }
  return c.e.rebuild(c["x"], results);
}

} // namespace

void sema::registerGatherBuiltins(BuiltinTable &table) {
  table.add("all_gather", "x, axis, dim:?, tiled:?, groups:?", allGather);
  table.add("axis_index", "axis", axisIndex);
  table.add("axis_size", "axis", axisSize);
  table.add("pvary", "x, axis", pvary);
  table.add("pbroadcast", "x, axis, root:?, groups:?", broadcastFrom);
  table.add("assert_same", "x, axis", assertSame);
}
