// What the array operations of the pmap dialect mean on whole arrays, one function each.
//
// Each is written as its definition reads: loop over the result's positions, look up the operand's. Nothing here knows
// devices or MLIR. Callers have checked ranks, sizes and indices.
//
// Sums of floating elements are accumulated in long double and rounded once, products too; those of integers wrap in
// their own type. That makes the evaluator an oracle for any order of summation rather than a model of one.
#pragma once

#include "compiler/Evaluate/NDArray.h"

namespace pmap::evaluate {

enum class ReduceKind { Sum, Prod, Max, Min, MaxUnsigned, MinUnsigned, And, Or };

using Dims = llvm::ArrayRef<int64_t>;

/// Operand dimension k becomes dimension dims[k] of the result; an operand dimension of extent 1 stretches.
NDArray broadcast(const NDArray &x, Dims shape, Dims dims);

/// Reduces away `dims`. A reduction of nothing is the kind's neutral element.
NDArray reduce(const NDArray &x, ReduceKind kind, Dims dims);

/// The lowest index along `dim` that holds the extremum, as i32; a NaN is the extremum wherever there is one.
NDArray argReduce(const NDArray &x, ReduceKind kind, int64_t dim);

/// Inclusive prefix sums or products along `dim`.
NDArray scan(const NDArray &x, ReduceKind kind, int64_t dim);

/// dot_general: the result's dimensions are the batch dimensions, the rest of `a`, the rest of `b`.
NDArray dot(const NDArray &a, const NDArray &b, Dims aBatch, Dims bBatch, Dims aContract, Dims bContract);

/// Result dimension k is operand dimension perm[k].
NDArray transpose(const NDArray &x, Dims perm);

NDArray concat(llvm::ArrayRef<NDArray> parts, int64_t dim);
NDArray reverse(const NDArray &x, Dims dims);
NDArray rotate(const NDArray &x, int64_t offset, int64_t dim);

/// Element p is p[dim].
NDArray iota(Element element, Dims shape, int64_t dim);

/// `low` and `high` copies of the scalar `fill` before and after each dimension.
NDArray pad(const NDArray &x, const NDArray &fill, Dims low, Dims high);

/// Element p is x[offsets + p * strides].
NDArray slice(const NDArray &x, Dims shape, Dims offsets, Dims strides);

/// `x` with `update` stored at offsets + p * strides.
NDArray updateSlice(const NDArray &x, const NDArray &update, Dims offsets, Dims strides);

/// Dimension `dim` of `x` is replaced by the dimensions of `indices`.
NDArray gather(const NDArray &x, const NDArray &indices, int64_t dim);

/// `x` with each slice of `updates` (shaped as gather's result) combined into the slice of `x` that its index names, in
/// row-major order of the indices.
NDArray scatter(const NDArray &x, const NDArray &indices, const NDArray &updates, int64_t dim, ReduceKind kind);

/// For each line along `dim`, the positions in sorted order, as i32. Equal elements keep their order; NaNs come last.
NDArray argsort(const NDArray &x, int64_t dim, bool descending, bool isUnsigned);

/// `x` with each line along `dim` taken in the order of `order`.
NDArray takeAlong(const NDArray &x, const NDArray &order, int64_t dim);

/// `a` combined with `b` elementwise in the element type, f16 and bf16 rounded once from the wider sum.
NDArray combine(const NDArray &a, const NDArray &b, ReduceKind kind);

} // namespace pmap::evaluate
