// Patterns on parts of arrays: what the derivatives of slices, pads and updates add up.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/SimplifyPatterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace pmap;

namespace {

bool hasUnitStrides(SliceOp slice) {
  return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; });
}

// a + (zeros with a part replaced by u) = a with u added to that part: touches the part alone, and keeps the sums that
// backward loops carry in place.
struct AddOfPart : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [whole, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto part = other.getDefiningOp<UpdateSliceOp>();
      if (!part || !part->hasOneUse() || !isSplatOf(part.getInput(), 0))
        continue;
      Location loc = op.getLoc();
      Expr old(rewriter, loc,
               SliceOp::create(rewriter, loc, part.getUpdate().getType(), whole, part.getOffsets(),
                               part.getStridesAttr(), part.getInBoundsAttr()));
      Value sum = old + old.with(part.getUpdate());
      rewriter.replaceOpWithNewOp<UpdateSliceOp>(op, whole.getType(), whole, sum, part.getOffsets(),
                                                 part.getStridesAttr(), part.getInBoundsAttr());
      return success();
    }
    return failure();
  }
};

// The same for a scatter into zeros.
struct AddOfScatter : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [whole, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto scatter = other.getDefiningOp<ScatterOp>();
      if (!scatter || scatter.getKind() != ReductionKind::Sum || !scatter->hasOneUse() ||
          !isSplatOf(scatter.getInput(), 0))
        continue;
      rewriter.replaceOpWithNewOp<ScatterOp>(op, ReductionKind::Sum, whole, scatter.getIndices(), scatter.getUpdates(),
                                             scatter.getDim(), scatter.getIsUnsigned());
      return success();
    }
    return failure();
  }
};

// (a with u added to a part) + b = (a + b) with u added to that part: whole arrays are added first, in one loop, and
// parts in place behind it.
struct AddBeforeParts : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    for (auto [whole, other] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto update = whole.getDefiningOp<UpdateSliceOp>();
      auto sum = update ? update.getUpdate().getDefiningOp<arith::AddFOp>() : nullptr;
      auto old = sum ? sum.getLhs().getDefiningOp<SliceOp>() : nullptr;
      if (!old || !update->hasOneUse() || old.getInput() != update.getInput() ||
          old.getOffsets() != update.getOffsets() || old.getStrides() != update.getStrides())
        continue;
      Location loc = op.getLoc();
      Expr first(rewriter, loc, update.getInput());
      Value both = first + first.with(other);
      Expr part(rewriter, loc,
                SliceOp::create(rewriter, loc, old.getType(), both, old.getOffsets(), old.getStridesAttr(),
                                old.getInBoundsAttr()));
      rewriter.replaceOpWithNewOp<UpdateSliceOp>(op, op.getType(), both, part + part.with(sum.getRhs()),
                                                 update.getOffsets(), update.getStridesAttr(),
                                                 update.getInBoundsAttr());
      return success();
    }
    return failure();
  }
};

// A slice that takes out just what was padded.
struct SliceOfPad : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    if (!pad || pad.getInput().getType() != op.getType() || !hasUnitStrides(op))
      return failure();
    for (auto [offset, low] : llvm::zip_equal(op.getOffsets(), pad.getLow().getAsValueRange<StringAttr>())) {
      std::optional<int64_t> constant = getConstantIntValue(offset);
      if (!constant || Size(*constant).str() != low)
        return failure();
    }
    rewriter.replaceOp(op, pad.getInput());
    return success();
  }
};

// A slice of a sum is the sum of slices, where nothing wants the sum as a whole: that of the cotangents of a padded
// array's neighbours, of which the pad's own cotangent is a slice, need not be larger than the array.
struct SliceOfSum : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getInput().getDefiningOp<arith::AddFOp>();
    if (!sum || !op.getInBounds() || !hasUnitStrides(op) || sum->getBlock() != op->getBlock())
      return failure();
    // All but one slice are thin, so that hardly any element is added twice.
    auto isThin = [](SliceOp slice) {
      return llvm::any_of(llvm::seq<int64_t>(slice.getOffsets().size()), [&](int64_t dim) {
        std::optional<int64_t> size = sizeOf(slice.getType(), dim).constant();
        std::optional<int64_t> whole = sizeOf(slice.getInput().getType(), dim).constant();
        return size && (!whole || *size * 4 <= *whole);
      });
    };
    int64_t wide = 0;
    for (Operation *user : sum->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || !slice.getInBounds() || !hasUnitStrides(slice) || slice->getBlock() != op->getBlock())
        return failure();
      wide += !isThin(slice);
    }
    if (wide > 1)
      return failure();
    auto part = [&](Value whole) -> Value {
      return SliceOp::create(rewriter, op.getLoc(), op.getType(), whole, op.getOffsets(), /*inBounds=*/true);
    };
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, part(sum.getLhs()), part(sum.getRhs()));
    return success();
  }
};

} // namespace

void pmap::populatePartPatterns(RewritePatternSet &patterns) {
  patterns.add<AddOfPart, AddOfScatter, AddBeforeParts, SliceOfPad, SliceOfSum>(patterns.getContext());
}
