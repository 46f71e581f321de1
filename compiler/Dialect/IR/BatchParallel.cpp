// Batching rules of the parallel ops (P8). A collective over the vmapped axis is computed over the rows, and over mesh
// axes it is done for all rows in one.
#include "compiler/Dialect/IR/Batching.h"
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Dialect/IR/Infer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pmap;

namespace {

using Results = SmallVectorImpl<Value>;

// The axes of a collective before and after that of the rows, major first.
struct AxesAround {
  SmallVector<StringAttr> before, after;
  bool rows = false;

  AxesAround(ArrayAttr names, const Batch &batch) {
    for (auto axis : names.getAsRange<StringAttr>()) {
      if (axis == batch.axis)
        rows = true;
      else
        (rows ? after : before).push_back(axis);
    }
  }
  SmallVector<StringAttr> others() const {
    SmallVector<StringAttr> all(before);
    llvm::append_range(all, after);
    return all;
  }
};

Size devicesAlong(OpBuilder &builder, ArrayRef<StringAttr> axes) {
  return pmap::devicesAlong(builder.getInsertionBlock(), axes);
}

ArrayAttr namesOf(OpBuilder &builder, ArrayRef<StringAttr> axes) {
  return builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
}

Value widened(OpBuilder &builder, Location loc, Value value, ArrayRef<StringAttr> axes) {
  if (isSubset(axes, varyOf(value.getType())))
    return value;
  return WidenOp::create(builder, loc, value, axes);
}

// A vector of i32 constants of the V of `like`.
Value positions(OpBuilder &builder, Location loc, ArrayRef<int64_t> values, Value like) {
  RankedTensorType type =
      makeTensorType(builder.getI32Type(), Size(static_cast<int64_t>(values.size())), varyOf(like.getType()));
  SmallVector<int32_t> elements(values.begin(), values.end());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(elements)));
}

// Every group's rows, in the order of the group, go through `each`, which gives as many rows; these come back to where
// their group's rows were. That there are as many rows as the groups name is checked here (C3).
Value inGroups(OpBuilder &builder, Location loc, ArrayAttr groups, Value rows, function_ref<Value(Value)> each) {
  SmallVector<int64_t> order;
  SmallVector<Value> parts;
  for (auto group : groups.getAsRange<DenseI64ArrayAttr>())
    llvm::append_range(order, group.asArrayRef());
  auto withCount = [&](Value value, const Size &count) {
    SmallVector<Size> sizes = sizesOf(value.getType());
    sizes[0] = count;
    return withSizes(typeOf(value), sizes);
  };
  Size count = sizeOf(rows.getType(), 0);
  Size total(static_cast<int64_t>(order.size()));
  Value all = CastOp::create(builder, toldAs(loc, "E1123", "`groups:` name {a} rows, and there are {b}"),
                             withCount(rows, total), rows);
  for (auto group : groups.getAsRange<DenseI64ArrayAttr>()) {
    Value members = GatherOp::create(builder, loc, all, positions(builder, loc, group.asArrayRef(), all), 0);
    parts.push_back(each(members));
  }
  Value joined = ConcatOp::create(builder, loc, parts, 0);
  SmallVector<int64_t> back(order.size());
  for (auto [i, position] : llvm::enumerate(order))
    back[position] = i;
  Value inOrder = GatherOp::create(builder, loc, joined, positions(builder, loc, back, joined), 0);
  return CastOp::create(builder, loc, withCount(inOrder, count), inOrder);
}

// The values of all positions along the axes, major first.
Value gatherAll(OpBuilder &builder, Location loc, Value rows, const AxesAround &axes) {
  int64_t merged = 1;
  auto gather = [&](ArrayRef<StringAttr> over, int64_t dim) {
    if (over.empty())
      return;
    rows = AllGatherOp::create(builder, loc, rows, over, dim, /*tiled=*/false);
    ++merged;
  };
  gather(axes.after, 1);
  gather(axes.before, 0);
  return merged == 1 ? rows : mergeDims(builder, loc, rows, 0, merged);
}

// The positions of this device's rows. They vary as `vary` says, which has the other axes in it, and those over which
// the number of rows differs.
Value ownPositions(OpBuilder &builder, Location loc, const Batch &batch, const AxesAround &axes,
                   ArrayRef<StringAttr> vary) {
  RankedTensorType type = makeTensorType(builder.getI32Type(), batch.size, vary);
  auto add = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
  auto times = [&](Value a, const Size &size) -> Value {
    return arith::MulIOp::create(builder, loc, a, splatIndex(builder, loc, type, indexOf(builder, loc, size)));
  };
  auto indexAlong = [&](StringAttr axis) {
    Value index = widened(builder, loc, AxisIndexOp::create(builder, loc, axis.getValue()), vary);
    return splatScalar(builder, loc, type, index);
  };
  Value position = splat(builder, loc, type, 0);
  for (StringAttr axis : axes.before)
    position = add(times(position, devicesAlong(builder, axis)), indexAlong(axis));
  position = add(times(position, batch.size), IotaOp::create(builder, loc, type, 0));
  for (StringAttr axis : axes.after)
    position = add(times(position, devicesAlong(builder, axis)), indexAlong(axis));
  return position;
}

// The same over mesh axes as well: every device has all values, computes all groups, and takes what its rows get.
Value inGroups(OpBuilder &builder, Location loc, const Batch &batch, const AxesAround &axes, ArrayAttr groups,
               Value rows, function_ref<Value(Value)> each) {
  Axes others = sorted(axes.others());
  if (others.empty())
    return inGroups(builder, loc, groups, rows, each);
  Value all = gatherAll(builder, loc, widened(builder, loc, rows, others), axes);
  Value results = inGroups(builder, loc, groups, all, each);
  Axes vary = unionOf(varyOf(results.getType()), others);
  Value mine = ownPositions(builder, loc, batch, axes, vary);
  return GatherOp::create(builder, loc, widened(builder, loc, results, vary), mine, 0);
}

// Groups that do not name each of 0 to n-1 once have no order to come back to.
bool coverEachOnce(ArrayAttr groups) {
  SmallVector<int64_t> all;
  for (auto group : groups.getAsRange<DenseI64ArrayAttr>())
    llvm::append_range(all, group.asArrayRef());
  llvm::sort(all);
  return llvm::all_of(llvm::enumerate(all), [](auto entry) { return entry.value() == int64_t(entry.index()); });
}

} // namespace

//===- widen, axis_index
//--------------------------------------------------------------------------------------------===//

LogicalResult WidenOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Axes others = differenceOf(varyOf(getType()), batch.axis);
  Value value = widened(builder, getLoc(), operands[0], others);
  if (!batch.varies(getInput()) && batch.varies(getResult()))
    value = repeatRow(builder, getLoc(), value, batch.size);
  results.push_back(value);
  return success();
}

LogicalResult AxisIndexOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value>, Results &results) {
  if (getAxisAttr() == batch.axis)
    results.push_back(IotaOp::create(builder, getLoc(), batch.outerType(cast<RankedTensorType>(getType())), 0));
  else
    results.push_back(AxisIndexOp::create(builder, getLoc(), getAxis()));
  return success();
}

//===- all_reduce, all_gather
//---------------------------------------------------------------------------------------===//

namespace {

// The mean is taken of a wider sum where the elements are narrow (C2).
Value meanOverRows(OpBuilder &builder, Location loc, Value rows) {
  Type element = typeOf(rows).getElementType();
  bool narrow = element.getIntOrFloatBitWidth() < 32;
  if (narrow)
    rows = arith::ExtFOp::create(builder, loc, withElementType(typeOf(rows), builder.getF32Type()), rows);
  Expr sum(builder, loc, ReduceOp::create(builder, loc, ReductionKind::Sum, rows, 0));
  Value count = splatIndex(builder, loc, sum.type(), indexOf(builder, loc, sizeOf(rows.getType(), 0)));
  Expr mean = sum / sum.with(count);
  return narrow ? Value(arith::TruncFOp::create(builder, loc, withElementType(mean.type(), element), mean)) : mean;
}

Value reduceRows(OpBuilder &builder, Location loc, ReductionKind kind, Value rows) {
  return kind == ReductionKind::Mean ? meanOverRows(builder, loc, rows) : ReduceOp::create(builder, loc, kind, rows, 0);
}

} // namespace

LogicalResult AllReduceOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Location loc = getLoc();
  AxesAround axes(getAxes(), batch);
  SmallVector<Value> values(operands);
  if (axes.rows && getGroups()) {
    if (!coverEachOnce(*getGroups()))
      return failure();
    for (auto [input, value] : llvm::zip_equal(getInputs(), values))
      value =
          inGroups(builder, loc, batch, axes, *getGroups(), rowsOf(builder, loc, batch, input, value), [&](Value rows) {
            return repeatRow(builder, loc, reduceRows(builder, loc, getKind(), rows), sizeOf(rows.getType(), 0));
          });
    llvm::append_range(results, values);
    return success();
  }
  if (axes.rows)
    for (auto [input, value] : llvm::zip_equal(getInputs(), values)) {
      // Over an axis along which a value does not vary, sums and products repeat it, and the others leave it (V8).
      bool repeats = getKind() == ReductionKind::Sum || getKind() == ReductionKind::Prod;
      if (repeats || batch.varies(input))
        value = reduceRows(builder, loc, getKind(), rowsOf(builder, loc, batch, input, value));
    }
  SmallVector<StringAttr> others = axes.others();
  if (others.empty()) {
    llvm::append_range(results, values);
    return success();
  }
  auto reduced = AllReduceOp::create(builder, loc, getKind(), values, others, getGroupsAttr());
  copyMarks(*this, reduced);
  llvm::append_range(results, reduced.getResults());
  return success();
}

LogicalResult AllGatherOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Location loc = getLoc();
  int64_t dim = getDim();
  AxesAround axes(getAxes(), batch);
  auto gather = [&](Value value, ArrayRef<StringAttr> over, int64_t along, bool tiled, ArrayAttr groups) -> Value {
    auto gathered = AllGatherOp::create(builder, loc, value, over, along, tiled, groups);
    copyMarks(*this, gathered);
    return gathered;
  };
  if (!axes.rows) {
    results.push_back(gather(operands[0], axes.before, dim + 1, getTiled(), getGroupsAttr()));
    return success();
  }
  Value rows = rowsOf(builder, loc, batch, getInput(), operands[0]);
  if (getGroups() && !coverEachOnce(*getGroups()))
    return failure();
  if (getGroups()) {
    results.push_back(inGroups(builder, loc, batch, axes, *getGroups(), rows, [&](Value members) {
      Value stacked = moveDim(builder, loc, members, 0, dim);
      stacked = getTiled() ? mergeDims(builder, loc, stacked, dim, 2) : stacked;
      return repeatRow(builder, loc, stacked, sizeOf(members.getType(), 0));
    }));
    return success();
  }
  // Positions over the axes before the rows', the rows, and the axes after stand in this order before they are merged.
  Value all = moveDim(builder, loc, rows, 0, dim);
  int64_t stacked = 1;
  if (!axes.after.empty()) {
    all = gather(all, axes.after, dim + 1, /*tiled=*/false, ArrayAttr());
    ++stacked;
  }
  if (!axes.before.empty()) {
    all = gather(all, axes.before, dim, /*tiled=*/false, ArrayAttr());
    ++stacked;
  }
  int64_t merged = stacked + (getTiled() ? 1 : 0);
  results.push_back(merged == 1 ? all : mergeDims(builder, loc, all, dim, merged));
  return success();
}

//===- reduce_scatter, all_to_all
//-----------------------------------------------------------------------------------===//

namespace {

// Sums a value over mesh axes and leaves each device its block along `dim`.
Value scatterOver(OpBuilder &builder, Location loc, Value value, ArrayRef<StringAttr> axes, int64_t dim) {
  if (axes.empty())
    return value;
  RankedTensorType type = typeOf(value);
  SmallVector<Size> sizes = sizesOf(type);
  sizes[dim] = Size::exactQuotient(sizes[dim], devicesAlong(builder, axes));
  RankedTensorType block = makeTensorType(type.getElementType(), sizes, unionOf(varyOf(type), sorted(axes)));
  return ReduceScatterOp::create(builder, loc, block, value, namesOf(builder, axes), builder.getI64IntegerAttr(dim),
                                 ArrayAttr());
}

// The sum of all rows, cut along dimension `dim` of a row into as many blocks: row k gets block k.
Value scatterRows(OpBuilder &builder, Location loc, Value sum, const Size &count, int64_t dim) {
  Size block = Size::exactQuotient(sizeOf(sum.getType(), dim), count);
  return moveDim(builder, loc, splitDim(builder, loc, sum, dim, {count, block}), dim, 0);
}

} // namespace

LogicalResult ReduceScatterOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands,
                                     Results &results) {
  Location loc = getLoc();
  int64_t dim = getDim();
  AxesAround axes(getAxes(), batch);
  if (!axes.rows) {
    auto block = ReduceScatterOp::create(builder, loc, batch.outerType(cast<RankedTensorType>(getType())), operands[0],
                                         getAxesAttr(), builder.getI64IntegerAttr(dim + 1), getGroupsAttr());
    copyMarks(*this, block);
    results.push_back(block);
    return success();
  }
  Value rows = rowsOf(builder, loc, batch, getInput(), operands[0]);
  auto sumOf = [&](Value members) -> Value { return ReduceOp::create(builder, loc, ReductionKind::Sum, members, 0); };
  if (getGroups()) {
    if (!coverEachOnce(*getGroups()))
      return failure();
    results.push_back(inGroups(builder, loc, batch, axes, *getGroups(), rows, [&](Value members) {
      return scatterRows(builder, loc, sumOf(members), sizeOf(members.getType(), 0), dim);
    }));
    return success();
  }
  // Blocks are numbered major first: over the axes before the rows', the rows, then the axes after.
  Value block = scatterOver(builder, loc, sumOf(rows), axes.before, dim);
  block = scatterRows(builder, loc, block, batch.size, dim);
  results.push_back(scatterOver(builder, loc, block, axes.after, dim + 1));
  return success();
}

namespace {

// Exchanges positions along dimension `dim`, one per device of mesh axes: what device j had at k, device k has at j.
Value exchangeOver(OpBuilder &builder, Location loc, Value value, ArrayRef<StringAttr> axes, int64_t dim) {
  if (axes.empty())
    return value;
  RankedTensorType type = typeOf(value);
  IntegerAttr along = builder.getI64IntegerAttr(dim);
  return AllToAllOp::create(builder, loc, withVary(type, unionOf(varyOf(type), sorted(axes))), value,
                            namesOf(builder, axes), along, along, ArrayAttr());
}

// The all_to_all of all rows: dimension `split` of a row is cut into pieces, numbered over the axes before the rows',
// the rows, and the axes after; in `concat` the pieces stand in the order of their senders.
Value exchangeRows(OpBuilder &builder, Location loc, Value rows, const AxesAround &axes, int64_t split,
                   int64_t concat) {
  int64_t rank = typeOf(rows).getRank() - 1;
  Size count = sizeOf(rows.getType(), 0), before = devicesAlong(builder, axes.before),
       after = devicesAlong(builder, axes.after);
  Size piece = Size::exactQuotient(sizeOf(rows.getType(), split + 1), before * count * after);
  // The pieces' numbers are three dimensions of their own from `place` on.
  int64_t place = split + 1;
  Value pieces = splitDim(builder, loc, rows, place, {before, count, after, piece});
  pieces = exchangeOver(builder, loc, pieces, axes.before, place);
  pieces = exchangeOver(builder, loc, pieces, axes.after, place + 2);
  // Receivers come first, and the senders' numbers to where they are concatenated.
  SmallVector<int64_t> perm = {place + 1};
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (dim == concat)
      perm.append({place, 0, place + 2});
    perm.push_back(dim < split ? dim + 1 : dim + 4);
  }
  Value received = TransposeOp::create(builder, loc, pieces, perm);
  return mergeDims(builder, loc, received, concat + 1, 4);
}

} // namespace

LogicalResult AllToAllOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  Location loc = getLoc();
  int64_t split = getSplit(), concat = getConcat();
  AxesAround axes(getAxes(), batch);
  if (!axes.rows) {
    auto received = AllToAllOp::create(builder, loc, batch.outerType(cast<RankedTensorType>(getType())), operands[0],
                                       getAxesAttr(), builder.getI64IntegerAttr(split + 1),
                                       builder.getI64IntegerAttr(concat + 1), getGroupsAttr());
    copyMarks(*this, received);
    results.push_back(received);
    return success();
  }
  Value rows = rowsOf(builder, loc, batch, getInput(), operands[0]);
  auto exchange = [&](Value members, const AxesAround &over) {
    return exchangeRows(builder, loc, members, over, split, concat);
  };
  if (!getGroups()) {
    results.push_back(exchange(rows, axes));
    return success();
  }
  if (!coverEachOnce(*getGroups()))
    return failure();
  // The members of a group are rows of one array, wherever they came from.
  AxesAround rowsAlone(namesOf(builder, batch.axis), batch);
  results.push_back(inGroups(builder, loc, batch, axes, *getGroups(), rows,
                             [&](Value members) { return exchange(members, rowsAlone); }));
  return success();
}

//===- permute
//------------------------------------------------------------------------------------------------------===//

namespace {

struct PermuteRows {
  PermuteOp op;
  const Batch &batch;
  OpBuilder &builder;
  Location loc = op.getLoc();

  Value integers(RankedTensorType type, int64_t value) { return splat(builder, loc, type, value); }

  // `received` (a scalar or one per row) chooses between what came and the fill.
  Value choose(Value received, Value value, Value fill, ArrayRef<int64_t> receivedDims, ArrayRef<int64_t> fillDims) {
    RankedTensorType type = typeOf(value);
    Value mask = BroadcastOp::create(builder, loc, withElementType(type, builder.getI1Type()), received, receivedDims);
    Value other = BroadcastOp::create(builder, loc, type, fill, fillDims);
    return arith::SelectOp::create(builder, loc, mask, value, other);
  }

  // Over mesh axes alone: one permute for all rows. It knows one fill: where rows have their own, a permuted mark says
  // whether anything came.
  FailureOr<Value> overMesh(Value input, Value destinations, Value fill) {
    if (batch.varies(op.getDestinations()))
      return failure();
    Value rows = rowsOf(builder, loc, batch, op.getInput(), input);
    Value oneFill = batch.varies(op.getFill()) ? commonRow(builder, fill) : fill;
    if (oneFill)
      return permuted(rows, destinations, oneFill);
    RankedTensorType mark = makeScalarType(builder.getI32Type());
    Value zero = splat(builder, loc, scalarOf(withVary(typeOf(rows), {})), 0);
    Value moved = permuted(rows, destinations, zero);
    Value came = permuted(integers(mark, 1), destinations, integers(mark, 0));
    came = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, came, integers(typeOf(came), 0));
    Axes vary(varyOf(batch.outerType(cast<RankedTensorType>(op.getType()))));
    return choose(widened(builder, loc, came, vary), widened(builder, loc, moved, vary),
                  widened(builder, loc, fill, vary), {}, {0});
  }

  Value permuted(Value input, Value destinations, Value fill) {
    Axes vary = unionOf(varyOf(input.getType()), sorted(op.getCollectiveAxes()));
    vary = unionOf(vary, unionOf(varyOf(destinations.getType()), varyOf(fill.getType())));
    return PermuteOp::create(builder, loc, withVary(typeOf(input), vary), input, destinations, fill, op.getAxesAttr());
  }

  // Over the rows, and maybe mesh axes: every device has all values, and takes for each of its rows what comes to it.
  FailureOr<Value> overRows(Value input, Value destinations, Value fill) {
    if (batch.varies(op.getDestinations()))
      return failure();
    AxesAround axes(op.getAxes(), batch);
    SmallVector<StringAttr> others = axes.others();
    Value rows = rowsOf(builder, loc, batch, op.getInput(), input);
    Value fills = rowsOf(builder, loc, batch, op.getFill(), fill);
    Axes vary = unionOf(unionOf(varyOf(rows.getType()), varyOf(fills.getType())), varyOf(destinations.getType()));
    vary = unionOf(vary, sorted(others));
    Value all = widened(builder, loc, gatherAll(builder, loc, widened(builder, loc, rows, sorted(others)), axes), vary);
    Value senders = widened(builder, loc, sendersOf(destinations), vary);
    Value mine = GatherOp::create(builder, loc, senders, ownPositions(builder, loc, batch, axes, vary), 0);
    Value zero = integers(typeOf(mine), 0);
    Value came = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, mine, zero);
    Value value = GatherOp::create(builder, loc, all, arith::MaxSIOp::create(builder, loc, mine, zero), 0);
    return choose(came, value, widened(builder, loc, fills, vary), {0}, {0});
  }

  // Who sends to each position, -1 for nobody. The table has a place more, before the others, for what goes nowhere; a
  // destination that is no position is out of the table's range, and one named twice is counted (C3).
  Value sendersOf(Value destinations) {
    RankedTensorType type = typeOf(destinations);
    Size count = devicesAlong(builder, op.getCollectiveAxes()).substitute("@" + batch.axis.str(), batch.size);
    type = withSizes(type, count);
    // A literal number of destinations is checked against that of positions here.
    if (type != destinations.getType())
      destinations = CastOp::create(builder, loc, type, destinations);
    RankedTensorType table = withSizes(type, count + Size(1));
    Value place = arith::AddIOp::create(builder, loc, destinations, integers(type, 1));
    auto scattered = [&](ReductionKind kind, int64_t start, Value updates) -> Value {
      Value all = ScatterOp::create(builder, loc, kind, integers(table, start), place, updates, 0);
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      return SliceOp::create(builder, loc, type, all, ValueRange(one), /*inBounds=*/true);
    };
    Value named = scattered(ReductionKind::Sum, 0, integers(type, 1));
    Value most = ReduceOp::create(builder, loc, ReductionKind::Max, named, 0);
    Value once = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, most, integers(typeOf(most), 1));
    constexpr StringLiteral twice = "`ppermute`: two rows send to the same row";
    AssertOp::create(builder, toldAs(loc, "E1124", twice), once, twice);
    return scattered(ReductionKind::Max, -1, IotaOp::create(builder, loc, type, 0));
  }
};

} // namespace

LogicalResult PermuteOp::batch(OpBuilder &builder, const Batch &batch, ArrayRef<Value> operands, Results &results) {
  PermuteRows rule{*this, batch, builder};
  bool overRows = AxesAround(getAxes(), batch).rows;
  FailureOr<Value> value = overRows ? rule.overRows(operands[0], operands[1], operands[2])
                                    : rule.overMesh(operands[0], operands[1], operands[2]);
  if (failed(value))
    return failure();
  results.push_back(*value);
  return success();
}
