// The interpreter behind evaluate(): values per device, and the walk over operations. Private to this folder.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Evaluate/ArrayOps.h"
#include "compiler/Evaluate/Evaluate.h"
#include "compiler/Support/Size.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/core/FailureMessage.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace pmap::evaluate {

/// How an op of the dialect combines elements; a mean sums, and its caller divides.
ReduceKind kindOf(ReductionKind kind);

/// Devices, by their flat rank in the mesh.
using Devices = llvm::SmallVector<unsigned, 8>;
/// One array per device.
using PerDevice = llvm::SmallVector<NDArray, 1>;

/// A mesh whose open size has been filled in. Ranks are row-major: the first axis is the slowest.
struct Mesh {
  llvm::SmallVector<llvm::StringRef> axes;
  llvm::SmallVector<int64_t> sizes;

  int64_t deviceCount() const { return countOf(sizes); }
  int64_t axisSize(llvm::StringRef axis) const;
  /// Where `device` stands along `axis`.
  int64_t position(int64_t device, llvm::StringRef axis) const;
  /// Where `device` stands along several axes taken as one, major first.
  int64_t position(int64_t device, llvm::ArrayRef<llvm::StringRef> along) const;
  int64_t axesSize(llvm::ArrayRef<llvm::StringRef> along) const;
  /// The devices that differ from `device` along `along` only, in rank order.
  Devices group(int64_t device, llvm::ArrayRef<llvm::StringRef> along) const;
};

/// Devices run in lock-step: every operation is done for all devices that reach it before the next one starts. Where
/// they part (a branch or a loop whose condition varies), a region runs for those of them that enter it.
///
/// A device that fails leaves the set; the others go on to the next collective or to the end of the map, and then the
/// failure of the lowest rank is the program's.
class Interpreter {
public:
  explicit Interpreter(const EvaluateOptions &options) : options(options), failures(1) {}

  llvm::LogicalResult run(mlir::func::FuncOp entry, llvm::ArrayRef<NDArray> inputs,
                          llvm::SmallVectorImpl<NDArray> &results, Failure &failure);

private:
  //===-- Interpreter.cpp: blocks, control flow, values ----------------------------------------------------------===//

  /// Runs the operations of a block for `active`, from which devices that fail are dropped.
  void runBlock(mlir::Block &block, Devices &active);
  void runOp(mlir::Operation *op, Devices &active);
  void runIf(mlir::scf::IfOp op, Devices &active);
  void runFor(mlir::scf::ForOp op, Devices &active);
  void runWhile(mlir::scf::WhileOp op, Devices &active);
  void runForEach(ForEachOp op, Devices &active);
  void runCall(mlir::func::CallOp op, Devices &active);

  unsigned deviceCount() const { return failures.size(); }
  const NDArray &get(mlir::Value value, unsigned device);
  void set(mlir::Value value, unsigned device, NDArray array);
  /// Copies all at once, since a loop may yield its own arguments in another order.
  void assign(mlir::ValueRange targets, mlir::ValueRange sources, llvm::ArrayRef<unsigned> active);
  int64_t getIndex(mlir::Value value, unsigned device) { return get(value, device).integer(); }
  llvm::SmallVector<NDArray, 4> operandsOf(mlir::Operation *op, unsigned device);

  /// Records that `device` fails at `op`. The first failure of a device is the one kept.
  void fail(mlir::Operation *op, unsigned device, int32_t kind, int64_t a = 0, int64_t b = 0, int64_t c = 0,
            llvm::StringRef text = "");
  void failWith(mlir::Operation *op, unsigned device, llvm::StringRef code, const llvm::Twine &message,
                const llvm::Twine &note = "");
  /// The host fails because sizes of inputs, or the number of devices, do not fit.
  void failOfInput(mlir::Operation *op, const rt::FailureMessage &words);
  void dropFailed(Devices &active);

  /// The value of a size polynomial on a device; fails the device where it has none.
  std::optional<int64_t> evaluateSize(llvm::StringRef polynomial, mlir::Operation *op, unsigned device);
  /// The shape of a tensor type on a device; likewise. A negative size is a failure too.
  std::optional<llvm::SmallVector<int64_t, 4>> shapeOf(mlir::Type type, mlir::Operation *op, unsigned device);
  void bindSymbol(llvm::StringRef symbol, unsigned device, int64_t value);

  //===-- InterpretArrays.cpp: what one device does alone --------------------------------------------------------===//

  /// Does an operation without regions on one device; fails the device or appends one array per result.
  void runLocal(mlir::Operation *op, unsigned device, llvm::SmallVectorImpl<NDArray> &results);
  NDArray constant(mlir::Attribute value, mlir::Type type, llvm::ArrayRef<int64_t> shape);
  bool checkIndices(mlir::Operation *op, unsigned device, const NDArray &indices, bool isUnsigned, int64_t dim,
                    int64_t size);
  bool checkSlice(mlir::Operation *op, unsigned device, llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> part,
                  llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> strides);
  void runPrint(PrintOp op, unsigned device);

  //===-- InterpretParallel.cpp: meshes and movement -------------------------------------------------------------===//

  void runMap(MapOp op);
  void runMove(MoveOp op);
  void runShards(ShardsOp op);
  void runToShards(ToShardsOp op);

  /// Fills in the mesh's open size; fails (the host) where it does not fit the devices.
  std::optional<Mesh> resolve(MeshAttr attribute, mlir::Operation *op);
  /// The blocks of a value, one per device, and the value of blocks.
  PerDevice split(const NDArray &whole, SpecAttr spec, const Mesh &mesh);
  NDArray assemble(llvm::ArrayRef<NDArray> blocks, SpecAttr spec, const Mesh &mesh);
  /// A distributed value as one array.
  NDArray gathered(mlir::Value value, mlir::Operation *op);
  //===-- InterpretCollectives.cpp -------------------------------------------------------------------------------===//

  void runAllReduce(AllReduceOp op, Devices &active);
  void runAllGather(AllGatherOp op, Devices &active);
  void runReduceScatter(ReduceScatterOp op, Devices &active);
  void runAllToAll(AllToAllOp op, Devices &active);
  void runPermute(PermuteOp op, Devices &active);

  /// Who meets in a collective.
  struct Meeting {
    llvm::SmallVector<llvm::StringRef> axes;
    std::optional<mlir::ArrayAttr> groups;
  };
  /// The devices that `device` meets, itself among them, in the order of their positions along the axes, or in that in
  /// which its group names them.
  Devices membersOf(const Meeting &meeting, unsigned device) const;
  /// True when all that the active devices are to meet are here; else devices fail, as they do where groups do not
  /// cover each device once (C3).
  bool allHere(mlir::Operation *op, const Meeting &meeting, Devices &active);

  const EvaluateOptions &options;
  llvm::DenseMap<mlir::Value, PerDevice> values;
  llvm::StringMap<llvm::SmallVector<int64_t, 1>> symbols;
  llvm::StringMap<Size> polynomials;
  /// The mesh of the map that is running; none outside of maps, where one device, number 0, stands for the host.
  std::optional<Mesh> mesh;
  /// Whether a map has begun to run on its devices.
  bool anyDeviceRan = false;
  /// One entry per device.
  llvm::SmallVector<std::optional<Failure>> failures;
};

} // namespace pmap::evaluate
