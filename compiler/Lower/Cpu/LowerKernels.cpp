// Structured ops on memrefs to parallel loops over blocks.

#include "compiler/Lower/Cpu/Clusters.h"
#include "compiler/Lower/Cpu/Kernel.h"
#include "compiler/Lower/Cpu/KernelShape.h"
#include "compiler/Lower/Cpu/KernelTransforms.h"
#include "compiler/Lower/Cpu/ReportKernels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

using namespace mlir;

namespace pmap {
namespace {

// Elements that one block of an elementwise op or of a reduction covers. A constant: the bits of a reduction depend on
// it.
constexpr int64_t blockElements = 8192;
// Arrays of at least this many bytes are larger than the share of the last cache that a program may count on.
constexpr int64_t streamedBytes = 24 << 20;
// Stores past the caches pay for ops of at most this cost per element. Where arithmetic is the bottleneck they are
// slower.
constexpr int64_t streamedCost = 16;
// Rows of a block whose partial result is as long as a row: with few rows, writing and combining partial results would
// be most of the work.
constexpr int64_t partialRows = 64;
class KernelLowering {
public:
  KernelLowering(func::FuncOp function, VectorTarget target) : builder(function.getContext()), target(target) {}

  void lower(Cluster &cluster) {
    linalg::GenericOp last = cluster.ops.back();
    builder.setInsertionPoint(last);
    loc = last.getLoc();
    if (cluster.ops.size() > 1)
      lowerRows(cluster);
    else
      lowerAlone(last);
    for (linalg::GenericOp op : llvm::reverse(cluster.ops))
      op.erase();
    for (memref::AllocOp local : cluster.locals) {
      for (Operation *user : llvm::make_early_inc_range(local->getUsers()))
        if (isa<memref::CollapseShapeOp>(user) && user->use_empty())
          user->erase();
      if (local->use_empty())
        local.erase();
    }
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value multiply(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }

  SmallVector<Span> wholeSpans(Kernel &kernel) {
    SmallVector<Span> spans;
    Value zero = constant(0);
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      spans.push_back({zero, kernel.extent(builder, loc, dim)});
    return spans;
  }

  void lowerAlone(linalg::GenericOp op) {
    SmallVector<scf::ForOp> sum = loopsOfSum(op);
    linalg::GenericOp collapsed = collapseLoops(builder, op);
    if (isSumOfProducts(collapsed, sum)) {
      emitMatrixProduct(builder, collapsed, sum);
    } else if (isMatrixProduct(op)) {
      emitProduct(collapsed);
    } else {
      Kernel kernel(collapsed);
      emit(kernel);
    }
    if (collapsed != op)
      collapsed.erase();
  }

  void emitProduct(linalg::GenericOp op) {
    Value condition = worthCalling(builder, op);
    if (!condition)
      return emitMatrixProduct(builder, op);
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(branch.thenBlock());
    emitMatrixProduct(builder, op);
    builder.setInsertionPointToStart(branch.elseBlock());
    Kernel kernel(op);
    emit(kernel);
  }

  // One loop over blocks of rows for all ops of the cluster; arrays that only the cluster knows shrink to one block of
  // rows.
  void lowerRows(Cluster &cluster) {
    // Purely elementwise clusters walk memory in one line.
    SmallVector<linalg::GenericOp> collapsed;
    bool flat = llvm::all_of(cluster.ops, isFlat);
    for (linalg::GenericOp op : cluster.ops)
      collapsed.push_back(collapseLoops(builder, op, flat ? std::nullopt : rowLoop(op)));
    SmallVector<Kernel> kernels;
    SmallVector<SmallVector<Span>> spans;
    Value rowElements = constant(1), work = constant(0);
    unsigned last = cluster.ops.size() - 1;
    for (linalg::GenericOp op : collapsed) {
      kernels.emplace_back(op);
      spans.push_back(wholeSpans(kernels.back()));
      Value elements = elementsPerRow(kernels.back(), spans.back(), *rowLoop(op));
      rowElements = builder.createOrFold<arith::MaxSIOp>(loc, rowElements, elements);
      work = builder.createOrFold<arith::AddIOp>(
          loc, work, multiply(elements, constant(std::max<int64_t>(1, kernels.back().cost))));
    }
    Value extent = spans[last][*rowLoop(collapsed[last])].upper;
    SmallVector<SmallVector<Value>> streamed;
    for (auto [index, kernel] : llvm::enumerate(kernels)) {
      streamed.push_back(streamedOutputs(kernel));
      // Only what no op of the cluster reads.
      for (auto [output, condition] : llvm::zip(cluster.ops[index].getDpsInits(), streamed.back()))
        if (llvm::any_of(cluster.ops,
                         [&](linalg::GenericOp op) { return llvm::is_contained(op.getDpsInputs(), output); }))
          condition = Value();
    }
    bool inVectors = llvm::any_of(kernels, [](Kernel &kernel) { return kernel.numLoops() == 1; });
    Value size = blockSize(rowElements, inVectors);
    // Column reductions are cut along the rows of memory: a block takes a piece of each row that is worth its cache
    // lines.
    for (auto [index, kernel] : llvm::enumerate(kernels))
      if (readsAcrossRows(kernel, *rowLoop(collapsed[index])))
        size = builder.createOrFold<arith::MaxSIOp>(loc, size, constant(transposedTile));
    auto emitBlock = [&](Value, Span part) {
      DenseMap<Value, Value> locals;
      for (memref::AllocOp local : cluster.locals)
        locals[local] = allocateBlock(local, size, flat);
      for (auto [index, kernel] : llvm::enumerate(kernels)) {
        spans[index][*rowLoop(collapsed[index])] = part;
        NestOptions options{target, {}, {}, collapsed[index]->hasAttr(startsFresh), streamed[index]};
        for (Value operand : kernel.op->getOperands()) {
          Value local = locals.lookup(originOf(operand));
          options.buffers.push_back(local && !flat ? sameShape(operand, local) : local);
          options.shifts.push_back(local ? part.lower : Value());
        }
        emitNest(builder, loc, kernel, spans[index], options);
        fence(streamed[index]);
      }
    };
    if (cluster.ops.back()->getParentOfType<scf::ForallOp>())
      forBlocksInSequence(extent, size, emitBlock);
    else
      forBlocks(extent, size, multiply(size, work), emitBlock);
    for (auto [op, original] : llvm::zip(collapsed, cluster.ops))
      if (op != original)
        op.erase();
  }

  // Per output of an elementwise op, whether to store past the caches: for a fresh array that is large and whose rows
  // are aligned. Null where that can never be.
  SmallVector<Value> streamedOutputs(Kernel &kernel) {
    SmallVector<Value> streamed;
    for (Value output : kernel.op.getDpsInits()) {
      auto type = cast<MemRefType>(output.getType());
      Value origin = originOf(output);
      bool fresh = origin.getDefiningOp<memref::AllocOp>() && !type.hasStaticShape() && type.getLayout().isIdentity() &&
                   llvm::none_of(kernel.op.getDpsInputs(), [&](Value input) { return originOf(input) == origin; });
      if (!fresh || kernel.hasReduction || kernel.cost > streamedCost || !type.getElementType().isIntOrFloat() ||
          type.getElementTypeBitWidth() < 8) {
        streamed.push_back(Value());
        continue;
      }
      Value elements = constant(1), last;
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        last = sizeOf(builder, loc, output, dim);
        elements = multiply(elements, last);
      }
      int64_t bytes = type.getElementTypeBitWidth() / 8;
      Value large =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, elements, constant(streamedBytes / bytes));
      if (type.getRank() > 1) {
        Value rest = builder.createOrFold<arith::RemUIOp>(loc, last, constant(64 / bytes));
        Value aligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest, constant(0));
        large = arith::AndIOp::create(builder, loc, large, aligned);
      }
      streamed.push_back(large);
    }
    return streamed;
  }

  // Stores past the caches are seen by other threads only after a fence.
  void fence(ArrayRef<Value> streamed) {
    for (Value condition : streamed) {
      if (!condition)
        continue;
      OpBuilder::InsertionGuard guard(builder);
      auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
      LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
    }
  }

  // The buffer of which `operand` is a collapsed view.
  static Value originOf(Value operand) {
    if (auto collapse = operand.getDefiningOp<memref::CollapseShapeOp>())
      return collapse.getSrc();
    return operand;
  }

  // `block` collapsed as `operand` is.
  Value sameShape(Value operand, Value block) {
    if (auto collapse = operand.getDefiningOp<memref::CollapseShapeOp>())
      return memref::CollapseShapeOp::create(builder, loc, block, collapse.getReassociationIndices());
    return block;
  }

  Value allocateBlock(memref::AllocOp local, Value rows, bool flat) {
    MemRefType type = local.getType();
    if (flat)
      return memref::AllocOp::create(builder, loc, MemRefType::get({ShapedType::kDynamic}, type.getElementType()),
                                     rows);
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<Value> sizes(local.getDynamicSizes());
    if (type.isDynamicDim(0))
      sizes[0] = rows;
    else
      sizes.insert(sizes.begin(), rows);
    shape[0] = ShapedType::kDynamic;
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, type.getElementType()), sizes);
  }

  void emit(Kernel &kernel) {
    SmallVector<Span> spans = wholeSpans(kernel);
    NestOptions options{target, {}, {}, kernel.op->hasAttr(startsFresh)};
    // One level of parallel loops: what is inside one runs on one thread.
    if (isSmall(kernel) || kernel.op->getParentOfType<scf::ForallOp>())
      return emitNest(builder, loc, kernel, spans, options);
    if (std::optional<unsigned> split = parallelSplit(kernel))
      return emitParallel(kernel, spans, *split, options);
    if (!kernel.combiners.empty())
      return emitPartials(kernel, spans, firstReduction(kernel), options);
    emitNest(builder, loc, kernel, spans, options);
  }

  Value elementsPerRow(Kernel &kernel, ArrayRef<Span> spans, unsigned row) {
    Value elements = constant(1);
    for (unsigned dim = 0; dim < kernel.numLoops(); ++dim)
      if (dim != row)
        elements = multiply(elements, spans[dim].upper);
    return elements;
  }

  // How many rows make a block; whole vectors when the blocks cut a vector loop.
  Value blockSize(Value rowElements, bool inVectors) {
    Value least = builder.createOrFold<arith::MaxSIOp>(loc, rowElements, constant(1));
    Value rows = builder.createOrFold<arith::CeilDivSIOp>(loc, constant(blockElements), least);
    if (!inVectors)
      return rows;
    Value vectors = builder.createOrFold<arith::CeilDivSIOp>(loc, rows, constant(64));
    return multiply(vectors, constant(64));
  }

  Span partOf(Value block, Value size, Value extent) {
    Value lower = multiply(block, size);
    Value end = builder.createOrFold<arith::AddIOp>(loc, lower, size);
    return {lower, builder.createOrFold<arith::MinSIOp>(loc, end, extent)};
  }

  // `emitBlock` runs in the body, with the block's number and its part of the loop; `work` is that of a block.
  void forBlocks(Value extent, Value size, Value work, function_ref<void(Value, Span)> emitBlock) {
    Value blocks = builder.createOrFold<arith::CeilDivSIOp>(loc, extent, size);
    declareWorkMarker();
    auto loop = scf::ForallOp::create(builder, loc, ArrayRef<OpFoldResult>{blocks}, ValueRange(), std::nullopt);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getTerminator());
    func::CallOp::create(builder, loc, workMarker, TypeRange(), work);
    Value block = loop.getInductionVars()[0];
    emitBlock(block, partOf(block, size, extent));
  }

  void forBlocksInSequence(Value extent, Value size, function_ref<void(Value, Span)> emitBlock) {
    Value blocks = builder.createOrFold<arith::CeilDivSIOp>(loc, extent, size);
    auto loop = scf::ForOp::create(builder, loc, constant(0), blocks, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emitBlock(loop.getInductionVar(), partOf(loop.getInductionVar(), size, extent));
  }

  void declareWorkMarker() {
    auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
    if (module.lookupSymbol(workMarker))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto marker = func::FuncOp::create(builder, loc, workMarker, builder.getFunctionType(builder.getIndexType(), {}));
    marker.setPrivate();
  }

  void emitParallel(Kernel &kernel, SmallVector<Span> spans, unsigned split, NestOptions options) {
    // Transposed stores touch many rows in turn, which only the caches can combine.
    if (leastRows(kernel, split) == 1)
      options.streamed = streamedOutputs(kernel);
    Value elements = elementsPerRow(kernel, spans, split);
    Value size = blockSize(elements, kernel.numLoops() == 1);
    size = builder.createOrFold<arith::MaxSIOp>(loc, size, constant(leastRows(kernel, split)));
    Value work = multiply(multiply(size, elements), constant(std::max<int64_t>(1, kernel.cost)));
    forBlocks(spans[split].upper, size, work, [&](Value, Span part) {
      spans[split] = part;
      emitNest(builder, loc, kernel, spans, options);
      fence(options.streamed);
    });
  }

  // Blocks of a reduction loop: each block reduces into a slice of its own, then the slices are combined in order.
  void emitPartials(Kernel &kernel, SmallVector<Span> spans, unsigned split, NestOptions options) {
    Value elements = elementsPerRow(kernel, spans, split);
    Value size = blockSize(elements, kernel.numLoops() == 1);
    if (llvm::is_contained(kernel.isReduction, false))
      size = builder.createOrFold<arith::MaxSIOp>(loc, size, constant(partialRows));
    Value work = multiply(multiply(size, elements), constant(std::max<int64_t>(1, kernel.cost)));
    Value blocks = builder.createOrFold<arith::CeilDivSIOp>(loc, spans[split].upper, size);
    unsigned inputs = kernel.numInputs();
    SmallVector<Value> partials;
    for (auto [index, combiner] : llvm::enumerate(kernel.combiners))
      partials.push_back(allocatePartial(kernel.operand(inputs + index), blocks, combiner.value.getType()));
    bool fresh = options.startFromNeutral;
    options.startFromNeutral = true;
    forBlocks(spans[split].upper, size, work, [&](Value block, Span part) {
      spans[split] = part;
      options.buffers.assign(inputs, Value());
      for (Value partial : partials)
        options.buffers.push_back(sliceOf(partial, block));
      emitNest(builder, loc, kernel, spans, options);
    });
    for (auto [index, combiner] : llvm::enumerate(kernel.combiners))
      combinePartials(combiner, partials[index], kernel.operand(inputs + index), fresh);
  }

  Value allocatePartial(Value output, Value blocks, Type element) {
    auto type = cast<MemRefType>(output.getType());
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    llvm::append_range(shape, type.getShape());
    SmallVector<Value> sizes{blocks};
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        sizes.push_back(builder.createOrFold<memref::DimOp>(loc, output, dim));
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, element), sizes);
  }

  // partial[block, ...], without the first dimension.
  Value sliceOf(Value partial, Value block) {
    auto type = cast<MemRefType>(partial.getType());
    SmallVector<OpFoldResult> offsets{block}, sizes{builder.getIndexAttr(1)};
    SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
    for (int64_t dim = 1; dim < type.getRank(); ++dim) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(memref::getMixedSize(builder, loc, partial, dim));
    }
    auto sliced =
        memref::SubViewOp::inferRankReducedResultType(type.getShape().drop_front(), type, offsets, sizes, strides);
    return memref::SubViewOp::create(builder, loc, cast<MemRefType>(sliced), partial, offsets, sizes, strides);
  }

  void combinePartials(Combiner &combiner, Value partial, Value output, bool fresh) {
    auto type = cast<MemRefType>(output.getType());
    unsigned rank = type.getRank();
    MLIRContext *context = builder.getContext();
    SmallVector<AffineExpr> place;
    for (unsigned dim = 0; dim < rank; ++dim)
      place.push_back(getAffineDimExpr(dim, context));
    auto outputMap = AffineMap::get(rank + 1, 0, place, context);
    place.insert(place.begin(), getAffineDimExpr(rank, context));
    auto partialMap = AffineMap::get(rank + 1, 0, place, context);
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    iterators.push_back(utils::IteratorType::reduction);
    auto op = linalg::GenericOp::create(
        builder, loc, partial, output, ArrayRef<AffineMap>{partialMap, outputMap}, iterators,
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          OperationState state(combiner.op->getLoc(), combiner.op->getName().getStringRef(),
                               {arguments[1], arguments[0]}, arguments[0].getType(), combiner.op->getAttrs());
          linalg::YieldOp::create(inner, loc, inner.create(state)->getResults());
        });
    builder.setInsertionPointAfter(op);
    Kernel kernel(op);
    SmallVector<Span> spans = wholeSpans(kernel);
    NestOptions options{target, {}, {}, fresh};
    if (rank > 0)
      emitParallel(kernel, spans, 0, options);
    else
      emitNest(builder, loc, kernel, spans, options);
    op.erase();
  }

  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  VectorTarget target;
};

struct LowerKernelsPass : PassWrapper<LowerKernelsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernelsPass)
  LowerKernelsPass(VectorTarget target) : target(target) {}
  StringRef getArgument() const final { return "pmap-cpu-lower-kernels"; }
  StringRef getDescription() const final { return "Structured ops to parallel vector loops"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<scf::SCFDialect, vector::VectorDialect, memref::MemRefDialect, arith::ArithDialect,
                    affine::AffineDialect, linalg::LinalgDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      reportCopies(function);
      copiesToKernels(function);
      absorbFills(function);
      SmallVector<Cluster> clusters = formClusters(function);
      reportKernels(clusters);
      KernelLowering lowering(function, target);
      for (Cluster &cluster : clusters)
        lowering.lower(cluster);
    }
  }

  VectorTarget target;
};

} // namespace

std::unique_ptr<Pass> createLowerKernelsPass(VectorTarget target) { return std::make_unique<LowerKernelsPass>(target); }

} // namespace pmap
