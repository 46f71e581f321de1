// The values that an interactive session keeps between entries: as source text, as printed text, and as packed
// arguments.
#pragma once

#include "compiler/Driver/Repl.h"

namespace pmap {

/// The type of a leaf as source: `f32[3, 4]`.
std::string typeText(const SessionLeaf &leaf);

/// A nest of tuples and records over leaves, as source: the leaves' dotted names give the form, `names` what stands for
/// each.
std::string nestText(llvm::ArrayRef<SessionLeaf> leaves, llvm::ArrayRef<std::string> names);

/// A value as the session shows it: an array as NumPy prints it, a record by its fields.
std::string valueText(llvm::ArrayRef<SessionLeaf> leaves);

/// Runs a program on leaves and gives the leaves of its result. False after a run-time error, whose message is printed.
bool callProgram(const pmap_program &program, llvm::ArrayRef<const SessionLeaf *> inputs,
                 std::vector<SessionLeaf> &results);

} // namespace pmap
