// The `pmap_rt` dialect: calls of the runtime that take arrays (RuntimeOps.td).
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Lower/RuntimeOpsDialect.h.inc"
#define GET_OP_CLASSES
#include "compiler/Lower/RuntimeOps.h.inc"

namespace pmap::rt {

/// A row of RuntimeCalls.def.
struct Entry {
  llvm::StringRef name, arguments;
  bool returnsPointer;
};

/// The row of `callee`, or null.
const Entry *findEntry(llvm::StringRef callee);

} // namespace pmap::rt
