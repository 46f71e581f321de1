// The ops of the pmap dialect. docs/dialect.md, which TableGen writes, says what each means.
#pragma once

#include "compiler/Dialect/IR/Layout.h"
#include "compiler/Dialect/IR/PmapDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#define GET_OP_CLASSES
#include "compiler/Dialect/IR/PmapOps.h.inc"
