// What a structured op reads when its operands are looked through: slices of arrays that were put together (a concat, a
// pad, a halo, an update), and of arrays that are cheap to compute where they are read.
#pragma once

#include "compiler/Lower/Cpu/Linear.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <memory>

namespace pmap {

/// Where a point of the loops reads along one dimension of an array: at the index of a loop, or at 0, plus an offset.
struct Place {
  std::optional<unsigned> loop;
  Linear offset;
};

struct Reading;

/// A box of a whole that one array, or one scalar, fills.
struct Piece {
  /// Of the box in the whole; empty where it is all of the whole.
  llvm::SmallVector<Linear> offsets, sizes;
  /// What a point reads there.
  const Reading *content;
};

/// What the points of the loops read, element by element.
struct Reading {
  enum class Kind {
    Scalar,    ///< The same for all points.
    Array,     ///< An element of an array in memory.
    Computed,  ///< The result of an elementwise op on other readings.
    Assembled, ///< An element of one of several pieces.
  };
  Kind kind;
  /// The scalar, or the array; the op's result where that is computed.
  mlir::Value value;
  /// One per dimension of the array.
  llvm::SmallVector<Place> places;
  /// Of a computed one, for each input of its op.
  llvm::SmallVector<const Reading *> operands;
  /// Of an assembled one. Later ones lie over earlier ones.
  llvm::SmallVector<Piece> pieces;

  /// Whether a part of the loops is known to read nothing but this array.
  bool isPlain() const { return kind == Kind::Scalar || kind == Kind::Array; }
  mlir::linalg::GenericOp op() const { return value.getDefiningOp<mlir::linalg::GenericOp>(); }
};

/// A part of one loop: its bounds as values, and what is known of every index in it.
struct Range {
  mlir::OpFoldResult lower, size;
  llvm::SmallVector<Linear> atLeast, below;
};

/// The pieces that a point of the region may read, the uppermost first. The last one is where all others are not.
llvm::SmallVector<const Piece *> candidates(const Reading &reading, llvm::ArrayRef<Range> region);

/// Whether all points of the region are known to read at or behind the piece's start along `dim` (`lowerSide`), or
/// before its end.
bool isWithin(const Reading &reading, const Piece &piece, llvm::ArrayRef<Range> region, unsigned dim, bool lowerSide);

/// An op that can read its operands from pieces: elementwise, or an elementwise op that is then reduced.
bool canReadPieces(mlir::linalg::GenericOp op);

/// Operations that the body would hold that computes a reading.
size_t bodySize(const Reading &reading);

/// Looks through the operands of one op, in a block, over a number of loops.
class Readings {
public:
  /// With `elements`, ops that read one element of an array read it from pieces as well.
  Readings(mlir::Block *block, unsigned loops, bool elements) : block(block), loops(loops), elements(elements) {}

  /// What `value`, an operand of the op, is read from at these places.
  const Reading *read(mlir::Value value, llvm::ArrayRef<Place> places);
  /// The same where `value` is an array in memory.
  const Reading *readArray(mlir::Value value, llvm::ArrayRef<Place> places);

private:
  const Reading *make(Reading reading);
  const Reading *readAssembled(mlir::Value whole, llvm::ArrayRef<Place> places);
  const Reading *readComputed(mlir::linalg::GenericOp op, mlir::Value value, llvm::ArrayRef<Place> places);
  bool collectPieces(mlir::Value whole, llvm::ArrayRef<Place> places, llvm::SmallVectorImpl<Piece> &pieces);
  bool isWorthComputing(mlir::linalg::GenericOp op, llvm::ArrayRef<Place> places);

  std::optional<size_t> countReaders(mlir::Value value);

  mlir::Block *block;
  unsigned loops;
  bool elements;
  llvm::SmallVector<std::unique_ptr<Reading>> readings;
};

} // namespace pmap
