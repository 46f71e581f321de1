// Loops over the rows of a `pmap.vmap`, for ops that cannot be done for all of them at once.
#include "compiler/Dialect/IR/Emit.h"
#include "compiler/Dialect/Transforms/VmapBatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace pmap;

namespace {

// What must happen row after row: lines are printed in order, and devices meet in the same order.
bool needsOrder(Operation *root) {
  return root
      ->walk([](Operation *op) {
        return isa<PrintOp, CollectiveOp, MapOp, MoveOp, ShardsOp, ToShardsOp>(op) ? WalkResult::interrupt()
                                                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

// Ops that a later loop over the rows does again for itself: an index has no array to come in, and neither has an array
// whose size differs between rows.
bool isRepeated(const VmapScope &scope, Operation *op, Value result) {
  if (op->getNumRegions())
    return false;
  return isa<BindSizeOp>(op) || !isa<RankedTensorType, DistType>(result.getType()) ||
         scope.hasVaryingSizes(result.getType());
}

// The values of the ops that something behind the loop needs, in order.
SmallVector<Value> escapingOf(const VmapScope &scope, ArrayRef<Operation *> ops) {
  llvm::DenseSet<Operation *> members(ops.begin(), ops.end());
  llvm::DenseSet<Value> needed;
  SmallVector<Value> escaping;
  for (Operation *op : llvm::reverse(ops)) {
    Block *block = op->getBlock();
    for (Value result : llvm::reverse(op->getResults())) {
      bool isUsed = needed.contains(result) || llvm::any_of(result.getUsers(), [&](Operation *user) {
                      return !members.contains(block->findAncestorOpInBlock(*user));
                    });
      if (!isUsed)
        continue;
      if (!isRepeated(scope, op, result)) {
        escaping.push_back(result);
        continue;
      }
      needed.insert(op->operand_begin(), op->operand_end());
      visitSizes(op, [&](const Size &size) {
        for (const std::string &symbol : size.symbols())
          if (BindSizeOp bind = scope.variance.binding(symbol))
            needed.insert(bind.getResult());
      });
    }
  }
  std::reverse(escaping.begin(), escaping.end());
  return escaping;
}

// An index or a condition as a scalar array, and a distributed value as a whole, which is how they leave a loop.
Value asTensor(OpBuilder &builder, Value value) {
  Location loc = value.getLoc();
  if (auto dist = dyn_cast<DistType>(value.getType()))
    return MoveOp::create(builder, loc, dist.getTensor(), value);
  if (value.getType().isIndex())
    return FromIndexOp::create(builder, loc, makeScalarType(builder.getI64Type()), value, /*is_unsigned=*/false);
  if (!value.getType().isInteger(1))
    return value;
  RankedTensorType type = makeScalarType(builder.getI1Type());
  auto branch = scf::IfOp::create(builder, loc, type, value, /*withElseRegion=*/true);
  for (bool holds : {true, false}) {
    OpBuilder inner = OpBuilder::atBlockEnd(holds ? branch.thenBlock() : branch.elseBlock());
    Value constant = splat(inner, loc, type, holds);
    scf::YieldOp::create(inner, loc, constant);
  }
  return branch.getResult(0);
}

} // namespace

RankedTensorType Batcher::escapedType(Value inner) const {
  if (auto type = dyn_cast<RankedTensorType>(inner.getType()))
    return batch.outerType(type);
  if (isa<DistType>(inner.getType()))
    return cast<DistType>(outerTypeOf(batch, inner.getType())).getTensor();
  Type element = inner.getType().isIndex() ? Type(builder.getI64Type()) : inner.getType();
  return makeTensorType(element, batch.size);
}

void Batcher::mapEscaped(ArrayRef<Value> escaping, ValueRange all) {
  for (auto [inner, outer] : llvm::zip_equal(escaping, all)) {
    if (isa<RankedTensorType>(inner.getType()))
      scope.outer.map(inner, outer);
    else if (isa<DistType>(inner.getType()))
      scope.outer.map(inner,
                      MoveOp::create(builder, inner.getLoc(), outerTypeOf(batch, inner.getType()), outer).getResult());
    else
      scope.carried[inner] = outer;
  }
}

// Whether ops behind these read an array whose size differs between rows.
bool Batcher::giveVaryingSizes(ArrayRef<Operation *> ops) const {
  return llvm::any_of(escapingOf(scope, ops), [&](Value value) { return scope.hasVaryingSizes(value.getType()); });
}

LogicalResult Batcher::runRows(ArrayRef<Operation *> ops) {
  SmallVector<Value> escaping = escapingOf(scope, ops);
  Location loc = ops.front()->getLoc();
  for (Value value : escaping)
    if (!scope.varies(value))
      return mlir::emitError(value.getLoc())
             << "a value that is computed for each row of a vmap apart, and leaves as one "
                "for all of them, is not built yet: go over the rows in a loop, `for row in x { … }` [E0901]";
  auto isPure = [](Operation *op) { return isMemoryEffectFree(op) || isa<BindSizeOp>(op); };
  if (escaping.empty() && llvm::all_of(ops, isPure))
    return success();
  bool inOrder = escaping.empty() || llvm::any_of(ops, needsOrder) ||
                 llvm::any_of(escaping, [](Value value) { return isa<DistType>(value.getType()); });
  return inOrder ? runRowsInOrder(ops, escaping, loc) : runRowsAtOnce(ops, escaping, loc);
}

LogicalResult Batcher::runRowsAtOnce(ArrayRef<Operation *> ops, ArrayRef<Value> escaping, Location loc) {
  SmallVector<Type> types = llvm::map_to_vector(escaping, [&](Value value) -> Type { return escapedType(value); });
  auto loop = ForEachOp::create(builder, loc, types, indexOf(builder, loc, batch.size));
  OpBuilder inner = OpBuilder::atBlockEnd(&loop.getBody().front());
  RowBuilder row(scope, batch, inner, loop.getBody().getArgument(0));
  for (Operation *op : ops)
    if (failed(row.add(op)))
      return failure();
  SmallVector<Value> yielded;
  for (Value value : escaping)
    yielded.push_back(asTensor(inner, *row.lookup(value)));
  YieldOp::create(inner, loc, yielded);
  row.finish();
  mapEscaped(escaping, loop.getResults());
  return success();
}

LogicalResult Batcher::runRowsInOrder(ArrayRef<Operation *> ops, ArrayRef<Value> escaping, Location loc) {
  SmallVector<Value> initial;
  for (Value value : escaping)
    initial.push_back(splat(builder, loc, escapedType(value), 0));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, zero, indexOf(builder, loc, batch.size), one, initial);
  Block *body = loop.getBody();
  if (!body->empty())
    body->back().erase();
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  RowBuilder row(scope, batch, inner, loop.getInductionVar());
  for (Operation *op : ops)
    if (failed(row.add(op)))
      return failure();
  SmallVector<Value> yielded;
  for (auto [value, all] : llvm::zip_equal(escaping, loop.getRegionIterArgs())) {
    Value local = asTensor(inner, *row.lookup(value));
    auto type = cast<RankedTensorType>(all.getType());
    SmallVector<Size> sizes = sizesOf(type);
    sizes[0] = Size(1);
    SmallVector<Value> offsets = zeroOffsets(inner, loc, type.getRank());
    offsets[0] = loop.getInductionVar();
    Value part = ReshapeOp::create(inner, loc, withSizes(type, sizes), local);
    yielded.push_back(UpdateSliceOp::create(inner, loc, all, part, offsets, /*inBounds=*/true));
  }
  scf::YieldOp::create(inner, loc, yielded);
  row.finish();
  mapEscaped(escaping, loop.getResults());
  return success();
}
