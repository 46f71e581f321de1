// Pairs of ops that together are one collective: what derivatives of gathers leave, and what hand-written sharding
// writes.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/Transforms/Collectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pmap;

namespace {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

// A symbol for the device's position along an axis, which no size has.
std::string positionSymbol(StringRef axis) { return ("position." + axis).str(); }

// An index, or a scalar integer, as a polynomial of sizes and of this device's positions; nothing when it is no such.
std::optional<Size> polynomialOf(Value value, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  constexpr unsigned kDeepest = 12;
  if (!op || depth > kDeepest)
    return std::nullopt;
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)) && constant.getSignificantBits() <= 64)
    return Size(constant.getSExtValue());
  if (auto size = dyn_cast<SizeOp>(op))
    return Size::parse(size.getSize());
  if (auto axis = dyn_cast<AxisSizeOp>(op))
    return axisSizeIn(op->getBlock(), axis.getAxis());
  if (auto position = dyn_cast<AxisIndexOp>(op))
    return Size::symbol(positionSymbol(position.getAxis()));
  if (isa<ToIndexOp, FromIndexOp, WidenOp>(op) || (isa<CheckedIndexOp>(op) && op->getNumOperands() > 0))
    return polynomialOf(op->getOperand(0), depth + 1);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<Size> a = polynomialOf(op->getOperand(0), depth + 1), b = polynomialOf(op->getOperand(1), depth + 1);
  if (!a || !b)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *a + *b : isa<arith::SubIOp>(op) ? *a - *b : *a * *b;
}

// The part of a value that is this device's, when all devices' parts along `axes` (major first) are the whole along
// `dim`.
struct OwnBlock {
  SmallVector<StringAttr> axes;
  int64_t dim = 0;
};

// Tries all orders of `axes`: the position is ((p0 * @1 + p1) * @2 + p2) * block.
std::optional<OwnBlock> orderOf(Block *in, SmallVector<StringAttr> axes, const Size &offset, const Size &block,
                                int64_t dim) {
  llvm::sort(axes, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  do {
    Size position;
    for (StringAttr axis : axes)
      position = position * axisSizeIn(in, axis.getValue()) + Size::symbol(positionSymbol(axis.getValue()));
    if (position * block == offset)
      return OwnBlock{axes, dim};
  } while (std::next_permutation(axes.begin(), axes.end(),
                                 [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); }));
  return std::nullopt;
}

std::optional<OwnBlock> ownBlockOf(SliceOp slice) {
  if (llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  SmallVector<Size> whole = sizesOf(slice.getInput().getType()), part = sizesOf(slice.getType());
  std::optional<OwnBlock> found;
  for (auto [dim, offset] : llvm::enumerate(slice.getOffsets())) {
    std::optional<Size> at = polynomialOf(offset);
    if (!at)
      return std::nullopt;
    if (whole[dim] == part[dim] && at->isConstant(0))
      continue;
    SmallVector<StringAttr> axes;
    for (StringAttr axis : varyOf(slice.getType()))
      if (at->mentions(positionSymbol(axis.getValue())))
        axes.push_back(axis);
    if (found || axes.empty() || part[dim] * devicesAlong(slice->getBlock(), axes) != whole[dim])
      return std::nullopt;
    found = orderOf(slice->getBlock(), axes, *at, part[dim], dim);
    if (!found)
      return std::nullopt;
  }
  return found;
}

Value withoutWiden(Value value) {
  auto widen = value.getDefiningOp<WidenOp>();
  return widen && widen->hasOneUse() ? widen.getInput() : value;
}

// This device's part of a sum over devices: each gets its own part of the sum (psum_scatter), half of the bytes. The
// derivative of all_gather is such a pair: the sum is the widen's, the part all_gather's own (G2).
struct PartOfOwn : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto sum = withoutWiden(op.getInput()).getDefiningOp<AllReduceOp>();
    if (!sum || !sum->hasOneUse() || sum.getNumResults() != 1 || sum->getBlock() != op->getBlock() ||
        sum.getKind() != ReductionKind::Sum || sum.getGroups())
      return failure();
    std::optional<OwnBlock> own = ownBlockOf(op);
    Value x = sum.getInputs()[0];
    SmallVector<StringAttr> rest = axesOf(sum);
    if (!own || llvm::any_of(own->axes, [&](StringAttr axis) { return !llvm::is_contained(rest, axis); }) ||
        !isSubset(sorted(own->axes), varyOf(x.getType())))
      return failure();
    SmallVector<Size> sizes = sizesOf(op.getType());
    Value result =
        ReduceScatterOp::create(rewriter, sum.getLoc(), withSizes(tensorType(x), sizes), x,
                                rewriter.getArrayAttr(SmallVector<Attribute>(own->axes.begin(), own->axes.end())),
                                rewriter.getI64IntegerAttr(own->dim), ArrayAttr());
    llvm::erase_if(rest, [&](StringAttr axis) { return llvm::is_contained(own->axes, axis); });
    if (!rest.empty())
      result = AllReduceOp::create(rewriter, sum.getLoc(), ReductionKind::Sum, result, rest).getResult(0);
    Axes missing = differenceOf(varyOf(op.getType()), varyOf(result.getType()));
    if (!missing.empty())
      result = WidenOp::create(rewriter, op.getLoc(), result, missing);
    rewriter.replaceOp(op, result);
    return success();
  }
};

SmallVector<StringAttr> names(ArrayAttr axes) { return llvm::to_vector(axes.getAsRange<StringAttr>()); }

// A scatter of sums that is gathered again: the sum, in one step instead of two.
struct GatherOfScatter : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op, PatternRewriter &rewriter) const override {
    auto scatter = op.getInput().getDefiningOp<ReduceScatterOp>();
    if (!scatter || !scatter->hasOneUse() || scatter->getBlock() != op->getBlock() || !op.getTiled() ||
        op.getGroups() || scatter.getGroups() || scatter.getAxes() != op.getAxes() || scatter.getDim() != op.getDim())
      return failure();
    Value x = scatter.getInput();
    if (!isSubset(sorted(names(op.getAxes())), varyOf(x.getType())))
      return failure();
    rewriter.replaceOp(op, AllReduceOp::create(rewriter, rewriter.getFusedLoc({scatter.getLoc(), op.getLoc()}),
                                               ReductionKind::Sum, x, names(op.getAxes())));
    return success();
  }
};

// Each device's own part of what all share, gathered again: what was there before.
struct GatherOfOwn : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op, PatternRewriter &rewriter) const override {
    auto part = op.getInput().getDefiningOp<SliceOp>();
    auto widen = part ? part.getInput().getDefiningOp<WidenOp>() : WidenOp();
    if (!widen || !op.getTiled() || op.getGroups() || widen.getInput().getType() != op.getType())
      return failure();
    std::optional<OwnBlock> own = ownBlockOf(part);
    if (!own || own->dim != static_cast<int64_t>(op.getDim()) || own->axes != names(op.getAxes()))
      return failure();
    rewriter.replaceOp(op, widen.getInput());
    return success();
  }
};

} // namespace

void pmap::populatePairedCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<PartOfOwn, GatherOfScatter, GatherOfOwn>(patterns.getContext());
}
