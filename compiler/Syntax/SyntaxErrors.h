// How the parser fails: in our own words, once per statement, and always going on to the next.
#pragma once

#include "PmapParser.h"
#include "antlr4-runtime.h"
#include "compiler/Syntax/TokenFilter.h"

namespace pmap {

/// Replaces ANTLR's error handling. The first error of a statement (or item) is reported; then the rest of it is
/// skipped, bracket by bracket, except that blocks in it are still parsed for errors of their own.
class SyntaxErrors : public antlr4::ANTLRErrorStrategy {
public:
  SyntaxErrors(const TokenizedFile &file, DiagnosticEngine &diagnostics) : file(file), diagnostics(diagnostics) {}

  void reset(antlr4::Parser *) override { reported = false; }
  /// Never repairs by a token more or less: throws.
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  /// Passes the error up to the rule of the statement, which skips to its end.
  void recover(antlr4::Parser *parser, std::exception_ptr error) override;
  /// At the start of each statement or item: skips what cannot start one.
  void sync(antlr4::Parser *parser) override;
  bool inErrorRecoveryMode(antlr4::Parser *) override { return false; }
  void reportMatch(antlr4::Parser *) override {}
  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) override;

private:
  void reportMisplaced(grammar::PmapParser &parser);
  void skipStatement(grammar::PmapParser &parser);
  llvm::StringRef text(const antlr4::Token *token) const;
  /// The token as a message names it, quoted, and where it stands.
  std::string describe(grammar::PmapParser &parser, antlr4::Token *token) const;
  void addHint(DiagnosticBuilder &builder, grammar::PmapParser &parser, antlr4::Token *got,
               const antlr4::misc::IntervalSet &expected) const;
  antlr4::Token *firstOfStatement(grammar::PmapParser &parser, antlr4::Token *got) const;

public:
  /// Reports what the token filter found, where no message about the inside of the same bracket says it already.
  void reportBrackets();

private:
  const TokenizedFile &file;
  DiagnosticEngine &diagnostics;
  /// The brackets, never closed, in which an error was reported.
  llvm::DenseSet<uint32_t> explained;
  /// Whether the error that is on its way up to its statement has been reported.
  bool reported = false;
};

} // namespace pmap
