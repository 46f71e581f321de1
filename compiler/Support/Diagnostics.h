// Diagnostics: what the compiler tells its user. Collected in one engine, rendered in one place, as text or as JSON.
//
//   diagnostics.error(Code::E0401, range, "expected f32[n], got f32[m]")
//       .note(nRange, "n comes from here")
//       .fix(range, "x :> f32[n]");
#pragma once

#include "compiler/Support/SourceFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace pmap {

enum class Code {
#define PMAP_DIAGNOSTIC(code, name, title) code,
#include "compiler/Support/Errors.def"
};

/// The code as users see it: `E0101`.
llvm::StringRef codeText(Code code);
/// Its short name (`unexpected-token`) and its one-line title.
llvm::StringRef codeName(Code code);
llvm::StringRef codeTitle(Code code);
/// The code that a text such as `E0101` names, if any.
std::optional<Code> parseCode(llvm::StringRef text);
/// Every code, in the order of Errors.def.
llvm::ArrayRef<Code> allCodes();

enum class Severity { Error, Warning };

/// Additional information with a place of its own; the place may be missing.
struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

/// An edit that would repair the program: replace the text of `range` (empty: insert).
struct FixIt {
  SourceRange range;
  std::string replacement;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  Code code{};
  SourceRange range;
  /// Lower case, no final stop, expected and got.
  std::string message;
  std::vector<DiagnosticNote> notes;
  std::vector<FixIt> fixits;
};

class DiagnosticEngine;

/// A diagnostic under construction; it is reported when the builder dies.
class [[nodiscard]] DiagnosticBuilder {
public:
  DiagnosticBuilder(DiagnosticEngine *engine, Diagnostic diagnostic)
      : engine(engine), diagnostic(std::move(diagnostic)) {}
  DiagnosticBuilder(DiagnosticBuilder &&other) : engine(other.engine), diagnostic(std::move(other.diagnostic)) {
    other.engine = nullptr;
  }
  DiagnosticBuilder(const DiagnosticBuilder &) = delete;
  DiagnosticBuilder &operator=(const DiagnosticBuilder &) = delete;
  ~DiagnosticBuilder();

  DiagnosticBuilder &note(SourceRange range, const llvm::Twine &message) & {
    diagnostic.notes.push_back({range, message.str()});
    return *this;
  }
  DiagnosticBuilder &note(const llvm::Twine &message) & { return note(SourceRange(), message); }
  DiagnosticBuilder &fix(SourceRange range, const llvm::Twine &replacement) & {
    diagnostic.fixits.push_back({range, replacement.str()});
    return *this;
  }
  DiagnosticBuilder &&note(SourceRange range, const llvm::Twine &message) && {
    note(range, message);
    return std::move(*this);
  }
  DiagnosticBuilder &&note(const llvm::Twine &message) && {
    note(SourceRange(), message);
    return std::move(*this);
  }
  DiagnosticBuilder &&fix(SourceRange range, const llvm::Twine &replacement) && {
    fix(range, replacement);
    return std::move(*this);
  }
  /// Reports now, for use as a statement without a warning about the unused result.
  void report() {}

private:
  DiagnosticEngine *engine;
  Diagnostic diagnostic;
};

/// Collects diagnostics in the order in which they are reported. The same code and message at the same place is
/// reported once.
class DiagnosticEngine {
public:
  DiagnosticBuilder error(Code code, SourceRange range, const llvm::Twine &message) {
    return {this, {Severity::Error, code, range, message.str(), {}, {}}};
  }
  DiagnosticBuilder warning(Code code, SourceRange range, const llvm::Twine &message) {
    return {this, {Severity::Warning, code, range, message.str(), {}, {}}};
  }
  void report(Diagnostic diagnostic);

  llvm::ArrayRef<Diagnostic> all() const { return diagnostics; }
  bool hasErrors() const { return errors != 0; }
  unsigned errorCount() const { return errors; }
  void clear();

  /// Sorts by file (in order of first appearance), then position; stable. For a front end that reports out of order.
  void sortByPosition();

  /// Writes everything as text: the header line, the source line with a caret, notes and fix-its.
  void print(llvm::raw_ostream &os, bool color = false) const;
  /// Writes everything as one JSON array, one object per diagnostic, positions as line and column and as byte offsets.
  void printJson(llvm::raw_ostream &os) const;

private:
  friend class DiagnosticTrial;
  std::vector<Diagnostic> diagnostics;
  /// Hashes of what was reported.
  llvm::DenseSet<uint64_t> seen;
  unsigned errors = 0;
};

/// A silent attempt: what is reported during its life is taken back when it dies, unless `keep()` was called. Trials
/// nest.
///
///   { DiagnosticTrial trial(diagnostics); elaborate(...); if (!trial.hasErrors()) trial.keep(); }
class DiagnosticTrial {
public:
  explicit DiagnosticTrial(DiagnosticEngine &engine);
  DiagnosticTrial(const DiagnosticTrial &) = delete;
  DiagnosticTrial &operator=(const DiagnosticTrial &) = delete;
  ~DiagnosticTrial();

  /// Whether an error was reported since the trial began.
  bool hasErrors() const { return engine.errors > errorsBefore; }
  /// What was reported since the trial began.
  llvm::ArrayRef<Diagnostic> reported() const { return engine.all().drop_front(countBefore); }
  /// Lets what was reported stand (within an enclosing trial, if any).
  void keep() { kept = true; }

private:
  DiagnosticEngine &engine;
  size_t countBefore;
  unsigned errorsBefore;
  bool kept = false;
};

/// Writes one diagnostic as text.
void printDiagnostic(llvm::raw_ostream &os, const Diagnostic &diagnostic, bool color = false);

} // namespace pmap
