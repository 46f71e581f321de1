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

/// The types of leaves, one each.
std::vector<std::string> typeTexts(llvm::ArrayRef<SessionLeaf> leaves);

/// Reads `x.npy`, blocks `part-*.npy`, `x.npz:name`, or `x.npz`: the array of the variable's name or the only one,
/// otherwise a record of all arrays. False (reported) where that cannot be done.
bool readLeaves(const std::string &path, const std::string &variable, std::vector<SessionLeaf> &leaves);
/// Writes a value as `pmapc run -o` writes results. What goes wrong is reported.
void writeLeaves(const std::string &path, llvm::ArrayRef<SessionLeaf> leaves);
/// Draws vectors, and the columns of matrices, as curves on the terminal.
void plotLeaves(const std::string &title, llvm::ArrayRef<SessionLeaf> leaves);

/// Runs a program on leaves and gives the leaves of its result. False after a run-time error, whose message is printed.
bool callProgram(const pmap_program &program, llvm::ArrayRef<const SessionLeaf *> inputs,
                 std::vector<SessionLeaf> &results);

} // namespace pmap
