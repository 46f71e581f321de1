// Fresh size symbols, and copies of code that bind theirs anew: a symbol is unique in its module.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace pmap {

class SymbolNames {
public:
  /// Reads the names in use.
  explicit SymbolNames(mlir::Operation *module);
  /// A name like `base.7` that no symbol has.
  std::string fresh(llvm::StringRef base);
  /// Gives fresh names to all symbols that `ops` (copies of other code) bind.
  void rename(llvm::ArrayRef<mlir::Operation *> ops);

private:
  unsigned last = 0;
};

/// Sizes that take the place of symbols.
using Substitution = llvm::StringMap<Size>;
Size substitute(const Size &size, const Substitution &sizes);
/// Replaces the symbols in all types and attributes of an op and under it.
void substituteSymbols(mlir::Operation *root, const Substitution &sizes);

/// What an index value outside of a map is; nothing where it has no polynomial.
std::optional<Size> polynomialOf(mlir::Value value);

/// Calls `visit` with every size symbol bound under an op.
void visitBoundSymbols(mlir::Operation *root, llvm::function_ref<void(llvm::StringRef)> visit);

/// Copies the operations of a block but its terminator to the builder's place, for a second run of the same
/// computation: without prints and asserts, and with symbols of its own. Returns the copies.
llvm::SmallVector<mlir::Operation *> cloneForRecomputation(mlir::Block &from, mlir::OpBuilder &builder,
                                                           mlir::IRMapping &mapping, SymbolNames &names);

} // namespace pmap
