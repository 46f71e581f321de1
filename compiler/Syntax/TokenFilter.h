// From text to the tokens the parser sees: newlines become separators by the rules of the language, brackets are
// balanced, comments are set aside, and what is not Pmap at all is reported and replaced by what was meant.
#pragma once

#include "antlr4-runtime.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Syntax/AST.h"
#include "llvm/ADT/DenseSet.h"
#include <memory>
#include <vector>

namespace pmap {

/// The tokens of one file. Positions of ANTLR count characters; `range` turns them into byte offsets.
class TokenizedFile {
public:
  /// Lexes and filters. Reports E0103, E0105, E0109 and E0117. Never fails: the tokens end in EOF in any case.
  TokenizedFile(const SourceFile &file, DiagnosticEngine &diagnostics);

  /// The source of the parser's token stream; may be taken once for each parse.
  std::unique_ptr<antlr4::TokenSource> source() const;

  SourceRange range(const antlr4::Token *token) const;
  /// From the start of the first token to the end of the last.
  SourceRange range(const antlr4::Token *first, const antlr4::Token *last) const;

  /// Whether the filter made up this token to repair a bracket: complaining about it again would be noise.
  bool isRepair(const antlr4::Token *token) const;
  /// The innermost bracket that is open before this token, if it was never closed in the text; else an invalid range.
  SourceRange unclosedBracketAround(const antlr4::Token *token) const;

  /// What was wrong with the brackets, with the bracket it is about. Kept back until the parser has had its say: when
  /// it stopped right inside a bracket that is not closed, its message is the better one, and both would be one too
  /// many.
  struct BracketError {
    SourceRange bracket; ///< Invalid when a bracket closes nothing.
    Diagnostic diagnostic;
  };
  const std::vector<BracketError> &bracketErrors() const { return bracketErrors_; }

  const std::vector<ast::Comment> &comments() const { return comments_; }
  const SourceFile &file() const { return file_; }

  /// For the REPL: a bracket is open at the end, or the last line ends where a statement cannot.
  bool isIncomplete() const { return incomplete; }
  /// Nothing but blanks and comments.
  bool isEmpty() const { return empty; }

private:
  friend class TokenFilter;
  struct Token {
    size_t type;
    uint32_t begin, end; ///< Bytes.
    bool repair;
    int64_t bracket; ///< The position of the innermost open bracket, or -1.
  };

  const SourceFile &file_;
  std::vector<Token> tokens;
  std::vector<ast::Comment> comments_;
  std::vector<BracketError> bracketErrors_;
  bool incomplete = false;
  bool empty = true;
};

/// How a token type is shown to a user, without quotes: `->`, `in`, `a name`.
std::string tokenText(size_t type);
/// Whether a token type is a reserved word (`type`, `test` and `as` are not).
bool isReservedWord(size_t type);

} // namespace pmap
