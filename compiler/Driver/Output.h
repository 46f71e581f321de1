// Files that the verbs write: found to be impossible before any work is done, and all there or not at all.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace pmap {

enum class OutputKind { Text, Executable };

/// Reports why no file can be written at `path` (E1027). Returns the exit status: 2 for what can be known before, else
/// 0.
int checkOutput(const std::string &path, OutputKind kind = OutputKind::Text);

/// Writes the text beside its place and renames it, as results are written; what is no regular file directly. Reports
/// what fails. Returns the exit status: 1 when it fails.
int writeOutput(const std::string &path, llvm::StringRef text);

} // namespace pmap
