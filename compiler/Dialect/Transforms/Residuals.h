// What a forward computation keeps for its backward ones (G5).
//
// A loop, branch or map runs its body in a region, where the backward code cannot see values. It computes the body
// again, save what the forward one was made to keep: what a loop carries, and what is dear to compute and no larger
// than what it is computed from: collectives, contractions, reductions, scans, sorts, inner loops. What nobody reads in
// the end is dropped by `pmap-simplify`. How a map keeps values is in MapResiduals.h.
#pragma once

#include "compiler/Dialect/Transforms/Symbols.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pmap {

/// Makes the loops, branches and maps among `ops`, and within, keep their values, and puts the forward rules of
/// custom_vjp in the place of their functions. `roots` are the values that are differentiated. Ops that are replaced
/// are replaced in `ops` too.
void prepareForward(llvm::SmallVectorImpl<mlir::Operation *> &ops, llvm::ArrayRef<mlir::Value> roots,
                    SymbolNames &names);

/// Does what changes whole loops of a body of `op` before its ops are looked at: loops left by `break` are counted, and
/// those among them that call devices become loops of the devices. Arguments of the body are the `roots`.
void settleLoops(mlir::Operation *op, mlir::Block &body, llvm::ArrayRef<mlir::Value> roots, SymbolNames &names);

/// True for an op that is dear to compute, and whose results are for the most part no larger than what they are
/// computed from.
bool isDear(mlir::Operation *op);

/// On a prepared `scf.for` or `scf.if`: how many results it had; the others are what it keeps.
constexpr llvm::StringLiteral kOwnResultsAttr = "pmap.own_results";

/// On a `pmap.custom_vjp` whose forward rule is computed before it: how many operands it had; the others are the
/// results and residuals of that, whose cotangents are zero.
constexpr llvm::StringLiteral kOwnOperandsAttr = "pmap.own_operands";

/// The number of results that are not there for a derivative.
unsigned ownResults(mlir::Operation *op);

/// A loop's trips.
struct TripCount {
  mlir::Value value;
  Size size;
};
TripCount countTrips(mlir::scf::ForOp loop, mlir::OpBuilder &builder, SymbolNames &names);
/// The values of the body that a prepared loop stacks along a first dimension, in the order of its last results.
llvm::SmallVector<mlir::Value> stackedValues(mlir::scf::ForOp loop);

} // namespace pmap
