// What runs row by row: bodies of loops over the rows (P8's masked `if` is such a loop).
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

//===- One row --------------------------------------------------------------------------------------------------===//

RowBuilder::RowBuilder(VmapScope &scope, const Batch &batch, OpBuilder &builder, Value row)
    : scope(scope), batch(batch), builder(builder), row(row) {}

// One row of an array of all rows; made once, where the loop's body begins.
Value RowBuilder::rowOf(Value all) {
  if (Value made = rows.lookup(all))
    return made;
  OpBuilder::InsertionGuard guard(builder);
  if (lastRow)
    builder.setInsertionPointAfter(lastRow);
  else
    builder.setInsertionPointToStart(row.getParentBlock());
  Location loc = all.getLoc();
  auto type = cast<RankedTensorType>(all.getType());
  SmallVector<Size> sizes = sizesOf(type);
  Value made;
  if (sizes.size() == 1) {
    made = ExtractOp::create(builder, loc, all, row);
  } else {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    SmallVector<Value> offsets(sizes.size(), zero);
    offsets[0] = row;
    sizes[0] = Size(1);
    Value part = SliceOp::create(builder, loc, withSizes(type, sizes), all, offsets, /*inBounds=*/true);
    made = ReshapeOp::create(builder, loc, withSizes(type, ArrayRef(sizes).drop_front()), part);
  }
  lastRow = made.getDefiningOp();
  return rows[all] = made;
}

// Gives `inner` a meaning in this row: an array of all rows stays one until its uses say what they need of it.
LogicalResult RowBuilder::ensure(Value inner) {
  if (mapping.contains(inner))
    return success();
  if (Value all = scope.carried.lookup(inner)) {
    Value element = rowOf(all);
    Location loc = inner.getLoc();
    if (inner.getType().isIndex())
      mapping.map(inner, ToIndexOp::create(builder, loc, builder.getIndexType(), element, false).getResult());
    else
      mapping.map(inner, ToBoolOp::create(builder, loc, builder.getI1Type(), element).getResult());
    return success();
  }
  if (!scope.varies(inner)) {
    mapping.map(inner, scope.outer.lookupOrDefault(inner));
    return success();
  }
  if (Value all = scope.outer.lookupOrNull(inner); all && isa<RankedTensorType>(inner.getType())) {
    // Copies of what is the same for all rows: the one is as good.
    auto copies = all.getDefiningOp<BroadcastOp>();
    if (copies && copies.getInput().getType() == rowTypeOf(batch, inner.getType()) &&
        !llvm::is_contained(copies.getDims(), 0)) {
      mapping.map(inner, copies.getInput());
      return success();
    }
    // The array may be read as what it is, too: a captured one that is also mapped. Hence a value of its own.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(row.getParentBlock());
    Value placeholder = UnrealizedConversionCastOp::create(builder, inner.getLoc(), all.getType(), all).getResult(0);
    batched[placeholder] = all;
    mapping.map(inner, placeholder);
    return success();
  }
  if (Value all = scope.outer.lookupOrNull(inner); all && isa<DistType>(inner.getType())) {
    // The rows of a distributed value are taken from the whole of it, which leaves the devices once, before the loop.
    Location loc = inner.getLoc();
    OpBuilder before(row.getParentBlock()->getParentOp());
    Value whole = MoveOp::create(before, loc, cast<DistType>(all.getType()).getTensor(), all);
    mapping.map(inner, MoveOp::create(builder, loc, rowTypeOf(batch, inner.getType()), rowOf(whole)).getResult());
    return success();
  }
  // An index or a condition, or an array that exists within a row only, is computed in every loop that needs it.
  Operation *op = inner.getDefiningOp();
  if (!op || op->getNumRegions() || isa<DistType>(inner.getType()) || isa<CollectiveOp>(op))
    return mlir::emitError(inner.getLoc())
           << "this value differs between the rows of a vmap in a way that keeps it from "
              "where it is needed; that is not built yet: go over the rows in a loop, `for row in x { … }` [E0901]";
  return add(op);
}

// Binds the sizes that an op's types mention, where they differ between rows.
LogicalResult RowBuilder::ensureSymbols(Operation *op) {
  LogicalResult result = success();
  visitSizes(op, [&](const Size &size) {
    for (const std::string &symbol : size.symbols())
      if (BindSizeOp bind = scope.variance.binding(symbol); bind && succeeded(result) && !op->isAncestor(bind) &&
                                                            scope.varies(bind.getResult()) &&
                                                            !mapping.contains(bind.getResult()))
        result = add(bind);
  });
  return result;
}

LogicalResult RowBuilder::add(Operation *op) {
  if (failed(ensureSymbols(op)))
    return failure();
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  for (Value value : read)
    if (failed(ensure(value)))
      return failure();
  if (isa<BindSizeOp>(op) && !scope.boundInRows.insert(op).second)
    repeatsSymbols = true;
  Operation *copy = builder.clone(*op, mapping);
  SmallVector<Value> results(copy->getResults());
  if (failed(rewrite(copy, results)))
    return failure();
  mapping.map(op->getResults(), results);
  return success();
}

// The copy of an op is of one row: arrays of all rows are replaced by what it reads of them.
LogicalResult RowBuilder::rewrite(Operation *copy, SmallVectorImpl<Value> &results) {
  eraseAxis(copy, batch);
  SmallVector<Operation *> ops;
  copy->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    FailureOr<Value> replacement = replacementOf(op);
    if (failed(replacement))
      return failure();
    if (!*replacement)
      continue;
    op->getResult(0).replaceAllUsesWith(*replacement);
    if (op == copy)
      results[0] = *replacement;
    op->erase();
  }
  return success();
}

// Rewrites what an op reads; what the op itself is to be replaced by, or null.
FailureOr<Value> RowBuilder::replacementOf(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOp>(op);
      collective && llvm::is_contained(collective.getCollectiveAxes(), scope.axis))
    return op->emitError()
           << "a collective over the rows of a vmap where rows may disagree whether to run it: all of them "
              "must reach a collective (V6) [E0706]";
  // An element, or a part, of a row is one of the array of all rows.
  bool readsWhole = isa<ExtractOp, SliceOp>(op) && batched.contains(op->getOperand(0));
  for (OpOperand &operand : op->getOpOperands())
    if (Value all = batched.lookup(operand.get()))
      operand.set(readsWhole && operand.getOperandNumber() == 0 ? all : rowOf(all));
  OpBuilder at(op);
  if (auto extract = dyn_cast<ExtractOp>(op); extract && readsWhole) {
    extract.getIndicesMutable().assign(
        llvm::to_vector(llvm::concat<Value>(SmallVector<Value>{row}, SmallVector<Value>(extract.getIndices()))));
    return Value();
  }
  if (readsWhole)
    return readPart(cast<SliceOp>(op));
  if (auto widen = dyn_cast<WidenOp>(op); widen && widen.getInput().getType() == widen.getType())
    return Value(widen.getInput());
  if (auto index = dyn_cast<AxisIndexOp>(op); index && index.getAxisAttr() == scope.axis)
    return FromIndexOp::create(at, op->getLoc(), makeScalarType(at.getI32Type()), row, /*is_unsigned=*/false)
        .getResult();
  return Value();
}

Value RowBuilder::readPart(SliceOp op) {
  OpBuilder at(op);
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<Size> sizes = sizesOf(type);
  sizes.insert(sizes.begin(), Size(1));
  SmallVector<Value> offsets = {row};
  llvm::append_range(offsets, op.getOffsets());
  SmallVector<int64_t> strides = {1};
  llvm::append_range(strides, op.getStrides());
  Value part =
      SliceOp::create(at, op.getLoc(), withSizes(type, sizes), op.getInput(), offsets, strides, op.getInBounds());
  return ReshapeOp::create(at, op.getLoc(), type, part);
}

FailureOr<Value> RowBuilder::lookup(Value inner) {
  if (failed(ensure(inner)))
    return failure();
  Value local = mapping.lookup(inner), all = batched.lookup(local);
  return all ? rowOf(all) : local;
}

void RowBuilder::finish() {
  for (auto [placeholder, all] : batched)
    placeholder.getDefiningOp()->erase();
  if (!repeatsSymbols)
    return;
  SmallVector<Operation *> ops;
  for (Operation &op : *row.getParentBlock())
    ops.push_back(&op);
  scope.names.rename(ops);
}
