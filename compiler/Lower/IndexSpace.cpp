// Where the indices of comprehensions lead: positions and ranges of index expressions, and the checks that depend on
// them.
#include "compiler/Lower/IndexSpace.h"
#include "compiler/Lower/Translator.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace pmap {

std::optional<unsigned> IndexSpace::numberOf(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned first = 0;
  for (ForEachOp loop : loops) {
    if (argument && argument.getOwner() == &loop->getRegion(0).front())
      return first + argument.getArgNumber();
    first += loop.getBounds().size();
  }
  return std::nullopt;
}

bool isSameIndex(Value a, Value b) {
  if (a == b)
    return true;
  auto left = a.getDefiningOp<SizeOp>(), right = b.getDefiningOp<SizeOp>();
  if (left && right)
    return left.getSize() == right.getSize();
  APInt x, y;
  return matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y;
}

static bool isScalarLike(Type type) {
  auto array = dyn_cast<RankedTensorType>(type);
  return array ? array.getRank() == 0 : !isa<ShapedType, DistType>(type);
}

bool isReducedAtOnce(ForEachOp op) {
  if (op.getNumResults() != 1 || op.getBounds().empty())
    return false;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  return llvm::all_of(op.getResult(0).getUsers(), [&](Operation *user) {
    if (user->getBlock() != op->getBlock())
      return false;
    if (auto reduce = dyn_cast<ReduceOp>(user))
      return static_cast<int64_t>(reduce.getDims().size()) == type.getRank() &&
             static_cast<size_t>(type.getRank()) == op.getBounds().size();
    return isa<ArgReduceOp>(user) && type.getRank() == 1 && op.getBounds().size() == 1;
  });
}

bool hasScalarBody(ForEachOp op) {
  for (Operation &inner : op.getBody().front()) {
    WalkResult result = inner.walk<WalkOrder::PreOrder>([](Operation *nested) {
      if (isa<PrintOp, CollectiveOp>(nested))
        return WalkResult::interrupt();
      if (auto forEach = dyn_cast<ForEachOp>(nested))
        return isReducedAtOnce(forEach) && hasScalarBody(forEach) ? WalkResult::skip() : WalkResult::interrupt();
      bool scalar = llvm::all_of(nested->getResultTypes(), isScalarLike);
      for (Region &region : nested->getRegions())
        for (Block &block : region)
          scalar &= llvm::all_of(block.getArgumentTypes(), isScalarLike);
      // Arrays are read one element at a time, or are comprehensions that a reduction consumes.
      for (Value operand : nested->getOperands()) {
        if (isScalarLike(operand.getType()) || isa<ExtractOp>(nested))
          continue;
        auto maker = operand.getDefiningOp<ForEachOp>();
        scalar &= maker && isa<ReduceOp, ArgReduceOp>(nested) && isReducedAtOnce(maker) &&
                  maker->getBlock() == nested->getBlock();
      }
      return scalar ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return false;
  }
  return true;
}

void hoistInvariants(Operation *function) {
  function->walk([](ForEachOp op) {
    // A symbol bound inside may stand in any type there.
    bool binds = op.getBody().walk([](BindSizeOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (binds)
      return;
    for (Operation &inner : llvm::make_early_inc_range(op.getBody().front().without_terminator())) {
      bool invariant = inner.getNumRegions() == 0 && isPure(&inner) &&
                       llvm::all_of(inner.getOperands(),
                                    [&](Value operand) { return !op.getBody().isAncestor(operand.getParentRegion()); });
      if (invariant)
        inner.moveBefore(op);
    }
  });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Index expressions
//===--------------------------------------------------------------------------------------------------------------===//

Value Translator::invariantIndex(Value old, const IndexSpace &space) {
  if (space.isOutside(old))
    return plain(old);
  Operation *maker = old.getDefiningOp();
  if (auto size = dyn_cast_or_null<SizeOp>(maker)) {
    auto polynomial = Size::parse(size.getSize());
    for (const std::string &symbol : polynomial->symbols())
      if (!sizes.isBound(symbol))
        return nullptr;
    return getValueOrCreateConstantIndexOp(b, old.getLoc(), mixedSize(*polynomial, old.getLoc()));
  }
  if (isa_and_nonnull<arith::ConstantOp>(maker))
    return b.clone(*maker)->getResult(0);
  return nullptr;
}

std::optional<IndexPosition> Translator::positionOf(Value oldIndex, const IndexSpace &space) {
  if (auto number = space.numberOf(oldIndex))
    return IndexPosition{*number, nullptr};
  if (Value value = invariantIndex(oldIndex, space))
    return IndexPosition{std::nullopt, value};
  if (auto check = oldIndex.getDefiningOp<CheckedIndexOp>()) {
    if (!hoisted.contains(check) && !isWithin(check.getIndex(), check.getSize()))
      return std::nullopt;
    return positionOf(check.getIndex(), space);
  }
  Operation *maker = oldIndex.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(maker))
    return std::nullopt;
  auto lhs = positionOf(maker->getOperand(0), space), rhs = positionOf(maker->getOperand(1), space);
  bool subtracts = isa<arith::SubIOp>(maker);
  if (!lhs || !rhs || (rhs->argument && (lhs->argument || subtracts)))
    return std::nullopt;
  Location loc = oldIndex.getLoc();
  IndexPosition sum{lhs->argument ? lhs->argument : rhs->argument, lhs->offset};
  if (rhs->offset && !lhs->offset && !subtracts) {
    sum.offset = rhs->offset;
  } else if (rhs->offset) {
    Value left = lhs->offset ? lhs->offset : index(0, loc);
    sum.offset = subtracts ? Value(arith::SubIOp::create(b, loc, left, rhs->offset))
                           : Value(arith::AddIOp::create(b, loc, left, rhs->offset));
  }
  return sum;
}

std::optional<IndexRange> Translator::rangeOf(Value old, const IndexSpace &space) {
  Location loc = old.getLoc();
  if (auto number = space.numberOf(old)) {
    Value last = arith::SubIOp::create(b, loc, space.bounds[*number], index(1, loc));
    return IndexRange{index(0, loc), last, true, {*number}};
  }
  if (Value value = invariantIndex(old, space))
    return IndexRange{value, value, true, {}};
  Operation *maker = old.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(maker))
    return std::nullopt;
  auto lhs = rangeOf(maker->getOperand(0), space), rhs = rangeOf(maker->getOperand(1), space);
  if (!lhs || !rhs)
    return std::nullopt;
  IndexRange result;
  result.arguments = lhs->arguments;
  for (unsigned argument : rhs->arguments)
    if (!result.arguments.insert(argument).second)
      return std::nullopt;
  result.unitSteps = lhs->unitSteps && rhs->unitSteps && !isa<arith::MulIOp>(maker);
  if (isa<arith::AddIOp>(maker)) {
    result.low = arith::AddIOp::create(b, loc, lhs->low, rhs->low);
    result.high = arith::AddIOp::create(b, loc, lhs->high, rhs->high);
  } else if (isa<arith::SubIOp>(maker)) {
    result.low = arith::SubIOp::create(b, loc, lhs->low, rhs->high);
    result.high = arith::SubIOp::create(b, loc, lhs->high, rhs->low);
  } else {
    // One factor is the same everywhere; its sign says which end is which.
    if (!lhs->arguments.empty() && !rhs->arguments.empty())
      return std::nullopt;
    Value atLow = arith::MulIOp::create(b, loc, lhs->low, rhs->low);
    Value atHigh = arith::MulIOp::create(b, loc, lhs->high, rhs->high);
    result.low = arith::MinSIOp::create(b, loc, atLow, atHigh);
    result.high = arith::MaxSIOp::create(b, loc, atLow, atHigh);
  }
  return result;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Checks that hold at all points or at none
//===--------------------------------------------------------------------------------------------------------------===//

void Translator::hoistChecks(const IndexSpace &space) {
  Value some;
  auto anyPoint = [&](Location loc) {
    if (!some)
      for (Value bound : space.bounds) {
        Value more = arith::CmpIOp::create(b, loc, CmpIPredicate::sgt, bound, index(0, loc));
        some = some ? Value(arith::AndIOp::create(b, loc, some, more)) : more;
      }
    return some;
  };
  // Every point reaches the ops of the body's own block.
  for (Operation &inner : space.body()) {
    Location loc = inner.getLoc();
    if (auto check = dyn_cast<CheckedIndexOp>(inner)) {
      if (hoisted.contains(check) || isWithin(check.getIndex(), check.getSize()))
        continue;
      auto range = rangeOf(check.getIndex(), space);
      Value size = range ? invariantIndex(check.getSize(), space) : nullptr;
      if (!size)
        continue;
      Value below = arith::CmpIOp::create(b, loc, CmpIPredicate::slt, range->low, index(0, loc));
      Value above = arith::CmpIOp::create(b, loc, CmpIPredicate::sge, range->high, size);
      Value bad = arith::AndIOp::create(b, loc, anyPoint(loc), arith::OrIOp::create(b, loc, below, above));
      Value high = range->unitSteps ? Value(arith::MaxSIOp::create(b, loc, range->low, size)) : range->high;
      Value culprit = arith::SelectOp::create(b, loc, below, range->low, high);
      failIf(b, loc, bad, PMAP_FAIL_INDEX, {culprit, index(check.getDim(), loc), size});
      hoisted.insert(check);
    } else if (auto narrow = dyn_cast<FromIndexOp>(inner)) {
      auto type = dyn_cast<IntegerType>(cast<RankedTensorType>(narrow.getType()).getElementType());
      if (hoisted.contains(narrow) || !type || (type.getWidth() >= 64 && !narrow.getIsUnsigned()))
        continue;
      auto range = rangeOf(narrow.getIndex(), space);
      if (!range)
        continue;
      auto [least, greatest] = rangeOfInteger(type, narrow.getIsUnsigned());
      Value below = arith::CmpIOp::create(b, loc, CmpIPredicate::slt, range->low, index(least, loc));
      Value above = arith::CmpIOp::create(b, loc, CmpIPredicate::sgt, range->high, index(greatest, loc));
      Value bad = arith::AndIOp::create(b, loc, anyPoint(loc), arith::OrIOp::create(b, loc, below, above));
      failIf(b, loc, bad, PMAP_FAIL_NARROW, {arith::SelectOp::create(b, loc, below, range->low, range->high)},
             ((narrow.getIsUnsigned() ? "u" : "i") + Twine(type.getWidth())).str());
      hoisted.insert(narrow);
    }
  }
}

} // namespace pmap
