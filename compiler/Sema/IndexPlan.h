// How an index expression resolves against a shape: one plan, for reading and for updating.
#pragma once

#include "compiler/Sema/Elaborator.h"

namespace pmap::sema {

/// What the subscripts ask of one dimension of the array.
struct Dimension {
  enum Kind { Whole, At, Slice, Gather } kind = Whole;
  mlir::Value offset; // index; null: 0
  Size size;          // of the part
  int64_t stride = 1;
  bool reversed = false; // the dimension is reversed before it is sliced
  bool inBounds = true;  // proved
  Value indices;         // of a Gather: an integer array
  VarySet vary;          // of the positions
};

/// A whole index expression, resolved against a shape.
struct Plan {
  llvm::SmallVector<Dimension> dimensions; // one per dimension of the array
  /// The result's dimensions in order: the array's dimension it comes from, or -1 for a `newaxis`.
  llvm::SmallVector<int> result;
  VarySet vary;
};

/// Resolves subscripts one by one.
struct Resolver {
  Elaborator &e;
  llvm::SmallVector<Size> sizes;
  SourceRange range;

  std::optional<Dimension> at(const ast::Subscript &s, unsigned dim);
  std::optional<Dimension> slice(const ast::Subscript &s, unsigned dim);
  std::optional<Plan> plan(llvm::ArrayRef<ast::Subscript> subscripts, const std::string &shown);
  std::optional<Size> bound(const ast::Expr *expr, const Size &n, const Size &otherwise, unsigned dim, bool isEnd,
                            VarySet &vary);
};

/// The points (i[k], j[k]) that several integer arrays pick together, as in NumPy: the arrays broadcast to one shape,
/// and its dimensions stand where the first of them stood when they are neighbours, else in front.
struct PickedPoints {
  llvm::SmallVector<Value> indices;     // of one shape
  llvm::SmallVector<unsigned> gathered; // the dimension of the array that each of them picks from
  llvm::SmallVector<Size> sizes;        // their shape
  bool neighbours;
};

/// The points of a plan with at least one Gather; nothing, and an error, where its arrays do not broadcast.
std::optional<PickedPoints> pickedPoints(Elaborator &e, const Plan &plan, SourceRange range);

/// A position that is not proved in range: checked when the program runs.
mlir::Value checkedIndex(Elaborator &e, mlir::Value position, const Size &n, unsigned dim, SourceRange range);

/// Offsets and strides of the rectangular part of a plan; gathers take their dimension whole.
void rectangle(Elaborator &e, const Plan &plan, SourceRange range, llvm::SmallVectorImpl<mlir::Value> &offsets,
               llvm::SmallVectorImpl<int64_t> &strides, bool &inBounds);

} // namespace pmap::sema
