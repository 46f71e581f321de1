// Reading collectives, and the fused op (C3, C4, V6, V10).

#include "compiler/Sema/ParallelCollectives.h"
#include <set>

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

std::string sema::spelt(CallContext &c) { return "`" + c.builtin.name + "`"; }

Size sema::productOf(ArrayRef<mlir::StringAttr> axes) {
  Size product(1);
  for (mlir::StringAttr axis : axes)
    product *= Size::axis(axis.getValue());
  return product;
}

int64_t sema::literalDevices(CallContext &c, ArrayRef<std::string> axes) {
  int64_t devices = 1;
  for (const std::string &axis : axes) {
    int64_t found = -1;
    for (const MeshContext &mesh : c.e.meshes)
      for (auto [name, size] : llvm::zip(mesh.axes, mesh.sizes))
        if (name == axis && !mesh.open)
          found = size;
    devices = found < 0 || devices < 0 ? -1 : devices * found;
  }
  return devices;
}

namespace {

/// `groups: [[0, 2], [1, 3]]`: the positions along one axis, each in one group (C3).
bool readGroups(CallContext &c, Collective &collective, GroupSizes sizes) {
  bool takesGroups = llvm::any_of(c.builtin.parameters, [](const Parameter &p) { return p.name == "groups"; });
  if (!takesGroups || !c.has("groups"))
    return true;
  const Value &groups = c["groups"];
  auto fail = [&](SourceRange range, const std::string &why) {
    c.e.error(Code::E0720, range.isValid() ? range : c.range, "`groups:` " + why);
    return false;
  };
  if (groups.isError())
    return false;
  if (collective.axes.size() != 1)
    return fail(groups.range(),
                "divide the devices of one axis, got " + std::to_string(collective.axes.size()) + " axes");
  const auto *lists = groups.as<ListValue>();
  if (!lists || lists->elements.empty())
    return fail(groups.range(), "must be lists of positions, as in [[0, 2], [1, 3]], got " + describeKind(groups));
  SmallVector<mlir::Attribute, 4> attributes;
  std::set<int64_t> seen;
  size_t width = 0;
  for (const Value &list : lists->elements) {
    const auto *members = list.as<ListValue>();
    if (!members || members->elements.empty())
      return fail(list.range(), "must be lists of positions, as in [[0, 2], [1, 3]], got " + describeKind(list));
    SmallVector<int64_t, 4> positions;
    for (const Value &member : members->elements) {
      const auto *literal = member.as<IntValue>();
      if (!literal || literal->value < 0)
        return fail(member.range(), "hold literal positions of at least 0");
      if (!seen.insert(literal->value).second)
        return fail(member.range(), "name position " + std::to_string(literal->value) + " twice");
      positions.push_back(literal->value);
    }
    if (width && positions.size() != width && sizes == GroupSizes::Equal)
      return fail(list.range(), "of " + spelt(c) +
                                    " must be of one size, because its result's size depends on it: expected " +
                                    std::to_string(width) + (width == 1 ? " position" : " positions") + ", got " +
                                    std::to_string(positions.size()));
    width = positions.size();
    attributes.push_back(c.e.builder.getDenseI64ArrayAttr(positions));
  }
  // The positions from 0 to the largest, each once, and all devices where their number is literal.
  int64_t devices = literalDevices(c, collective.axes);
  int64_t expected = devices > 0 ? devices : *seen.rbegin() + 1;
  if (int64_t(seen.size()) != expected || *seen.rbegin() != expected - 1)
    return fail(groups.range(), "must cover each of " + std::to_string(expected) + " devices once, got " +
                                    std::to_string(seen.size()) + " positions");
  collective.groups = c.e.builder.getArrayAttr(attributes);
  return true;
}

} // namespace

std::optional<Collective> sema::readCollective(CallContext &c, const Value &value, GroupSizes sizes) {
  Collective result;
  auto axes = readMeshAxes(c.e, c["axis"], c.range, spelt(c));
  if (!axes || !value || value.isError())
    return std::nullopt;
  result.axes = *axes;
  result.set = sorted(axisAttributes(&c.e.context, *axes));
  if (!c.e.collectiveAllowed(*axes, c.range, c.builtin.name))
    return std::nullopt;
  SmallVector<Value, 4> leaves;
  c.e.flatten(value, leaves);
  Arguments arguments(c);
  for (const Value &leaf : leaves) {
    Operand operand = arguments.asArray(leaf);
    if (!operand)
      return std::nullopt;
    if (operand.dtype == DType::Key) {
      arguments.badDType(operand, "numbers");
      return std::nullopt;
    }
    // V10: arrays of different sizes do not combine.
    for (const Size &size : c.e.sizesOf(operand.ssa))
      for (mlir::StringAttr axis : c.e.varyOf(size))
        if (contains(result.set, axis.getValue())) {
          Report report = c.e.error(Code::E0709, operand.range,
                                    spelt(c) + " over \"" + axis.str() +
                                        "\" needs an array of one size on all devices, "
                                        "but in " +
                                        c.e.renderArray(operand.dtype, c.e.sizesOf(operand.ssa)) + " the size " +
                                        c.e.render(size) + " varies");
          c.e.noteBirths(report, size);
          return std::nullopt;
        }
    result.leaves.push_back(operand);
    result.missing.push_back(differenceOf(result.set, c.e.varyOf(operand.ssa)));
  }
  if (!readGroups(c, result, sizes))
    return std::nullopt;
  // Each group has a value of its own (V3), and every device takes part in one.
  if (result.groups)
    for (Operand &operand : result.leaves)
      operand.ssa = c.e.widen(operand.ssa, result.set);
  return result;
}

void sema::allReduce(CallContext &c, ReductionKind kind, llvm::SmallVectorImpl<mlir::Value> &values,
                     ArrayRef<VarySet> axesOf, mlir::ArrayAttr groups) {
  Emit m(c);
  // Operands over the same axes travel together.
  SmallVector<bool, 4> done(values.size(), false);
  for (size_t i = 0; i < values.size(); ++i) {
    if (done[i] || axesOf[i].empty())
      continue;
    SmallVector<mlir::Value, 4> together;
    SmallVector<size_t, 4> places;
    for (size_t k = i; k < values.size(); ++k)
      if (!done[k] && axesOf[k] == axesOf[i]) {
        together.push_back(values[k]);
        places.push_back(k);
        done[k] = true;
      }
    auto op = AllReduceOp::create(m.builder, m.loc, kind, mlir::ValueRange(together), ArrayRef(axesOf[i]), groups);
    for (auto [place, result] : llvm::zip(places, op.getResults()))
      values[place] = result;
  }
}

Value sema::finishCollective(CallContext &c, const Value &like, ArrayRef<mlir::Value> values,
                             const Collective &collective) {
  SmallVector<Value, 4> leaves;
  for (auto [ssa, operand] : llvm::zip(values, collective.leaves))
    leaves.push_back(Value::array(ssa, operand.dtype, c.range));
  return c.e.rebuild(like, leaves);
}
