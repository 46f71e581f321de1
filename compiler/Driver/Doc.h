// `pmapc doc`: what is written about a file, a module of the standard library, a function of it, or a builtin.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace pmap {

/// What is known of a name, as Markdown: a module of the standard library (`nn`), a function or type of one
/// (`nn.linear`, or `linear` alone), a builtin (`psum`), or all of them that bear it. Nothing when there is none.
std::optional<std::string> documentationOf(llvm::StringRef name);

/// "there is nothing named 'sofmax' ...", with the nearest names.
std::string unknownDocumentation(llvm::StringRef name);

/// Writes the pages of what is asked for, files (`x.pmap`) and names, to a file or standard output; without any, the
/// index of all names. `builtins`, `library` and `errors` are whole pages of docs/. Returns the exit status.
int printDocumentation(const std::vector<std::string> &subjects, const std::string &output);

} // namespace pmap
