// The table of standard modules that the build makes from stdlib/.

#include "compiler/Support/StandardLibrary.h"

using namespace pmap;

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> modules[] = {
#include "compiler/Support/StandardLibrary.inc"
};

llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> pmap::standardModules() { return modules; }

std::optional<llvm::StringRef> pmap::standardModule(llvm::StringRef name) {
  for (const auto &[module, text] : modules)
    if (module == name)
      return llvm::StringRef(text);
  return std::nullopt;
}
