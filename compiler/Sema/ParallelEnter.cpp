// Entering a pmap: arguments are split into blocks, sizes get local symbols, captured values become inputs (P2, P3,
// P9).

#include "compiler/Sema/ParallelMap.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===--- Entering ---------------------------------------------------------------------------------------------===//

/// P6: blocks that are already apart say how many devices there are.
bool MapBuilder::adoptMeshOfInputs(ArrayRef<Value> arguments) {
  SmallVector<Value, 8> leaves;
  for (const Value &argument : arguments)
    if (argument)
      e.flatten(argument, leaves);
  for (const Value &leaf : leaves) {
    const auto *array = leaf.as<ArrayValue>();
    auto dist = array ? mlir::dyn_cast<DistType>(array->ssa.getType()) : DistType();
    // A value on one device says nothing of the others: it is moved to where it is wanted.
    if (!dist || isOnOneDevice(dist))
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
  auto blockType = e.tensorType(dtype, localSizes, unionOf(spec.vary(context()), varyOf(tensor)));
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
  symbol.isLocal = !axes.empty();
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

const SizeSymbol *Elaborator::symbolOf(mlir::Value index) const {
  for (const auto &[name, symbol] : symbols)
    if (symbol->ssa == index)
      return symbol.get();
  return nullptr;
}
