// The collectives in reach of this version: psum and its kin, all_gather, axis_index, axis_size, pvary (V1 to V8, V10).

#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/Parallel.h"
#include <set>

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What a reduction over devices is given: the leaves of its argument as arrays, and the axes.
struct Collective {
  SmallVector<Operand, 4> leaves;
  AxisNames axes;
  VarySet set;            // the axes, sorted
  mlir::ArrayAttr groups; // null: all devices along the axes together
};

std::string spelt(CallContext &c) { return "`" + c.builtin.name + "`"; }

Size productOf(ArrayRef<mlir::StringAttr> axes) {
  Size product(1);
  for (mlir::StringAttr axis : axes)
    product *= Size::axis(axis.getValue());
  return product;
}

/// `groups: [[0, 2], [1, 3]]`: the positions along one axis, each in one group (C3).
bool readGroups(CallContext &c, Collective &collective) {
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
    if (width && positions.size() != width) {
      notBuiltYet(c.e, list.range(), "`groups:` of different sizes");
      return false;
    }
    width = positions.size();
    attributes.push_back(c.e.builder.getDenseI64ArrayAttr(positions));
  }
  // The positions from 0 to the largest, each once, and all devices where their number is literal.
  int64_t devices = -1;
  for (const MeshContext &mesh : c.e.meshes)
    for (auto [axis, size] : llvm::zip(mesh.axes, mesh.sizes))
      if (axis == collective.axes[0])
        devices = size;
  int64_t expected = devices > 0 ? devices : *seen.rbegin() + 1;
  if (int64_t(seen.size()) != expected || *seen.rbegin() != expected - 1)
    return fail(groups.range(), "must cover each of " + std::to_string(expected) + " devices once, got " +
                                    std::to_string(seen.size()) + " positions");
  collective.groups = c.e.builder.getArrayAttr(attributes);
  return true;
}

std::optional<Collective> read(CallContext &c, const Value &value) {
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
  }
  if (!readGroups(c, result))
    return std::nullopt;
  // Each group has a value of its own (V3), and every device takes part in one.
  if (result.groups)
    for (Operand &operand : result.leaves)
      operand.ssa = c.e.widen(operand.ssa, result.set);
  return result;
}

/// One fused collective over those operands that vary (C4); `axesOf` gives the axes of each, none to leave it alone.
void allReduce(CallContext &c, ReductionKind kind, llvm::SmallVectorImpl<mlir::Value> &values, ArrayRef<VarySet> axesOf,
               mlir::ArrayAttr groups = {}) {
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

/// A count of devices or of the elements of all blocks, as in psum(1, "a") or psum(f32(n), "a") for a block of size n:
/// the idiom, and no reason to warn.
bool isCount(Elaborator &e, const Operand &operand) {
  mlir::Operation *op = operand.rank() == 0 ? operand.ssa.getDefiningOp() : nullptr;
  if (mlir::isa_and_nonnull<mlir::arith::ConstantOp>(op))
    return true;
  auto from = mlir::dyn_cast_or_null<FromIndexOp>(op);
  if (!from)
    return false;
  auto isLocal = [&](const SizeSymbol *symbol) { return symbol && symbol->isLocal; };
  if (auto size = from.getIndex().getDefiningOp<SizeOp>()) {
    auto polynomial = Size::parse(size.getSize());
    return polynomial &&
           llvm::any_of(polynomial->symbols(), [&](const std::string &name) { return isLocal(e.findSymbol(name)); });
  }
  return isLocal(e.symbolOf(from.getIndex()));
}

void warnInvariant(CallContext &c, const Operand &operand, ArrayRef<mlir::StringAttr> missing) {
  if (isCount(c.e, operand))
    return;
  bool power = c.builtin.name == "pprod";
  std::string axis = missing.front().str();
  c.e.warning(Code::E0710, c.range,
              spelt(c) + " over \"" + axis + "\" of a value that is the same on all its devices " +
                  (power ? "raises it to the power of" : "multiplies it by") + " their number")
      .note(operand.range, "'" + c.e.sourceText(operand.range) + "' does not vary over \"" + axis + "\"");
}

Value finish(CallContext &c, const Value &like, ArrayRef<mlir::Value> values, const Collective &collective) {
  SmallVector<Value, 4> leaves;
  for (auto [ssa, operand] : llvm::zip(values, collective.leaves))
    leaves.push_back(Value::array(ssa, operand.dtype, c.range));
  return c.e.rebuild(like, leaves);
}

/// psum and pprod: over an axis that a value does not vary over they multiply it, or raise it to a power (V8).
Value sumOver(CallContext &c, const Value &value) {
  auto collective = read(c, value);
  if (!collective)
    return Value::error();
  Emit m(c);
  bool product = c.builtin.name == "pprod";
  SmallVector<mlir::Value, 4> values;
  SmallVector<VarySet, 4> axesOf;
  for (Operand &operand : collective->leaves) {
    VarySet missing = differenceOf(collective->set, c.e.varyOf(operand.ssa));
    if (!missing.empty())
      warnInvariant(c, operand, missing);
    if (isBool(operand.dtype)) { // C2: counts
      operand.ssa = m.convert(operand.ssa, operand.dtype, DType::I32);
      operand.dtype = DType::I32;
    }
    mlir::Value ssa = operand.ssa;
    VarySet over = collective->set;
    if (!missing.empty() && product) {
      ssa = c.e.widen(ssa, missing);
    } else if (!missing.empty()) {
      ssa = m.mul(ssa, m.sizeLike(ssa, productOf(missing), operand.dtype));
      over = differenceOf(collective->set, missing);
    }
    values.push_back(ssa);
    axesOf.push_back(over);
  }
  allReduce(c, product ? ReductionKind::Prod : ReductionKind::Sum, values, axesOf, collective->groups);
  return finish(c, value, values, *collective);
}

Value psum(CallContext &c) { return sumOver(c, c["x"]); }

//===--- pmean ------------------------------------------------------------------------------------------------===//

/// Whether a value was computed by dividing by a size that varies over one of the axes (V10).
mlir::Operation *raggedDivision(mlir::Value root, ArrayRef<mlir::StringAttr> axes) {
  llvm::SmallPtrSet<mlir::Operation *, 32> seen;
  SmallVector<mlir::Operation *, 32> work;
  auto push = [&](mlir::Value value) {
    if (mlir::Operation *op = value.getDefiningOp(); op && seen.insert(op).second)
      work.push_back(op);
  };
  /// Whether a divisor comes from a size whose value varies, through conversions, splats and arithmetic of scalars.
  auto fromVaryingSize = [&](mlir::Value divisor) {
    SmallVector<mlir::Value, 8> sources = {divisor};
    for (int steps = 0; !sources.empty() && steps < 64; ++steps) {
      mlir::Value value = sources.pop_back_val();
      mlir::Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      if (auto from = mlir::dyn_cast<FromIndexOp>(op)) {
        mlir::Operation *index = from.getIndex().getDefiningOp();
        if (index && mlir::isa<ToIndexOp>(index))
          continue;
        if (llvm::any_of(axes,
                         [&](mlir::StringAttr axis) { return contains(varyOf(from.getType()), axis.getValue()); }))
          return true;
        continue;
      }
      // A sum over devices has one value again.
      if (mlir::isa<AllReduceOp>(op))
        continue;
      sources.append(op->operand_begin(), op->operand_end());
    }
    return false;
  };
  push(root);
  while (!work.empty()) {
    mlir::Operation *op = work.pop_back_val();
    if (auto division = mlir::dyn_cast<mlir::arith::DivFOp>(op))
      if (fromVaryingSize(division.getRhs()))
        return op;
    for (mlir::Value operand : op->getOperands())
      push(operand);
    op->walk([&](mlir::Operation *inner) {
      if (inner != op && seen.insert(inner).second)
        work.push_back(inner);
    });
  }
  return nullptr;
}

Value pmean(CallContext &c) {
  Emit m(c);
  if (c.has("weight")) {
    // psum(x * w) / psum(w), the sums in one collective. The weight is the same for all leaves.
    auto collective = read(c, c["x"]);
    if (!collective)
      return Value::error();
    SmallVector<mlir::Value, 4> values;
    SmallVector<VarySet, 4> axesOf;
    for (Operand &operand : collective->leaves) {
      DType dtype = dtypeOfMean(operand.dtype);
      operand.ssa = m.convert(operand.ssa, operand.dtype, dtype);
      operand.dtype = dtype;
      Value weight = c.e.convert(c["weight"], dtype, c.range);
      SmallVector<Value, 2> pair = {Value::array(operand.ssa, dtype, operand.range), weight};
      if (weight.isError() || !c.e.unifyForElementwise(pair, c.range, "`pmean`"))
        return Value::error();
      mlir::Value x = pair[0].as<ArrayValue>()->ssa, w = weight.as<ArrayValue>()->ssa;
      if (!c.e.sizesOf(w).empty())
        return c.e.error(Code::E0403, c["weight"].range(),
                         "`weight:` is a scalar per device, got " + c.e.render(weight));
      values.push_back(c.e.widen(m.mul(x, pair[1].as<ArrayValue>()->ssa), collective->set));
      values.push_back(c.e.widen(w, collective->set));
      axesOf.append(2, collective->set);
    }
    allReduce(c, ReductionKind::Sum, values, axesOf, collective->groups);
    SmallVector<mlir::Value, 4> means;
    for (size_t i = 0; i < values.size(); i += 2) {
      SmallVector<mlir::Value, 2> parts = {values[i], c.e.splat(values[i + 1], c.e.sizesOf(values[i]), c.range)};
      m.unifyVary(parts);
      means.push_back(m.div(parts[0], parts[1]));
    }
    return finish(c, c["x"], means, *collective);
  }
  auto collective = read(c, c["x"]);
  if (!collective)
    return Value::error();
  SmallVector<mlir::Value, 4> values;
  SmallVector<VarySet, 4> axesOf;
  for (Operand &operand : collective->leaves) {
    // V8: a value that does not vary is its own mean.
    VarySet present = differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(operand.ssa)));
    if (mlir::Operation *division = raggedDivision(operand.ssa, present)) {
      Report report =
          c.e.warning(Code::E0711, c.range,
                      "this `pmean` weighs blocks of different sizes alike: expected `weight: n`, or sums of both "
                      "parts divided, got an unweighted mean");
      SourceRange at = c.e.rangeOf(division->getLoc());
      if (at.isValid())
        report.note(at, "'" + c.e.sourceText(at) + "' divides by a size that varies");
    }
    DType dtype = dtypeOfMean(operand.dtype);
    operand.ssa = m.convert(operand.ssa, operand.dtype, dtype);
    operand.dtype = dtype;
    values.push_back(operand.ssa);
    axesOf.push_back(present);
  }
  allReduce(c, ReductionKind::Mean, values, axesOf, collective->groups);
  return finish(c, c["x"], values, *collective);
}

Value extremumOver(CallContext &c) {
  auto collective = read(c, c["x"]);
  if (!collective)
    return Value::error();
  Emit m(c);
  bool larger = c.builtin.name == "pmax";
  SmallVector<mlir::Value, 4> results(collective->leaves.size());
  // Leaves of one kind of comparison go together; a bool travels as an integer.
  for (ReductionKind kind :
       {larger ? ReductionKind::Max : ReductionKind::Min, larger ? ReductionKind::MaxU : ReductionKind::MinU}) {
    SmallVector<mlir::Value, 4> values;
    SmallVector<VarySet, 4> axesOf;
    SmallVector<size_t, 4> places;
    bool isUnsignedKind = kind == ReductionKind::MaxU || kind == ReductionKind::MinU;
    for (auto [i, operand] : llvm::enumerate(collective->leaves)) {
      if ((isUnsigned(operand.dtype) || isBool(operand.dtype)) != isUnsignedKind)
        continue;
      mlir::Value ssa = isBool(operand.dtype) ? m.convert(operand.ssa, DType::Bool, DType::U8) : operand.ssa;
      values.push_back(ssa);
      axesOf.push_back(differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(ssa))));
      places.push_back(i);
    }
    allReduce(c, kind, values, axesOf, collective->groups);
    for (auto [place, value] : llvm::zip(places, values))
      results[place] = isBool(collective->leaves[place].dtype) ? m.convert(value, DType::U8, DType::Bool) : value;
  }
  return finish(c, c["x"], results, *collective);
}

//===--- all_gather, axis_index, axis_size, pvary -------------------------------------------------------------===//

Value allGather(CallContext &c) {
  Arguments arguments(c);
  auto collective = read(c, c["x"]);
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
    // The last axis is the minor one: it is gathered first.
    for (size_t i = collective->axes.size(); i-- > 0;) {
      auto axis = m.builder.getStringAttr(collective->axes[i]);
      bool tiles = !stacks || i + 1 != collective->axes.size();
      auto type = inferAllGather(mlir::cast<mlir::RankedTensorType>(value.getType()), axis, dim, tiles);
      value = AllGatherOp::create(m.builder, m.loc, type, value, axis, m.builder.getI64IntegerAttr(dim),
                                  tiles ? m.builder.getUnitAttr() : mlir::UnitAttr());
    }
    results.push_back(value);
  }
  return finish(c, c["x"], results, *collective);
}

/// The position of a device among those along the axes, major first.
mlir::Value positionAlong(Emit &m, ArrayRef<std::string> axes) {
  mlir::Value position;
  for (const std::string &axis : axes) {
    mlir::Value index = AxisIndexOp::create(m.builder, m.loc, StringRef(axis));
    if (position) {
      SmallVector<mlir::Value, 2> parts = {m.mul(position, m.sizeLike(position, Size::axis(axis), DType::I32)), index};
      m.unifyVary(parts);
      index = m.add(parts[0], parts[1]);
    }
    position = index;
  }
  return position;
}

/// With several axes the position among all their devices, major first.
Value axisIndex(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`axis_index`");
  if (!axes)
    return Value::error();
  Emit m(c);
  return Value::array(positionAlong(m, *axes), DType::I32, c.range);
}

/// pbroadcast(x, a, root:): the root's value, as the sum of it and of zeros from the others. The zero of floats is -0,
/// which leaves every value as it is.
Value broadcastFrom(CallContext &c) {
  auto collective = read(c, c["x"]);
  auto root = c.has("root") ? Arguments(c).integer(c["root"], "`root:`") : std::optional<int64_t>(0);
  if (!collective || !root)
    return Value::error();
  int64_t devices = 1;
  for (const MeshContext &mesh : c.e.meshes)
    for (auto [axis, size] : llvm::zip(mesh.axes, mesh.sizes))
      if (llvm::is_contained(collective->axes, axis))
        devices = size < 0 || devices < 0 ? -1 : devices * size;
  if (*root < 0 || (devices > 0 && *root >= devices && !c.e.currentMesh()->open))
    return c.e.error(Code::E0520, c.rangeOf("root"),
                     "`root:` must be the position of a device along the axis, got " + std::to_string(*root));
  Emit m(c);
  mlir::Value position = positionAlong(m, collective->axes);
  mlir::Value isRoot = m.equal(position, m.likeInt(position, *root, DType::I32));
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
  allReduce(c, ReductionKind::Sum, values, axesOf);
  for (auto [value, operand] : llvm::zip(values, collective->leaves))
    if (isBool(operand.dtype))
      value = m.notEqual(value, m.likeInt(value, 0, DType::I32));
  return finish(c, c["x"], values, *collective);
}

/// assert_same(x, a): checked at run time, then invariant: the largest and the least value over the devices are equal,
/// and where one device has a NaN all have.
Value assertSame(CallContext &c) {
  auto collective = read(c, c["x"]);
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
    std::string message = "'" + c.e.sourceText(operand.range) + "' differs between the devices of \"" +
                          llvm::join(collective->axes, "\", \"") + "\"";
    AssertOp::create(m.builder, m.loc, condition, m.builder.getStringAttr(message));
    results.push_back(m.convert(most, dtype, operand.dtype));
  }
  return finish(c, c["x"], results, *collective);
}

Value axisSize(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`axis_size`");
  if (!axes)
    return Value::error();
  return Value::size(productOf(axisAttributes(&c.e.context, *axes)), c.range);
}

Value pvary(CallContext &c) {
  auto axes = readMeshAxes(c.e, c["axis"], c.range, "`pvary`");
  if (!axes || !c["x"] || c["x"].isError())
    return Value::error();
  VarySet set = sorted(axisAttributes(&c.e.context, *axes));
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

Value notYet(CallContext &c) { return notBuiltYet(c.e, c.range, spelt(c)); }

} // namespace

void sema::registerCollectiveBuiltins(BuiltinTable &table) {
  table.add("psum", "x, axis, groups:?", psum);
  table.add("pprod", "x, axis, groups:?", psum);
  table.add("pmean", "x, axis, weight:?, groups:?", pmean);
  table.add("pmax", "x, axis, groups:?", extremumOver);
  table.add("pmin", "x, axis, groups:?", extremumOver);
  table.add("all_gather", "x, axis, dim:?, tiled:?", allGather);
  table.add("axis_index", "axis", axisIndex);
  table.add("axis_size", "axis", axisSize);
  table.add("pvary", "x, axis", pvary);
  table.add("pbroadcast", "x, axis, root:?", broadcastFrom);
  table.add("assert_same", "x, axis", assertSame);
  table.add("psum_scatter", "x, axis, dim:?", notYet);
  table.add("all_to_all", "x, axis, split:, concat:", notYet);
  table.add("ppermute", "x, axis, permutation, fill:?", notYet);
  table.add("shift", "x, axis, by:?, wrap:?", notYet);
  table.add("halo", "x, axis, dim:?, width:?, edge:?", notYet);
  table.add("replicated", "key", notYet);
}
