#include "compiler/Dialect/Transforms/ResidualParts.h"
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/MostTrips.h"
#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pmap;

namespace {

// Sizes that are not known are all taken to be this one, which common divisors divide.
constexpr int64_t kTypicalSize = 840;

double estimate(const Size &size) {
  std::optional<int64_t> value = size.evaluate([](StringRef) { return kTypicalSize; });
  return value ? std::max<double>(0, *value) : kTypicalSize;
}

double estimate(Type type) {
  double count = 1;
  for (const Size &size : sizesOf(type))
    count *= estimate(size);
  return count;
}

double estimate(const LinearIndex &trips) {
  double sum = trips.constant;
  for (auto [value, coefficient] : trips.terms) {
    std::optional<Size> size = polynomialOf(value);
    sum += coefficient * (size ? estimate(*size) : kTypicalSize);
  }
  return std::max(0.0, sum);
}

bool carriesArraysOnly(scf::ForOp loop) {
  return llvm::all_of(loop.getResultTypes(), llvm::IsaPred<RankedTensorType, DistType>);
}

bool isOutside(Value value, Operation *op) { return !op->isAncestor(value.getParentRegion()->getParentOp()); }

// A row that a comprehension reads, at indices that are the same for all of its points (null for every other
// dimension).
struct Row {
  ForEachOp points;
  Value array;
  SmallVector<Value> indices;
  bool operator==(const Row &other) const = default;
};

// True when an index, a loop's with a constant added or a constant, is within the size whenever the loop's body runs.
bool isWithin(Value index, const Size &size) {
  LinearIndex linear = LinearIndex::of(index);
  std::optional<Size> lower = Size(linear.constant), last = lower;
  if (linear.terms.size() > 1 || (linear.terms.size() == 1 && linear.terms.front().second != 1))
    return false;
  if (linear.terms.size() == 1) {
    Value base = linear.terms.front().first;
    auto argument = dyn_cast<BlockArgument>(base);
    auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : nullptr;
    bool isIndex = loop && loop.getInductionVar() == base;
    std::optional<Size> begin = polynomialOf(isIndex ? loop.getLowerBound() : base);
    std::optional<Size> end = polynomialOf(isIndex ? loop.getUpperBound() : base);
    if (!begin || !end)
      return false;
    lower = *begin + Size(linear.constant);
    last = *end + Size(linear.constant - (isIndex ? 1 : 0));
  }
  return lower->provablyNonNegative() && (size - *last).provablyPositive();
}

// The row that an element read within a comprehension is of; nothing where there is no such row, or only some points
// read it, and its place may be out of bounds where none does.
std::optional<Row> rowOf(ExtractOp read) {
  Row row;
  row.array = read.getInput();
  bool isUnderCondition = false;
  for (Operation *outer = read->getParentOp();
       isa<ForEachOp, scf::ForOp, scf::IfOp>(outer) && isOutside(row.array, outer); outer = outer->getParentOp())
    if (auto points = dyn_cast<ForEachOp>(outer))
      row.points = points;
  if (!row.points)
    return std::nullopt;
  for (Operation *outer = read->getParentOp(); outer != row.points; outer = outer->getParentOp())
    isUnderCondition |= isa<scf::IfOp>(outer);
  for (auto [index, size] : llvm::zip_equal(read.getIndices(), sizesOf(row.array.getType()))) {
    row.indices.push_back(isOutside(index, row.points) ? index : Value());
    if (row.indices.back() && isUnderCondition && !isWithin(index, size))
      return std::nullopt;
  }
  return llvm::any_of(row.indices, [](Value index) { return bool(index); }) ? std::optional(row) : std::nullopt;
}

// The type of a row within its array; `squeezed` without the dimensions of size 1.
RankedTensorType typeOf(const Row &row, bool squeezed) {
  SmallVector<Size> sizes;
  auto array = cast<RankedTensorType>(row.array.getType());
  for (auto [index, size] : llvm::zip_equal(row.indices, sizesOf(array)))
    if (!index || !squeezed)
      sizes.push_back(index ? Size(1) : size);
  return withSizes(array, sizes);
}

// Takes a row out before the comprehension, which then reads that. Indices that are not checked are in bounds whether
// or not there are points.
Operation *takeOut(const Row &row, ExtractOp read) {
  OpBuilder builder(row.points);
  Location loc = read.getLoc();
  SmallVector<Value> offsets = zeroOffsets(builder, loc, row.indices.size()), inner;
  for (auto [offset, index, at] : llvm::zip_equal(offsets, row.indices, read.getIndices()))
    if (index)
      offset = index;
    else
      inner.push_back(at);
  auto slice = SliceOp::create(builder, loc, typeOf(row, false), row.array, offsets, /*inBounds=*/true);
  Value taken = ReshapeOp::create(builder, loc, typeOf(row, true), slice);
  OpBuilder within(read);
  if (!inner.empty())
    taken = ExtractOp::create(within, loc, taken, inner);
  read.replaceAllUsesWith(taken);
  read.erase();
  return slice;
}

// The reads of an array that a loop carries, and of what becomes of it by writes to parts, in one trip.
class PartReads {
public:
  PartReads(scf::ForOp loop, Value array) : loop(loop) {
    visitBoundSymbols(loop, [&](StringRef symbol) { bound.insert(symbol); });
    follow(array);
  }

  // True when the parts that a trip reads are less than the array: all there is to keep, or so few that it matters
  // little if something else reads the array as a whole.
  bool areWorthKeeping(Value array) const {
    double size = estimate(array.getType());
    return 4 * count <= size || (!isReadWhole && count < size);
  }

  void mark() {
    for (Operation *read : reads) {
      if (auto element = dyn_cast<ExtractOp>(read))
        if (std::optional<Row> row = rowOf(element))
          read = takeOut(*row, element);
      read->setAttr(kPartAttr, UnitAttr::get(loop.getContext()));
    }
  }

private:
  void follow(Value array) {
    if (!seen.insert(array).second)
      return;
    for (OpOperand &use : array.getUses()) {
      Operation *op = use.getOwner();
      unsigned number = use.getOperandNumber();
      auto scatter = dyn_cast<ScatterOp>(op);
      if (isa<ExtractOp, SliceOp, GatherOp>(op) && number == 0) {
        note(op);
      } else if (isa<WidenOp, ReshapeOp, StopGradientOp>(op) || (isa<UpdateSliceOp>(op) && number == 0) ||
                 (scatter && scatter.getKind() == ReductionKind::Sum && number == 0)) {
        follow(op->getResult(0));
      } else if (auto inner = dyn_cast<scf::ForOp>(op); inner && number >= inner.getNumControlOperands()) {
        follow(inner, number - inner.getNumControlOperands());
      } else if (auto yield = dyn_cast<scf::YieldOp>(op)) {
        if (auto outer = dyn_cast<scf::ForOp>(yield->getParentOp()))
          follow(outer, number);
        else if (isa<scf::IfOp>(yield->getParentOp()))
          follow(yield->getParentOp()->getResult(number));
        else
          isReadWhole = true;
      } else {
        isReadWhole = true;
      }
    }
  }

  void follow(scf::ForOp carrying, unsigned number) {
    follow(carrying.getRegionIterArg(number));
    if (carrying != loop)
      follow(carrying.getResult(number));
  }

  void note(Operation *read) {
    double times = 1;
    Operation *place = read;
    Type type = read->getResult(0).getType();
    auto element = dyn_cast<ExtractOp>(read);
    std::optional<Row> row = element ? rowOf(element) : std::nullopt;
    if (row) {
      place = row->points;
      type = typeOf(*row, true);
    }
    bool canBeKept = llvm::none_of(sizesOf(type), [&](const Size &size) {
      return llvm::any_of(size.symbols(), [&](StringRef symbol) { return bound.contains(symbol); });
    });
    for (Operation *outer = place->getParentOp(); outer != loop; outer = outer->getParentOp()) {
      auto inner = dyn_cast<scf::ForOp>(outer);
      if (!inner) {
        canBeKept &= isa<scf::IfOp>(outer);
        continue;
      }
      MostTrips most = mostTrips(inner);
      times *= estimate(most.trips);
      canBeKept &= carriesArraysOnly(inner) && (most.place->isAncestor(loop) || hasBoundsFromOutside(inner));
    }
    if (!canBeKept) {
      isReadWhole = true;
      return;
    }
    reads.push_back(read);
    if (row && llvm::is_contained(rows, *row))
      return;
    count += times * estimate(type);
    if (row)
      rows.push_back(*row);
  }

  bool hasBoundsFromOutside(scf::ForOp inner) {
    return llvm::all_of(ValueRange{inner.getLowerBound(), inner.getUpperBound(), inner.getStep()},
                        [&](Value bound) { return isOutside(bound, loop); });
  }

  scf::ForOp loop;
  llvm::StringSet<> bound;
  llvm::DenseSet<Value> seen;
  SmallVector<Operation *> reads;
  SmallVector<Row> rows;
  double count = 0;
  bool isReadWhole = false;
};

// Moves indices that a loop or branch does not change out of it, so that the bounds of inner loops are seen to be
// fixed.
void hoistIndices(Operation *region) {
  llvm::StringSet<> bound;
  visitBoundSymbols(region, [&](StringRef symbol) { bound.insert(symbol); });
  for (Region &body : region->getRegions())
    for (Operation &op : llvm::make_early_inc_range(body.getOps())) {
      bool isIndex = op.getNumResults() == 1 && op.getResult(0).getType().isIndex() && op.getNumRegions() == 0;
      if (!isIndex || !isPure(&op))
        continue;
      if (auto size = dyn_cast<SizeOp>(op))
        if (llvm::any_of(Size::parse(size.getSize())->symbols(), [&](StringRef name) { return bound.contains(name); }))
          continue;
      if (llvm::all_of(op.getOperands(), [&](Value operand) { return isOutside(operand, region); }))
        op.moveBefore(region);
    }
}

// The loops within `ops` whose bodies are prepared with them.
template <typename Visit> void visitLoops(ArrayRef<Operation *> ops, Visit visit) {
  for (Operation *op : ops)
    op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
      // What these hold is prepared when it is computed again.
      if (isa<CheckpointOp, CustomVjpOp>(nested))
        return WalkResult::skip();
      auto loop = dyn_cast<scf::ForOp>(nested);
      return loop ? visit(loop) : WalkResult::advance();
    });
}

} // namespace

void pmap::markParts(ArrayRef<Operation *> ops) {
  auto mergeEqual = [](scf::ForOp loop) {
    IRRewriter rewriter(loop.getContext());
    DominanceInfo dominance(loop);
    eliminateCommonSubExpressions(rewriter, dominance, loop);
    return WalkResult::skip();
  };
  visitLoops(ops, [&](scf::ForOp loop) {
    loop->walk([](Operation *nested) {
      if (isa<scf::ForOp, scf::IfOp, ForEachOp>(nested))
        hoistIndices(nested);
    });
    return mergeEqual(loop);
  });
  visitLoops(ops, [](scf::ForOp loop) {
    if (!carriesArraysOnly(loop))
      return WalkResult::advance();
    for (Value array : loop.getRegionIterArgs()) {
      auto type = dyn_cast<RankedTensorType>(array.getType());
      if (!type || type.getRank() == 0)
        continue;
      PartReads parts(loop, array);
      if (parts.areWorthKeeping(array))
        parts.mark();
    }
    return WalkResult::advance();
  });
  visitLoops(ops, mergeEqual);
}
