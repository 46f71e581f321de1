// Entering a pmap: arguments are split into blocks, sizes get local symbols, captured values become inputs (P2, P3,
// P9).

#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/ParallelMap.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
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

/// The arguments as the function sees them. All are read before the first enters, because what one is split into says
/// what its size is inside, for the others as well.
bool MapBuilder::enter(ArrayRef<Value> arguments, SmallVectorImpl<Value> &blocks) {
  const auto &function = *request.function.as<FunctionValue>();
  bool good = true;
  for (auto [position, argument] : llvm::enumerate(arguments)) {
    auto spec = specOfParameter(e, request.in, function, unsigned(position));
    if (!spec)
      return false;
    if (argument)
      good &= !argument.isError() && readArgument(argument, *spec, function.parameters[position].name);
  }
  if (!good)
    return false;
  cutSizes();
  ArrayRef<LeafPlan> rest(plans);
  for (const Value &argument : arguments) {
    if (!argument) {
      blocks.push_back(argument);
      continue;
    }
    SmallVector<Value, 8> leaves, parts;
    e.flatten(argument, leaves);
    for (size_t i = 0; i < leaves.size(); ++i)
      parts.push_back(enterLeaf(rest[i]));
    rest = rest.drop_front(leaves.size());
    blocks.push_back(e.rebuild(argument, parts));
  }
  return true;
}

bool MapBuilder::readArgument(const Value &argument, const Value &spec, const std::string &name) {
  SmallVector<Value, 8> leaves, specs;
  SmallVector<std::string, 8> names;
  e.flatten(argument, leaves);
  e.leafNames(argument, name, names);
  if (!spreadSpecs(e, argument, spec, specs, "argument '" + name + "'"))
    return false;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!readLeaf(leaves[i], specs[i], "argument '" + names[i] + "'"))
      return false;
  return true;
}

bool MapBuilder::readLeaf(const Value &leaf, const Value &spec, const std::string &subject) {
  // Functions, strings and the like exist at compile time, everywhere.
  bool isArray = e.isArrayLike(leaf);
  int64_t rank = isArray ? e.rankOf(leaf) : 0;
  bool split = spec ? !spec.is(ValueKind::Hole) : rank > 0;
  // A literal or size is the same on every device, and stays what it is.
  if (!isArray || (!split && !leaf.is(ValueKind::Array) && rank == 0)) {
    plans.push_back({leaf, std::nullopt, subject});
    return true;
  }
  Spec how = Spec::replicated(rank);
  if (spec) {
    auto given = readSpec(e, mesh, spec, rank, subject);
    if (!given)
      return false;
    how = *given;
  } else if (rank > 0) {
    how.dims[0] = mesh.axes;
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  Value array = e.isDistributed(leaf) ? leaf : e.claimable(leaf);
  if (!array.is(ValueKind::Array))
    return false;
  for (auto [dim, size] : llvm::enumerate(e.sizesOf(array)))
    if (!divides(size, how.dims[dim], subject + ", dimension " + std::to_string(dim), leaf.range()))
      return false;
  plans.push_back({array, how, subject});
  return true;
}

/// P3, where all is literal.
bool MapBuilder::divides(const Size &size, const AxisNames &axes, const std::string &label, SourceRange at) {
  auto whole = size.constant();
  auto devices = mesh.outerProduct(axes).constant();
  if (request.ragged || !whole || !devices || *whole % *devices == 0)
    return true;
  indivisible = {at,
                 label + ": size " + std::to_string(*whole) + " does not divide by the " + std::to_string(*devices) +
                     " devices of axis \"" + llvm::join(axes, "\", \"") + "\"",
                 *whole, *devices};
  return false;
}

/// The sizes of all blocks. Those that are a lone symbol come first: from them the others follow.
void MapBuilder::cutSizes() {
  // An open mesh has all devices of the run: an array with a row for each has blocks of one row.
  if (mesh.isOpen())
    solved["@devices"] = devicesAlong(body, axisAttributes(context(), mesh.axes));
  for (bool lone : {true, false})
    for (const LeafPlan &plan : plans) {
      if (!plan.how)
        continue;
      for (auto [dim, size] : llvm::enumerate(e.sizesOf(plan.leaf))) {
        const AxisNames &axes = plan.how->dims[dim];
        auto symbol = size.asSymbol();
        if (axes.empty() || symbol.has_value() != lone)
          continue;
        const SizeSymbol *known = symbol ? e.findSymbol(*symbol) : nullptr;
        StringRef name = StringRef(plan.subject).drop_until([](char c) { return c == '\''; }).trim('\'');
        std::string dimension = std::to_string(dim);
        std::string shown =
            known ? known->shown : (name.take_until([](char c) { return c == '.'; }) + "_" + dimension).str();
        blockSize(size, axes, plan.subject + ", dimension " + dimension, shown, plan.leaf.range());
      }
    }
}

Value MapBuilder::enterLeaf(const LeafPlan &plan) {
  if (!plan.how) {
    const auto *size = plan.leaf.as<SizeValue>();
    return size ? Value::size(captureSize(size->polynomial, /*fromOutside=*/true), plan.leaf.range()) : plan.leaf;
  }
  const auto *data = plan.leaf.as<ArrayValue>();
  SmallVector<Size, 4> sizes;
  for (auto [dim, size] : llvm::enumerate(e.sizesOf(data->ssa))) {
    const AxisNames &axes = plan.how->dims[dim];
    sizes.push_back(axes.empty() ? captureSize(size, /*fromOutside=*/true)
                                 : localOf.at({size.str(), llvm::join(axes, ",")}));
  }
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  return addInput(data->ssa, data->dtype, *plan.how, sizes, plan.leaf.range(), data->weak);
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

/// A size argument: a symbol of the inside for a size of the outside, split over axes or the same everywhere.
Size MapBuilder::addSize(const LocalSize &size, const std::string &label, StringRef shown, SourceRange birth) {
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPoint(op);
  bool split = !size.axes.empty();
  SizeSymbol &symbol =
      e.newSymbol(shown, birth, split ? "the local size of " + label : "the size " + e.render(size.global));
  auto name = size.global.asSymbol();
  if (const SizeSymbol *outer = name ? e.findSymbol(*name) : nullptr) {
    if (!split || outer->birth.isValid())
      symbol.birth = outer->birth;
    // Seen from inside, a captured symbol is what it is outside.
    if (!split) {
      symbol.birthText = outer->birthText;
      symbol.nonNegative = outer->nonNegative;
    }
  }
  symbol.splitOver = size.axes;
  if (size.ragged)
    symbol.vary = sorted(axisAttributes(context(), size.axes));
  symbol.bound = true;
  sizeOperands.push_back(e.indexOf(size.global, birth));
  symbol.ssa = body->insertArgument(unsigned(sizeOperands.size() - 1), e.builder.getIndexType(), e.loc(birth));
  sizeArgs.push_back(SizeArgAttr::get(context(), e.builder.getStringAttr(symbol.name),
                                      axisAttributes(context(), size.axes), size.ragged,
                                      e.builder.getStringAttr(label)));
  locals[symbol.name] = size;
  return Size::symbol(symbol.name);
}

/// The size of the blocks that a size is split into over `axes`. Equal sizes have equal blocks.
Size MapBuilder::blockSize(const Size &global, const AxisNames &axes, const std::string &label, StringRef shown,
                           SourceRange birth) {
  auto [place, fresh] = localOf.try_emplace({global.str(), llvm::join(axes, ",")});
  if (!fresh)
    return place->second;
  Size devices = devicesAlong(body, axisAttributes(context(), axes));
  // A quotient may be exact by itself: 4*n over 4 devices, or 2*n where n is split over the same axes.
  Size known = global.substitute([&](StringRef name) -> std::optional<Size> {
    auto inside = solved.find(name.str());
    return inside == solved.end() ? std::nullopt : std::optional(inside->second);
  });
  Size quotient = Size::exactQuotient(known, devices);
  if (quotient.asQuotient().second.isConstant(1))
    return place->second = captureSize(quotient);
  Size block = addSize({global, axes, request.ragged}, label, shown, birth);
  // Blocks of different sizes say nothing of the whole. Others make it up: every device knows it, and it knows itself
  // by one name only, `@a*n.1`.
  if (!request.ragged && !solveFor(known, devices * block))
    block = Size::exactQuotient(captureSize(known), devices);
  return place->second = block;
}

/// Finds in `global`, a size of the outside that is `inside` in here, a symbol that it determines.
bool MapBuilder::solveFor(const Size &global, const Size &inside) {
  for (const std::string &name : global.symbols()) {
    const SizeSymbol *outer = e.findSymbol(name);
    auto linear = global.linearIn(name);
    if (!outer || locals.count(name) || localOf.count({name, ""}) || !linear || !linear->first.isConstant())
      continue;
    Size value = Size::exactQuotient(inside - captureSize(linear->second), linear->first);
    solved[name] = value;
    if (outer->nonNegative && !e.provablyNonNegative(value))
      e.facts.push_back(value);
    return true;
  }
  return false;
}

/// A size of the outside as the inside writes it: symbol by symbol, each what the blocks say it is or a size argument.
/// `fromOutside` where none of it is of the inside already, though the mesh may have an axis called as all devices are.
Size MapBuilder::captureSize(const Size &global, bool fromOutside) {
  return global.substitute([&](StringRef name) -> std::optional<Size> {
    // What is of the inside already stays: local sizes, sizes bound in the body, the sizes of the mesh's own open axes.
    // (Of one of literal size nothing in there has the symbol: `@devices` then is the outside's.)
    const SizeSymbol *outer = e.findSymbol(name);
    if (locals.count(name.str()) || (outer && outer->isolation >= e.isolations.size()) ||
        (name.starts_with("@") && mesh.has(name.drop_front()) && mesh.sizeOf(name.drop_front()) < 0 &&
         !(fromOutside && name == "@devices")))
      return std::nullopt;
    if (auto inside = solved.find(name.str()); inside != solved.end())
      return inside->second;
    auto [place, fresh] = localOf.try_emplace({name.str(), ""});
    if (fresh) {
      SourceRange birth = outer && outer->birth.isValid() ? outer->birth : range;
      std::string shown = outer ? outer->shown : name.ltrim('@').str();
      place->second = addSize({Size::symbol(name), {}, false}, "size " + shown, shown, birth);
    }
    return place->second;
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
    sizes.push_back(captureSize(size, /*fromOutside=*/true));
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
