// Sizes as users read them. Inside a map a size has a symbol of its own, `n.1`: a block of `n` split over `data` is
// shown as `n/data`, and one that is the same on every device as what it is outside.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "llvm/ADT/StringMap.h"

namespace pmap {

class SizeNames {
public:
  /// Reads the maps under `root`, a function.
  explicit SizeNames(mlir::Operation *root);

  std::string show(const Size &size) const;
  /// `f32[n/data, d]`
  std::string showType(mlir::Type type) const;
  std::string show(llvm::StringRef dtype, llvm::ArrayRef<Size> sizes) const;
  /// The size of the whole that blocks of this size make up: what a local symbol stands for outside of its map.
  Size whole(const Size &local) const;

private:
  struct Local {
    Size outside;
    std::string axes; ///< `data`, `a*b`; "" for a size that is the same on every device
    Size devices;     ///< along the axes
  };
  llvm::StringMap<Local> locals;
};

/// The bytes of the elements of a tensor type (bool is one byte).
Size bytesOf(mlir::Type type);
/// The name of an element type in the language.
std::string elementName(mlir::Type type);

} // namespace pmap
