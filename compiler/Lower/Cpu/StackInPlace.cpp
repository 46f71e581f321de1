// Loops that stack what they carry.
//
// A loop keeps what each trip begins with for the derivative: it copies the carried array into a row of a stack, and
// makes the next one beside it. Here the stack gets one row more and the carried array lives in it: a trip reads its
// row and writes the next one, so that keeping costs no copy. And of a stack only the rows that the loop does not write
// are filled before it; there are hardly ever any.

#include "compiler/Lower/Cpu/Passes.h"
#include "compiler/Lower/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace pmap {
namespace {

//===--------------------------------------------------------------------------------------------------------------===//
// Rows
//===--------------------------------------------------------------------------------------------------------------===//

bool isNumber(Value value, int64_t number) { return getConstantIntValue(value) == number; }

bool isDifference(Value value, Value a, Value b) {
  if (isNumber(b, 0) && value == a)
    return true;
  auto subtract = value.getDefiningOp<arith::SubIOp>();
  return subtract && subtract.getLhs() == a && subtract.getRhs() == b;
}

// True when `row` counts the trips of the loop from 0.
bool countsTrips(Value row, scf::ForOp loop) {
  if (!isNumber(loop.getStep(), 1)) {
    auto divide = row.getDefiningOp<arith::DivSIOp>();
    if (!divide || divide.getRhs() != loop.getStep())
      return false;
    row = divide.getLhs();
  }
  return isDifference(row, loop.getInductionVar(), loop.getLowerBound());
}

// The value where the builder is, before its definition in this block if what it takes is known there; null if not.
Value availableAt(OpBuilder &builder, Value value) {
  Operation *maker = value.getDefiningOp();
  Block::iterator place = builder.getInsertionPoint();
  bool isKnown = !maker || maker->getBlock() != builder.getInsertionBlock() || place == maker->getBlock()->end() ||
                 maker->isBeforeInBlock(&*place);
  if (isKnown)
    return value;
  if (!isPure(maker) || maker->getNumRegions() || maker->getNumResults() != 1)
    return Value();
  IRMapping mapping;
  for (Value operand : maker->getOperands()) {
    Value known = availableAt(builder, operand);
    if (!known)
      return Value();
    mapping.map(operand, known);
  }
  return builder.clone(*maker, mapping)->getResult(0);
}

// The number of trips that the loop makes, where the builder is; null where that is not known yet.
Value tripsOf(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value trips = availableAt(builder, loop.getUpperBound()), lower = availableAt(builder, loop.getLowerBound()),
        step = availableAt(builder, loop.getStep());
  if (!trips || !lower || !step)
    return Value();
  trips = builder.createOrFold<arith::SubIOp>(loc, trips, lower);
  if (!isNumber(step, 1))
    trips = builder.createOrFold<arith::CeilDivSIOp>(loc, trips, step);
  return builder.createOrFold<arith::MaxSIOp>(loc, trips, arith::ConstantIndexOp::create(builder, loc, 0));
}

// True when `view` is the row of `stack` that counts the trips of the loop around it, whole.
bool isRowOfTrip(memref::SubViewOp view, memref::AllocOp stack, scf::ForOp loop) {
  SmallVector<OpFoldResult> offsets = view.getMixedOffsets(), sizes = view.getMixedSizes(),
                            whole = stack.getMixedSizes();
  return view.getSource() == stack.getResult() && view->getBlock() == loop.getBody() && isOneInteger(sizes[0]) &&
         isa<Value>(offsets[0]) && countsTrips(cast<Value>(offsets[0]), loop) &&
         llvm::all_of(ArrayRef(offsets).drop_front(), [](OpFoldResult offset) { return isZeroInteger(offset); }) &&
         llvm::equal(ArrayRef(sizes).drop_front(), ArrayRef(whole).drop_front()) &&
         llvm::all_of(view.getMixedStrides(), [](OpFoldResult stride) { return isOneInteger(stride); });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Uses of buffers
//===--------------------------------------------------------------------------------------------------------------===//

// What is done with a buffer, through views of it as well.
struct Uses {
  SmallVector<OpOperand *> users;
  bool isWritten = false;
  // Whether something needs its layout or keeps a reference.
  bool escapes = false;
};

bool writes(OpOperand &use) {
  if (auto op = dyn_cast<linalg::LinalgOp>(use.getOwner()))
    return op.isDpsInit(&use);
  if (auto call = dyn_cast<rt::CallOp>(use.getOwner()))
    return llvm::is_contained(call.getOutputs(), use.get());
  auto copy = dyn_cast<memref::CopyOp>(use.getOwner());
  return copy && copy.getTarget() == use.get();
}

// True for an op that reads or writes buffers and keeps no reference of any: a call that does returns a pointer.
bool usesInPassing(Operation *op) {
  return isa<linalg::LinalgOp, memref::CopyOp, memref::DimOp, memref::LoadOp>(op) ||
         (isa<rt::CallOp>(op) && llvm::none_of(op->getResultTypes(), llvm::IsaPred<LLVM::LLVMPointerType>));
}

Uses usesOf(Value buffer, Operation *except = nullptr) {
  Uses uses;
  SmallVector<Value> aliases{buffer};
  while (!aliases.empty()) {
    for (OpOperand &use : aliases.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user == except && use.get() == buffer)
        continue;
      uses.users.push_back(&use);
      uses.isWritten |= writes(use);
      if (isa<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp, memref::CastOp>(user))
        aliases.push_back(user->getResult(0));
      else
        uses.escapes |= !usesInPassing(user);
    }
  }
  return uses;
}

// True for an op that writes every element of `view` and reads none of it.
bool writesWhole(Operation *op, memref::SubViewOp view) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return copy.getTarget() == view.getResult() && copy.getSource() != view.getResult();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() == 0 &&
         !llvm::is_contained(generic.getDpsInputs(), view.getResult()) &&
         llvm::any_of(generic.getDpsInitsMutable(), [&](OpOperand &output) {
           return output.get() == view && generic.getMatchingIndexingMap(&output).isPermutation() &&
                  generic.getMatchingBlockArgument(&output).use_empty();
         });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Fills
//===--------------------------------------------------------------------------------------------------------------===//

// An op that writes the same value everywhere.
bool isFill(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.getNumDpsInits() == 1 && structured.getNumReductionLoops() == 0 &&
         !structured.payloadUsesValueFromOperand(structured.getDpsInitOperand(0)) && !structured.hasIndexSemantics() &&
         llvm::none_of(structured.getDpsInputs(), [](Value input) { return isa<MemRefType>(input.getType()); });
}

// Fills only the rest of a stack if the first that is done with it is that a loop writes the rows of its trips.
void fillRest(memref::AllocOp stack) {
  SmallVector<Operation *> users;
  for (Operation *user : stack->getUsers()) {
    Operation *inBlock = stack->getBlock()->findAncestorOpInBlock(*user);
    if (!inBlock)
      return;
    if (!llvm::is_contained(users, inBlock))
      users.push_back(inBlock);
  }
  llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::erase_if(users, llvm::IsaPred<memref::DimOp>);
  if (users.size() < 2 || !isFill(users[0]) || cast<linalg::LinalgOp>(users[0]).getDpsInits()[0] != stack.getResult())
    return;
  auto loop = dyn_cast<scf::ForOp>(users[1]);
  if (!loop)
    return;
  memref::SubViewOp row;
  for (Operation *user : stack->getUsers())
    if (loop->isProperAncestor(user)) {
      auto view = dyn_cast<memref::SubViewOp>(user);
      if (row || !view || !isRowOfTrip(view, stack, loop))
        return;
      row = view;
    }
  if (!row || llvm::is_contained(loop.getInitArgs(), stack.getResult()))
    return;
  Operation *first = nullptr;
  for (Operation *user : row->getUsers()) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (!first || inBody->isBeforeInBlock(first))
      first = inBody;
  }
  bool isReadInside = llvm::any_of(row->getUsers(), [&](Operation *user) { return first->isProperAncestor(user); });
  if (!first || isReadInside || !writesWhole(first, row))
    return;
  OpBuilder builder(users[0]);
  Location loc = users[0]->getLoc();
  SmallVector<OpFoldResult> sizes = stack.getMixedSizes(), offsets(sizes.size(), builder.getIndexAttr(0)),
                            strides(sizes.size(), builder.getIndexAttr(1));
  Value trips = tripsOf(builder, loop);
  if (!trips)
    return;
  Value rows = getValueOrCreateConstantIndexOp(builder, loc, sizes[0]);
  Value written = builder.createOrFold<arith::MinSIOp>(loc, trips, rows);
  offsets[0] = getAsOpFoldResult(written);
  sizes[0] = getAsOpFoldResult(builder.createOrFold<arith::SubIOp>(loc, rows, written));
  if (!isZeroInteger(sizes[0])) {
    IRMapping mapping;
    mapping.map(stack.getResult(), memref::SubViewOp::create(builder, loc, stack, offsets, sizes, strides).getResult());
    builder.clone(*users[0], mapping);
  }
  users[0]->erase();
}

//===--------------------------------------------------------------------------------------------------------------===//
// Carried arrays
//===--------------------------------------------------------------------------------------------------------------===//

// An array that a loop carries and stacks.
struct Carried {
  scf::ForOp loop;
  unsigned number;
  // The copy into the stack, its target, and what each trip makes in the array's place.
  memref::CopyOp copy;
  memref::SubViewOp row;
  memref::AllocOp stack, next;
};

std::optional<Carried> findStack(scf::ForOp loop, unsigned number) {
  BlockArgument value = loop.getRegionIterArg(number);
  auto next = loop.getYieldedValues()[number].getDefiningOp<memref::AllocOp>();
  if (!isa<MemRefType>(value.getType()) || !next || next->getBlock() != loop.getBody() ||
      llvm::count_if(next->getUses(), [&](OpOperand &use) { return isa<scf::YieldOp>(use.getOwner()); }) != 1 ||
      usesOf(next, loop.getBody()->getTerminator()).escapes)
    return std::nullopt;
  Uses uses = usesOf(value);
  if (uses.escapes || uses.isWritten)
    return std::nullopt;
  for (Operation *user : value.getUsers()) {
    auto copy = dyn_cast<memref::CopyOp>(user);
    auto row = copy ? copy.getTarget().getDefiningOp<memref::SubViewOp>() : nullptr;
    auto stack = row ? row.getSource().getDefiningOp<memref::AllocOp>() : nullptr;
    if (!stack || copy->getBlock() != loop.getBody() || !row->hasOneUse() || !isRowOfTrip(row, stack, loop) ||
        stack->getBlock() != loop->getBlock() ||
        !llvm::equal(cast<MemRefType>(value.getType()).getShape(), stack.getType().getShape().drop_front()) ||
        !stack.getType().getLayout().isIdentity() || !cast<MemRefType>(value.getType()).getLayout().isIdentity() ||
        stack.getType().getElementType().isIndex())
      continue;
    bool isElsewhere =
        llvm::any_of(stack->getUsers(), [&](Operation *other) { return other != row && loop->isAncestor(other); });
    if (!isElsewhere)
      return Carried{loop, number, copy, row, stack, next};
  }
  return std::nullopt;
}

class StackEditor {
public:
  explicit StackEditor(Carried carried) : carried(carried), builder(carried.stack), loc(carried.copy.getLoc()) {}

  void run() {
    scf::ForOp loop = carried.loop;
    memref::AllocOp stack = carried.stack;
    rowType = carried.next.getType();
    sizes = stack.getMixedSizes();
    rowBytes = constant(llvm::divideCeil(stack.getType().getElementTypeBitWidth(), 8));
    for (OpFoldResult size : ArrayRef(sizes).drop_front())
      rowBytes = multiply(rowBytes, getValueOrCreateConstantIndexOp(builder, loc, size));
    rows = getValueOrCreateConstantIndexOp(builder, loc, sizes[0]);
    Value all = multiply(builder.createOrFold<arith::AddIOp>(loc, rows, constant(1)), rowBytes);
    bytes = memref::AllocOp::create(builder, loc, MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()),
                                    ValueRange(all));
    Value stacked = view(stack.getType(), constant(0), sizes);
    stack.replaceAllUsesWith(stacked);

    makeFirstRow(loop.getInitArgs()[carried.number], stacked);
    builder.setInsertionPoint(loop);
    Value trips = tripsOf(builder, loop);

    // Inside: a row, and the next.
    builder.setInsertionPointToStart(loop.getBody());
    Value trip = builder.createOrFold<arith::SubIOp>(loc, loop.getInductionVar(), loop.getLowerBound());
    trip = builder.createOrFold<arith::DivSIOp>(loc, trip, loop.getStep());
    Value current = rowAt(trip);
    loop.getRegionIterArg(carried.number).replaceAllUsesWith(current);
    builder.setInsertionPoint(carried.next);
    Value nextTrip = builder.createOrFold<arith::AddIOp>(loc, trip, constant(1));
    carried.next.replaceAllUsesWith(rowAt(rowBefore(nextTrip, trips)));
    carried.next.erase();
    carried.copy.erase();
    carried.row.erase();

    // Behind it: the last row, in a buffer of its own where someone keeps it.
    builder.setInsertionPointAfter(loop);
    Value result = loop.getResult(carried.number);
    Value last = rowAt(rows);
    if (usesOf(result).escapes) {
      Value own = memref::AllocOp::create(builder, loc, ArrayRef(sizes).drop_front(), stack.getType().getElementType());
      memref::CopyOp::create(builder, loc, last, own);
      last = own;
    }
    result.replaceAllUsesWith(last);
    dropCarried();
    stack.erase();
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value multiply(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }

  Value view(MemRefType type, Value offset, ArrayRef<OpFoldResult> shape) {
    SmallVector<Value> dynamic;
    SmallVector<int64_t> unused;
    dispatchIndexOpFoldResults(shape, dynamic, unused);
    return memref::ViewOp::create(builder, loc, type, bytes, offset, dynamic);
  }

  Value rowAt(Value row) { return view(rowType, multiply(row, rowBytes), ArrayRef(sizes).drop_front()); }

  // The row of what a trip begins with; behind the last trip it is the additional one, for the stack may go on with
  // rows that are not of this loop. A trip that has no row ends the program, but may compute something before.
  Value rowBefore(Value trip, Value trips) {
    Value isBehind = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, trip, trips);
    Value within = builder.createOrFold<arith::MinSIOp>(loc, trip, rows);
    return builder.createOrFold<arith::SelectOp>(loc, isBehind, rows, within);
  }

  // What the loop begins with is made in the first row, if nobody else writes there, or copied there.
  void makeFirstRow(Value init, Value stacked) {
    auto own = init.getDefiningOp<memref::AllocOp>();
    if (own && canMoveTo(own, stacked)) {
      builder.setInsertionPoint(own);
      if (Value trips = tripsOf(builder, carried.loop)) {
        own.replaceAllUsesWith(rowAt(rowBefore(constant(0), trips)));
        own.erase();
        return;
      }
    }
    builder.setInsertionPoint(carried.loop);
    Value first = rowAt(rowBefore(constant(0), tripsOf(builder, carried.loop)));
    memref::CopyOp::create(builder, loc, init, first);
  }

  // Whether the buffer is used before the loop, which begins with it, and read in it, and the stack not since.
  bool canMoveTo(memref::AllocOp own, Value stacked) {
    scf::ForOp loop = carried.loop;
    Block *block = loop->getBlock();
    if (own.getType() != rowType || own->getBlock() != block || !bytes.getDefiningOp()->isBeforeInBlock(own) ||
        llvm::count(loop.getInitArgs(), own.getResult()) != 1)
      return false;
    bool isTouched = llvm::any_of(stacked.getUsers(), [&](Operation *user) {
      Operation *inBlock = block->findAncestorOpInBlock(*user);
      return inBlock->isBeforeInBlock(loop) && own->isBeforeInBlock(inBlock);
    });
    Uses uses = usesOf(own, loop);
    return !isTouched && !uses.escapes && llvm::all_of(uses.users, [&](OpOperand *use) {
      Operation *inBlock = block->findAncestorOpInBlock(*use->getOwner());
      return inBlock->isBeforeInBlock(loop) || (inBlock == loop && !writes(*use));
    });
  }

  // The loop without the array, which nothing reads any more.
  void dropCarried() {
    scf::ForOp loop = carried.loop;
    SmallVector<Value> inits(loop.getInitArgs()), results(loop.getResults());
    inits.erase(inits.begin() + carried.number);
    results.erase(results.begin() + carried.number);
    loop.getBody()->getTerminator()->eraseOperand(carried.number);
    loop.getBody()->eraseArgument(carried.number + loop.getNumInductionVars());
    builder.setInsertionPoint(loop);
    auto without =
        scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
    without->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    without.getRegion().takeBody(loop.getRegion());
    for (auto [old, result] : llvm::zip_equal(results, without.getResults()))
      old.replaceAllUsesWith(result);
    loop.erase();
  }

  Carried carried;
  OpBuilder builder;
  Location loc;
  MemRefType rowType;
  // Of the stack.
  SmallVector<OpFoldResult> sizes;
  // Its rows, the bytes of each, and the memory of all and one more.
  Value rows, rowBytes, bytes;
};

bool stackOne(scf::ForOp loop) {
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (std::optional<Carried> carried = findStack(loop, number)) {
      StackEditor(*carried).run();
      return true;
    }
  return false;
}

struct StackInPlacePass : PassWrapper<StackInPlacePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StackInPlacePass)
  StringRef getArgument() const final { return "pmap-cpu-stack-in-place"; }
  StringRef getDescription() const final { return "Let arrays that a loop carries and stacks live in their stack"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    SmallVector<memref::AllocOp> stacks;
    getOperation().walk([&](memref::AllocOp stack) { stacks.push_back(stack); });
    for (memref::AllocOp stack : stacks)
      fillRest(stack);
    // A loop that is changed is a new one.
    auto change = [&] {
      return getOperation()
          .walk([](scf::ForOp loop) { return stackOne(loop) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
    };
    while (change()) {
    }
  }
};

} // namespace

std::unique_ptr<Pass> createStackInPlacePass() { return std::make_unique<StackInPlacePass>(); }

} // namespace pmap
