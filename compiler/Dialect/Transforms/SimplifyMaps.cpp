// A backward map that waits for nothing but its forward one becomes a part of it.
//
// What such a map keeps for the backward code (MapResiduals.h) then never leaves the devices' bodies, and values that
// both compute are computed once: the gradient of a map is the map of a gradient. The two stay apart where the program
// does something with the forward results before there is a cotangent.
#include "compiler/Dialect/IR/Facts.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pmap;

namespace {

// The map whose kept blocks a backward map reads; null where it reads none, or the forward map is in another block.
MapOp forwardOf(MapOp backward) {
  for (auto [block, input] : llvm::zip_equal(backward.getBlocks(), backward.getInputs()))
    if (anyPartNamed(block.getLoc(), kStoredForDerivative))
      if (auto forward = input.getDefiningOp<MapOp>(); forward && forward->getBlock() == backward->getBlock())
        return forward;
  return MapOp();
}

// The ops between the two that must come before the forward map if the backward one is to be a part of it; nothing
// where they cannot: they read its results, or something is printed or checked in between.
std::optional<SmallVector<Operation *>> opsToMove(MapOp forward, MapOp backward) {
  for (Operation *op = forward->getNextNode(); op != backward; op = op->getNextNode())
    if (op->walk([](Operation *nested) {
            return isa<PrintOp, AssertOp>(nested) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      return std::nullopt;
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> worklist(backward.getSizes());
  for (auto [block, input] : llvm::zip_equal(backward.getBlocks(), backward.getInputs())) {
    if (input.getDefiningOp() != forward)
      worklist.push_back(input);
    else if (!anyPartNamed(block.getLoc(), kStoredForDerivative))
      return std::nullopt;
  }
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != forward->getBlock() || op->isBeforeInBlock(forward))
      continue;
    if (op == forward || op->getNumRegions() || !isMemoryEffectFree(op))
      return std::nullopt;
    if (ops.insert(op))
      llvm::append_range(worklist, op->getOperands());
  }
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

struct JoinBackwardMap : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp backward, PatternRewriter &rewriter) const override {
    MapOp forward = forwardOf(backward);
    std::optional<SmallVector<Operation *>> before = forward ? opsToMove(forward, backward) : std::nullopt;
    if (!before)
      return failure();

    // The sizes of both: one that enters the two alike has one name.
    SmallVector<Value> sizes(forward.getSizes()), inputs(forward.getInputs());
    SmallVector<SizeArgAttr> arguments = forward.getSizeArguments();
    SmallVector<size_t> sizeOf;
    Renaming renaming;
    for (auto [operand, argument] : llvm::zip_equal(backward.getSizes(), backward.getSizeArguments())) {
      size_t place = 0;
      while (place < sizes.size() && !entersAlike(sizes[place], arguments[place], operand, argument))
        ++place;
      if (place == sizes.size()) {
        sizes.push_back(operand);
        arguments.push_back(argument);
      }
      sizeOf.push_back(place);
      renaming[argument.getSymbol().getValue()] = arguments[place].getSymbol().str();
    }
    for (auto [block, input] : llvm::zip_equal(backward.getBlocks(), backward.getInputs()))
      if (input.getDefiningOp() == forward && !isSame(yieldedAs(forward, input), block, renaming))
        return failure();
    for (Operation *op : *before)
      rewriter.moveOpBefore(op, forward);
    renameSymbols(backward, renaming);

    // The inputs of both, and the results of both.
    SmallVector<Type> blocks(ValueRange(forward.getBlocks()).getTypes());
    SmallVector<Location> locations =
        llvm::map_to_vector(forward.getBlocks(), [](Value block) { return block.getLoc(); });
    SmallVector<std::optional<size_t>> inputOf; // nothing for what the forward map kept
    for (auto [block, input] : llvm::zip_equal(backward.getBlocks(), backward.getInputs())) {
      inputOf.emplace_back();
      if (input.getDefiningOp() == forward)
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
    SmallVector<Type> types(forward.getResultTypes());
    llvm::append_range(types, backward.getResultTypes());

    rewriter.setInsertionPoint(forward);
    auto joined = MapOp::create(rewriter, forward.getLoc(), types, forward.getMesh(), sizes, arguments, inputs, blocks);
    for (auto [block, location] : llvm::zip_equal(joined.getBlocks(), locations))
      block.setLoc(location);
    Block *body = &joined.getBody().front();
    SmallVector<Value> entering(joined.getLocalSizes().take_front(forward.getSizes().size()));
    llvm::append_range(entering, joined.getBlocks().take_front(forward.getInputs().size()));
    rewriter.mergeBlocks(&forward.getBody().front(), body, entering);
    Operation *yield = body->getTerminator();
    SmallVector<Value> yielded(yield->getOperands());
    entering.clear();
    for (size_t place : sizeOf)
      entering.push_back(joined.getLocalSizes()[place]);
    for (auto [place, input] : llvm::zip_equal(inputOf, backward.getInputs()))
      entering.push_back(place ? Value(joined.getBlocks()[*place]) : yielded[cast<OpResult>(input).getResultNumber()]);
    rewriter.eraseOp(yield);
    rewriter.mergeBlocks(&backward.getBody().front(), body, entering);
    yield = body->getTerminator();
    yielded.append(yield->operand_begin(), yield->operand_end());
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
    rewriter.replaceOp(backward, joined.getResults().drop_front(forward.getNumResults()));
    rewriter.replaceOp(forward, joined.getResults().take_front(forward.getNumResults()));
    return success();
  }

private:
  // What the body yields for a result.
  static Value yieldedAs(MapOp map, Value result) {
    return map.getBody().front().getTerminator()->getOperand(cast<OpResult>(result).getResultNumber());
  }

  // Whether a block has the type of a value, once its symbols have their new names.
  static bool isSame(Value value, Value block, const Renaming &renaming) {
    auto type = cast<RankedTensorType>(block.getType());
    SmallVector<Size> sizes = sizesOf(type);
    for (Size &size : sizes)
      size = size.substitute([&](StringRef symbol) -> std::optional<Size> {
        auto name = renaming.find(symbol);
        return name == renaming.end() ? std::nullopt : std::optional(Size::symbol(name->second));
      });
    return value.getType() == withSizes(type, sizes);
  }

  static bool entersAlike(Value a, SizeArgAttr in, Value b, SizeArgAttr as) {
    std::optional<Size> size = polynomialOf(a);
    return (a == b || (size && size == polynomialOf(b))) && in.getAxes() == as.getAxes() &&
           in.getRagged() == as.getRagged();
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
  patterns.add<JoinBackwardMap, ConstantInput>(patterns.getContext());
}
