#include "compiler/Lower/RuntimeOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "compiler/Lower/RuntimeOpsDialect.cpp.inc"
#define GET_OP_CLASSES
#include "compiler/Lower/RuntimeOps.cpp.inc"

using namespace mlir;
using namespace mlir::bufferization;

namespace pmap::rt {

void PmapRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/Lower/RuntimeOps.cpp.inc"
      >();
}

static constexpr Entry entries[] = {
#define PMAP_RT_CALL(name, arguments, returnsPointer) {#name, arguments, returnsPointer},
#include "compiler/Lower/RuntimeCalls.def"
};

const Entry *findEntry(StringRef callee) {
  const Entry *entry = llvm::find_if(entries, [&](const Entry &e) { return e.name == callee; });
  return entry == std::end(entries) ? nullptr : entry;
}

bool CallOp::onTensors() {
  auto isTensor = llvm::IsaPred<TensorType>;
  return llvm::any_of(getOperandTypes(), isTensor) || llvm::any_of(getResultTypes(), isTensor);
}

ResultRange CallOp::getStoredResults() {
  ResultRange results = getResults();
  if (onTensors())
    results = results.drop_front(getOutputs().size());
  if (findEntry(getCallee())->returnsPointer)
    results = results.drop_back();
  return results;
}

LogicalResult CallOp::verify() {
  const Entry *entry = findEntry(getCallee());
  if (!entry)
    return emitOpError("calls a function that is not in RuntimeCalls.def: ") << getCallee();
  if (llvm::count(entry->arguments, 's') != static_cast<int64_t>(getScalars().size()))
    return emitOpError("expected ") << llvm::count(entry->arguments, 's') << " scalars, got " << getScalars().size();
  bool tensors = onTensors();
  auto fits = [&](Type type) { return !isa<ShapedType>(type) || isa<TensorType>(type) == tensors; };
  if (!llvm::all_of(getOperandTypes(), fits) || !llvm::all_of(getResultTypes(), fits))
    return emitOpError("mixes tensors and memrefs");
  size_t expected = (tensors ? getOutputs().size() : 0) + (entry->returnsPointer ? 1 : 0);
  if (getNumResults() < expected)
    return emitOpError("expected at least ") << expected << " results, got " << getNumResults();
  if (tensors)
    for (auto [output, result] : llvm::zip(getOutputs(), getResults()))
      if (output.getType() != result.getType())
        return emitOpError("has a destination of type ")
               << output.getType() << " with a result of type " << result.getType();
  if (entry->returnsPointer && !isa<LLVM::LLVMPointerType>(getResults().back().getType()))
    return emitOpError("expected a pointer as the last result");
  return success();
}

void CallOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  // The runtime talks to other devices, prints, and keeps counts: calls keep their order and number.
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
  for (OpOperand &operand : getInputsMutable())
    if (isa<BaseMemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  for (OpOperand &operand : getOutputsMutable())
    if (isa<BaseMemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  for (OpResult result : getResults())
    if (isa<BaseMemRefType>(result.getType()))
      effects.emplace_back(MemoryEffects::Allocate::get(), result);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Bufferization
//===--------------------------------------------------------------------------------------------------------------===//

static bool isOutput(CallOp op, OpOperand &operand) {
  return operand.getOperandNumber() >= op->getNumOperands() - op.getOutputs().size();
}

bool CallOp::bufferizesToMemoryRead(OpOperand &operand, const AnalysisState &) { return !isOutput(*this, operand); }

bool CallOp::bufferizesToMemoryWrite(OpOperand &operand, const AnalysisState &) { return isOutput(*this, operand); }

bool CallOp::bufferizesToAllocation(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result && isa<TensorType>(value.getType()) && result.getResultNumber() >= getOutputs().size();
}

AliasingValueList CallOp::getAliasingValues(OpOperand &operand, const AnalysisState &) {
  if (!isOutput(*this, operand))
    return {};
  unsigned index = operand.getOperandNumber() - (getNumOperands() - getOutputs().size());
  return {{getResult(index), BufferRelation::Equivalent}};
}

/// The type of a buffer that the runtime makes or reads: dense and row-major.
static MemRefType denseType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return MemRefType::get(type.getShape(), type.getElementType());
}

FailureOr<BufferLikeType> CallOp::getBufferType(Value value, const BufferizationOptions &options,
                                                const BufferizationState &state, SmallVector<Value> &invocationStack) {
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (index < getOutputs().size())
    return bufferization::getBufferType(getOutputs()[index], options, state, invocationStack);
  return cast<BufferLikeType>(denseType(value.getType()));
}

/// A dense buffer as large as `buffer`.
static FailureOr<Value> allocateLike(OpBuilder &builder, Location loc, Value buffer,
                                     const BufferizationOptions &options) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, buffer, dim));
  return options.createAlloc(builder, loc, MemRefType::get(type.getShape(), type.getElementType()), sizes);
}

LogicalResult CallOp::bufferize(RewriterBase &rewriter, const BufferizationOptions &options,
                                BufferizationState &state) {
  Location loc = getLoc();
  // The runtime wants dense arrays, where bufferization may have chosen views with strides.
  SmallVector<Value> inputs;
  for (Value input : getInputs()) {
    if (isa<TensorType>(input.getType())) {
      FailureOr<Value> buffer = getBuffer(rewriter, input, options, state);
      if (failed(buffer))
        return failure();
      input = *buffer;
      if (!cast<MemRefType>(input.getType()).getLayout().isIdentity()) {
        FailureOr<Value> dense = allocateLike(rewriter, loc, input, options);
        if (failed(dense) || failed(options.createMemCpy(rewriter, loc, input, *dense)))
          return failure();
        input = *dense;
      }
    }
    inputs.push_back(input);
  }
  SmallVector<Value> destinations, outputs;
  for (Value output : getOutputs()) {
    FailureOr<Value> buffer = getBuffer(rewriter, output, options, state);
    if (failed(buffer))
      return failure();
    destinations.push_back(*buffer);
    if (!cast<MemRefType>(buffer->getType()).getLayout().isIdentity()) {
      buffer = allocateLike(rewriter, loc, *buffer, options);
      if (failed(buffer))
        return failure();
    }
    outputs.push_back(*buffer);
  }
  SmallVector<Type> resultTypes;
  for (Value result : getResults().drop_front(outputs.size()))
    resultTypes.push_back(isa<TensorType>(result.getType()) ? Type(denseType(result.getType())) : result.getType());
  auto call = CallOp::create(rewriter, loc, resultTypes, getCalleeAttr(), getScalars(), inputs, outputs);
  SmallVector<Value> results;
  for (auto [destination, output] : llvm::zip(destinations, outputs)) {
    if (destination != output && failed(options.createMemCpy(rewriter, loc, output, destination)))
      return failure();
    results.push_back(destination);
  }
  llvm::append_range(results, call.getResults());
  replaceOpWithBufferizedValues(rewriter, getOperation(), results);
  return success();
}

bool OpaqueOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) { return false; }

bool OpaqueOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) { return false; }

AliasingValueList OpaqueOp::getAliasingValues(OpOperand &, const AnalysisState &) {
  return {{getResult(), BufferRelation::Equivalent}};
}

LogicalResult OpaqueOp::bufferize(RewriterBase &rewriter, const BufferizationOptions &options,
                                  BufferizationState &state) {
  FailureOr<Value> buffer = getBuffer(rewriter, getInput(), options, state);
  if (failed(buffer))
    return failure();
  replaceOpWithBufferizedValues(rewriter, getOperation(), *buffer);
  return success();
}

} // namespace pmap::rt
