// Reading collectives, and the fused op (C3, C4, V6, V10).

#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/ParallelCollectives.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

std::string sema::spelt(CallContext &c) { return "`" + c.builtin.name + "`"; }

Size sema::productOf(Elaborator &e, ArrayRef<mlir::StringAttr> axes) {
  return devicesAlong(e.builder.getInsertionBlock(), axes);
}

int64_t sema::literalDevices(CallContext &c, ArrayRef<std::string> axes) {
  return productOf(c.e, axisAttributes(&c.e.context, axes)).constant().value_or(-1);
}

AxisNames sema::inMeshOrder(Elaborator &e, ArrayRef<std::string> axes) {
  AxisNames ordered;
  for (const MeshContext &mesh : e.meshes)
    llvm::copy_if(mesh.axes, std::back_inserter(ordered),
                  [&](const std::string &axis) { return llvm::is_contained(axes, axis); });
  return ordered.size() == axes.size() ? ordered : AxisNames(axes);
}

std::string sema::membersOf(CallContext &c, ArrayRef<std::string> axes) {
  bool rows = false, devices = false;
  for (const std::string &axis : axes) {
    bool isRows = llvm::any_of(
        c.e.meshes, [&](const MeshContext &mesh) { return mesh.isVmap && llvm::is_contained(mesh.axes, axis); });
    (isRows ? rows : devices) = true;
  }
  return rows && devices ? "devices and rows" : rows ? "rows" : "devices";
}

std::string sema::quotedAxes(ArrayRef<std::string> axes) { return "\"" + llvm::join(axes, "\", \"") + "\""; }

mlir::Value sema::checkedPosition(CallContext &c, mlir::Value position, const VarySet &vary, const Size &count,
                                  ArrayRef<std::string> axes, const std::string &what) {
  std::string text = spelt(c) + " " + what + " position {a}, which is none of the {c} " + membersOf(c, axes) + " of " +
                     quotedAxes(axes) + ": expected 0 to {c-1}";
  Emit m(c);
  mlir::Location told = toldAs(m.loc, "E1124", text);
  // It is read from the table of all, so that its check is that of any index.
  mlir::Value all = c.e.widen(m.iota(DType::I32, {count}, 0), vary);
  mlir::Value checked = CheckedIndexOp::create(m.builder, told, position, c.e.indexOf(count, c.range), /*dim=*/0);
  return ExtractOp::create(m.builder, told, all, mlir::ValueRange(checked));
}

namespace {

/// Axes in the order of the mesh, and the positions of the groups counted along them so, whatever order the program
/// named the axes in: devices then combine in the order of their ranks (C1). `count` positions are named.
bool countAsMesh(CallContext &c, Collective &collective, llvm::MutableArrayRef<SmallVector<int64_t>> groups,
                 int64_t count) {
  AxisNames ordered = inMeshOrder(c.e, collective.axes);
  llvm::StringMap<int64_t> sizes;
  int64_t literal = 1, unknown = 0;
  for (const std::string &axis : ordered) {
    sizes[axis] = literalDevices(c, axis);
    unknown += sizes[axis] < 0;
    literal *= std::max<int64_t>(sizes[axis], 1);
  }
  auto fail = [&](const std::string &why) {
    c.e.error(Code::E0720, c["groups"].range(), "`groups:` " + why);
    return false;
  };
  if (unknown == 1 && count % literal != 0)
    return fail("must name a multiple of " + std::to_string(literal) + " " + membersOf(c, ordered) + " of " +
                quotedAxes(collective.axes) + ", got " + std::to_string(count));
  if (unknown > 1 && ordered != collective.axes)
    return fail("over axes whose sizes only the run knows count along them in the order of the mesh: expected " +
                quotedAxes(ordered) + ", got " + quotedAxes(collective.axes));
  for (auto &entry : sizes)
    if (entry.second < 0)
      entry.second = count / literal;
  SmallVector<mlir::Attribute, 4> attributes;
  for (SmallVector<int64_t> &group : groups) {
    for (int64_t &position : group) {
      if (ordered == collective.axes)
        continue;
      llvm::StringMap<int64_t> at;
      for (const std::string &axis : llvm::reverse(collective.axes)) {
        at[axis] = position % sizes[axis];
        position /= sizes[axis];
      }
      for (const std::string &axis : ordered)
        position = position * sizes[axis] + at[axis];
    }
    attributes.push_back(c.e.builder.getDenseI64ArrayAttr(group));
  }
  collective.axes = ordered;
  collective.groups = c.e.builder.getArrayAttr(attributes);
  return true;
}

bool takesGroups(CallContext &c) {
  return llvm::any_of(c.builtin.parameters, [](const Parameter &p) { return p.name == "groups"; }) && c.has("groups");
}

/// `groups: [[0, 2], [1, 3]]`: the positions along the axes, major first, each in one group (C3).
bool readGroups(CallContext &c, Collective &collective, GroupSizes sizes) {
  if (!takesGroups(c))
    return true;
  const Value &groups = c["groups"];
  auto fail = [&](SourceRange range, const std::string &why) {
    c.e.error(Code::E0720, range.isValid() ? range : c.range, "`groups:` " + why);
    return false;
  };
  if (groups.isError())
    return false;
  const std::string expected = "must be lists of positions, as in [[0, 2], [1, 3]], got ";
  const auto *lists = groups.as<ListValue>();
  if (!lists || lists->elements.empty())
    return fail(groups.range(), expected + describeKind(groups));
  SmallVector<SmallVector<int64_t>, 4> positions;
  std::set<int64_t> seen;
  size_t width = 0;
  for (const Value &list : lists->elements) {
    const auto *members = list.as<ListValue>();
    if (!members || members->elements.empty())
      return fail(list.range(), expected + describeKind(list));
    SmallVector<int64_t> &group = positions.emplace_back();
    for (const Value &member : members->elements) {
      const auto *literal = member.as<IntValue>();
      if (!literal || literal->value < 0)
        return fail(member.range(), "hold literal positions of at least 0, got " + c.e.sourceText(member.range()));
      if (!seen.insert(literal->value).second)
        return fail(member.range(), "name position " + std::to_string(literal->value) + " twice");
      group.push_back(literal->value);
    }
    if (width && group.size() != width && sizes == GroupSizes::Equal)
      return fail(list.range(), "of " + spelt(c) +
                                    " must be of one size, because its result's size depends on it: expected " +
                                    std::to_string(width) + (width == 1 ? " position" : " positions") + ", got " +
                                    std::to_string(group.size()));
    width = group.size();
  }
  // The positions from 0 to the largest, each once, and all devices where their number is literal.
  int64_t devices = literalDevices(c, collective.axes);
  int64_t count = devices > 0 ? devices : *seen.rbegin() + 1;
  if (int64_t(seen.size()) != count || *seen.rbegin() != count - 1) {
    std::string members = membersOf(c, collective.axes);
    std::string got = "position " + std::to_string(*seen.rbegin()) + ", which is none of them";
    for (int64_t position = 0; position < count && *seen.rbegin() < count; ++position)
      if (!seen.count(position)) {
        got = "no group with position " + std::to_string(position);
        break;
      }
    return fail(groups.range(), "must name each of " + std::to_string(count) + " " + members + " once, got " + got);
  }
  return countAsMesh(c, collective, positions, count);
}

} // namespace

VarySet sema::unevenOver(Elaborator &e, ArrayRef<std::string> axes) {
  VarySet uneven;
  for (const std::string &axis : axes)
    uneven = unionOf(uneven, e.varyOf(axisSizeIn(e.builder.getInsertionBlock(), axis)));
  return uneven;
}

/// The beginning of a way out where a size varies over an axis: of a mesh, blocks may be even.
static std::string evenBlocksOr(CallContext &c, StringRef axis, const std::string &otherwise) {
  bool isRows =
      llvm::any_of(c.e.meshes, [&](const MeshContext &mesh) { return mesh.isVmap && mesh.axes.front() == axis; });
  return isRows ? otherwise : "leave `ragged: true` out, and the size must divide; or " + otherwise;
}

bool sema::expectOneNumber(CallContext &c, ArrayRef<std::string> axes) {
  VarySet set = sorted(axisAttributes(&c.e.context, axes));
  for (const std::string &axis : axes) {
    Size rows = axisSizeIn(c.e.builder.getInsertionBlock(), axis);
    for (mlir::StringAttr over : c.e.varyOf(rows))
      if (contains(set, over.getValue())) {
        Report report = c.e.error(Code::E0709, c.range,
                                  spelt(c) + " over " + quotedAxes(axes) + " needs one number of rows along \"" + axis +
                                      "\" on all devices of \"" + over.str() + "\", but their number " +
                                      c.e.render(rows) + " varies");
        c.e.noteBirths(report, rows);
        report.note({}, evenBlocksOr(c, over.getValue(), "name \"" + axis + "\" alone"));
        return false;
      }
  }
  return true;
}

/// V10: the arrays that meet are of one size. Of a value that differs from row to row there is one in every row.
static bool expectOneSize(CallContext &c, const Operand &operand, const VarySet &set) {
  auto varying = [&](const Size &size) -> mlir::StringAttr {
    for (mlir::StringAttr axis : c.e.varyOf(size))
      if (contains(set, axis.getValue()))
        return axis;
    return {};
  };
  SmallVector<Size, 4> sizes = c.e.sizesOf(operand.ssa);
  for (const Size &size : sizes)
    if (mlir::StringAttr axis = varying(size)) {
      Report report =
          c.e.error(Code::E0709, operand.range,
                    spelt(c) + " over \"" + axis.str() + "\" needs an array of one size on all devices, but in " +
                        c.e.renderArray(operand.dtype, sizes) + " the size " + c.e.render(size) + " varies");
      c.e.noteBirths(report, size);
      report.note({}, evenBlocksOr(c, axis.getValue(), "first reduce that dimension, as in sum(…, axis: 0)"));
      return false;
    }
  for (const MeshContext &mesh : c.e.meshes) {
    StringRef rowAxis = mesh.isVmap ? StringRef(mesh.axes.front()) : StringRef();
    if (!mesh.isVmap || contains(set, rowAxis) || !contains(c.e.varyOf(operand.ssa), rowAxis))
      continue;
    Size rows = axisSizeIn(c.e.builder.getInsertionBlock(), rowAxis);
    if (mlir::StringAttr axis = varying(rows)) {
      Report report = c.e.error(Code::E0709, c.range,
                                spelt(c) + " over \"" + axis.str() +
                                    "\" needs as many values on all devices, but there is one for each row of a " +
                                    mesh.madeBy + ", and their number " + c.e.render(rows) + " varies");
      report.note(mesh.range, "the " + mesh.madeBy + " is here");
      c.e.noteBirths(report, rows);
      std::string name = mesh.anonymous ? "rows" : rowAxis.str();
      report.note({}, evenBlocksOr(c, axis.getValue(),
                                   "combine the rows as well, as in psum(…, (\"" + axis.str() + "\", \"" + name +
                                       "\"))" + (mesh.anonymous ? " with `axis: \"" + name + "\"` in the vmap" : "")));
      return false;
    }
  }
  return true;
}

std::optional<Collective> sema::readCollective(CallContext &c, const Value &value, Members members, GroupSizes sizes) {
  Collective result;
  auto axes = readMeshAxes(c.e, c["axis"], c.range, spelt(c));
  if (!axes || !value || value.isError())
    return std::nullopt;
  result.axes = *axes;
  result.set = sorted(axisAttributes(&c.e.context, *axes));
  if (!c.e.collectiveAllowed(*axes, c.range, c.builtin.name))
    return std::nullopt;
  if ((members == Members::OneNumber || takesGroups(c)) && !expectOneNumber(c, *axes))
    return std::nullopt;
  VarySet uneven = unevenOver(c.e, *axes);
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
    if (!expectOneSize(c, operand, result.set))
      return std::nullopt;
    // Ragged blocks are then no way out for a size that does not divide (P3).
    for (MeshContext &mesh : c.e.meshes)
      if (llvm::any_of(mesh.axes, [&](const std::string &axis) { return contains(result.set, axis); }))
        for (const Size &size : c.e.sizesOf(operand.ssa))
          if (!size.constant())
            mesh.evenSizes.push_back({size, spelt(c)});
    result.missing.push_back(differenceOf(result.set, c.e.varyOf(operand.ssa)));
    // What differs from row to row does so between devices that have more rows and others.
    if (members == Members::OneNumber || takesGroups(c) || result.missing.back().size() < result.set.size())
      operand.ssa = c.e.widen(operand.ssa, differenceOf(uneven, result.set));
    result.leaves.push_back(operand);
  }
  if (!readGroups(c, result, sizes))
    return std::nullopt;
  // Each group has a value of its own (V3), and every device takes part in one.
  if (result.groups)
    for (Operand &operand : result.leaves)
      operand.ssa = c.e.widen(operand.ssa, result.set);
  return result;
}

static AxisNames namesOf(ArrayRef<mlir::StringAttr> axes) {
  AxisNames names;
  for (mlir::StringAttr axis : axes)
    names.push_back(axis.str());
  return names;
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
    // Positions in groups count along the axes in the order of the mesh.
    SmallVector<mlir::StringAttr, 2> over(axesOf[i]);
    if (groups)
      over = axisAttributes(&c.e.context, inMeshOrder(c.e, namesOf(over)));
    auto op = AllReduceOp::create(m.builder, m.loc, kind, mlir::ValueRange(together), over, groups);
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
