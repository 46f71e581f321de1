// The definitions that TableGen writes.
#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "compiler/Dialect/IR/PmapOps.cpp.inc"
