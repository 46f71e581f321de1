// The translation of functions from the pmap dialect to linalg on plain tensors.
//
// It walks the old program once and builds the new one beside it. What an old value has become is a `View`: a plain
// tensor or scalar, and the map by which the old value's dimensions index it. Broadcasts and transposes only change the
// map, so that they cost nothing and end up in the operand maps of whatever consumes them; ops that need the array
// itself ask for `tensor`.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Lower/Constants.h"
#include "compiler/Lower/IndexSpace.h"
#include "compiler/Lower/SizeValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace pmap {

/// What an old value has become.
struct View {
  mlir::Value base;    ///< a plain tensor, or a scalar
  mlir::AffineMap map; ///< from the old value's dimensions to those of `base`: dimensions and the constant 0 only
  mlir::Value whole;   ///< the array itself, once somebody has asked for it
  /// Where the view came into being: the array is made there, outside of the loops that only use it.
  mlir::Block *block = nullptr;
  mlir::Operation *anchor = nullptr;
};

/// An operand of a pointwise computation and the map from the result's dimensions to the operand's.
struct PointOperand {
  mlir::Value old;
  mlir::AffineMap map; ///< null for the identity
};

class Translator {
public:
  explicit Translator(mlir::ModuleOp module) : module(module), constants(module), b(module.getContext()) {}

  /// Translates every function of the module.
  mlir::LogicalResult run();

private:
  // --- Program structure (PmapToLinalg.cpp, ControlFlow.cpp)
  mlir::LogicalResult translateFunction(mlir::func::FuncOp old);
  /// Translates the ops of `old` at the builder's insertion point, the terminator apart, whose new operands are
  /// appended to `yielded`. Every distributed value made there, and every one among the block's arguments, owns a
  /// reference, which is given back after its last use or handed on by the terminator.
  mlir::LogicalResult translateBlock(mlir::Block &old, llvm::SmallVectorImpl<mlir::Value> &yielded);
  mlir::LogicalResult translate(mlir::Operation *op);
  mlir::LogicalResult translateScalarOp(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> loopOperands(mlir::Operation *op, mlir::ValueRange old);
  mlir::LogicalResult translateFor(mlir::scf::ForOp op);
  mlir::LogicalResult translateWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult translateIf(mlir::scf::IfOp op);

  /// Translates `old` at the end of `block`, `arguments` standing for its own, and ends it by `terminate`, which gets
  /// what the old terminator's operands have become.
  mlir::LogicalResult translateRegion(mlir::Block &old, mlir::Block &block, mlir::ValueRange arguments,
                                      llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> terminate);

  // --- Comprehensions (ForEach.cpp, IndexSpace.cpp)
  /// The inputs of a comprehension's kernel, and which op of the body each one is the value of.
  struct KernelInputs {
    llvm::SmallVector<mlir::Value> inputs;
    llvm::SmallVector<mlir::AffineMap> maps;
    llvm::MapVector<mlir::Operation *, unsigned> inputOf;
  };
  mlir::LogicalResult translateForEach(ForEachOp op);
  mlir::LogicalResult translateScalarForEach(const IndexSpace &space);
  mlir::LogicalResult translateArrayForEach(const IndexSpace &space);
  /// Adds a comprehension's indices to a space, whose outer indices its bounds must not depend on.
  void extend(IndexSpace &space, ForEachOp op);
  /// Makes an element whose position follows the point an input; false where it does not. `readInOrder` permutes the
  /// array where the point runs through it against the order of memory.
  bool addInput(ExtractOp extract, const IndexSpace &space, KernelInputs &kernel, bool readInOrder);
  /// Computes a reduction of an elementwise comprehension for all points, as one op, and makes it an input.
  void addReduction(ReduceOp reduce, const IndexSpace &space, KernelInputs &kernel);
  void setInputs(const KernelInputs &kernel, mlir::ValueRange elements, mlir::Location loc);
  void clearInputs(const KernelInputs &kernel);
  /// A reduction of a comprehension as a loop over scalars; what the loop carried out is left in `reduced`.
  mlir::LogicalResult reduceInLoop(
      mlir::Operation *op, ForEachOp forEach, llvm::ArrayRef<mlir::Value> init,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value element, mlir::Value i, mlir::ValueRange carried)>
          step);
  mlir::LogicalResult translateReduceInLoop(ReduceOp op, ForEachOp forEach);
  mlir::LogicalResult translateArgReduceInLoop(ArgReduceOp op, ForEachOp forEach);
  /// The new value of an index that is the same at every point, or null.
  mlir::Value invariantIndex(mlir::Value old, const IndexSpace &space);
  std::optional<IndexPosition> positionOf(mlir::Value oldIndex, const IndexSpace &space);
  std::optional<IndexRange> rangeOf(mlir::Value oldIndex, const IndexSpace &space);
  /// Does the checks of a comprehension's body before it, where they hold for all points or for none.
  void hoistChecks(const IndexSpace &space);

  // --- Parallel ops (Parallel.cpp)
  mlir::LogicalResult translateMap(MapOp op);
  mlir::LogicalResult translateMove(MoveOp op);
  mlir::LogicalResult translateShards(ShardsOp op);
  mlir::LogicalResult translateToShards(ToShardsOp op);
  mlir::LogicalResult translatePrint(PrintOp op);
  /// The size of a mesh axis, made at the start of the function.
  mlir::Value axisSize(llvm::StringRef axis, mlir::Location loc);
  void releaseDist(mlir::Value value, mlir::Location loc);
  void retainDist(mlir::Value value, mlir::Location loc);

  // --- Collectives (Collectives.cpp)
  mlir::LogicalResult translateAllReduce(AllReduceOp op);
  mlir::LogicalResult translateAllGather(AllGatherOp op);
  mlir::LogicalResult translateReduceScatter(ReduceScatterOp op);
  mlir::LogicalResult translateAllToAll(AllToAllOp op);
  mlir::LogicalResult translatePermute(PermuteOp op);
  mlir::LogicalResult translateAxisIndex(AxisIndexOp op);
  /// The number of an axis in the mesh of the device body that is being built.
  mlir::FailureOr<int32_t> axisNumber(mlir::Operation *op, mlir::StringAttr axis);
  /// The table that tells the runtime who meets (runtime.h). For an op whose result does not depend on the order in
  /// which devices stand that order is the one of ranks (C1).
  mlir::FailureOr<mlir::Value> among(mlir::Operation *op, mlir::ArrayAttr axes, std::optional<mlir::ArrayAttr> groups,
                                     bool byRank);

  // --- Pointwise ops (Pointwise.cpp)
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange elements,
                                              llvm::function_ref<mlir::Value(int64_t)> index)>;
  /// The value `body` computes for every point of the result from the operands' elements and the point's indices.
  void pointwise(mlir::Value oldResult, llvm::ArrayRef<PointOperand> operands, Body body);
  /// The order in memory that all arrays of the result's rank share, when it is not the result's own; null otherwise.
  mlir::AffineMap commonOrder(llvm::ArrayRef<PointOperand> operands, mlir::RankedTensorType type);
  mlir::LogicalResult translateElementwise(mlir::Operation *op);
  bool choosesCarried(mlir::arith::SelectOp op);
  mlir::LogicalResult translateConstant(mlir::arith::ConstantOp op);
  void translateBroadcast(BroadcastOp op);
  void translateTranspose(TransposeOp op);
  void translateIota(IotaOp op);
  void translateReverse(ReverseOp op);
  void translateGather(GatherOp op);
  void gatherRows(GatherOp op, mlir::Value source);

  // --- Reductions and contractions (Reduce.cpp)
  void translateReduce(ReduceOp op);
  /// Fails where a reduction that needs elements combines none, and there is a point of its result (of a size in
  /// `kept`).
  void checkHasElements(ReduceOp op, llvm::ArrayRef<mlir::Value> reduced, llvm::ArrayRef<mlir::Value> kept);
  void translateArgReduce(ArgReduceOp op);
  void translateDot(DotOp op);

  // --- Scans (Scan.cpp) and scatters (Scatter.cpp)
  void translateScan(ScanOp op);
  void scanLines(ScanOp op, mlir::Value array, mlir::Value destination);
  void translateScatter(ScatterOp op);

  // --- Ops that move parts of arrays (Movement.cpp)
  void translateReshape(ReshapeOp op);
  void translateConcat(ConcatOp op);
  void translateRotate(RotateOp op);
  void translatePad(PadOp op);
  void translateSlice(SliceOp op);
  void translateUpdateSlice(UpdateSliceOp op);
  void translateExtract(ExtractOp op);
  void translateCast(CastOp op);

  // --- Sorts (Sort.cpp)
  void translateSort(mlir::Operation *op);
  /// Sorts into `result`: what `op` gives, or the slice of it that is all that is used.
  void translateSort(mlir::Operation *op, mlir::Operation *result);
  /// True where `op` takes the first elements of each sorted line, and nothing else is used of the sort.
  bool isPrefixOfSort(SliceOp op);

  // --- Checks and scalars (Checks.cpp)
  /// Fails at run time when `bad` holds. `text` is the site's text.
  void failIf(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bad, int32_t kind,
              llvm::ArrayRef<mlir::Value> values, llvm::StringRef text = "");
  void translateCheckedIndex(CheckedIndexOp op);
  void translateFromIndex(FromIndexOp op);
  void translateBindSize(BindSizeOp op);
  void checkSlice(mlir::Operation *op, mlir::Value array, mlir::Type part, mlir::ValueRange offsets,
                  llvm::ArrayRef<int64_t> strides);
  /// Fails when an element of the divisor is 0.
  void checkDivisor(mlir::Operation *op, mlir::Value oldDivisor);
  /// Fails when an index is not below `size`. Of several bad ones the error tells the largest, read as unsigned: a
  /// negative one before one that is too large.
  void checkIndices(mlir::Operation *op, mlir::Value oldIndices, bool isUnsigned, mlir::Value size, int64_t dim);
  bool isWithin(mlir::Value oldIndex, mlir::Value oldSize);

  // --- Values (Views.cpp)
  void set(mlir::Value old, mlir::Value value);
  void setView(mlir::Value old, mlir::Value base, mlir::AffineMap map);
  View &view(mlir::Value old);
  /// The array itself, a plain tensor of rank 1 or more.
  mlir::Value tensor(mlir::Value old);
  /// A scalar as its element type.
  mlir::Value scalar(mlir::Value old);
  /// Anything, in the form it crosses region and function boundaries.
  mlir::Value plain(mlir::Value old);
  llvm::SmallVector<mlir::Value> plain(mlir::ValueRange old);
  mlir::Type convert(mlir::Type type);
  llvm::SmallVector<mlir::Type> convert(mlir::TypeRange types);
  /// How elements are stored: i1 as i8.
  mlir::Type stored(mlir::Type element);
  mlir::Value toStored(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element);
  mlir::Value fromStored(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element, mlir::Type type);

  /// Makes the old value's array one whose memory is in the order of its dimensions, for ops that would otherwise step
  /// through memory with large strides.
  void straighten(mlir::Value old);
  /// A view's base as an operand of an op over `dimCount` dimensions, `exprs` being what the view's dimensions are
  /// there. A base whose every dimension is 0 becomes the scalar; constants are gone from the map.
  struct Operand {
    mlir::Value base; ///< a tensor indexed by `map`, or a scalar
    mlir::AffineMap map;
    bool isScalar() const { return !mlir::isa<mlir::TensorType>(base.getType()); }
  };
  /// An operand read in the order of its memory: one whose map swaps dimensions is permuted by the runtime first.
  Operand inOrder(Operand operand, mlir::Location loc);
  Operand operandFor(mlir::Value old, unsigned dimCount, llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::Location loc);

  /// The dimensions whose size is not the literal 1, and how all dimensions read among them (0 for those of size 1).
  struct Kept {
    llvm::SmallVector<int64_t> dims;
    llvm::SmallVector<mlir::AffineExpr> exprs;
  };
  Kept keptDims(mlir::RankedTensorType type);
  /// The plain type of those dimensions.
  mlir::RankedTensorType keptType(mlir::RankedTensorType type, const Kept &kept);

  // --- Sizes
  mlir::Value size(const Size &size, mlir::Location loc);
  mlir::Value dimSize(mlir::Type oldType, int64_t dim, mlir::Location loc);
  llvm::SmallVector<mlir::OpFoldResult> mixedSizes(mlir::Type oldType, mlir::Location loc);
  mlir::OpFoldResult mixedSize(const Size &size, mlir::Location loc);
  /// The same for a size that an array has, which is checked to be at least 0 where that is not known.
  mlir::OpFoldResult dimension(const Size &size, mlir::Location loc);
  mlir::Value empty(mlir::Location loc, llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type element);
  mlir::Value emptyLike(mlir::Type oldType, mlir::Location loc);
  mlir::Value index(int64_t value, mlir::Location loc);

  mlir::ModuleOp module;
  Constants constants;
  SizeValues sizes;
  mlir::OpBuilder b;
  llvm::DenseMap<mlir::Value, View> views;
  /// The function being translated, the one being built, and the mesh of the device body that is.
  mlir::func::FuncOp oldFunction, newFunction;
  MeshAttr mesh;
  int64_t mapCount = 0;
  /// Distributed values whose last use is the op being translated.
  llvm::DenseSet<mlir::Value> dying;
  /// True where `op` is the last use of the distributed value, which then takes over its reference.
  bool giveUp(mlir::Value dist, mlir::Operation *op);
  /// Checks of a comprehension's body that were done before it; ops whose results are set already; ops of which nothing
  /// is wanted; comprehensions that become part of the reduction that uses them.
  llvm::DenseSet<mlir::Operation *> hoisted, preset, skipped, deferred;
  llvm::SmallVector<mlir::Value> reduced;
};

/// The identity of a reduction, and its combination; `type` is the element type it runs in.
mlir::TypedAttr reductionIdentity(mlir::OpBuilder &builder, ReductionKind kind, mlir::Type type);
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, ReductionKind kind, mlir::Value lhs, mlir::Value rhs);

/// What a reduction of elements of a type runs in: f16 and bf16 sums and products accumulate in f32; all else in the
/// type itself.
mlir::Type accumulatorType(ReductionKind kind, mlir::Type element);
/// A floating value in that type.
mlir::Value extendTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

/// The least and the greatest value of an integer type that an int64 can hold.
std::pair<int64_t, int64_t> rangeOfInteger(mlir::IntegerType type, bool isUnsigned);

/// The runtime's number for an element type, seen as unsigned or not; its name, and the number of a name.
int32_t runtimeDType(mlir::Type element, bool isUnsigned = false);
llvm::StringRef runtimeDTypeName(int32_t dtype);
int32_t runtimeDTypeFromName(llvm::StringRef name);

} // namespace pmap
