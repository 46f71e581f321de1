// Maps that become one.
//
// A map that reads what another one makes becomes a part of it, if nothing in between waits for the host: the value
// never leaves the devices' bodies, and collectives of both can be one. A chain of maps is then differentiated as the
// one map that it is. A backward map that waits for nothing but its forward one joins it in the same way: what the
// forward one keeps for it (MapResiduals.h) is never stored, and the gradient of a map is the map of a gradient.
#include "compiler/Dialect/Transforms/HostCode.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pmap;

namespace {

// The last map before another whose results that one reads, or what the host makes of them; null where there is none in
// its block.
MapOp sourceOf(MapOp map) {
  MapOp source;
  SmallVector<Value> worklist(map.getInputs());
  llvm::DenseSet<Operation *> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != map->getBlock() || !seen.insert(op).second)
      continue;
    if (auto made = dyn_cast<MapOp>(op)) {
      if (!source || source->isBeforeInBlock(made))
        source = made;
    } else if (runsOnDevices(op)) {
      op->walk([&](Operation *nested) { llvm::append_range(worklist, nested->getOperands()); });
    }
  }
  return source;
}

bool prints(Operation *op) {
  return op->walk([](PrintOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

// The ops between two maps that the second one waits for.
struct Between {
  llvm::SetVector<Operation *> before; // can be done before the first map
  llvm::SetVector<Operation *> after;  // compute from what the first map makes as the devices can, too
  HostInputs inputs;                   // what these read from elsewhere
};

// Nothing where the host has a say in between: it gathers what the first map makes, prints, or checks. Lines that both
// maps print would come in another order.
std::optional<Between> between(MapOp first, MapOp second, const SizesInside &inside) {
  if (prints(first) && prints(second))
    return std::nullopt;
  Block *block = first->getBlock();
  auto within = [&](Value value) -> Operation * {
    Operation *op = value.getDefiningOp() ? block->findAncestorOpInBlock(*value.getDefiningOp()) : nullptr;
    return op && (op == first || first->isBeforeInBlock(op)) ? op : nullptr;
  };
  llvm::DenseSet<Operation *> waiting = {first};
  for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
    if (op->walk([&](Operation *nested) {
            if (llvm::any_of(nested->getOperands(), [&](Value read) { return waiting.contains(within(read)); }))
              waiting.insert(op);
            return isa<PrintOp, AssertOp>(nested) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      return std::nullopt;
  for (Value size : second.getSizes())
    if (waiting.contains(within(size)))
      return std::nullopt;

  Between between;
  SmallVector<Value> worklist(second.getSizes());
  llvm::append_range(worklist, second.getInputs());
  while (!worklist.empty()) {
    Operation *op = within(worklist.pop_back_val());
    if (!op || op == first || !(waiting.contains(op) ? between.after : between.before).insert(op))
      continue;
    if (waiting.contains(op) ? !runsOnDevices(op) : op->getNumRegions() || !isMemoryEffectFree(op))
      return std::nullopt;
    op->walk([&](Operation *nested) { llvm::append_range(worklist, nested->getOperands()); });
  }
  auto inOrder = [](llvm::SetVector<Operation *> &ops) {
    SmallVector<Operation *> sorted = ops.takeVector();
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    ops.insert(sorted.begin(), sorted.end());
  };
  inOrder(between.before);
  inOrder(between.after);
  auto isFromElsewhere = [&](Value value) {
    Operation *op = within(value);
    return !op || between.before.contains(op);
  };
  for (Operation *op : between.after)
    if (!between.inputs.noteOperands(op, inside, isFromElsewhere))
      return std::nullopt;
  return between;
}

// The sizes of two maps that become one.
struct JoinedSizes {
  SmallVector<Value> operands;
  SmallVector<SizeArgAttr> arguments;
  SmallVector<size_t> places; ///< of those of the second map
  Substitution substitution;  ///< for the symbols of the second map
};

// What the body yields for a result.
Value yieldedAs(MapOp map, Value result) {
  return map.getBody().front().getTerminator()->getOperand(cast<OpResult>(result).getResultNumber());
}

RankedTensorType substituted(Type type, const Substitution &substitution) {
  SmallVector<Size> sizes = sizesOf(type);
  for (Size &size : sizes)
    size = substitute(size, substitution);
  return withSizes(cast<RankedTensorType>(type), sizes);
}

bool entersAlike(Value a, SizeArgAttr in, Value b, SizeArgAttr as) {
  std::optional<Size> size = polynomialOf(a);
  return (a == b || (size && size == polynomialOf(b))) && in.getAxes() == as.getAxes() &&
         in.getRagged() == as.getRagged();
}

// A size that enters both alike has one name, and one that is a dimension of what the first map yields is what it is
// there. Nothing where the blocks of the two are not known to be alike then.
std::optional<JoinedSizes> joinSizes(MapOp first, MapOp second) {
  if (first.getMesh() != second.getMesh())
    return std::nullopt;
  JoinedSizes joined{SmallVector<Value>(first.getSizes()), first.getSizeArguments(), {}, {}};
  llvm::StringSet<> open;
  for (auto [operand, argument] : llvm::zip_equal(second.getSizes(), second.getSizeArguments())) {
    size_t place = 0;
    while (place < first.getSizes().size() &&
           !entersAlike(joined.operands[place], joined.arguments[place], operand, argument))
      ++place;
    StringRef symbol = argument.getSymbol().getValue();
    if (place < first.getSizes().size()) {
      joined.substitution[symbol] = Size::symbol(joined.arguments[place].getSymbol().getValue());
    } else {
      place = joined.operands.size();
      joined.operands.push_back(operand);
      joined.arguments.push_back(argument);
      open.insert(symbol);
    }
    joined.places.push_back(place);
  }
  auto isOfFirst = [&](Value input) { return input.getDefiningOp() == first; };
  for (auto [block, input] : llvm::zip_equal(second.getBlocks(), second.getInputs()))
    if (isOfFirst(input))
      for (auto [read, made] : llvm::zip_equal(sizesOf(block.getType()), sizesOf(yieldedAs(first, input).getType())))
        if (std::optional<std::string> symbol = read.asSymbol(); symbol && open.erase(*symbol))
          joined.substitution[*symbol] = made;
  for (auto [block, input] : llvm::zip_equal(second.getBlocks(), second.getInputs()))
    if (isOfFirst(input)) {
      auto made = cast<RankedTensorType>(yieldedAs(first, input).getType());
      RankedTensorType read = substituted(block.getType(), joined.substitution);
      if (!isSubset(varyOf(made), varyOf(read)) || withVary(made, varyOf(read)) != read)
        return std::nullopt;
    }
  return joined;
}

// Whether what goes from one map to the other through the code of the host has the types that both have for it.
bool areAlike(MapOp first, MapOp second, const Between &waits, const JoinedSizes &sizes, const SizesInside &inside) {
  for (Operation *op : waits.after)
    if (auto move = dyn_cast<MoveOp>(op); move && move.getInput().getDefiningOp() == first)
      if (inside.typeOf(move.getType()) != yieldedAs(first, move.getInput()).getType())
        return false;
  for (auto [block, input] : llvm::zip_equal(second.getBlocks(), second.getInputs()))
    if (waits.after.contains(input.getDefiningOp()))
      if (inside.typeOf(cast<DistType>(input.getType()).getTensor()) !=
          substituted(block.getType(), sizes.substitution))
        return false;
  return true;
}

struct JoinMaps : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp second, PatternRewriter &rewriter) const override {
    MapOp first = sourceOf(second);
    std::optional<JoinedSizes> sizes = first ? joinSizes(first, second) : std::nullopt;
    if (!sizes)
      return failure();
    SizesInside inside(first.getMesh(), sizes->operands, sizes->arguments);
    std::optional<Between> waits = between(first, second, inside);
    if (!waits || !areAlike(first, second, *waits, *sizes, inside))
      return failure();
    for (Operation *op : waits->before)
      rewriter.moveOpBefore(op, first);
    rewriter.setInsertionPoint(first);
    SmallVector<Value> others = waits->inputs.enter(rewriter, first.getLoc(), first.getMesh());
    substituteSymbols(second, sizes->substitution);

    // The inputs of both, and the results of both.
    SmallVector<Value> inputs(first.getInputs());
    SmallVector<Type> blocks(ValueRange(first.getBlocks()).getTypes());
    SmallVector<Location> locations =
        llvm::map_to_vector(first.getBlocks(), [](Value block) { return block.getLoc(); });
    SmallVector<std::optional<size_t>> inputOf; // nothing for what the first map makes, and the host of it
    for (auto [block, input] : llvm::zip_equal(second.getBlocks(), second.getInputs())) {
      inputOf.emplace_back();
      if (input.getDefiningOp() == first || waits->after.contains(input.getDefiningOp()))
        continue;
      auto known = llvm::find_if(llvm::seq<size_t>(0, inputs.size()), [&](size_t place) {
        return inputs[place] == input && blocks[place] == block.getType();
      });
      inputOf.back() = *known;
      if (*known < inputs.size())
        continue;
      inputs.push_back(input);
      blocks.push_back(block.getType());
      locations.push_back(block.getLoc());
    }
    size_t firstOther = inputs.size();
    for (Value other : others) {
      inputs.push_back(other);
      blocks.push_back(inside.typeOf(cast<DistType>(other.getType()).getTensor()));
      locations.push_back(other.getLoc());
    }
    SmallVector<Type> types(first.getResultTypes());
    llvm::append_range(types, second.getResultTypes());

    auto joined = MapOp::create(rewriter, first.getLoc(), types, first.getMesh(), sizes->operands, sizes->arguments,
                                inputs, blocks);
    joined->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    for (auto [block, location] : llvm::zip_equal(joined.getBlocks(), locations))
      block.setLoc(location);
    Block *body = &joined.getBody().front();
    SmallVector<Value> entering(joined.getLocalSizes().take_front(first.getSizes().size()));
    llvm::append_range(entering, joined.getBlocks().take_front(first.getInputs().size()));
    rewriter.mergeBlocks(&first.getBody().front(), body, entering);
    Operation *yield = body->getTerminator();
    SmallVector<Value> yielded(yield->getOperands());
    entering.clear();
    for (size_t place : sizes->places)
      entering.push_back(joined.getLocalSizes()[place]);
    rewriter.setInsertionPoint(yield);
    IRMapping mapping;
    mapping.map(first.getResults(), ValueRange(yielded));
    waits->inputs.receive(rewriter, ValueRange(joined.getBlocks()).drop_front(firstOther), mapping);
    for (Operation *op : waits->after)
      copyHostCode(rewriter, op, mapping, inside);
    for (auto [place, input, block] : llvm::zip_equal(inputOf, second.getInputs(), second.getBlocks())) {
      if (place) {
        entering.push_back(joined.getBlocks()[*place]);
        continue;
      }
      Value made = mapping.lookup(input);
      Axes lacking = differenceOf(varyOf(block.getType()), varyOf(made.getType()));
      entering.push_back(lacking.empty() ? made : WidenOp::create(rewriter, made.getLoc(), made, lacking).getResult());
    }
    rewriter.eraseOp(yield);
    rewriter.mergeBlocks(&second.getBody().front(), body, entering);
    yield = body->getTerminator();
    yielded.append(yield->operand_begin(), yield->operand_end());
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    rewriter.replaceOp(second, joined.getResults().drop_front(first.getNumResults()));
    rewriter.replaceOp(first, joined.getResults().take_front(first.getNumResults()));
    return success();
  }
};

// What is the same on every device comes back as it was. What is split does not: it may have come as blocks of any size
// (P6), which the host would cut anew, and a program that splits and gathers means it; nor does what went to a device by
// its number, which is looked for when the program runs.
struct MoveBack : OpRewritePattern<MoveOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MoveOp op, PatternRewriter &rewriter) const override {
    auto there = op.getInput().getDefiningOp<MoveOp>();
    if (!there || there.getInput().getType() != op.getType())
      return failure();
    auto stays = [](Type type) {
      auto dist = dyn_cast<DistType>(type);
      return dist && (!dist.getSpec().isReplicated() || !dist.getMesh().getDevices().empty());
    };
    if (stays(op.getType()) || stays(there.getType()))
      return failure();
    rewriter.replaceOp(op, there.getInput());
    return success();
  }
};

// A number that enters a map, such as the cotangent 1 of a loss, is a constant in its body.
struct ConstantInput : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MapOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (auto [block, input] : llvm::zip_equal(op.getBlocks(), op.getInputs())) {
      auto type = cast<RankedTensorType>(block.getType());
      auto move = input.getDefiningOp<MoveOp>();
      DenseElementsAttr elements;
      if (block.use_empty() || !type.hasStaticShape() || !move ||
          !matchPattern(move.getInput(), m_Constant(&elements)) || !elements.isSplat())
        continue;
      rewriter.setInsertionPointToStart(&op.getBody().front());
      Value constant = arith::ConstantOp::create(rewriter, move.getLoc(), elements.resizeSplat(type));
      rewriter.replaceAllUsesWith(block, constant);
      changed = true;
    }
    return success(changed);
  }
};

} // namespace

void pmap::populateMapPatterns(RewritePatternSet &patterns) {
  patterns.add<JoinMaps, MoveBack, ConstantInput>(patterns.getContext());
}
