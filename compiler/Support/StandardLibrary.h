// The modules of stdlib/, embedded at build time, so that a compiler that was moved still finds them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <utility>

namespace pmap {

/// The source of a module of the standard library ("nn"); nothing when there is none of that name.
std::optional<llvm::StringRef> standardModule(llvm::StringRef name);

/// All modules: name and source.
llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>> standardModules();

} // namespace pmap
