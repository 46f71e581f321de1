// Code that gives one element of what a structured op reads.
#pragma once

#include "compiler/Lower/Cpu/Pieces.h"

namespace pmap {

/// Emits the elements that a point of a region of loops reads; without loops, single elements of arrays.
class ElementEmitter {
public:
  ElementEmitter(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Range> region)
      : builder(builder), loc(loc), region(region), indices(region.size()) {}

  /// From here on code goes into the block in which the builder is: the body of an op over the region's loops.
  void beginBody();
  /// The element of this reading is at hand.
  void know(const Reading &reading, mlir::Value element) { elements[&reading] = element; }

  /// The element that a point reads.
  mlir::Value elementOf(const Reading &reading);
  /// What the body of an elementwise op yields at `places`, given its inputs.
  llvm::SmallVector<mlir::Value> cloneBody(mlir::linalg::GenericOp source, llvm::ArrayRef<Place> places,
                                           mlir::IRMapping &mapping);

private:
  mlir::Value indexAt(const Place &place, const Linear &origin);
  mlir::Value indexOf(unsigned loop);
  mlir::Value elementOfFirst(const Reading &reading, llvm::ArrayRef<const Piece *> found);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::ArrayRef<Range> region;
  mlir::Block *body = nullptr;
  llvm::SmallVector<mlir::Value> indices;
  // Per reading, its element at the current point where that is known.
  llvm::DenseMap<const Reading *, mlir::Value> elements;
};

} // namespace pmap
