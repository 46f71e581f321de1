// Patterns on values: what the derivatives' rules leave behind when each is written for the general case.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pmap;

bool pmap::isSplatOf(Value value, double number) {
  while (true) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getInput();
    else if (auto widen = value.getDefiningOp<WidenOp>())
      value = widen.getInput();
    else
      break;
  }
  DenseFPElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<APFloat>().isExactlyValue(number);
}

namespace {

// x + 0 = x. The one input for which this is not exact is -0, which a sum with 0 turns into 0.
struct AddOfZero : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (isSplatOf(other, 0)) {
        rewriter.replaceOp(op, value);
        return success();
      }
    return failure();
  }
};

// x * 1 = x, where the 1 is a broadcast that arith's own folder does not see through.
struct MulByOne : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op, PatternRewriter &rewriter) const override {
    for (auto [value, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (isSplatOf(other, 1)) {
        rewriter.replaceOp(op, value);
        return success();
      }
    return failure();
  }
};

// The number that every element of a floating value is.
std::optional<double> splatNumber(Value value) {
  for (double number : {-1.0, 1.0, 2.0, 3.0})
    if (isSplatOf(value, number))
      return number;
  return std::nullopt;
}

// Small powers are products: exact to the last bit or two, and no call.
struct SmallPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &rewriter) const override {
    std::optional<double> power = splatNumber(op.getRhs());
    if (!power)
      return failure();
    Expr x(rewriter, op.getLoc(), op.getLhs());
    Expr result = *power == 1 ? x : *power == 2 ? x * x : *power == 3 ? x * x * x : 1.0 / x;
    rewriter.replaceOp(op, Value(result));
    return success();
  }
};

struct DoubleNegation : OpRewritePattern<arith::NegFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::NegFOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<arith::NegFOp>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getOperand());
    return success();
  }
};

// sum(broadcast(x)) over stretched dimensions is a product with their sizes; max, min, and, or change nothing there, if
// the dimensions are not empty.
struct ReduceOfBroadcast : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    auto type = cast<RankedTensorType>(op.getType());
    if (!broadcast || op.getKind() != ReductionKind::Sum || !isa<FloatType>(type.getElementType()))
      return failure();
    if (llvm::any_of(op.getDims(), [&](int64_t dim) { return llvm::is_contained(broadcast.getDims(), dim); }))
      return failure();
    Location loc = op.getLoc();
    Size count(1);
    for (int64_t dim : op.getDims()) {
      Size size = sizeOf(op.getInput().getType(), dim);
      // Making the array checks that its sizes are not negative; without it nothing would.
      if (!size.provablyNonNegative())
        return failure();
      count *= size;
    }
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(dim - llvm::count_if(op.getDims(), [&](int64_t dropped) { return dropped < dim; }));
    Expr value(rewriter, loc, BroadcastOp::create(rewriter, loc, type, broadcast.getInput(), dims));
    Expr factor = value.with(splatIndex(rewriter, loc, type, indexOf(rewriter, loc, count)));
    rewriter.replaceOp(op, Value(value * factor));
    return success();
  }
};

// A contraction that sums nothing, with a scalar on one side, as the pullback of `dot` of two vectors leaves it, is a
// product.
struct DotWithScalar : OpRewritePattern<DotOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotOp op, PatternRewriter &rewriter) const override {
    auto rank = [](Value value) { return cast<RankedTensorType>(value.getType()).getRank(); };
    auto type = cast<RankedTensorType>(op.getType());
    if ((rank(op.getLhs()) && rank(op.getRhs())) || !isa<FloatType>(type.getElementType()))
      return failure();
    auto whole = [&](Value value) -> Value {
      return rank(value) == type.getRank() ? value : splatScalar(rewriter, op.getLoc(), type, value);
    };
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, whole(op.getLhs()), whole(op.getRhs()));
    return success();
  }
};

// A broadcast of a widened value is a widened broadcast; the widen moves toward the definition, where equal ones merge
// (V2).
struct WidenOfBroadcast : OpRewritePattern<WidenOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WidenOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return failure();
    Value wide = WidenOp::create(rewriter, op.getLoc(), broadcast.getInput(), varyOf(op.getType()));
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), wide, broadcast.getDims());
    return success();
  }
};

} // namespace

void pmap::populateArithmeticPatterns(RewritePatternSet &patterns) {
  patterns.add<AddOfZero, MulByOne, SmallPower, DoubleNegation, ReduceOfBroadcast, DotWithScalar, WidenOfBroadcast>(
      patterns.getContext());
}
