// Small checks that the verifiers of several ops share. Internal to this library.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"

namespace pmap {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Fails with `number` unless both have one element type and one V.
mlir::LogicalResult verifyElementAndVary(mlir::Operation *op, llvm::StringRef number, mlir::RankedTensorType a,
                                         mlir::RankedTensorType b);
/// Fails with `number` unless `got` is the type that the op's rules give.
mlir::LogicalResult verifyInferred(mlir::Operation *op, llvm::StringRef number, mlir::RankedTensorType expected,
                                   mlir::Type got);
/// Fails with `number` unless `dims` is sorted, without repeats, and within `rank`.
mlir::LogicalResult verifySortedDims(mlir::Operation *op, llvm::StringRef number, llvm::ArrayRef<int64_t> dims,
                                     int64_t rank);
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef number, int64_t dim, int64_t rank);
/// True when the kind makes sense for elements of this type.
bool kindSuits(ReductionKind kind, mlir::Type elementType);

bool isZeroIndex(mlir::Value value);
/// The splat constant `value` is, or a null attribute.
mlir::DenseElementsAttr splatOf(mlir::Attribute value);

} // namespace pmap
