// `scf.forall` to a function `void body(void *closure, int64_t lo, int64_t hi)` and a call of pmap_rt_parallel_for.
// Work too small for a second thread calls the function directly.

#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cpu/Passes.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace pmap {
namespace {

// Below this much work, in units of an addition, a second thread costs more than it brings (about 10 microseconds).
constexpr int64_t sequentialWork = 1 << 16;
// The least work worth handing to a thread as one piece.
constexpr int64_t grainWork = 1 << 15;

class Outliner {
public:
  Outliner(ModuleOp module) : module(module), converter(module.getContext()), builder(module.getContext()) {
    MLIRContext *context = module.getContext();
    pointer = LLVM::LLVMPointerType::get(context);
    i64 = IntegerType::get(context, 64);
    voidType = LLVM::LLVMVoidType::get(context);
    bodyType = LLVM::LLVMFunctionType::get(voidType, {pointer, i64, i64});
  }

  void run(func::FuncOp function) {
    SmallVector<scf::ForallOp> loops;
    function.walk([&](scf::ForallOp loop) { loops.push_back(loop); });
    for (scf::ForallOp loop : loops)
      outline(function, loop);
  }

private:
  // The type under which a value is kept in the closure. A bf16 travels as its bits (see createExpandBf16Pass).
  Type kept(Type type) { return type.isBF16() ? builder.getI16Type() : converter.convertType(type); }

  Value cast(Location loc, Value value, Type type) {
    if (value.getType() == type)
      return value;
    if (value.getType().isBF16() || type.isBF16())
      return arith::BitcastOp::create(builder, loc, type, value);
    return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
  }

  // Work of one iteration, which the maker of the loop left as the operand of a marker call in its body.
  Value takeWork(scf::ForallOp loop) {
    for (auto call : llvm::make_early_inc_range(loop.getBody()->getOps<func::CallOp>()))
      if (call.getCallee() == workMarker) {
        Value work = call.getOperand(0);
        call.erase();
        return work;
      }
    return Value();
  }

  // The trips of a loop along dimension `dim`.
  Value trips(scf::ForallOp loop, unsigned dim) {
    Location loc = loop.getLoc();
    Value lower = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedLowerBound()[dim]);
    Value upper = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedUpperBound()[dim]);
    Value step = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedStep()[dim]);
    Value length = builder.createOrFold<arith::SubIOp>(loc, upper, lower);
    return builder.createOrFold<arith::CeilDivSIOp>(loc, length, step);
  }

  Value tripCount(scf::ForallOp loop) {
    Value count = trips(loop, 0);
    for (int64_t dim = 1; dim < loop.getRank(); ++dim)
      count = builder.createOrFold<arith::MulIOp>(loop.getLoc(), count, trips(loop, dim));
    return count;
  }

  // Brings a loop over several dimensions, or one that does not count from 0 by 1, into the form with one dimension
  // that does.
  scf::ForallOp normalize(scf::ForallOp loop) {
    if (loop.getRank() == 1 && loop.isNormalized())
      return loop;
    Location loc = loop.getLoc();
    builder.setInsertionPoint(loop);
    Value count = tripCount(loop);
    auto flat = scf::ForallOp::create(builder, loc, ArrayRef<OpFoldResult>{count}, ValueRange(), std::nullopt);
    builder.setInsertionPointToStart(flat.getBody());
    Value rest = flat.getInductionVars()[0];
    for (int64_t dim = loop.getRank(); dim-- > 0;) {
      Value place = rest;
      if (dim > 0) {
        Value size = trips(loop, dim);
        place = arith::RemUIOp::create(builder, loc, rest, size);
        rest = arith::DivUIOp::create(builder, loc, rest, size);
      }
      Value lower = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedLowerBound()[dim]);
      Value step = getValueOrCreateConstantIndexOp(builder, loc, loop.getMixedStep()[dim]);
      Value iv = builder.createOrFold<arith::MulIOp>(loc, place, step);
      iv = builder.createOrFold<arith::AddIOp>(loc, iv, lower);
      loop.getInductionVar(dim).replaceAllUsesWith(iv);
    }
    flat.getBody()->getOperations().splice(flat.getTerminator()->getIterator(), loop.getBody()->getOperations(),
                                           loop.getBody()->begin(), loop.getTerminator()->getIterator());
    loop.erase();
    return flat;
  }

  void outline(func::FuncOp function, scf::ForallOp loop) {
    loop = normalize(loop);
    Location loc = loop.getLoc();
    Value work = takeWork(loop);

    // What the body reads from around it. Constants are made anew inside.
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    SmallVector<Value> constants, captured;
    for (Value value : used) {
      Operation *definition = value.getDefiningOp();
      (definition && definition->hasTrait<OpTrait::ConstantLike>() ? constants : captured).push_back(value);
    }
    SmallVector<Type> fields;
    for (Value value : captured)
      fields.push_back(kept(value.getType()));
    Type closureType = LLVM::LLVMStructType::getLiteral(module.getContext(), fields);

    LLVM::LLVMFuncOp body = createBody(function, loop, closureType, captured, constants);

    builder.setInsertionPointToStart(&function.front());
    Value one = LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(1));
    Value closure = LLVM::AllocaOp::create(builder, loc, pointer, closureType, one);
    builder.setInsertionPoint(loop);
    for (auto [index, value] : llvm::enumerate(captured)) {
      Value field = LLVM::GEPOp::create(builder, loc, pointer, closureType, closure,
                                        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
      LLVM::StoreOp::create(builder, loc, cast(loc, value, fields[index]), field);
    }
    Value count = tripCount(loop);
    count = arith::IndexCastOp::create(builder, loc, i64, count);
    auto constant = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(builder, loc, value, 64); };
    if (!work) {
      callRuntime(loc, body, closure, count, constant(1));
    } else {
      work = arith::IndexCastOp::create(builder, loc, i64, work);
      Value total = arith::MulIOp::create(builder, loc, work, count);
      Value small = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, total, constant(sequentialWork));
      auto branch = scf::IfOp::create(builder, loc, small, /*withElseRegion=*/true);
      builder.setInsertionPointToStart(branch.thenBlock());
      LLVM::CallOp::create(builder, loc, body, ValueRange{closure, constant(0), count});
      builder.setInsertionPointToStart(branch.elseBlock());
      Value least = arith::MaxSIOp::create(builder, loc, work, constant(1));
      Value grain = arith::CeilDivSIOp::create(builder, loc, constant(grainWork), least);
      callRuntime(loc, body, closure, count, grain);
    }
    loop.erase();
  }

  LLVM::LLVMFuncOp createBody(func::FuncOp function, scf::ForallOp loop, Type closureType, ArrayRef<Value> captured,
                              ArrayRef<Value> constants) {
    Location loc = loop.getLoc();
    builder.setInsertionPoint(function);
    std::string name = (function.getName() + ".body" + Twine(next++)).str();
    auto body = LLVM::LLVMFuncOp::create(builder, loc, name, bodyType, LLVM::Linkage::Internal);
    Block *entry = body.addEntryBlock(builder);
    builder.setInsertionPointToStart(entry);
    IRMapping mapping;
    for (Value value : constants)
      mapping.map(value, builder.clone(*value.getDefiningOp())->getResult(0));
    for (auto [index, value] : llvm::enumerate(captured)) {
      Value field = LLVM::GEPOp::create(builder, loc, pointer, closureType, entry->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
      Value loaded = LLVM::LoadOp::create(builder, loc, kept(value.getType()), field);
      mapping.map(value, cast(loc, loaded, value.getType()));
    }
    Type index = builder.getIndexType();
    Value lower = arith::IndexCastOp::create(builder, loc, index, entry->getArgument(1));
    Value upper = arith::IndexCastOp::create(builder, loc, index, entry->getArgument(2));
    // Buffers of the body are made once per call, not once per iteration.
    SmallVector<Value> buffers;
    for (Operation &op : loop.getBody()->without_terminator()) {
      bool isStack = isa<memref::AllocaOp>(op);
      Operation *free = isStack ? nullptr : freeOf(&op);
      if (!isStack && !free)
        continue;
      Operation *made = builder.clone(op, mapping);
      op.setAttr(hoisted, builder.getUnitAttr());
      if (free) {
        free->setAttr(hoisted, builder.getUnitAttr());
        buffers.push_back(made->getResult(0));
      }
    }
    Value step = arith::ConstantIndexOp::create(builder, loc, 1);
    auto sequential = scf::ForOp::create(builder, loc, lower, upper, step);
    for (Value buffer : buffers)
      memref::DeallocOp::create(builder, loc, buffer);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    builder.setInsertionPointToStart(sequential.getBody());
    mapping.map(loop.getInductionVars()[0], sequential.getInductionVar());
    for (Operation &op : loop.getBody()->without_terminator())
      if (!op.hasAttr(hoisted))
        builder.clone(op, mapping);
    return body;
  }

  // The op that frees a buffer of the same size in every iteration, at the end of each; null for anything else.
  static Operation *freeOf(Operation *op) {
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (!alloc || llvm::any_of(op->getOperands(), [&](Value size) { return size.getParentBlock() == op->getBlock(); }))
      return nullptr;
    for (Operation *user : op->getUsers())
      if (isa<memref::DeallocOp>(user) && user->getBlock() == op->getBlock())
        return user;
    return nullptr;
  }

  void callRuntime(Location loc, LLVM::LLVMFuncOp body, Value closure, Value count, Value grain) {
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>("pmap_rt_parallel_for");
    if (!callee) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(voidType, {pointer, pointer, i64, i64});
      callee = LLVM::LLVMFuncOp::create(builder, loc, "pmap_rt_parallel_for", type);
    }
    Value address = LLVM::AddressOfOp::create(builder, loc, body);
    LLVM::CallOp::create(builder, loc, callee, ValueRange{address, closure, count, grain});
  }

  ModuleOp module;
  LLVMTypeConverter converter;
  OpBuilder builder;
  Type pointer, i64, voidType;
  LLVM::LLVMFunctionType bodyType;
  static constexpr StringLiteral hoisted = "pmap.hoisted";
  unsigned next = 0;
};

struct OutlineParallelPass : PassWrapper<OutlineParallelPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OutlineParallelPass)
  StringRef getArgument() const final { return "pmap-cpu-outline-parallel"; }
  StringRef getDescription() const final { return "Outline parallel loops for the runtime's threads"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<LLVM::LLVMDialect, scf::SCFDialect, arith::ArithDialect>();
  }

  void runOnOperation() final {
    Outliner outliner(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal())
        outliner.run(function);
    if (Operation *marker = getOperation().lookupSymbol(workMarker))
      marker->erase();
  }
};

} // namespace

std::unique_ptr<Pass> createOutlineParallelPass() { return std::make_unique<OutlineParallelPass>(); }

} // namespace pmap
