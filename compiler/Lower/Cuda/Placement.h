// Where the scalars of a function live when its arrays live on a GPU.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace pmap {

/// A scalar that comes from an array, or from a collective over such, is *of the device*. It stays there if a kernel, a
/// collective or another scalar that stays there takes it. Arguments, sizes, indices, trip counts and conditions are
/// the host's.
class Placement {
public:
  explicit Placement(mlir::func::FuncOp function);

  /// True for a scalar that lives on the device.
  bool isOnDevice(mlir::Value value) const { return kept.contains(value); }

private:
  void findOrigins(mlir::func::FuncOp function);
  void findKept(mlir::func::FuncOp function);
  bool comesFromDevice(mlir::Operation *op) const;
  bool keeps(mlir::OpOperand &use) const;

  llvm::DenseSet<mlir::Value> origins, kept;
};

/// A number that a kernel can hold: a float, or an integer that is no index.
bool isNumber(mlir::Type type);

/// An op that a kernel can do with scalars.
bool isScalarArithmetic(mlir::Operation *op);

/// `scf.if` that does nothing but fail.
bool isCheck(mlir::Operation *op);

/// The values that a value becomes by going around a loop or out of a region: of an operand of a terminator, or of an
/// initial value.
llvm::SmallVector<mlir::Value> carriedAs(mlir::OpOperand &use);

/// Why the host wants the value of a use, as `--explain` says it.
llvm::StringRef reasonOfRead(mlir::OpOperand &use);

} // namespace pmap
