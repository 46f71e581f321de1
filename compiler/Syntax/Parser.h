// The parser's doors. Generated code and ANTLR stay behind them.
#pragma once

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/SourceFile.h"
#include "compiler/Syntax/AST.h"
#include <memory>
#include <string>
#include <vector>

namespace pmap {

/// Parses a whole file. Every syntax error of it is reported; the module holds what could be understood, and is never
/// null. After an error the module is for tools only (the language server, `fmt` refuses it): Sema must not run on it.
std::unique_ptr<ast::Module> parseFile(const SourceFile &file, DiagnosticEngine &diagnostics);

/// The same from text, under a name that messages show. The file is added to `sources`, which must outlive the module.
std::unique_ptr<ast::Module> parseString(SourceManager &sources, std::string name, std::string text,
                                         DiagnosticEngine &diagnostics);

/// What one entry typed into the REPL is.
struct ReplInput {
  enum Kind {
    Incomplete, ///< A bracket is open, or the last line ends in an operator, `=` or a comma: ask for another line.
    Error,      ///< Reported; nothing to do.
    Empty,      ///< Blanks and comments only.
    Item,       ///< Definitions: `module` holds them (and their doc comments).
    Statements, ///< Statements, of which the last may be an expression whose value is to be shown: `block`.
  };
  Kind kind = Error;
  std::unique_ptr<ast::Module> module;
  std::unique_ptr<ast::BlockExpr> block;
};

/// Parses an entry of the REPL: either items or statements. `Incomplete` reports nothing. An entry that ends in an
/// empty line is never incomplete: it is an error instead, so that a user can always get out.
ReplInput parseExpressionOrItem(const SourceFile &file, DiagnosticEngine &diagnostics);

/// A single expression, for `name=value` on the command line and the like. Null after an error.
ast::ExprPtr parseExpression(const SourceFile &file, DiagnosticEngine &diagnostics);

} // namespace pmap
