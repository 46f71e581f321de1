// Groups of structured ops that share one loop over blocks of rows, so that what one writes the next reads from cache.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

#include "llvm/ADT/EquivalenceClasses.h"

namespace pmap {

/// Which sizes of buffers in a function are the same number at run time: those that one structured op walks with one
/// loop, and those made from one value.
class ExtentClasses {
public:
  explicit ExtentClasses(mlir::func::FuncOp function);

  bool areEqual(mlir::Value a, unsigned dimOfA, mlir::Value b, unsigned dimOfB);

private:
  unsigned idOf(mlir::Value buffer, unsigned dim);
  unsigned idOfSize(mlir::Value size);
  unsigned newId(std::pair<void *, int64_t> key);

  llvm::DenseMap<std::pair<void *, int64_t>, unsigned> ids;
  llvm::EquivalenceClasses<unsigned> classes;
};

/// Structured ops in program order, to be emitted where the last one stands. More than one op means that all walk the
/// same rows: the first dimension of everything they write.
struct Cluster {
  llvm::SmallVector<mlir::linalg::GenericOp> ops;
  /// Buffers that live inside the cluster only.
  llvm::SmallVector<mlir::memref::AllocOp> locals;
};

/// Partitions the structured ops of a function.
llvm::SmallVector<Cluster> formClusters(mlir::func::FuncOp function);

/// The loop whose iterations are the rows that `op` writes, if it has one.
std::optional<unsigned> rowLoop(mlir::linalg::GenericOp op);

} // namespace pmap
