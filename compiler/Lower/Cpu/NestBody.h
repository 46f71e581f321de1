// The inside of a nest: loads, the body on scalars or vectors, accumulators, stores.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace pmap {

/// Where in the nest code is being emitted: the loops entered so far, and what has been loaded on the way.
struct NestPoint {
  explicit NestPoint(Kernel &kernel) : ivs(kernel.numLoops()), loaded(kernel.op->getNumOperands()) {}

  /// Enters the vector loop at `iv`: lane k stands for iteration iv + k, where the mask (null: everywhere) is set.
  void enterVector(unsigned dim, mlir::Value iv, unsigned width, mlir::Value tailMask) {
    ivs[dim] = iv;
    vectorDim = dim;
    lanes = width;
    mask = tailMask;
  }

  llvm::SmallVector<mlir::Value> ivs;
  /// Per operand, its element (or vector of elements) once all its loops are entered.
  llvm::SmallVector<mlir::Value> loaded;
  int vectorDim = -1;
  unsigned lanes = 1;
  mlir::Value mask;
};

/// The one result of `map` that is loop `dim`: -1 when there is none, -2 when the loop is used in any other way.
int positionOf(mlir::AffineMap map, unsigned dim);

/// True when neighbours along dimension `position` are neighbours in memory.
bool hasUnitStride(mlir::MemRefType type, unsigned position);

/// A check: `scf.if %bad { ... }` without results. In vectors it asks whether any lane is bad, and then runs for each
/// that is.
bool isGuard(mlir::Operation &op);

inline bool isVector(mlir::Value value) { return llvm::isa<mlir::VectorType>(value.getType()); }

class NestBody {
public:
  NestBody(mlir::OpBuilder &builder, mlir::Location loc, Kernel &kernel, const NestOptions &options);

  /// True when every op of the body that depends on loop `dim` has a vector form.
  bool canVectorize(unsigned dim);
  /// How well operands lie in memory along `dim`: positive when more of them are contiguous than strided.
  int contiguity(unsigned dim);
  /// True when an input moves along `dim` in steps larger than an element, and along `other` in steps of one.
  bool isTransposed(unsigned dim, unsigned other);
  /// True when an input that moves along `dim` is the same for all iterations of `other`.
  bool isReusedOver(unsigned other, unsigned dim);
  /// Lanes of a vector along `dim`, decided by the widest element.
  unsigned lanes(unsigned dim);

  /// Loads the inputs whose loops have all been entered and that are not loaded yet.
  void loadReady(NestPoint &point, Kernel &kernel);
  /// Loads the inputs that are contiguous along loop `row` for points at neighbouring rows, one per lane. With a mask
  /// only the points where it is set have elements.
  void loadTransposed(llvm::MutableArrayRef<NestPoint> points, unsigned row, mlir::Value mask = {});
  /// The old values of outputs where the body reads them (null elsewhere).
  llvm::SmallVector<mlir::Value> outputsReadBefore(NestPoint &point);
  /// What the body yields, given the outputs' values.
  llvm::SmallVector<mlir::Value> evaluate(const NestPoint &point, llvm::ArrayRef<mlir::Value> outputs);
  /// Stores one value per output.
  void store(const NestPoint &point, llvm::ArrayRef<mlir::Value> values);

  /// Accumulators at the start of a reduction: the outputs' old values or identities.
  llvm::SmallVector<mlir::Value> initialValues(NestPoint &point, bool neutral);
  llvm::SmallVector<mlir::Value> neutralVectors(unsigned lanes);
  /// One step of the reduction.
  llvm::SmallVector<mlir::Value> accumulate(const NestPoint &point, llvm::ArrayRef<mlir::Value> accumulators);
  mlir::Value combine(unsigned output, mlir::Value accumulator, mlir::Value value);
  /// All lanes to one value, halving, so that the order is fixed.
  mlir::Value reduceLanes(unsigned output, mlir::Value vector, unsigned lanes);

private:
  struct Access {
    mlir::Value buffer;
    llvm::SmallVector<mlir::Value> indices;
    /// The buffer dimension that the vector loop runs along, or -1.
    int along = -1;
  };
  Access access(const NestPoint &point, unsigned operand);
  mlir::Value load(const NestPoint &point, unsigned operand);
  void storeVector(mlir::Value value, mlir::Value memory, llvm::ArrayRef<mlir::Value> indices, mlir::Value streamed);
  mlir::Value loadLanes(const NestPoint &point, Access access);
  mlir::Value gather(const NestPoint &point, mlir::memref::LoadOp load, llvm::ArrayRef<mlir::Value> indices);
  void emitGuard(const NestPoint &point, mlir::scf::IfOp guard, mlir::Value condition, const mlir::IRMapping &mapping);
  mlir::Value buffer(unsigned operand);
  /// A buffer of bools as bytes: a vector of i1 in memory would be packed bits.
  mlir::Value asBytes(mlir::Value buffer);
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value toMemory(mlir::Value value);
  mlir::Value splat(mlir::Value value, unsigned lanes);
  mlir::Value flatView(mlir::Value buffer, mlir::Value &offset, llvm::SmallVector<mlir::Value> &strides);
  mlir::Value constantOf(mlir::TypedAttr value, mlir::Type type);
  llvm::SmallVector<mlir::Value> evaluate(const NestPoint &point, llvm::ArrayRef<mlir::Value> outputs, bool values);

  void emitOp(const NestPoint &point, mlir::Operation &op, mlir::IRMapping &mapping);
  /// Notes where a vector of indices made by `op` is a number more in each lane (`lineBegins`).
  void noteLine(mlir::Operation &op, mlir::ValueRange operands, mlir::Value result);

  // Loops and branches of the body (NestRegions.cpp).
  bool canVectorizeOp(mlir::Operation &op, unsigned dim, llvm::DenseSet<mlir::Value> &vectors);
  bool canVectorizeRegions(mlir::Operation &op, unsigned dim, llvm::DenseSet<mlir::Value> &vectors);
  /// Notes that values differ between lanes; false where one has no vectors.
  static bool becomeVectors(mlir::ValueRange values, llvm::DenseSet<mlir::Value> &vectors);
  /// True when something in `op` differs between the lanes.
  bool dependsOnLanes(const NestPoint &point, mlir::Operation &op, const mlir::IRMapping &mapping);
  void emitRegions(const NestPoint &point, mlir::Operation &op, mlir::IRMapping &mapping);
  llvm::SmallVector<mlir::Value> emitBlock(const NestPoint &point, mlir::Block &block, mlir::IRMapping &mapping);
  llvm::SmallVector<mlir::Value> emitIf(const NestPoint &point, mlir::scf::IfOp branch, mlir::IRMapping &mapping);
  llvm::SmallVector<mlir::Value> emitFor(const NestPoint &point, mlir::scf::ForOp loop, mlir::IRMapping &mapping);
  llvm::SmallVector<mlir::Value> emitWhile(const NestPoint &point, mlir::scf::WhileOp loop, mlir::IRMapping &mapping);
  llvm::SmallVector<mlir::Value> splatAll(mlir::ValueRange values, unsigned lanes);
  llvm::SmallVector<mlir::Value> zeroVectors(mlir::TypeRange types, unsigned lanes);
  mlir::Value both(mlir::Value mask, mlir::Value condition);
  mlir::Value anyLane(mlir::Value mask);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  Kernel &kernel;
  const NestOptions &options;
  /// The first lane of vectors whose lanes count up by 1: what they index lies in one piece.
  llvm::DenseMap<mlir::Value, mlir::Value> lineBegins;
};

} // namespace pmap
