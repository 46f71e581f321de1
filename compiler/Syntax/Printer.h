// The canonical layout of a program: `pmapc fmt`.
#pragma once

#include "compiler/Syntax/AST.h"
#include <string>

namespace pmap {

/// The module as text in the canonical layout: two blanks per level, at most 100 columns where there is a place to
/// break, comments kept, at most one empty line in a row. Idempotent, and parsing the result gives an equal tree
/// (`ast::dumpAST`).
std::string formatModule(const ast::Module &module);

/// What stands before the body of an item, in the canonical layout without comments: `fn relu(x: f32[n]) -> f32[n]`. A
/// type and a const are whole.
std::string formatSignature(const ast::Item &item);

} // namespace pmap
