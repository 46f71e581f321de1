// pmap: runs a function once per device of a mesh, each on its own blocks (P1).

#include "compiler/Sema/ParallelMap.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===--- The whole --------------------------------------------------------------------------------------------===//

Value MapBuilder::run(ArrayRef<Value> arguments) {
  for (const MeshContext &outer : e.meshes)
    if (!outer.isVmap && !outer.open) {
      e.error(Code::E0701, range,
              "a " + request.name + " within a " + outer.madeBy + ": expected a second axis of the outer mesh, or vmap")
          .note(outer.range, "the outer " + outer.madeBy + " is here");
      return Value::error();
    }
  for (const MeshContext &outer : e.meshes)
    for (const std::string &axis : outer.axes)
      if (mesh.has(axis)) {
        e.error(Code::E0732, request.range,
                "expected axes of its own for this " + request.name + ", got \"" + axis +
                    "\", which is already an axis here")
            .note(outer.range, "by the " + outer.madeBy + " around it");
        return Value::error();
      }
  if (!adoptMeshOfInputs(arguments))
    return Value::error();

  op = MapOp::create(e.builder, e.loc(range), mlir::TypeRange(), mesh.attribute(context()), mlir::ValueRange(),
                     ArrayRef<SizeArgAttr>(), mlir::ValueRange(), mlir::TypeRange());
  body = &op.getBody().front();
  MeshContext meshContext;
  meshContext.axes = mesh.axes;
  meshContext.sizes = mesh.sizes;
  meshContext.range = request.range;
  meshContext.madeBy = request.name;
  e.isolations.push_back({&op.getBody(), [this](const Value &value) { return captureArray(value); },
                          [this](const Size &size, bool fromOutside) { return captureSize(size, fromOutside); },
                          ScopeNode::count()});

  size_t factsOutside = e.facts.size();
  SmallVector<Value, 8> blocks;
  decltype(meshContext.evenSizes) evenSizes;
  bool good = enter(arguments, blocks);
  Value result = Value::error();
  if (good) {
    e.meshes.push_back(meshContext);
    e.inBlock(body, [&] {
      result = e.callBound(request.function, blocks, range);
      good = leave(result);
      if (good)
        YieldOp::create(e.builder, e.loc(range), yielded);
    });
    evenSizes = std::move(e.meshes.back().evenSizes);
    e.meshes.pop_back();
  }
  e.isolations.pop_back();
  e.facts.truncate(factsOutside);
  if (!good) {
    op.erase();
    if (indivisible)
      reportIndivisible(arguments);
    return Value::error();
  }

  // Where a collective needs blocks of one size, ragged ones are no way out.
  for (SizeArgAttr &argument : sizeArgs) {
    const LocalSize &local = locals[argument.getSymbol().str()];
    const auto *needed = llvm::find_if(
        evenSizes, [&](const auto &pair) { return isMadeOf(pair.first, argument.getSymbol().str(), local); });
    if (!local.axes.empty() && needed != evenSizes.end())
      argument = SizeArgAttr::get(context(), argument.getSymbol(), argument.getAxes(), argument.getRagged(),
                                  e.builder.getStringAttr(argument.getLabel().getValue() + " | " + needed->second +
                                                          " needs blocks of one size"));
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  SmallVector<mlir::Type, 8> blockTypes;
  for (mlir::BlockArgument argument : body->getArguments().drop_front(sizeOperands.size()))
    blockTypes.push_back(argument.getType());
  auto finished = MapOp::create(e.builder, e.loc(range), resultTypes, mesh.attribute(context()), sizeOperands, sizeArgs,
                                inputs, blockTypes);
  finished.getBody().takeBody(op.getBody());
  op.erase();
  SmallVector<Value, 4> leaves;
  for (auto [ssa, dtype] : llvm::zip(finished.getResults(), resultDTypes))
    leaves.push_back(Value::array(ssa, dtype, range));
  return e.rebuild(result, leaves);
}

/// Whether a size comes from that of a block: it names the block's symbol or, where the block is a quotient without one
/// (64 over an open axis is `64/@a`), divides by the same devices.
bool MapBuilder::isMadeOf(const Size &size, const std::string &symbol, const LocalSize &local) const {
  if (size.mentions(symbol))
    return true;
  auto block = localOf.find({local.global.str(), llvm::join(local.axes, ",")});
  if (block == localOf.end() || block->second.mentions(symbol))
    return false;
  Size divisor = size.asQuotient().second;
  return llvm::any_of(block->second.asQuotient().second.symbols(),
                      [&](const std::string &name) { return divisor.mentions(name); });
}

/// Whether ragged blocks are a way out is tried: a collective may need blocks of one size.
void MapBuilder::reportIndivisible(ArrayRef<Value> arguments) {
  MapRequest ragged = request;
  ragged.ragged = true;
  bool works = e.dryRun([&] { MapBuilder(e, ragged, range).run(arguments); });
  Report report = e.error(Code::E0712, indivisible->range, indivisible->message);
  int64_t devices = indivisible->devices, more = (indivisible->whole / devices + 1) * devices;
  if (works)
    report.note(request.range, "`ragged: true` gives the first devices one more");
  else
    report.note({}, "make it a multiple of " + std::to_string(devices) + ", as " + std::to_string(more) +
                        " is, or use a number of devices that divides it");
}

//===--- Elementwise operations on split values -----------------------------------------------------------------===//

namespace {

/// A spec as `in:` and `out:` would write it.
Value writtenSpec(SpecAttr spec, SourceRange range) {
  SmallVector<Value, 4> entries;
  for (int64_t dim = 0; dim < spec.getRank(); ++dim) {
    SmallVector<Value, 4> names;
    for (mlir::StringAttr axis : spec.getAxes(dim))
      names.push_back(Value::string(axis.str(), range));
    entries.push_back(names.empty() ? Value::hole(range) : Value::tuple(names, range));
  }
  return Value::list(entries, range);
}

} // namespace

std::optional<Value> sema::elementwiseOnBlocks(Elaborator &e, StringRef name, ArrayRef<Value> operands,
                                               SourceRange range,
                                               llvm::function_ref<Value(ArrayRef<Value>)> operation) {
  for (const MeshContext &mesh : e.meshes)
    if (!mesh.isVmap)
      return std::nullopt;
  DistType split;
  for (const Value &operand : operands) {
    const auto *array = operand ? operand.as<ArrayValue>() : nullptr;
    auto dist = array ? mlir::dyn_cast<DistType>(array->ssa.getType()) : DistType();
    if (!dist || (dist.getSpec().isReplicated() && !isOnOneDevice(dist))) {
      // A scalar goes everywhere; an array would have to be split first, which is a movement that nobody asked for.
      if (operand && (!e.isArrayLike(operand) || e.rankOf(operand) != 0))
        return std::nullopt;
      continue;
    }
    // Arrays on the same single device broadcast as everywhere; of split ones the blocks must match.
    if (split && split.getMesh() != dist.getMesh())
      return std::nullopt;
    if (split && !isOnOneDevice(dist) &&
        (split.getSpec() != dist.getSpec() || e.sizesOf(operand) != llvm::SmallVector<Size>(pmap::sizesOf(split))))
      return std::nullopt;
    split = dist;
  }
  if (!split)
    return std::nullopt;
  MapRequest request;
  request.range = range;
  request.ragged = true; // whatever the blocks are, they stay
  request.mesh.range = range;
  for (auto [axis, size] : llvm::zip(split.getMesh().getAxes(), split.getMesh().getSizes())) {
    request.mesh.axes.push_back(axis.str());
    request.mesh.sizes.push_back(size);
  }
  request.mesh.devices.append(split.getMesh().getDevices().begin(), split.getMesh().getDevices().end());
  request.out = isOnOneDevice(split) ? Value::hole(range) : writtenSpec(split.getSpec(), range);
  SmallVector<Value, 4> specs;
  SmallVector<Parameter, 4> parameters;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool isSplit = e.isDistributed(operand) && e.rankOf(operand) > 0;
    specs.push_back(isSplit ? request.out : Value::hole(range));
    Parameter parameter;
    parameter.name = "x" + std::to_string(i);
    parameter.optional = true;
    parameters.push_back(parameter);
  }
  request.in = Value::tuple(specs, range);
  request.function = makeFunction(
      name.str(), parameters, [&](Elaborator &, ArrayRef<Value> blocks, SourceRange) { return operation(blocks); },
      range);
  return MapBuilder(e, request, range).run(operands);
}

std::optional<Value> sema::elementwiseOnBlocks(CallContext &c) {
  return elementwiseOnBlocks(c.e, c.builtin.name, c.arguments, c.range, [&](ArrayRef<Value> blocks) {
    CallContext inside{c.e, c.builtin, blocks, c.range};
    return c.builtin.handler(inside);
  });
}

//===--- The builtin --------------------------------------------------------------------------------------------===//

namespace {

Value mapBuiltin(CallContext &c) {
  Arguments arguments(c);
  MapRequest request;
  request.function = c["f"];
  if (!request.function || request.function.isError())
    return Value::error();
  const auto *function = request.function.as<FunctionValue>();
  if (!function)
    return c.e.error(Code::E0520, c["f"].range(), "`pmap` needs a function, got " + describeKind(c["f"]));
  for (StringRef name : {"in", "out", "axis", "mesh", "devices"})
    if (c.has(name) && c[name].isError())
      return Value::error();
  request.name = c.builtin.name;
  request.in = c["in"];
  request.out = c["out"];
  request.range = c.range;
  auto mesh = readMesh(c.e, c["axis"], c["mesh"], c["devices"], c.range);
  auto ragged = arguments.flag("ragged", false);
  if (!mesh || !ragged)
    return Value::error();
  request.mesh = *mesh;
  request.ragged = *ragged;
  return makeFunction(
      "pmap(" + function->name + ")", function->parameters,
      [request](Elaborator &e, ArrayRef<Value> values, SourceRange range) {
        return MapBuilder(e, request, range).run(values);
      },
      c.range, function->defaultOf);
}

} // namespace

void sema::registerMapBuiltins(BuiltinTable &table) {
  table.add("pmap", "f, in:?, out:?, axis:?, mesh:?, devices:?, ragged:?", mapBuiltin);
}
