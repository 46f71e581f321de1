// Reading and building tensor types with a `#pmap.layout`. All tensor types of the dialect are made here, so that a
// type has one canonical form and two types are equal exactly when element type, sizes and variance are.
#pragma once

#include "compiler/Support/Size.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace pmap {

/// V of a value: mesh axes, sorted, each once.
using Axes = llvm::SmallVector<mlir::StringAttr, 2>;

/// The tensor type of these sizes and this variance (sorted here; repeats are dropped). A dimension is static exactly
/// when its size is a constant, and the encoding is absent exactly when all are static and `vary` is empty.
mlir::RankedTensorType makeTensorType(mlir::Type elementType, llvm::ArrayRef<Size> sizes,
                                      llvm::ArrayRef<mlir::StringAttr> vary = {});
mlir::RankedTensorType makeScalarType(mlir::Type elementType, llvm::ArrayRef<mlir::StringAttr> vary = {});

/// The sizes of a ranked tensor type (or of the whole of a distributed type).
llvm::SmallVector<Size> sizesOf(mlir::Type type);
/// True for a ranked tensor type whose every dimension is static or has a size in a layout.
bool hasKnownSizes(mlir::Type type);
/// The size of one dimension.
Size sizeOf(mlir::Type type, int64_t dim);
/// V of a ranked tensor type; empty for every other type.
llvm::ArrayRef<mlir::StringAttr> varyOf(mlir::Type type);
/// The product of the sizes.
Size elementCountOf(mlir::Type type);

/// The type with one aspect replaced.
mlir::RankedTensorType withSizes(mlir::RankedTensorType type, llvm::ArrayRef<Size> sizes);
mlir::RankedTensorType withVary(mlir::RankedTensorType type, llvm::ArrayRef<mlir::StringAttr> vary);
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);
/// The scalar type of the tensor's elements, with its V.
mlir::RankedTensorType scalarOf(mlir::RankedTensorType type);

/// Set operations on sorted lists of axes.
Axes unionOf(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);
Axes differenceOf(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);
bool isSubset(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);
Axes sorted(llvm::ArrayRef<mlir::StringAttr> axes);

} // namespace pmap
