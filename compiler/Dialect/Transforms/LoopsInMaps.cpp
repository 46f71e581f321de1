// A loop around a map becomes a map around a loop.
//
// A loop that does nothing but call devices, trip after trip, is run by the devices themselves. No trip waits for the
// host, collectives leave the loop or become one, and what a gradient reads of each trip is stacked in the body
// (Residuals.h), where there are stacks of blocks. What the host computes in a trip (HostCode.h), conditions too, each
// device computes for itself.
#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Dialect/Transforms/HostCode.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pmap;

namespace {

// A `for` or a `while` alike: what it carries is in `arguments`, one list per block, and becomes `next`.
struct Loop {
  Operation *op;
  SmallVector<Block *> blocks;
  SmallVector<ValueRange> arguments;
  ValueRange inits, next;

  explicit Loop(scf::ForOp loop) : op(loop), blocks{loop.getBody()}, arguments{loop.getRegionIterArgs()} {
    inits = loop.getInitArgs();
    next = loop.getYieldedValues();
  }
  explicit Loop(scf::WhileOp loop)
      : op(loop), blocks{loop.getBeforeBody(), loop.getAfterBody()},
        arguments{loop.getBeforeArguments(), loop.getAfterArguments()} {
    inits = loop.getInits();
    next = loop.getYieldOp().getOperands();
  }

  // The place of a value among those that the loop carries.
  std::optional<size_t> carriedAt(Value value) const {
    for (ValueRange list : arguments)
      if (auto place = llvm::find(list, value); place != list.end())
        return place - list.begin();
    return std::nullopt;
  }
};

// A loop, as far as it can be run by the devices.
struct LoopOfMap {
  explicit LoopOfMap(Loop loop) : loop(std::move(loop)) {}

  // Whether it can; says what goes where.
  bool match() {
    for (Block *block : loop.blocks)
      for (Operation &op : block->without_terminator()) {
        auto other = dyn_cast<MapOp>(op);
        if (other && map)
          return false;
        if (other)
          map = other;
        else if (isInvariant(&op))
          invariant.insert(&op);
        else if (!runsOnDevices(&op))
          return false;
      }
    if (!map || prints() || !llvm::all_of(map.getSizes(), [&](Value size) { return isFromOutside(size); }))
      return false;
    inside.emplace(map.getMesh(), map.getSizes(), map.getSizeArguments());
    return llvm::all_of(map.getInputs(), [&](Value input) { return findInput(input); }) &&
           llvm::all_of(llvm::seq(loop.inits.size()), [&](size_t place) { return findCarried(place); }) && findCode();
  }

  bool isFromOutside(Value value) const {
    return !loop.op->isAncestor(value.getParentRegion()->getParentOp()) ||
           (value.getDefiningOp() && invariant.contains(value.getDefiningOp()));
  }

  Loop loop;
  MapOp map;
  llvm::SetVector<Operation *> invariant;         // what is the same in every trip, and moves before the loop
  SmallVector<RankedTensorType> carried;          // the blocks of what the loop carries
  llvm::MapVector<Value, RankedTensorType> whole; // what the map reads from outside of the loop, and its block
  HostInputs others;                              // what the host's code in the loop reads from outside
  std::optional<SizesInside> inside;

private:
  // What moves before the loop is also computed where there is no trip.
  bool isInvariant(Operation *op) const {
    bool speculatable =
        isa<MoveOp>(op) ? speculatabilityWhereSizesAreKnown(op) == Speculation::Speculatable : isSpeculatable(op);
    return !op->getNumRegions() && speculatable && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isFromOutside(operand); });
  }

  // Lines come in the order of the trips, and of the devices within each.
  bool prints() {
    return map->walk([](PrintOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  // The block of an input; null where it enters in several ways, or not at all.
  RankedTensorType blockOf(llvm::function_ref<bool(Value)> isInput) {
    RankedTensorType type;
    for (auto [block, input] : llvm::zip_equal(map.getBlocks(), map.getInputs()))
      if (isInput(input)) {
        if (type && type != block.getType())
          return RankedTensorType();
        type = cast<RankedTensorType>(block.getType());
      }
    return type;
  }
  RankedTensorType blockOfCarried(size_t place) {
    return blockOf([&](Value input) { return loop.carriedAt(input) == place; });
  }

  // Other inputs are carried, or come from the host's code in the trip.
  bool findInput(Value input) {
    RankedTensorType block = blockOf([&](Value other) { return other == input; });
    if (isFromOutside(input))
      return (whole[input] = block) != nullptr;
    auto move = input.getDefiningOp<MoveOp>();
    return !move || block == inside->typeOf(move.getInput().getType());
  }

  bool findCarried(size_t place) {
    Type type = loop.inits[place].getType();
    auto dist = dyn_cast<DistType>(type);
    if (!dist) {
      // An index, such as the first value of a loop left by `break`, has no block, but enters as a scalar.
      carried.push_back(isHostTensor(type) ? inside->typeOf(type) : RankedTensorType());
      return type.isIndex() || carried.back();
    }
    if (dist.getMesh() != map.getMesh())
      return false;
    bool isRead = llvm::any_of(map.getInputs(), [&](Value input) { return loop.carriedAt(input) == place; });
    RankedTensorType block = blockOfCarried(place), made = madeFor(loop.next[place]);
    if (!made || (isRead && !block))
      return false;
    if (!block)
      block = withVary(made, unionOf(dist.getSpec().getAllAxes(), varyOf(dist)));
    carried.push_back(block);
    return isSubset(varyOf(made), varyOf(block)) && withVary(made, varyOf(block)) == block;
  }

  // The block of a distributed value at the end of a trip.
  RankedTensorType madeFor(Value next) {
    if (next.getDefiningOp() == map)
      return cast<RankedTensorType>(
          map.getBody().front().getTerminator()->getOperand(cast<OpResult>(next).getResultNumber()).getType());
    if (std::optional<size_t> place = loop.carriedAt(next))
      return blockOfCarried(*place);
    if (auto move = next.getDefiningOp<MoveOp>(); move && !isFromOutside(next))
      return inside->typeOf(move.getInput().getType());
    return whole.lookup(next);
  }

  bool findCode() {
    auto note = [&](Value value) {
      return isa<DistType>(value.getType()) || !isFromOutside(value) || others.note(value, *inside);
    };
    bool known = llvm::all_of(loop.next, note);
    if (auto bounded = dyn_cast<scf::ForOp>(loop.op))
      for (Value bound : {bounded.getLowerBound(), bounded.getUpperBound(), bounded.getStep()})
        known &= note(bound);
    if (auto unbounded = dyn_cast<scf::WhileOp>(loop.op))
      known &= note(unbounded.getConditionOp().getCondition());
    for (Block *block : loop.blocks)
      for (Operation &op : block->without_terminator())
        if (&op != map && !invariant.contains(&op))
          known &= others.noteOperands(&op, *inside, [&](Value value) { return isFromOutside(value); }) &&
                   leavesAlike(dyn_cast<MoveOp>(op));
    return known;
  }

  // Whether what the host's code reads of a distributed value has the type that the code has for it.
  bool leavesAlike(MoveOp move) {
    if (!move || !isa<DistType>(move.getInput().getType()))
      return true;
    RankedTensorType type = inside->typeOf(move.getType());
    std::optional<size_t> place = loop.carriedAt(move.getInput());
    return type == (place ? carried[*place] : madeFor(move.getInput()));
  }
};

// Builds the map around the loop.
class LoopInMapBuilder {
public:
  LoopInMapBuilder(LoopOfMap &parts, PatternRewriter &rewriter)
      : parts(parts), loop(parts.loop), map(parts.map), rewriter(rewriter) {}

  SmallVector<Value> build() {
    Location loc = loop.op->getLoc();
    for (Operation *op : parts.invariant)
      rewriter.moveOpBefore(op, loop.op);
    rewriter.setInsertionPoint(loop.op);
    enter(loc);
    around = MapOp::create(rewriter, map.getLoc(), results, map.getMesh(), map.getSizes(), map.getSizeArguments(),
                           inputs, blocks);
    around->setDiscardableAttrs(map->getDiscardableAttrDictionary());
    for (auto [block, location] : llvm::zip_equal(around.getBlocks(), locations))
      block.setLoc(location);
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToEnd(&around.getBody().front());
      fill(loc);
    }
    SmallVector<Value> replacements;
    for (auto [result, made] : llvm::zip_equal(loop.op->getResults(), around.getResults()))
      replacements.push_back(leave(loc, result.getType(), made));
    return replacements;
  }

private:
  // What enters: what the loop carries, what the map takes from outside, what the host's code does.
  void enter(Location loc) {
    auto add = [&](Value value, Type block, Location location) {
      inputs.push_back(value);
      blocks.push_back(block);
      locations.push_back(location);
    };
    for (auto [init, block] : llvm::zip_equal(loop.inits, parts.carried)) {
      Value value = init;
      if (value.getType().isIndex())
        value = FromIndexOp::create(rewriter, loc, indexTensor(), value);
      if (!isa<DistType>(value.getType()))
        value = replicate(rewriter, loc, value, map.getMesh());
      add(value, block ? block : indexTensor(), init.getLoc());
      results.push_back(value.getType());
    }
    for (auto [value, block] : parts.whole) {
      Location location = value.getLoc();
      for (auto [argument, input] : llvm::zip_equal(map.getBlocks(), map.getInputs()))
        if (input == value)
          location = argument.getLoc();
      add(value, block, location);
    }
    for (Value other : parts.others.enter(rewriter, loc, map.getMesh()))
      add(other, parts.inside->typeOf(cast<DistType>(other.getType()).getTensor()), other.getLoc());
  }

  void fill(Location loc) {
    auto entered = around.getBlocks();
    SmallVector<Value> inits;
    for (auto [block, carried] : llvm::zip(entered, parts.carried))
      inits.push_back(carried ? Value(block)
                              : ToIndexOp::create(rewriter, loc, rewriter.getIndexType(), block).getResult());
    entered = entered.drop_front(inits.size());
    for (auto [value, block] : llvm::zip(parts.whole, entered))
      mapping.map(value.first, Value(block));
    parts.others.receive(rewriter, entered.drop_front(parts.whole.size()), mapping);

    Operation *made;
    if (auto bounded = dyn_cast<scf::ForOp>(loop.op)) {
      Value lower = valueIn(bounded.getLowerBound());
      Value upper = valueIn(bounded.getUpperBound());
      Value step = valueIn(bounded.getStep());
      auto inner = scf::ForOp::create(rewriter, loc, lower, upper, step, inits);
      if (!inner.getBody()->empty())
        rewriter.eraseOp(inner.getBody()->getTerminator());
      copy(bounded.getBody(), inner.getBody());
      scf::YieldOp::create(rewriter, loc, nextValues());
      made = inner;
    } else {
      auto unbounded = cast<scf::WhileOp>(loop.op);
      auto inner = scf::WhileOp::create(rewriter, loc, ValueRange(inits).getTypes(), inits);
      SmallVector<Location> locations(inits.size(), loc);
      Block *before = rewriter.createBlock(&inner.getBefore(), {}, ValueRange(inits).getTypes(), locations);
      IRMapping entered = mapping;
      copy(unbounded.getBeforeBody(), before);
      Value condition = valueIn(unbounded.getConditionOp().getCondition());
      scf::ConditionOp::create(rewriter, loc, condition, before->getArguments());
      Block *after = rewriter.createBlock(&inner.getAfter(), {}, ValueRange(inits).getTypes(), locations);
      // A constant that the condition made is not at hand here.
      mapping = entered;
      copy(unbounded.getAfterBody(), after);
      scf::YieldOp::create(rewriter, loc, nextValues());
      made = inner;
    }
    made->setDiscardableAttrs(loop.op->getDiscardableAttrDictionary());
    rewriter.setInsertionPointToEnd(&around.getBody().front());
    SmallVector<Value> yielded;
    for (Value value : made->getResults())
      yielded.push_back(value.getType().isIndex() ? FromIndexOp::create(rewriter, loc, indexTensor(), value).getResult()
                                                  : value);
    YieldOp::create(rewriter, loc, yielded);
  }

  void copy(Block *from, Block *to) {
    mapping.map(from->getArguments(), to->getArguments());
    rewriter.setInsertionPointToEnd(to);
    for (Operation &op : from->without_terminator()) {
      if (&op == map)
        copyMap();
      else
        copyHostCode(rewriter, &op, mapping, *parts.inside);
    }
  }

  // The map's own ops, in its place.
  void copyMap() {
    mapping.map(map.getLocalSizes(), around.getLocalSizes());
    for (auto [block, input] : llvm::zip_equal(map.getBlocks(), map.getInputs()))
      mapping.map(Value(block), mapping.lookup(input));
    Block &body = map.getBody().front();
    for (Operation &nested : body.without_terminator())
      rewriter.clone(nested, mapping);
    for (auto [result, value] : llvm::zip_equal(map.getResults(), body.getTerminator()->getOperands()))
      mapping.map(Value(result), mapping.lookup(value));
  }

  SmallVector<Value> nextValues() {
    SmallVector<Value> values;
    for (auto [value, block] : llvm::zip_equal(loop.next, parts.carried)) {
      Value next = valueIn(value);
      Axes lacking = block ? differenceOf(varyOf(block), varyOf(next.getType())) : Axes();
      values.push_back(lacking.empty() ? next : WidenOp::create(rewriter, next.getLoc(), next, lacking).getResult());
    }
    return values;
  }

  Value leave(Location loc, Type type, Value made) {
    if (type == made.getType())
      return made;
    Value whole = MoveOp::create(rewriter, loc, cast<DistType>(made.getType()).getTensor(), made);
    return type.isIndex() ? ToIndexOp::create(rewriter, loc, type, whole).getResult() : whole;
  }

  Value valueIn(Value value) { return hostValueIn(rewriter, value, mapping, *parts.inside); }

  RankedTensorType indexTensor() { return RankedTensorType::get({}, rewriter.getI64Type()); }

  LoopOfMap &parts;
  Loop &loop;
  MapOp map, around;
  PatternRewriter &rewriter;
  SmallVector<Value> inputs;
  SmallVector<Type> blocks, results;
  SmallVector<Location> locations;
  IRMapping mapping;
};

template <typename LoopOp> struct LoopInMap : OpRewritePattern<LoopOp> {
  using OpRewritePattern<LoopOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(LoopOp op, PatternRewriter &rewriter) const override {
    if (op->template getParentOfType<MapOp>() || !handsOnAll(op))
      return failure();
    LoopOfMap parts{Loop(op)};
    if (!parts.match())
      return failure();
    SmallVector<Value> replacements = LoopInMapBuilder(parts, rewriter).build();
    rewriter.replaceOp(op, replacements);
    return success();
  }

private:
  static bool handsOnAll(scf::ForOp) { return true; }
  // A `while` whose condition gives on what the loop carries, and nothing else.
  static bool handsOnAll(scf::WhileOp op) {
    return llvm::equal(op.getConditionOp().getArgs(), op.getBeforeArguments());
  }
};

} // namespace

void pmap::populateLoopsInMapsPatterns(RewritePatternSet &patterns) {
  patterns.add<LoopInMap<scf::ForOp>, LoopInMap<scf::WhileOp>>(patterns.getContext());
}
