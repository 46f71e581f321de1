#include "compiler/Dialect/Transforms/MapResiduals.h"
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/Residuals.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pmap;

namespace {

bool isWorthKeeping(Operation *op) { return isDear(op) || isa<AllGatherOp>(op); }

//===- Sizes ----------------------------------------------------------------------------------------------------===//

// A size of the body and what it is outside.
struct LocalSize {
  Size outside;
  ArrayRef<StringAttr> axes;
  bool ragged = false;
};
using LocalSizes = llvm::StringMap<LocalSize>;

LocalSizes localSizesOf(MapOp map) {
  LocalSizes sizes;
  for (auto [operand, argument] : llvm::zip_equal(map.getSizes(), map.getSizeArguments()))
    if (std::optional<Size> outside = polynomialOf(operand))
      sizes[argument.getSymbol().getValue()] = {*outside, argument.getAxes(),
                                                argument.getRagged() && !argument.getAxes().empty()};
  return sizes;
}

// The number of devices along an axis as the outside of the map writes it: there, only `@devices` has a name.
Size axisSizeOutside(MeshAttr mesh, StringRef axis) {
  if (int64_t literal = mesh.getSize(axis); literal > 0)
    return Size(literal);
  Size others(1);
  for (int64_t size : mesh.getSizes())
    if (size > 0)
      others *= Size(size);
  return Size::exactQuotient(Size::axis("devices"), others);
}

Size devicesOutside(MeshAttr mesh, ArrayRef<StringAttr> axes) {
  Size product(1);
  for (StringAttr axis : axes)
    product *= axisSizeOutside(mesh, axis.getValue());
  return product;
}

// A size that is the same on every device, written with the symbols of the outside.
std::optional<Size> sizeOutside(MeshAttr mesh, const LocalSizes &locals, const Size &size) {
  bool known = true;
  Size outside = size.substitute([&](StringRef symbol) -> std::optional<Size> {
    if (symbol.starts_with("@"))
      return mesh.hasAxis(symbol.drop_front()) ? std::optional(axisSizeOutside(mesh, symbol.drop_front()))
                                               : std::nullopt;
    auto local = locals.find(symbol);
    if (local == locals.end() || local->second.ragged) {
      known = false;
      return std::nullopt;
    }
    return Size::exactQuotient(local->second.outside, devicesOutside(mesh, local->second.axes));
  });
  return known ? std::optional(outside) : std::nullopt;
}

//===- How a block leaves ---------------------------------------------------------------------------------------===//

// The distributed type of what the devices' blocks of a type make up, split such that cutting it gives these blocks
// again; nothing where there is none. Its rank is one more than the block's where no dimension can be split.
std::optional<DistType> wholeOf(MapOp map, const LocalSizes &locals, RankedTensorType block) {
  MeshAttr mesh = map.getMesh();
  Axes rest, rows;
  for (StringAttr axis : varyOf(block))
    (mesh.hasAxis(axis.getValue()) ? rest : rows).push_back(axis);
  SmallVector<Size> sizes;
  SmallVector<SmallVector<StringAttr>> axes(block.getRank());
  for (auto [dim, size] : llvm::enumerate(sizesOf(block))) {
    // A size that varies is cut anew as it was only where it is the local one, and a constant: `n` cut in two and a row
    // more on each device.
    Size same = size, varying;
    for (const std::string &symbol : size.symbols()) {
      auto known = locals.find(symbol);
      if (known == locals.end() || !known->second.ragged)
        continue;
      auto linear = same.linearIn(symbol);
      Axes own = sorted(known->second.axes);
      if (!axes[dim].empty() || !linear || linear->first != Size(1) || !isSubset(own, rest))
        return std::nullopt;
      axes[dim].assign(known->second.axes.begin(), known->second.axes.end());
      rest = differenceOf(rest, own);
      same = linear->second;
      varying = known->second.outside;
    }
    std::optional<Size> outside = sizeOutside(mesh, locals, same);
    if (!outside)
      return std::nullopt;
    sizes.push_back(varying + *outside * devicesOutside(mesh, axes[dim]));
  }
  // Along the other axes all blocks have one size: they stand behind each other in a dimension, for preference in one
  // that is a part of another size, or are stacked.
  if (!rest.empty()) {
    auto isFree = [&](size_t dim) { return axes[dim].empty(); };
    auto dims = llvm::to_vector(llvm::make_filter_range(llvm::seq<size_t>(0, axes.size()), isFree));
    auto place = llvm::find_if(dims, [&](size_t dim) { return !sizes[dim].asQuotient().second.isConstant(1); });
    size_t dim = place != dims.end() ? *place : dims.empty() ? 0 : dims.front();
    if (dims.empty()) {
      axes.insert(axes.begin(), SmallVector<StringAttr>());
      sizes.insert(sizes.begin(), Size(1));
    }
    axes[dim].assign(rest.begin(), rest.end());
    sizes[dim] *= devicesOutside(mesh, rest);
  }
  MLIRContext *context = map.getContext();
  SmallVector<ArrayAttr> dims;
  for (ArrayRef<StringAttr> split : axes)
    dims.push_back(ArrayAttr::get(context, SmallVector<Attribute>(split.begin(), split.end())));
  return DistType::get(context, makeTensorType(block.getElementType(), sizes, rows), SpecAttr::get(context, dims),
                       mesh);
}

//===- Sizes that the body binds --------------------------------------------------------------------------------===//

// Computes outside of a map what its body computes of scalars that are the same on every device, such as a number of
// trips, and makes it a size argument.
class SizesOutside {
public:
  SizesOutside(MapOp map, SymbolNames &names) : map(map), names(names), builder(map) {}

  // Makes the symbols that a type mentions size arguments where they can be.
  void bind(RankedTensorType type) {
    for (const Size &size : sizesOf(type))
      bind(size);
  }

private:
  void bind(const Size &size) {
    for (const std::string &symbol : size.symbols())
      for (auto binding : llvm::make_early_inc_range(map.getBody().front().getOps<BindSizeOp>()))
        if (binding.getSymbol() == symbol)
          bind(binding);
  }

  // The value outside; null where it is not known there.
  Value bind(BindSizeOp binding) {
    Value value = compute(binding.getValue());
    if (!value)
      return Value();
    StringAttr symbol = binding.getSymbolAttr();
    Value outside = BindSizeOp::create(builder, binding.getLoc(), builder.getIndexType(), value,
                                       builder.getStringAttr(names.fresh(symbol.getValue())));
    SmallVector<Attribute> arguments(map.getSizeArgs().begin(), map.getSizeArgs().end());
    arguments.push_back(
        SizeArgAttr::get(builder.getContext(), symbol, {}, /*ragged=*/false, builder.getStringAttr("")));
    Value inside = map.getBody().insertArgument(map.getSizes().size(), builder.getIndexType(), binding.getLoc());
    map.getSizesMutable().append(outside);
    map.setSizeArgsAttr(builder.getArrayAttr(arguments));
    binding.replaceAllUsesWith(inside);
    binding.erase();
    return outside;
  }

  Value compute(Value value) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (tensor && (tensor.getRank() || !varyOf(tensor).empty()))
      return Value();
    if (auto argument = dyn_cast<BlockArgument>(value))
      return enter(argument);
    Operation *op = value.getDefiningOp();
    if (op->getParentOp() != map)
      return Value();
    if (auto binding = dyn_cast<BindSizeOp>(op))
      return bind(binding);
    if (auto size = dyn_cast<SizeOp>(op)) {
      Size polynomial = *Size::parse(size.getSize());
      bind(polynomial);
      std::optional<Size> outside = sizeOutside(map.getMesh(), localSizesOf(map), polynomial);
      return outside ? indexOf(builder, op->getLoc(), *outside) : Value();
    }
    if (op->getNumRegions() || op->getNumResults() != 1 || !isMemoryEffectFree(op) || isa<AxisSizeOp>(op))
      return Value();
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value outside = compute(operand);
      if (!outside)
        return Value();
      mapping.map(operand, outside);
    }
    return builder.clone(*op, mapping)->getResult(0);
  }

  // What an argument of the body is outside.
  Value enter(BlockArgument argument) {
    unsigned number = argument.getArgNumber(), sizes = map.getSizes().size();
    if (number < sizes)
      return map.getSizeArguments()[number].getAxes().empty() ? map.getSizes()[number] : Value();
    Value input = map.getInputs()[number - sizes];
    if (auto move = input.getDefiningOp<MoveOp>(); move && isa<RankedTensorType>(move.getInput().getType()))
      return move.getInput();
    return MoveOp::create(builder, map.getLoc(), cast<DistType>(input.getType()).getTensor(), input);
  }

  MapOp map;
  SymbolNames &names;
  OpBuilder builder;
};

} // namespace

MapOp pmap::keepInMap(MapOp map, SymbolNames &names) {
  Block &body = map.getBody().front();
  llvm::SetVector<Value> values;
  for (Operation &op : body.without_terminator())
    if (isWorthKeeping(&op))
      for (Value result : op.getResults())
        if (isa<RankedTensorType>(result.getType()))
          values.insert(result);
  for (const KeptBlock &kept : keptInMap(map))
    values.remove(kept.value);

  SizesOutside sizes(map, names);
  for (Value value : values)
    sizes.bind(cast<RankedTensorType>(value.getType()));
  LocalSizes locals = localSizesOf(map);
  Operation *yield = body.getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  SmallVector<Type> types(map.getResultTypes());
  for (Value value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<DistType> whole = wholeOf(map, locals, type);
    if (!whole)
      continue;
    types.push_back(*whole);
    if (whole->getTensor().getRank() > type.getRank()) {
      SmallVector<Size> stacked = sizesOf(type);
      stacked.insert(stacked.begin(), Size(1));
      OpBuilder builder(yield);
      value = ReshapeOp::create(builder, value.getLoc(), withSizes(type, stacked), value);
    }
    yielded.push_back(value);
  }
  if (types.size() == map.getNumResults())
    return map;

  OpBuilder builder(map);
  auto keeping =
      MapOp::create(builder, map.getLoc(), types, map.getMesh(), map.getSizes(), map.getSizeArguments(),
                    map.getInputs(), llvm::map_to_vector(map.getBlocks(), [](Value block) { return block.getType(); }));
  keeping->setDiscardableAttrs(map->getDiscardableAttrDictionary());
  yield->setOperands(yielded);
  keeping.getBody().takeBody(map.getBody());
  map->replaceAllUsesWith(keeping.getResults().take_front(map.getNumResults()));
  map.erase();
  return keeping;
}

SmallVector<KeptBlock> pmap::keptInMap(MapOp map) {
  LocalSizes locals = localSizesOf(map);
  SmallVector<KeptBlock> kept;
  llvm::DenseSet<Value> seen;
  for (auto [yielded, result] :
       llvm::zip_equal(map.getBody().front().getTerminator()->getOperands(), map.getResults())) {
    Value value = yielded;
    if (auto stacked = yielded.getDefiningOp<ReshapeOp>())
      value = stacked.getInput();
    Operation *op = value.getDefiningOp();
    if (op && isWorthKeeping(op) && wholeOf(map, locals, cast<RankedTensorType>(value.getType())) == result.getType() &&
        seen.insert(value).second)
      kept.push_back({value, yielded, result});
  }
  return kept;
}
