// The values of numbers and strings as written.
#pragma once

#include "compiler/Support/Diagnostics.h"
#include "compiler/Syntax/AST.h"
#include <memory>
#include <string>

namespace pmap {

/// Reads a number: digits with `_` between them, hexadecimal, fraction, exponent, dtype suffix. Reports E0104; never
/// null.
std::unique_ptr<ast::NumberExpr> readNumber(SourceRange range, DiagnosticEngine &diagnostics);

/// Reads a string with its quotes, resolving the escapes `\n \t \r \0 \" \\ \u{1F600}`. Reports E0105.
std::string readString(SourceRange range, DiagnosticEngine &diagnostics);

/// The string as a literal of the language, quotes and escapes included.
std::string quoteString(llvm::StringRef value);

} // namespace pmap
