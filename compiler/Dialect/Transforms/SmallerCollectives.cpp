// Sums over devices that need no communication, or less of it.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "compiler/Dialect/Transforms/IndexVariance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pmap;

AllReduceOp pmap::soleSource(Value value, Operation *user) {
  auto op = value.getDefiningOp<AllReduceOp>();
  return op && op.getNumResults() == 1 && op->hasOneUse() && op->getBlock() == user->getBlock() ? op : AllReduceOp();
}

namespace {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

// One op per value: the patterns then need not look for theirs among several. pmap-fuse-collectives puts them together
// again.
struct SplitLeaves : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getNumResults() == 1)
      return failure();
    SmallVector<Value> results;
    for (auto [input, type] : llvm::zip_equal(op.getInputs(), op.getResultTypes()))
      results.push_back(AllReduceOp::create(rewriter, op.getLoc(), TypeRange(type), op.getKind(), input, op.getAxes(),
                                            op.getGroupsAttr())
                            .getResult(0));
    rewriter.replaceOp(op, results);
    return success();
  }
};

// The number of devices in every group, when it is the same; 0 otherwise.
int64_t membersOfGroups(ArrayAttr groups) {
  int64_t members = 0;
  for (auto group : groups.getAsRange<DenseI64ArrayAttr>()) {
    if (members && members != group.size())
      return 0;
    members = group.size();
  }
  return members;
}

// x times a size. Null where the size may not fit the element type.
Value timesSize(OpBuilder &builder, Location loc, Value x, const Size &size) {
  RankedTensorType type = tensorType(x);
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() < 32)
    return {};
  Value factor = splatIndex(builder, loc, type, indexOf(builder, loc, size));
  if (isa<FloatType>(element))
    return arith::MulFOp::create(builder, loc, x, factor);
  return arith::MulIOp::create(builder, loc, x, factor);
}

// A sum of what the devices share is a product with their number (V8); other kinds change nothing.
struct SumOfShared : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 || op.getKind() == ReductionKind::Prod)
      return failure();
    Value x = op.getInputs()[0];
    SmallVector<StringAttr> present, shared;
    for (StringAttr axis : axesOf(op))
      (llvm::is_contained(varyOf(x.getType()), axis) ? present : shared).push_back(axis);
    if (shared.empty())
      return failure();
    Size count = devicesAlong(op->getBlock(), shared);
    if (op.getGroups()) {
      int64_t members = membersOfGroups(op.getGroupsAttr());
      if (members == 0 || !present.empty())
        return failure();
      count = Size(members);
    } else if (!present.empty()) {
      x = AllReduceOp::create(rewriter, op.getLoc(), op.getKind(), x, present).getResult(0);
    }
    if (op.getKind() == ReductionKind::Sum)
      x = timesSize(rewriter, op.getLoc(), x, count);
    if (!x)
      return failure();
    Axes missing = differenceOf(varyOf(op.getResult(0).getType()), varyOf(x.getType()));
    if (!missing.empty())
      x = WidenOp::create(rewriter, op.getLoc(), x, missing);
    rewriter.replaceOp(op, x);
    return success();
  }
};

// The values as they are before they were widened by `axes`, found through what was computed from them; null where a
// value does vary, or where finding out would mean to compute much again.
class Narrowing {
public:
  Narrowing(PatternRewriter &rewriter, IndexVariance &variance, ArrayRef<StringAttr> axes)
      : rewriter(rewriter), variance(variance), axes(sorted(axes)) {}

  bool possible(Value value) {
    if (disjoint(value.getType()))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || ++visited > kMostOps)
      return false;
    if (auto widen = dyn_cast<WidenOp>(op))
      return possible(widen.getInput()); // what it adds is left out
    bool narrowable = isa<BroadcastOp, ReduceOp, TransposeOp, DotOp>(op) || matchPattern(op, m_Constant()) ||
                      (op->hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(op));
    return narrowable && op->getNumResults() == 1 && op->getNumRegions() == 0 && sharedSizes(value.getType()) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isa<RankedTensorType>(operand.getType()) && possible(operand); });
  }

  Value narrow(Value value) {
    if (disjoint(value.getType()))
      return value;
    if (Value known = made.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    RankedTensorType type = withVary(tensorType(value), differenceOf(varyOf(value.getType()), axes));
    Value result;
    if (auto widen = dyn_cast<WidenOp>(op)) {
      result = narrow(widen.getInput());
      if (result.getType() != type)
        result = WidenOp::create(rewriter, op->getLoc(), type, result);
    } else {
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, narrow(operand));
      Operation *copy = rewriter.clone(*op, mapping);
      DenseElementsAttr elements;
      if (matchPattern(op, m_Constant(&elements)))
        copy->setAttr("value", elements.reshape(type));
      copy->getResult(0).setType(type);
      result = copy->getResult(0);
    }
    return made[value] = result;
  }

private:
  static constexpr unsigned kMostOps = 16;

  bool disjoint(Type type) {
    return llvm::none_of(varyOf(type), [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
  }
  // Blocks of a ragged split differ in size, whatever they hold (V10).
  bool sharedSizes(Type type) {
    return llvm::all_of(sizesOf(type), [&](const Size &size) {
      return llvm::none_of(variance.of(size), [&](StringAttr axis) { return llvm::is_contained(axes, axis); });
    });
  }

  PatternRewriter &rewriter;
  IndexVariance &variance;
  Axes axes;
  unsigned visited = 0;
  DenseMap<Value, Value> made;
};

// psum(f(widen(a), widen(b))) = psum(f(a, b)), which is then a product (V8).
struct SumOfWidened : OpRewritePattern<AllReduceOp> {
  SumOfWidened(MLIRContext *context, IndexVariance &variance) : OpRewritePattern(context), variance(variance) {}
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getNumResults() != 1 || op.getGroups() || op.getKind() == ReductionKind::Prod)
      return failure();
    Value x = op.getInputs()[0];
    for (StringAttr axis : axesOf(op)) {
      if (!llvm::is_contained(varyOf(x.getType()), axis) || !Narrowing(rewriter, variance, axis).possible(x))
        continue;
      Value narrowed = Narrowing(rewriter, variance, axis).narrow(x);
      if (llvm::is_contained(varyOf(narrowed.getType()), axis))
        continue;
      rewriter.replaceOp(op, AllReduceOp::create(rewriter, op.getLoc(), op.getKind(), narrowed, axesOf(op)));
      return success();
    }
    return failure();
  }
  IndexVariance &variance;
};

// psum(broadcast(x)) = broadcast(psum(x)): the elements are sums of the same numbers, and fewer of them travel.
struct SumOfBroadcast : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getNumResults() == 1 ? op.getInputs()[0].getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!broadcast || elementCountOf(broadcast.getInput().getType()) == elementCountOf(broadcast.getType()))
      return failure();
    // In the block of the sum, where the operand is at hand and sizes are bound.
    Value sum =
        AllReduceOp::create(rewriter, op.getLoc(), op.getKind(), broadcast.getInput(), axesOf(op), op.getGroupsAttr())
            .getResult(0);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getResult(0).getType(), sum, broadcast.getDims());
    return success();
  }
};

// sum(psum(x)) = psum(sum(x)), max(pmax(x)) = pmax(max(x)): the smaller value travels.
struct ReductionOfSum : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    AllReduceOp source = soleSource(op.getInput(), op);
    if (!source)
      return failure();
    bool linear = op.getKind() == ReductionKind::Sum && source.getKind() == ReductionKind::Mean;
    if (op.getKind() != source.getKind() && !linear)
      return failure();
    Value x = source.getInputs()[0];
    IRMapping mapping;
    mapping.map(op.getInput(), x);
    Operation *local = rewriter.clone(*op, mapping);
    local->getResult(0).setType(withVary(cast<RankedTensorType>(op.getType()), varyOf(x.getType())));
    rewriter.replaceOp(op, AllReduceOp::create(rewriter, source.getLoc(), source.getKind(), local->getResult(0),
                                               axesOf(source), source.getGroupsAttr()));
    return success();
  }
};

// psum(x)[i] = psum(x[i]), for an index that the devices share.
template <typename OpTy> struct PartOfSum : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    AllReduceOp source = soleSource(op.getInput(), op);
    if (!source)
      return failure();
    // An index that varies would take another part on each device. The type of what is sliced says so (V2).
    Value x = source.getInputs()[0];
    IRMapping mapping;
    mapping.map(op.getInput(), x);
    Operation *part = rewriter.clone(*op.getOperation(), mapping);
    part->getResult(0).setType(withVary(cast<RankedTensorType>(op.getType()), varyOf(x.getType())));
    rewriter.replaceOp(op, AllReduceOp::create(rewriter, source.getLoc(), source.getKind(), part->getResult(0),
                                               axesOf(source), source.getGroupsAttr()));
    return success();
  }
};

// psum(x) + psum(y) = psum(x + y). Not for narrow floats: the sum before would be rounded once more than the one after,
// which travels as f32 (C2).
template <typename OpTy> struct SumOfSums : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    AllReduceOp a = soleSource(op.getLhs(), op), b = soleSource(op.getRhs(), op);
    if (!a || !b || a == b || a.getKind() != b.getKind() || a.getAxes() != b.getAxes() ||
        a.getGroupsAttr() != b.getGroupsAttr() ||
        !llvm::is_contained({ReductionKind::Sum, ReductionKind::Mean}, a.getKind()))
      return failure();
    Value x = a.getInputs()[0], y = b.getInputs()[0];
    Type element = tensorType(x).getElementType();
    if (x.getType() != y.getType() || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32))
      return failure();
    Value local = OpTy::create(rewriter, op.getLoc(), x, y);
    rewriter.replaceOp(op, AllReduceOp::create(rewriter, rewriter.getFusedLoc({a.getLoc(), b.getLoc()}), a.getKind(),
                                               local, axesOf(a), a.getGroupsAttr()));
    return success();
  }
};

} // namespace

void pmap::populateSmallerCollectivePatterns(RewritePatternSet &patterns, IndexVariance &variance) {
  MLIRContext *context = patterns.getContext();
  patterns.add<SplitLeaves, SumOfShared, SumOfBroadcast, ReductionOfSum, PartOfSum<SliceOp>, PartOfSum<ExtractOp>,
               SumOfSums<arith::AddFOp>, SumOfSums<arith::SubFOp>, SumOfSums<arith::AddIOp>, SumOfSums<arith::SubIOp>>(
      context);
  patterns.add<SumOfWidened>(context, variance);
}
