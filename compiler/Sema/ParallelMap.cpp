// pmap (P1 to P6, P9): runs a function once per device of a mesh, each on its own blocks.
//
// The body is elaborated into the region of a `pmap.map` that grows while it is: a captured array becomes an input, a
// captured size a size argument. The finished op, with its results, then takes the region over.

#include "compiler/Sema/Parallel.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// What was written in `pmap(f, ...)`.
struct MapRequest {
  Value function;
  Value in, out;
  Mesh mesh;
  bool ragged = false;
  SourceRange range; // of the `pmap(...)` itself
};

/// A size inside the map and what it is outside.
struct LocalSize {
  Size global;
  AxisNames axes; // empty: the same on every device
  bool ragged = false;
};

class MapBuilder {
public:
  MapBuilder(Elaborator &e, const MapRequest &request, SourceRange range)
      : e(e), request(request), mesh(request.mesh), range(range) {}
  Value run(ArrayRef<Value> arguments);

private:
  bool adoptMeshOfInputs(ArrayRef<Value> arguments);
  std::optional<Value> argumentSpec(const FunctionValue &function, unsigned position);
  Value enter(const Value &argument, const Value &spec, const std::string &name);
  Value enterLeaf(const Value &leaf, const Value &spec, const std::string &subject);
  Value addInput(mlir::Value array, DType dtype, const Spec &spec, ArrayRef<Size> localSizes, SourceRange at,
                 bool weak);
  Size localSize(const Size &global, const AxisNames &axes, const std::string &label, StringRef shown,
                 SourceRange birth);
  Size captureSize(const Size &global);
  Value captureArray(const Value &value);
  std::optional<Size> globalSize(const Size &local, const AxisNames &axes);
  bool leave(const Value &result);
  bool leaveLeaf(const Value &leaf, const Value &spec, const std::string &name);
  std::optional<Spec> resultSpec(const Value &spec, mlir::Value array, const std::string &subject);

  mlir::MLIRContext *context() { return &e.context; }

  Elaborator &e;
  const MapRequest &request;
  Mesh mesh;
  SourceRange range;
  MapOp op;
  mlir::Block *body = nullptr;
  SmallVector<mlir::Value, 8> sizeOperands, inputs;
  SmallVector<SizeArgAttr, 8> sizeArgs;
  SmallVector<mlir::Value, 4> yielded;
  SmallVector<mlir::Type, 4> resultTypes;
  SmallVector<DType, 4> resultDTypes;
  std::map<std::pair<std::string, std::string>, Size> localOf; // (global size, axes) to local
  std::map<std::string, LocalSize> locals;                     // by local symbol
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
};

//===--- Entering
//------------------------------------------------------------------------------------------------------===//

/// P6: blocks that are already apart say how many devices there are.
bool MapBuilder::adoptMeshOfInputs(ArrayRef<Value> arguments) {
  SmallVector<Value, 8> leaves;
  for (const Value &argument : arguments)
    if (argument)
      e.flatten(argument, leaves);
  for (const Value &leaf : leaves) {
    const auto *array = leaf.as<ArrayValue>();
    auto dist = array ? mlir::dyn_cast<DistType>(array->ssa.getType()) : DistType();
    if (!dist)
      continue;
    int64_t devices = 1;
    for (int64_t size : dist.getMesh().getSizes())
      devices = size < 0 ? -1 : devices * size;
    if (devices < 0)
      continue;
    int64_t literal = mesh.literalProduct();
    if (mesh.isOpen() && devices % literal == 0) {
      for (int64_t &size : mesh.sizes)
        if (size < 0)
          size = devices / literal;
      continue;
    }
    if (mesh.isOpen() || devices != literal) {
      e.error(Code::E0719, leaf.range(),
              "a value split over " + std::to_string(devices) + " devices meets a mesh of " +
                  (mesh.isOpen() ? "a multiple of " : "") + std::to_string(literal) + "; `gather` it first");
      return false;
    }
  }
  return true;
}

/// The spec that `in:` has for a parameter; null for the default rule.
std::optional<Value> MapBuilder::argumentSpec(const FunctionValue &function, unsigned position) {
  const Value &in = request.in;
  const auto *tuple = in ? in.as<TupleValue>() : nullptr;
  if (!tuple)
    return in;
  if (!tuple->isRecord()) {
    if (tuple->elements.size() == function.parameters.size())
      return tuple->elements[position];
    e.error(Code::E0702, in.range(),
            "`in:` has " + std::to_string(tuple->elements.size()) + " specs, and " + function.name + " has " +
                std::to_string(function.parameters.size()) + " parameters");
    return std::nullopt;
  }
  for (const std::string &name : tuple->names)
    if (llvm::none_of(function.parameters, [&](const Parameter &p) { return p.name == name; })) {
      e.error(Code::E0702, in.range(), "`in:` names '" + name + "', which is no parameter of " + function.name);
      return std::nullopt;
    }
  int place = tuple->find(function.parameters[position].name);
  return place < 0 ? Value::hole(in.range()) : tuple->elements[place];
}

Value MapBuilder::enter(const Value &argument, const Value &spec, const std::string &name) {
  if (!argument)
    return argument;
  if (argument.isError())
    return argument;
  SmallVector<Value, 8> leaves, specs, blocks;
  SmallVector<std::string, 8> names;
  e.flatten(argument, leaves);
  e.leafNames(argument, name, names);
  if (!spreadSpecs(e, argument, spec, specs, "argument '" + name + "'"))
    return Value::error();
  for (size_t i = 0; i < leaves.size(); ++i) {
    Value block = enterLeaf(leaves[i], specs[i], "argument '" + names[i] + "'");
    if (block.isError())
      return block;
    blocks.push_back(block);
  }
  return e.rebuild(argument, blocks);
}

Value MapBuilder::enterLeaf(const Value &leaf, const Value &spec, const std::string &subject) {
  if (!e.isArrayLike(leaf))
    return leaf; // functions, strings and the like exist at compile time, everywhere
  int64_t rank = e.rankOf(leaf);
  bool split = spec ? !spec.is(ValueKind::Hole) : rank > 0;
  // A literal or size is the same on every device, and stays what it is.
  if (!split && !leaf.is(ValueKind::Array) && rank == 0) {
    if (const auto *size = leaf.as<SizeValue>())
      return Value::size(captureSize(size->polynomial), leaf.range());
    return leaf;
  }
  Spec how = Spec::replicated(rank);
  if (spec) {
    auto given = readSpec(e, mesh, spec, rank, subject);
    if (!given)
      return Value::error();
    how = *given;
  } else if (rank > 0) {
    how.dims[0] = mesh.axes;
  }

  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  Value array = e.isDistributed(leaf) ? leaf : e.materialize(leaf);
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return Value::error();

  SmallVector<Size, 4> sizes;
  for (auto [dim, size] : llvm::enumerate(e.sizesOf(data->ssa))) {
    const AxisNames &axes = how.dims[dim];
    std::string label = subject + ", dimension " + std::to_string(dim);
    if (axes.empty()) {
      sizes.push_back(captureSize(size));
      continue;
    }
    bool literalMesh = llvm::all_of(axes, [&](const std::string &axis) { return mesh.sizeOf(axis) > 0; });
    auto whole = size.constant();
    if (literalMesh && whole) {
      int64_t devices = *mesh.outerProduct(axes).constant();
      if (*whole % devices == 0) {
        sizes.push_back(Size(*whole / devices));
        continue;
      }
      if (!request.ragged) {
        e.error(Code::E0712, leaf.range(),
                label + ": size " + std::to_string(*whole) + " does not divide by the " + std::to_string(devices) +
                    " devices of axis \"" + llvm::join(axes, "\", \"") + "\"")
            .note(request.range, "`ragged: true` gives the first devices one more");
        return Value::error();
      }
    }
    StringRef name = StringRef(subject).drop_until([](char c) { return c == '\''; }).trim('\'');
    auto symbol = size.asSymbol();
    const SizeSymbol *known = symbol ? e.findSymbol(*symbol) : nullptr;
    std::string shown =
        known ? known->shown : (name.take_until([](char c) { return c == '.'; }) + "_" + llvm::Twine(dim)).str();
    sizes.push_back(localSize(size, axes, label, shown, leaf.range()));
  }
  return addInput(data->ssa, data->dtype, how, sizes, leaf.range(), data->weak);
}

/// Moves an array to the mesh as an input; the insertion point is before the map.
Value MapBuilder::addInput(mlir::Value array, DType dtype, const Spec &spec, ArrayRef<Size> localSizes, SourceRange at,
                           bool weak) {
  auto dist = mlir::dyn_cast<DistType>(array.getType());
  auto tensor = dist ? dist.getTensor() : mlir::cast<mlir::RankedTensorType>(array.getType());
  auto type = DistType::get(context(), tensor, spec.attribute(context()), mesh.attribute(context()));
  if (array.getType() != type)
    array = MoveOp::create(e.builder, e.loc(at), type, array);
  inputs.push_back(array);
  auto blockType = e.tensorType(dtype, localSizes, spec.vary(context()));
  return Value::array(body->addArgument(blockType, e.loc(at)), dtype, at, weak);
}

/// The local size of a global one split over `axes` (none: the same everywhere). Equal sizes share one symbol.
Size MapBuilder::localSize(const Size &global, const AxisNames &axes, const std::string &label, StringRef shown,
                           SourceRange birth) {
  auto [place, fresh] = localOf.try_emplace({global.str(), llvm::join(axes, ",")});
  if (!fresh)
    return place->second;
  // With literal axes a quotient may be exact by itself: 4*n over 4 devices.
  if (!axes.empty()) {
    Size devices = mesh.outerProduct(axes);
    Size quotient = Size::exactQuotient(global, devices);
    bool exact = devices.isConstant() && quotient.asQuotient().second.isConstant(1);
    if (exact)
      return place->second = captureSize(quotient);
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  SizeSymbol &symbol =
      e.newSymbol(shown, birth, axes.empty() ? "the size " + e.render(global) : "the local size of " + label);
  bool ragged = request.ragged && !axes.empty();
  if (axes.empty()) {
    // Seen from inside, a captured symbol is what it is outside.
    if (auto name = global.asSymbol())
      if (const SizeSymbol *outer = e.findSymbol(*name)) {
        symbol.birth = outer->birth;
        symbol.birthText = outer->birthText;
        symbol.nonNegative = outer->nonNegative;
      }
  } else if (auto name = global.asSymbol()) {
    if (const SizeSymbol *outer = e.findSymbol(*name); outer && outer->birth.isValid())
      symbol.birth = outer->birth;
  }
  if (ragged)
    symbol.vary = sorted(axisAttributes(context(), axes));
  symbol.bound = true;
  sizeOperands.push_back(e.indexOf(global, birth));
  symbol.ssa = body->insertArgument(unsigned(sizeOperands.size() - 1), e.builder.getIndexType(), e.loc(birth));
  sizeArgs.push_back(SizeArgAttr::get(context(), e.builder.getStringAttr(symbol.name), axisAttributes(context(), axes),
                                      ragged, e.builder.getStringAttr(label)));
  locals[symbol.name] = {global, axes, ragged};
  return place->second = Size::symbol(symbol.name);
}

/// A size of the outside as the inside writes it: symbol by symbol, each a size argument.
Size MapBuilder::captureSize(const Size &global) {
  return global.substitute([&](StringRef name) -> std::optional<Size> {
    // What is of the inside already stays: local sizes, sizes bound in the body, the sizes of the mesh's own axes.
    const SizeSymbol *outer = e.findSymbol(name);
    if (locals.count(name.str()) || (outer && outer->isolation >= e.isolations.size()) ||
        (name.starts_with("@") && mesh.has(name.drop_front())))
      return std::nullopt;
    SourceRange birth = outer && outer->birth.isValid() ? outer->birth : range;
    std::string shown = outer ? outer->shown : name.ltrim('@').str();
    return localSize(Size::symbol(name), {}, "size " + shown, shown, birth);
  });
}

/// P9: a captured array is an input, replicated; a split one is gathered first.
Value MapBuilder::captureArray(const Value &value) {
  const auto *array = value.as<ArrayValue>();
  if (!array)
    return value;
  auto known = captured.find(array->ssa);
  if (known != captured.end())
    return Value::array(known->second, array->dtype, value.range(), array->weak);
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  mlir::Value whole = array->ssa;
  if (auto dist = mlir::dyn_cast<DistType>(whole.getType()); dist && !dist.getSpec().isReplicated())
    whole = MoveOp::create(e.builder, e.loc(value.range()), dist.getTensor(), whole);
  SmallVector<Size, 4> sizes;
  for (const Size &size : e.sizesOf(whole))
    sizes.push_back(captureSize(size));
  Value inside =
      addInput(whole, array->dtype, Spec::replicated(int64_t(sizes.size())), sizes, value.range(), array->weak);
  captured[array->ssa] = inside.as<ArrayValue>()->ssa;
  return inside;
}

//===--- Leaving
//-------------------------------------------------------------------------------------------------------===//

/// The size of the whole along a dimension whose blocks have size `local`, split over `axes`; nothing when it cannot be
/// told outside.
std::optional<Size> MapBuilder::globalSize(const Size &local, const AxisNames &axes) {
  std::string ragged;
  for (const std::string &name : local.symbols()) {
    auto known = locals.find(name);
    if (known == locals.end()) {
      if (!StringRef(name).starts_with("@"))
        return std::nullopt; // bound inside
      continue;
    }
    if (known->second.ragged) {
      if (!ragged.empty() && ragged != name)
        return std::nullopt;
      ragged = name;
    }
  }
  auto outside = [&](const Size &size) {
    return size.substitute([&](StringRef name) -> std::optional<Size> {
      if (name.consume_front("@"))
        return mesh.has(name) ? mesh.outerSize(name) : std::optional<Size>();
      const LocalSize &known = locals.at(name.str());
      return Size::exactQuotient(known.global, mesh.outerProduct(known.axes));
    });
  };
  Size devices = mesh.outerProduct(axes);
  if (ragged.empty())
    return outside(local) * devices;
  // Sizes that vary add up to the whole where they are linear in the one that varies.
  auto linear = local.linearIn(ragged);
  if (!linear || locals.at(ragged).axes != axes)
    return std::nullopt;
  return outside(linear->first) * locals.at(ragged).global + outside(linear->second) * devices;
}

static std::string quotedAxes(ArrayRef<mlir::StringAttr> axes) {
  std::string text;
  for (mlir::StringAttr axis : axes)
    text += (text.empty() ? "\"" : ", \"") + axis.str() + "\"";
  return text;
}

/// P4 and V7: how a result leaves, given what `out:` says for it.
std::optional<Spec> MapBuilder::resultSpec(const Value &spec, mlir::Value array, const std::string &subject) {
  SmallVector<Size, 4> sizes = e.sizesOf(array);
  VarySet vary = e.varyOf(array);
  for (const Size &size : sizes)
    vary = unionOf(vary, e.varyOf(size));
  int64_t rank = int64_t(sizes.size());
  if (!spec) {
    if (vary.empty()) {
      Report report =
          e.error(Code::E0708, request.range,
                  subject + " is the same on every device: expected `out: _` (one copy) or `out: 0` (one per "
                            "device), got no `out:`");
      if (request.range.isValid() && request.range.size() > 0)
        report.fix({request.range.file, request.range.end - 1, request.range.end - 1}, ", out: _");
      return report;
    }
    Spec how = Spec::replicated(std::max<int64_t>(rank, 1));
    how.dims[0] = mesh.axes;
    return how;
  }
  auto how = readSpec(e, mesh, spec, std::max<int64_t>(rank, spec.is(ValueKind::Hole) ? 0 : 1), subject);
  if (!how)
    return std::nullopt;
  VarySet missing = differenceOf(vary, how->vary(context()));
  if (missing.empty())
    return how;
  std::string axis = missing.front().str();
  std::string message = how->isReplicated()
                            ? "`out: _` needs a result that is the same on every device, but " + subject +
                                  " varies over " + quotedAxes(missing)
                            : subject + " varies over " + quotedAxes(missing) + ", which its `out:` does not split";
  Report report = e.error(Code::E0707, spec.range(), message);
  e.noteVariance(report, array, axis);
  report.note({}, "combine it, as in psum(…, \"" + axis + "\") or all_gather(…, \"" + axis + "\")");
  report.note({}, "or keep each device's own: `out: 0`");
  report.note({}, "or, if the values are known to be equal, have that checked: assert_same(…, \"" + axis + "\")");
  return report;
}

bool MapBuilder::leaveLeaf(const Value &leaf, const Value &spec, const std::string &name) {
  std::string subject = name.empty() ? "the result" : "the result '" + name + "'";
  if (leaf.isError())
    return false;
  if (!e.isArrayLike(leaf)) {
    e.error(Code::E0719, request.range, "the function of a pmap returns arrays, got " + describeKind(leaf));
    return false;
  }
  Value array = e.materialize(leaf);
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return false;
  mlir::Value ssa = data->ssa;
  auto how = resultSpec(spec, ssa, subject);
  if (!how)
    return false;
  SmallVector<Size, 4> sizes = e.sizesOf(ssa);
  if (sizes.empty() && !how->dims.empty()) {
    // A scalar per device: blocks of size 1 that stack up (P4).
    sizes = {Size(1)};
    ssa = Emit(e, range).reshape(ssa, sizes);
  }
  SmallVector<Size, 4> global;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    auto whole = globalSize(size, how->dims[dim]);
    if (!whole) {
      Report report = e.error(Code::E0716, spec ? spec.range() : request.range,
                              subject + ", dimension " + std::to_string(dim) +
                                  ": the size of the whole cannot be told from "
                                  "the blocks' size " +
                                  e.render(size));
      e.noteBirths(report, size);
      return false;
    }
    global.push_back(*whole);
  }
  yielded.push_back(ssa);
  resultDTypes.push_back(data->dtype);
  resultTypes.push_back(DistType::get(context(), e.tensorType(data->dtype, global, {}), how->attribute(context()),
                                      mesh.attribute(context())));
  return true;
}

bool MapBuilder::leave(const Value &result) {
  if (result.isError())
    return false;
  SmallVector<Value, 8> leaves, specs;
  SmallVector<std::string, 8> names;
  e.flatten(result, leaves);
  e.leafNames(result, "", names);
  if (!spreadSpecs(e, result, request.out, specs, "the result"))
    return false;
  bool good = true;
  for (size_t i = 0; i < leaves.size(); ++i)
    good &= leaveLeaf(leaves[i], specs[i], names[i]);
  return good;
}

//===--- The whole
//-----------------------------------------------------------------------------------------------------===//

Value MapBuilder::run(ArrayRef<Value> arguments) {
  const auto &function = *request.function.as<FunctionValue>();
  for (const MeshContext &outer : e.meshes)
    if (!outer.isVmap && !outer.open) {
      e.error(Code::E0701, range, "a pmap within a pmap: expected a second axis of the outer mesh, or vmap")
          .note(outer.range, "the outer pmap is here");
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
  e.isolations.push_back({&op.getBody(), [this](const Value &value) { return captureArray(value); },
                          [this](const Size &size) { return captureSize(size); }});

  SmallVector<Value, 8> blocks;
  bool good = true;
  for (auto [position, argument] : llvm::enumerate(arguments)) {
    auto spec = argumentSpec(function, unsigned(position));
    Value block = spec ? enter(argument, *spec, function.parameters[position].name) : Value::error();
    good &= !block || !block.isError();
    blocks.push_back(block);
    if (!spec)
      break;
  }
  Value result = Value::error();
  if (good) {
    e.meshes.push_back(meshContext);
    e.inBlock(body, [&] {
      result = e.callBound(request.function, blocks, range);
      good = leave(result);
      if (good)
        YieldOp::create(e.builder, e.loc(range), yielded);
    });
    e.meshes.pop_back();
  }
  e.isolations.pop_back();
  if (!good) {
    op.erase();
    return Value::error();
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
      c.range);
}

} // namespace

void sema::registerMapBuiltins(BuiltinTable &table) {
  table.add("pmap", "f, in:?, out:?, axis:?, mesh:?, devices:?, ragged:?", mapBuiltin);
}
