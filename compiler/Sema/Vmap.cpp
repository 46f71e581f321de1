// vmap: a function of one row, for all rows at once (P8).
//
// The body is elaborated into the region of a `pmap.vmap`, where the rows are positions along an axis like one of a
// mesh. The mapped dimensions are moved to the front outside of it, and those of the results to where `out:` wants
// them.

#include "compiler/Dialect/IR/Batch.h"
#include "compiler/Sema/Derivatives.h"
#include "compiler/Sema/Parallel.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What was written in `vmap(f, ...)`.
struct VmapRequest {
  std::string name; // what the program called: "vmap", or "cmap", which calls it
  Value function;
  Value in, out;
  std::string axis; // empty: the axis has no name
  mlir::IntegerAttr chunk;
  SourceRange range; // of the `vmap(...)` itself
};

/// Builds one `pmap.vmap`: the body is elaborated into the region of an op without results, which the finished op takes
/// over once the types are known.
class VmapBuilder {
public:
  VmapBuilder(Elaborator &e, const VmapRequest &request, SourceRange range) : e(e), request(request), range(range) {}
  Value run(ArrayRef<Value> arguments);

private:
  bool chooseAxis();
  std::optional<int64_t> readDimension(const Value &spec, int64_t rank, const std::string &subject);
  bool enter(const Value &argument, const Value &spec, const std::string &name);
  bool enterLeaf(const Value &leaf, const Value &spec, const std::string &name);
  bool agreeOnSize(const Size &size, const std::string &place, SourceRange at);
  bool leave(const Value &result);
  bool leaveLeaf(const Value &leaf, const Value &spec, const std::string &name);
  bool leaveWithSizes(mlir::Value array, const std::string &subject);
  bool hoist(mlir::Operation *op);
  bool checkChunk();
  Value results(const Value &form);

  bool varies(mlir::Value array) const { return contains(e.varyOf(array), axis); }
  /// How messages say that something varies: over a named axis, or from row to row.
  std::string overAxis() const { return request.axis.empty() ? "from row to row" : "over \"" + axis + "\""; }

  Elaborator &e;
  const VmapRequest &request;
  SourceRange range;
  std::string axis;
  VmapOp op;

  struct Leaf {
    Value value;    // as it was given
    int input = -1; // the number of the operand that it is mapped as; -1 for one that is the same for all rows
    DType dtype = DType::F32;
    bool weak = false;
  };
  SmallVector<Leaf, 8> leaves;
  SmallVector<mlir::Value, 8> inputs;
  std::optional<Size> size; // the number of rows
  std::string sizePlace;    // "dimension 0 of 'x'", of the first mapped argument
  SourceRange sizeRange;

  SmallVector<mlir::Value, 4> yielded;
  SmallVector<DType, 4> dtypes;
  SmallVector<int64_t, 4> places; // per result, the dimension of the rows; -1 for a single copy
};

//===--- Entering ---------------------------------------------------------------------------------------------===//

bool VmapBuilder::chooseAxis() {
  axis = request.axis;
  // The name of a symbol has a dot from its second use on, and no program can write one.
  while (axis.empty() || (request.axis.empty() && !StringRef(axis).contains('.')))
    axis = e.newSymbol("vmap", request.range, "the rows of a vmap").name;
  for (const MeshContext &mesh : e.meshes)
    if (llvm::is_contained(mesh.axes, axis)) {
      e.error(Code::E0732, request.range,
              "expected a name of its own for the axis of this vmap, got \"" + axis +
                  "\", which is already an axis here")
          .note(mesh.range, "by the " + mesh.madeBy + " around it");
      return false;
    }
  return true;
}

/// The dimension that a spec names; nothing (reported) where it fits no array of that rank.
std::optional<int64_t> VmapBuilder::readDimension(const Value &spec, int64_t rank, const std::string &subject) {
  const auto *literal = spec.as<IntValue>();
  if (!literal)
    return e.error(Code::E0702, spec.range(),
                   subject + ": expected the dimension of the rows, or `_`, got " + describeKind(spec));
  if (literal->value < -rank || literal->value >= rank)
    return e.error(Code::E0702, spec.range(),
                   subject + ": expected a dimension from " + std::to_string(-rank) + " to " +
                       std::to_string(rank - 1) + ", got " + std::to_string(literal->value));
  return literal->value < 0 ? literal->value + rank : literal->value;
}

/// All mapped dimensions have one size.
bool VmapBuilder::agreeOnSize(const Size &other, const std::string &place, SourceRange at) {
  if (!size) {
    size = other;
    sizePlace = place;
    sizeRange = at;
    return true;
  }
  if (e.provablyEqual(*size, other))
    return true;
  if (e.assumedEqual(*size, other))
    return false;
  Report report = e.error(Code::E0730, at,
                          "the mapped dimensions of a " + request.name + " have one size: expected " + e.render(*size) +
                              ", of " + sizePlace + ", got " + e.render(other) + ", of " + place);
  report.note(sizeRange, sizePlace + " is mapped here");
  e.noteBirths(report, *size);
  e.noteBirths(report, other);
  return false;
}

bool VmapBuilder::enterLeaf(const Value &leaf, const Value &spec, const std::string &name) {
  leaves.push_back({leaf});
  if (!e.isArrayLike(leaf))
    return true; // functions, strings and the like exist at compile time, the same for all rows
  int64_t rank = e.rankOf(leaf);
  if (spec ? spec.is(ValueKind::Hole) : rank == 0)
    return true;
  if (rank == 0) {
    e.error(Code::E0713, spec.range(),
            "argument '" + name + "' is a scalar, which has no dimension to map over: expected `_`");
    return false;
  }
  auto dim = spec ? readDimension(spec, rank, "argument '" + name + "'") : std::optional<int64_t>(0);
  Value array = dim ? e.claimable(leaf) : Value::error();
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return false;
  if (!agreeOnSize(e.sizesOf(data->ssa)[*dim], "dimension " + std::to_string(*dim) + " of '" + name + "'",
                   leaf.range()))
    return false;
  mlir::Value ssa = data->ssa;
  if (*dim != 0) {
    SmallVector<int64_t, 4> perm = {*dim};
    for (int64_t i = 0; i < rank; ++i)
      if (i != *dim)
        perm.push_back(i);
    ssa = Emit(e, range).transpose(ssa, perm);
  }
  leaves.back().input = int(inputs.size());
  leaves.back().dtype = data->dtype;
  leaves.back().weak = data->weak;
  inputs.push_back(ssa);
  return true;
}

bool VmapBuilder::enter(const Value &argument, const Value &spec, const std::string &name) {
  if (!argument)
    return true;
  if (argument.isError())
    return false;
  SmallVector<Value, 8> parts, specs;
  SmallVector<std::string, 8> names;
  e.flatten(argument, parts);
  e.leafNames(argument, name, names);
  if (!spreadSpecs(e, argument, spec, specs, "argument '" + name + "'"))
    return false;
  for (size_t i = 0; i < parts.size(); ++i)
    if (!enterLeaf(parts[i], specs[i], names[i]))
      return false;
  return true;
}

//===--- Leaving ----------------------------------------------------------------------------------------------===//

/// Moves what an index inside was computed from out of the region; false when it depends on the rows, or on effects.
bool VmapBuilder::hoist(mlir::Operation *inner) {
  mlir::Block *body = &op.getBody().front();
  if (!inner || !op->isAncestor(inner))
    return true;
  if (inner->getBlock() != body || inner->getNumRegions() || mlir::isa<CollectiveOp>(inner) ||
      (!mlir::isa<BindSizeOp>(inner) && !mlir::isMemoryEffectFree(inner)))
    return false;
  for (mlir::Value operand : inner->getOperands())
    if (varies(operand) || (mlir::isa<mlir::BlockArgument>(operand) && operand.getParentBlock() == body) ||
        !hoist(operand.getDefiningOp()))
      return false;
  inner->moveBefore(op);
  return true;
}

/// The sizes of a result are known outside, and are the same for all rows.
bool VmapBuilder::leaveWithSizes(mlir::Value array, const std::string &subject) {
  for (const Size &inner : e.sizesOf(array))
    for (const std::string &name : inner.symbols()) {
      SizeSymbol *symbol = e.findSymbol(name);
      if (!symbol || !symbol->ssa || !op.getBody().isAncestor(symbol->ssa.getParentRegion()))
        continue;
      bool differs = contains(e.varyOf(inner), axis);
      if (!differs && hoist(symbol->ssa.getDefiningOp()))
        continue;
      Report report = e.error(
          Code::E0417, request.range,
          subject + " has the shape " + e.render(e.sizesOf(array)) +
              (differs ? ", which differs from row to row: expected one shape for all"
                       : ", whose sizes are computed within the " + request.name + ": expected sizes known outside"));
      e.noteBirths(report, inner);
      return false;
    }
  return true;
}

bool VmapBuilder::leaveLeaf(const Value &leaf, const Value &spec, const std::string &name) {
  std::string subject = name.empty() ? "the result" : "the result '" + name + "'";
  if (leaf.isError())
    return false;
  if (!e.isArrayLike(leaf)) {
    e.error(Code::E0719, request.range,
            "the function of a " + request.name + " returns arrays, got " + describeKind(leaf));
    return false;
  }
  Value array = e.materialize(leaf);
  const auto *data = array.as<ArrayValue>();
  if (!data || !leaveWithSizes(data->ssa, subject))
    return false;
  mlir::Value ssa = data->ssa;
  int64_t place = 0;
  if (spec && spec.is(ValueKind::Hole)) {
    place = -1;
    if (varies(ssa)) {
      Report report =
          e.error(Code::E0707, spec.range(),
                  "`out: _` needs a result that is the same in all rows, but " + subject + " varies " + overAxis());
      e.noteVariance(report, ssa, axis);
      if (request.name == "cmap")
        report.note({}, "combine the rows of its result, as in sum(cmap(…)(…), axis: 0)");
      else if (request.axis.empty())
        report.note({}, "combine the rows, as in psum(…, \"rows\") with `axis: \"rows\"` in the vmap");
      else
        report.note({}, "combine the rows, as in psum(…, \"" + axis + "\")");
      report.note({}, "or keep each row's own: `out: 0`");
      if (!request.axis.empty())
        report.note({}, "or, if the values are known to be equal, have that checked: assert_same(…, \"" + axis + "\")");
      return false;
    }
  } else {
    auto dim = spec ? readDimension(spec, int64_t(e.sizesOf(ssa).size()) + 1, subject) : std::optional<int64_t>(0);
    if (!dim)
      return false;
    place = *dim;
    // There are as many as rows, whose number may vary.
    ssa = e.widen(ssa, unionOf(VarySet{e.builder.getStringAttr(axis)}, e.varyOf(*size)));
  }
  yielded.push_back(ssa);
  dtypes.push_back(data->dtype);
  places.push_back(place);
  return true;
}

bool VmapBuilder::leave(const Value &result) {
  if (result.isError())
    return false;
  SmallVector<Value, 8> parts, specs;
  SmallVector<std::string, 8> names;
  e.flatten(result, parts);
  e.leafNames(result, "", names);
  if (!spreadSpecs(e, result, request.out, specs, "the result"))
    return false;
  bool good = true;
  for (size_t i = 0; i < parts.size(); ++i)
    good &= leaveLeaf(parts[i], specs[i], names[i]);
  return good;
}

/// Rows that meet in a collective are all there at once, and no chunk of them.
bool VmapBuilder::checkChunk() {
  if (!request.chunk)
    return true;
  bool good = true;
  op.walk([&](CollectiveOp collective) {
    if (!good || llvm::none_of(collective.getCollectiveAxes(), [&](mlir::StringAttr a) { return a == axis; }))
      return;
    Report report =
        e.error(Code::E0731, e.rangeOf(collective->getLoc()),
                "a collective over \"" + axis + "\" needs all rows at once, and `chunk:` has some at a time");
    report.note(request.range, "leave `chunk:` out of this vmap, or the collective out of its function");
    good = false;
  });
  return good;
}

/// The results as the caller sees them, with the rows where `out:` has them.
Value VmapBuilder::results(const Value &form) {
  SmallVector<Value, 4> parts;
  for (auto [i, ssa] : llvm::enumerate(op.getResults())) {
    mlir::Value placed = ssa;
    if (places[i] > 0) {
      SmallVector<int64_t, 4> perm;
      for (int64_t dim = 0, rank = int64_t(e.sizesOf(ssa).size()); dim < rank; ++dim)
        perm.push_back(dim < places[i] ? dim + 1 : dim == places[i] ? 0 : dim);
      placed = Emit(e, range).transpose(ssa, perm);
    }
    parts.push_back(Value::array(placed, dtypes[i], range));
  }
  return e.rebuild(form, parts);
}

//===--- The whole --------------------------------------------------------------------------------------------===//

Value VmapBuilder::run(ArrayRef<Value> arguments) {
  const auto &function = *request.function.as<FunctionValue>();
  if (!chooseAxis())
    return Value::error();
  for (auto [position, argument] : llvm::enumerate(arguments)) {
    auto spec = specOfParameter(e, request.in, function, unsigned(position));
    if (!spec || !enter(argument, *spec, function.parameters[position].name))
      return Value::error();
  }
  if (!size)
    return e.error(Code::E0702, range,
                   "`" + request.name + "` needs an array with a dimension to map over, and none of the arguments of " +
                       function.name + " is mapped");

  op = VmapOp::create(e.builder, e.loc(range), mlir::TypeRange(), axis, *size, request.chunk, inputs);
  mlir::Block *body = &op.getBody().front();
  SmallVector<Value, 8> inside;
  ArrayRef<Leaf> rest(leaves);
  for (const Value &argument : arguments) {
    inside.push_back(argument);
    if (!argument)
      continue;
    SmallVector<Value, 8> parts;
    e.flatten(argument, parts);
    for (auto [part, leaf] : llvm::zip(parts, rest))
      if (leaf.input >= 0) {
        mlir::BlockArgument row = body->getArgument(unsigned(leaf.input));
        row.setLoc(e.loc(leaf.value.range()));
        part = Value::array(row, leaf.dtype, leaf.value.range(), leaf.weak);
      }
    rest = rest.drop_front(parts.size());
    inside.back() = e.rebuild(argument, parts);
  }

  MeshContext context;
  context.axes = {axis};
  context.sizes = {size->constant().value_or(-1)};
  context.isVmap = true;
  context.madeBy = request.name;
  context.anonymous = request.axis.empty();
  context.region = &op.getBody();
  context.range = request.range;
  e.meshes.push_back(context);
  Value result;
  bool good = false;
  e.inBlock(body, [&] {
    result = e.callBound(request.function, inside, range);
    good = leave(result) && checkChunk();
    if (good)
      YieldOp::create(e.builder, e.loc(range), yielded);
  });
  e.meshes.pop_back();
  if (!good) {
    op.erase();
    return Value::error();
  }

  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  Batch batch{e.builder.getStringAttr(axis), *size};
  SmallVector<mlir::Type, 4> types;
  for (mlir::Value value : yielded)
    types.push_back(batch.outerType(mlir::cast<mlir::RankedTensorType>(value.getType())));
  auto finished = VmapOp::create(e.builder, e.loc(range), types, axis, *size, request.chunk, inputs);
  finished.getBody().takeBody(op.getBody());
  op.erase();
  op = finished;
  e.builder.setInsertionPointAfter(op);
  return results(result);
}

//===--- The builtin ------------------------------------------------------------------------------------------===//

Value vmapBuiltin(CallContext &c) {
  VmapRequest request;
  request.function = c["f"];
  if (!request.function || request.function.isError())
    return Value::error();
  const auto *function = request.function.as<FunctionValue>();
  if (!function)
    return c.e.error(Code::E0520, c["f"].range(), "`vmap` needs a function, got " + describeKind(c["f"]));
  for (StringRef name : {"in", "out", "axis", "chunk"})
    if (c.has(name) && c[name].isError())
      return Value::error();
  request.name = c.builtin.name;
  request.in = c["in"];
  request.out = c["out"];
  request.range = c.range;
  if (c.has("axis")) {
    auto names = readAxisNames(c.e, c["axis"], "`axis:`");
    if (!names)
      return Value::error();
    if (names->size() != 1)
      return c.e.error(Code::E0703, c["axis"].range(), "`axis:` names one axis; several need a vmap within a vmap");
    request.axis = names->front();
  }
  if (c.has("chunk")) {
    auto rows = Arguments(c).integer(c["chunk"], "`chunk:`");
    if (!rows)
      return Value::error();
    if (*rows < 1)
      return c.e.error(Code::E0520, c["chunk"].range(), "`chunk:` must be at least 1, got " + std::to_string(*rows));
    request.chunk = c.e.builder.getI64IntegerAttr(*rows);
  }
  return makeTransformed<VmapBuilder>(request.name, *function, request, c.range);
}

} // namespace

void sema::registerVmapBuiltins(BuiltinTable &table) {
  table.add("vmap", "f, in:?, out:?, axis:?, chunk:?", vmapBuiltin);
}
