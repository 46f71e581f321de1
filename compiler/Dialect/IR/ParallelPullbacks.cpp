// The derivatives of the parallel ops (G2).
#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Dialect/IR/Pullbacks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Cotangents = SmallVectorImpl<Value>;

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

// A value times the number of devices along `axes`.
Expr timesDevices(Expr value, ArrayRef<StringAttr> axes) {
  if (axes.empty())
    return value;
  return value * value.with(splatIndex(
                     *value.builder, value.loc, value.type(),
                     indexOf(*value.builder, value.loc, devicesAlong(value.builder->getInsertionBlock(), axes))));
}

// One all_reduce's rule for one operand x, result y and cotangent.
struct AllReduceRule {
  AllReduceOp op;
  OpBuilder &builder;
  Value x, y, cotangent;

  Location loc() { return op.getLoc(); }
  Axes axes() {
    Axes result;
    llvm::append_range(result, op.getAxes().getAsRange<StringAttr>());
    return result;
  }
  // The axes over which x varies and those over which it does not (V8).
  Axes varying() {
    Axes result;
    llvm::copy_if(axes(), std::back_inserter(result),
                  [&](StringAttr axis) { return llvm::is_contained(varyOf(x.getType()), axis); });
    return result;
  }
  Axes invariant() { return differenceOf(axes(), varyOf(x.getType())); }
  Expr expr(Value value) { return Expr(builder, loc(), value); }
  Value like(Value value, Type type) { return withVarianceOf(builder, loc(), value, type); }
  Value reduced(ReductionKind kind, Value value, ArrayRef<StringAttr> over) {
    return over.empty() ? value
                        : AllReduceOp::create(builder, loc(), kind, value, over, op.getGroupsAttr()).getResult(0);
  }

  // psum <-> widen. Over an axis x is invariant over, psum multiplies; so does its transpose.
  Value sum() { return timesDevices(expr(like(cotangent, x.getType())), invariant()); }

  // With groups both ways are the same grouped psum; a result varies over the axis whether x does or not.
  Value groupedSum() { return like(reduced(ReductionKind::Sum, cotangent, axes()), x.getType()); }

  Value mean() {
    Expr ct = expr(like(cotangent, x.getType()));
    // Over an axis x is invariant over, the mean changes nothing.
    return varying().empty() ? ct : ct / timesDevices(ct.number(1), varying());
  }

  Value groupedMean() {
    Expr ct = expr(cotangent);
    Expr members = ct.with(reduced(ReductionKind::Sum, ct.number(1), axes()));
    return like(reduced(ReductionKind::Sum, ct / members, axes()), x.getType());
  }

  // Shared equally by the devices that hold the extremum.
  Value extremum() {
    if (varying().empty() && !op.getGroups())
      return cotangent;
    Expr mine = expr(like(x, op.getGroups() ? y.getType() : x.getType()));
    Expr wins = select(mine.compare(arith::CmpFPredicate::OEQ, mine.with(like(y, mine.type()))), mine.number(1),
                       mine.number(0));
    Axes over = op.getGroups() ? axes() : varying();
    Expr count = mine.with(like(reduced(ReductionKind::Sum, wins, over), mine.type()));
    // With groups every member holds a cotangent of its own: the group's is their sum.
    Value total = op.getGroups() ? reduced(ReductionKind::Sum, cotangent, over) : cotangent;
    Expr ct = mine.with(like(total, mine.type()));
    return like(scaleCotangent(op, ct, wins / count), x.getType());
  }

  // The axes, those of vmaps first: how many rows there are may differ between devices, and their product does not.
  SmallVector<StringAttr> rowsFirst() {
    auto isOfMesh = [&](StringAttr axis) {
      for (auto vmap = op->getParentOfType<VmapOp>(); vmap; vmap = vmap->getParentOfType<VmapOp>())
        if (vmap.getAxisAttr() == axis)
          return false;
      return true;
    };
    SmallVector<StringAttr> over;
    for (bool ofMesh : {false, true})
      llvm::copy_if(axes(), std::back_inserter(over), [&](StringAttr axis) { return isOfMesh(axis) == ofMesh; });
    return over;
  }

  // By the products over the devices before and after each (G2): gathered, pulled back, and each takes its own.
  Value product() {
    // The forward value after each axis but the last, to walk back over.
    SmallVector<Value> partial = {x};
    SmallVector<StringAttr> over = rowsFirst();
    for (StringAttr axis : over)
      partial.push_back(reduced(ReductionKind::Prod, WidenOp::create(builder, loc(), partial.back(), axis), axis));
    Value ct = cotangent;
    for (size_t i = over.size(); i-- > 0;) {
      StringAttr axis = over[i];
      Value mine = like(partial[i], WidenOp::create(builder, loc(), partial[i], axis).getType());
      Value all = AllGatherOp::create(builder, loc(), mine, axis, /*dim=*/0, /*tiled=*/false);
      Value pulled = pullProduct(op, builder, all, 0, BroadcastOp::create(builder, loc(), all.getType(), ct));
      ct = like(ownBlock(builder, loc(), pulled, axis, 0, tensorType(mine), /*stacked=*/true), partial[i].getType());
    }
    return ct;
  }

  // With groups, which may differ in size, all devices' values are gathered, and those of other groups count as 1.
  // Every member holds a cotangent of its own: the group's is their sum.
  Value groupedProduct() {
    Axes over = axes();
    Value mine = like(x, y.getType()), total = reduced(ReductionKind::Sum, cotangent, over);
    Expr all = expr(WidenOp::create(builder, loc(), AllGatherOp::create(builder, loc(), mine, over, 0, false), over));
    Value same = groupMask(all.type());
    Value own = select(all.with(same), all, all.number(1));
    Value pulled = pullProduct(op, builder, own, 0, BroadcastOp::create(builder, loc(), all.type(), total));
    return like(ownBlock(builder, loc(), pulled, over, 0, tensorType(mine), /*stacked=*/true), x.getType());
  }

  // Which rows of a value of this type, one for each device along the axes, belong to this device's group.
  Value groupMask(RankedTensorType rows) {
    Axes over = axes();
    SmallVector<int32_t> groupOf;
    for (auto [number, group] : llvm::enumerate(op.getGroupsAttr().getAsRange<DenseI64ArrayAttr>()))
      for (int64_t position : group.asArrayRef()) {
        groupOf.resize(std::max<size_t>(groupOf.size(), position + 1), -1);
        groupOf[position] = number;
      }
    Type i32 = builder.getI32Type();
    auto literal = makeTensorType(i32, Size(groupOf.size())), one = makeTensorType(i32, sizeOf(rows, 0));
    Value table = arith::ConstantOp::create(builder, loc(), DenseElementsAttr::get(literal, ArrayRef(groupOf)));
    // That there are as many devices as positions is checked where the sizes meet.
    if (literal != one)
      table = CastOp::create(builder, loc(), one, table);
    Value groups = WidenOp::create(builder, loc(), table, sorted(over));
    Value own = ownBlock(builder, loc(), groups, over, 0, makeScalarType(i32, sorted(over)), /*stacked=*/true);
    Value same = arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::eq, groups,
                                       splatScalar(builder, loc(), tensorType(groups), own));
    auto mask = withElementType(rows, builder.getI1Type());
    Axes others = differenceOf(varyOf(rows), sorted(over));
    if (!others.empty())
      same = WidenOp::create(builder, loc(), same, others);
    return BroadcastOp::create(builder, loc(), mask, same, ArrayRef<int64_t>{0});
  }

  Value apply() {
    bool grouped = op.getGroups().has_value();
    switch (op.getKind()) {
    case ReductionKind::Sum:
      return grouped ? groupedSum() : sum();
    case ReductionKind::Mean:
      return grouped ? groupedMean() : mean();
    case ReductionKind::Max:
    case ReductionKind::Min:
      return extremum();
    case ReductionKind::Prod:
      return grouped ? groupedProduct() : product();
    default:
      return Value();
    }
  }
};

} // namespace

LogicalResult AllReduceOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  for (auto [x, y, ct] : llvm::zip_equal(getInputs(), getResults(), cotangents))
    result.push_back(ct ? AllReduceRule{*this, builder, x, y, ct}.apply() : Value());
  return success();
}

// The sum over the axes that the widen added.
LogicalResult WidenOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(withVarianceOf(builder, getLoc(), cotangents.front(), getInput().getType()));
  return success();
}

LogicalResult MoveOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  result.push_back(MoveOp::create(builder, getLoc(), getInput().getType(), cotangents.front()));
  return success();
}

// Each block's part of the whole's cotangent. It is cut out of the gathered whole: the blocks were given apart and may
// differ in size, which an even split would not know.
LogicalResult ShardsOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  Location loc = getLoc();
  auto dist = cast<DistType>(getType());
  Value whole = MoveOp::create(builder, loc, dist.getTensor(), cotangents.front());
  int64_t dim = 0;
  while (dist.getSpec().getAxes(dim).empty())
    ++dim;
  Size offset(0);
  for (Value block : getBlocks()) {
    SmallVector<Value> offsets = zeroOffsets(builder, loc, dist.getTensor().getRank());
    offsets[dim] = indexOf(builder, loc, offset);
    result.push_back(SliceOp::create(builder, loc, block.getType(), whole, offsets, /*inBounds=*/true));
    offset += sizeOf(block.getType(), dim);
  }
  return success();
}

LogicalResult ToShardsOp::pullback(OpBuilder &builder, ArrayRef<Value> cotangents, Cotangents &result) {
  SmallVector<Value> blocks;
  for (auto [block, cotangent] : llvm::zip_equal(getBlocks(), cotangents))
    blocks.push_back(cotangent ? cotangent : splat(builder, getLoc(), tensorType(block), 0));
  result.push_back(ShardsOp::create(builder, getLoc(), getInput().getType(), blocks));
  return success();
}
