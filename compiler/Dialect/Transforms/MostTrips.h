// The most trips that an inner loop takes in any trip of the loops around it.
//
// Where inner bounds are sums of multiples of the outer loops' indices, as in loops over triangles and bands, what the
// inner loop keeps then has a size outside of the outer loops, which can keep it too.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pmap {

/// On a prepared `scf.for` whose stacks are as long as its most trips: it may take fewer.
constexpr llvm::StringLiteral kMostTripsAttr = "pmap.most_trips";

/// constant + the sum of coefficients * index values.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;

  static LinearIndex of(mlir::Value value);
  void add(const LinearIndex &other, int64_t factor);
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// A bound on the trips of a loop, and the outermost loop or branch before which it is known: the loop itself where its
/// own bounds are.
struct MostTrips {
  LinearIndex trips;
  mlir::Operation *place;
};
MostTrips mostTrips(mlir::scf::ForOp loop);

} // namespace pmap
