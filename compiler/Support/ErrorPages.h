// The pages of docs/errors, embedded at build time: what `pmapc explain E0123` prints.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace pmap {

/// The Markdown of a code's page ("E0123", case does not matter); nothing when there is none.
std::optional<llvm::StringRef> errorPage(llvm::StringRef code);

/// All pages, by code.
llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> errorPages();

} // namespace pmap
