// The pmap dialect: its attributes, types, interfaces and effect resources. The ops are in PmapOps.h.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Dialect/IR/PmapDialect.h.inc"
#include "compiler/Dialect/IR/PmapEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/IR/PmapAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/IR/PmapTypes.h.inc"

namespace pmap {
struct Batch; // Batch.h
} // namespace pmap

#include "compiler/Dialect/IR/PmapInterfaces.h.inc"

namespace pmap {

/// The communication between devices: collectives keep their order.
struct CommResource : mlir::SideEffects::Resource::Base<CommResource> {
  llvm::StringRef getName() final { return "Communication"; }
};

/// The size symbols bound while a program runs.
struct SymbolResource : mlir::SideEffects::Resource::Base<SymbolResource> {
  llvm::StringRef getName() final { return "SizeSymbols"; }
};

/// What a user sees of a run: printed lines and failed asserts.
struct HostResource : mlir::SideEffects::Resource::Base<HostResource> {
  llvm::StringRef getName() final { return "Host"; }
};

/// Speculatable exactly when all size symbols the op mentions are bound by the enclosing function or map: an op that
/// mentions one bound by a `pmap.bind_size` must not move out of the loop that holds it.
mlir::Speculation::Speculatability speculatabilityWhereSizesAreKnown(mlir::Operation *op);

/// Registers the pmap dialect, the upstream dialects a pmap module uses, and our external models on their ops.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace pmap
