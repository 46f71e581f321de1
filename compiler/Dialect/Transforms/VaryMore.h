// Derivatives of many directions at once: code for one direction, made to vary over the rows of a vmap.
#pragma once

#include "compiler/Dialect/Transforms/Activity.h"

namespace pmap {

/// A stand-in for a value, with which code is built before the value itself may take its place: it tells an argument of
/// a function from other uses of the value that is passed for it, and may have another V.
mlir::UnrealizedConversionCastOp standInFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                                            mlir::Value value);
/// Puts the value in the place of its stand-in.
void removeStandIn(mlir::UnrealizedConversionCastOp op);

/// Gives what `ops` compute from `roots` a type that varies over `added` too, and widens what it meets (V2). The rest
/// stays as it is: values that do not depend on the direction are computed once.
void varyMore(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<mlir::Value> roots,
              llvm::ArrayRef<mlir::StringAttr> added);
/// The type of a tensor or distributed value with `added` in V.
mlir::Type withMoreVary(mlir::Type type, llvm::ArrayRef<mlir::StringAttr> added);

} // namespace pmap
