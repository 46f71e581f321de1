// Size polynomials as SSA values: one per polynomial, computed right where its last symbol is bound.
#pragma once

#include "compiler/Support/Size.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace pmap {

/// The values of the size symbols in scope, and of the polynomials over them. Scopes follow the regions of the program.
class SizeValues {
public:
  /// Forgets everything; sizes without symbols are made at the start of `entry`.
  void enterFunction(mlir::Block *entry);
  /// Enters a nested region. `leaveScope`, given what it returned, forgets what was bound and checked since.
  size_t enterScope(mlir::Block *block);
  void leaveScope(size_t mark) { levels.resize(mark); }

  /// Binds a symbol. What depends on it is computed after `anchor`, or at the start of the scope when it is null.
  void bind(llvm::StringRef symbol, mlir::Value value, mlir::Operation *anchor);
  /// Binds a symbol whose value was made at the start of the function's block.
  void bindAtEntry(llvm::StringRef symbol, mlir::Value value);
  bool isBound(llvm::StringRef symbol) const;

  /// The value of a polynomial whose symbols are all bound. A division that is not exact gives an unspecified value.
  mlir::Value get(const Size &size, mlir::Location loc);

  /// What makes a polynomial's value wrong: divisions that are not exact. (numerator, denominator) of each.
  struct Division {
    mlir::Value numerator, denominator;
  };
  /// The divisions of a polynomial that nothing in scope has checked yet; from now on they count as checked.
  llvm::SmallVector<Division> takeUnchecked(const Size &size, mlir::Location loc);
  /// Whether the size of a dimension may be negative, and nothing in scope has checked it yet; from now on it counts as
  /// checked.
  bool takeUncheckedSign(const Size &size);

private:
  /// The symbols bound at one place, and the polynomials whose latest symbol is among them.
  struct Level {
    mlir::Block *block = nullptr;
    mlir::Operation *last = nullptr; ///< new values go after it, or to the block's start when it is null
    llvm::StringMap<mlir::Value> symbols, values;
    llvm::StringMap<char>
        checked; ///< texts of what was checked within this level's scope: `q` for a quotient, `q >= 0`
  };
  Level &levelOf(const Size &size);
  mlir::Value build(mlir::OpBuilder &builder, const Size &size, mlir::Location loc);
  mlir::Value buildAtom(mlir::OpBuilder &builder, const SizeAtom &atom, mlir::Location loc);
  void collectQuotients(const Size &size, llvm::SmallVectorImpl<Size> &quotients);

  llvm::SmallVector<Level> levels;
};

/// Floor division and its rest on index or integer values, as Python defines them. The divisor must not be 0.
mlir::Value createFloorDiv(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value createFloorMod(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);

} // namespace pmap
