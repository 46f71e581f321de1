// How the loops of a kernel are best cut into blocks: what its shape alone tells.
#pragma once

#include "compiler/Lower/Cpu/Kernel.h"

namespace pmap {

/// Rows of a block where an input is transposed: its lines are then read in pieces of 1 KiB, whatever their distance.
inline constexpr int64_t transposedTile = 256;

/// All maps identities of one rank over dense arrays.
bool isFlat(mlir::linalg::GenericOp op);

/// So little work, known at compile time, that there is no parallel loop.
bool isSmall(Kernel &kernel);

/// The first loop that is a reduction.
unsigned firstReduction(Kernel &kernel);

/// The parallel loop to cut into blocks. None for a reduction over whole rows of memory (a column sum, x.T @ v), whose
/// few results are better made from partial results of blocks of rows.
std::optional<unsigned> parallelSplit(Kernel &kernel);

/// Rows that a block should have for the nest to reuse what it loads: several for a product, a tile for a transposed
/// input.
int64_t leastRows(Kernel &kernel, unsigned split);

/// True when an input's innermost dimension is the loop `row`, and its others are not.
bool readsAcrossRows(Kernel &kernel, unsigned row);

} // namespace pmap
