// The table of error pages that the build makes from docs/errors.

#include "compiler/Support/ErrorPages.h"

using namespace pmap;

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> pages[] = {
#include "compiler/Support/ErrorPages.inc"
};

llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> pmap::errorPages() { return pages; }

std::optional<llvm::StringRef> pmap::errorPage(llvm::StringRef code) {
  for (const auto &[name, text] : pages)
    if (name.equals_insensitive(code))
      return llvm::StringRef(text);
  return std::nullopt;
}
