#include "compiler/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace pmap {

namespace {

struct CodeRow {
  Code code;
  llvm::StringLiteral text, name, title;
};

constexpr CodeRow codeRows[] = {
#define PMAP_DIAGNOSTIC(code, name, title) {Code::code, #code, name, title},
#include "compiler/Support/Errors.def"
};

constexpr Code codes[] = {
#define PMAP_DIAGNOSTIC(code, name, title) Code::code,
#include "compiler/Support/Errors.def"
};

const CodeRow &row(Code code) { return codeRows[static_cast<size_t>(code)]; }

/// A hash of what makes two diagnostics the same; the top bits are dropped because DenseSet reserves two values there.
uint64_t fingerprint(const Diagnostic &d) {
  return llvm::xxh3_64bits(d.message) / 4 ^ (uint64_t(d.range.begin) << 20) ^ (uint64_t(d.range.end) << 4) ^
         (reinterpret_cast<uintptr_t>(d.range.file) / 8) ^ uint64_t(d.code);
}

} // namespace

llvm::StringRef codeText(Code code) { return row(code).text; }
llvm::StringRef codeName(Code code) { return row(code).name; }
llvm::StringRef codeTitle(Code code) { return row(code).title; }
llvm::ArrayRef<Code> allCodes() { return codes; }

std::optional<Code> parseCode(llvm::StringRef text) {
  for (const CodeRow &r : codeRows)
    if (text.equals_insensitive(r.text) || text == r.name)
      return r.code;
  return std::nullopt;
}

DiagnosticBuilder::~DiagnosticBuilder() {
  if (engine)
    engine->report(std::move(diagnostic));
}

void DiagnosticEngine::report(Diagnostic diagnostic) {
  // Elaboration visits a generic function once per call, so the same finding would otherwise show up many times.
  if (!seen.insert(fingerprint(diagnostic)).second)
    return;
  errors += diagnostic.severity == Severity::Error;
  diagnostics.push_back(std::move(diagnostic));
}

void DiagnosticEngine::clear() {
  diagnostics.clear();
  seen.clear();
  errors = 0;
}

void DiagnosticEngine::sortByPosition() {
  std::map<const SourceFile *, size_t> order;
  for (const Diagnostic &d : diagnostics)
    order.try_emplace(d.range.file, order.size());
  // Sorting places and then moving keeps equal ones in their order, without std::stable_sort's deprecated buffer.
  std::vector<std::tuple<size_t, uint32_t, size_t>> places;
  for (const auto &[i, d] : llvm::enumerate(diagnostics))
    places.emplace_back(order[d.range.file], d.range.begin, i);
  std::sort(places.begin(), places.end());
  std::vector<Diagnostic> sorted;
  for (const auto &place : places)
    sorted.push_back(std::move(diagnostics[std::get<2>(place)]));
  diagnostics = std::move(sorted);
}

DiagnosticTrial::DiagnosticTrial(DiagnosticEngine &engine)
    : engine(engine), countBefore(engine.diagnostics.size()), errorsBefore(engine.errors) {}

DiagnosticTrial::~DiagnosticTrial() {
  if (kept)
    return;
  for (const Diagnostic &d : reported())
    engine.seen.erase(fingerprint(d));
  engine.diagnostics.resize(countBefore);
  engine.errors = errorsBefore;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// The width of a text on a terminal. Tabs are written as they are, so they count as nothing here.
unsigned displayWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width >= 0 ? static_cast<unsigned>(width) : static_cast<unsigned>(text.size());
}

void printLocation(llvm::raw_ostream &os, SourceRange range) {
  if (!range.isValid())
    return;
  LineColumn at = range.file->lineColumn(range.begin);
  os << range.file->path() << ':' << at.line << ':' << at.column << ": ";
}

/// Blanks as wide as `text` on a terminal, tabs kept.
std::string blanks(llvm::StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto [before, after] = text.split('\t');
    result.append(displayWidth(before), ' ');
    if (before.size() == text.size())
      break;
    result += '\t';
    text = after;
  }
  return result;
}

/// The part of a line that is shown, in bytes: all of it, or a window of about 120 columns around the range [from, to).
struct LineWindow {
  size_t begin, end;

  LineWindow(llvm::StringRef line, size_t from, size_t to) : begin(0), end(line.size()) {
    constexpr size_t most = 120, context = 40;
    if (displayWidth(line) <= most)
      return;
    // Some of what stands before the range, less where the range itself would not fit then.
    size_t before = std::min(context, most - std::min(most, to - from));
    begin = from - std::min(from, before);
    end = std::min(line.size(), begin + most);
    begin = std::min(begin, end - std::min(end, most));
    auto isContinuation = [&](size_t at) { return at < line.size() && (line[at] & 0xC0) == 0x80; };
    while (begin > 0 && isContinuation(begin))
      --begin;
    while (isContinuation(end))
      ++end;
  }
};

/// The source line under a range, and a line with a caret and tildes below it. A range of several lines shows its
/// first. Of a very long line (generated code) the part around the range is shown.
void printSnippet(llvm::raw_ostream &os, SourceRange range, bool color) {
  if (!range.isValid())
    return;
  LineColumn at = range.file->lineColumn(range.begin);
  llvm::StringRef line = range.file->lineText(at.line);
  size_t start = range.file->lineStart(at.line);
  size_t from = std::min<size_t>(range.begin - start, line.size());
  size_t to = std::clamp<size_t>(range.end - start, from, line.size());
  LineWindow window(line, from, to);
  llvm::StringRef shown = line.slice(window.begin, window.end), cutBefore = window.begin > 0 ? "..." : "";
  os << "  " << cutBefore << (llvm::json::isUTF8(shown) ? shown.str() : llvm::json::fixUTF8(shown))
     << (window.end < line.size() ? "..." : "") << "\n  " << blanks(cutBefore)
     << blanks(line.slice(window.begin, from));
  if (color)
    os.changeColor(llvm::raw_ostream::GREEN, /*Bold=*/true);
  os << '^';
  for (unsigned i = 1, width = displayWidth(line.slice(from, std::min(to, window.end))); i < width; ++i)
    os << '~';
  if (color)
    os.resetColor();
  os << '\n';
}

void printHeader(llvm::raw_ostream &os, SourceRange range, llvm::StringRef label, llvm::raw_ostream::Colors labelColor,
                 llvm::StringRef message, bool color) {
  if (color)
    os.changeColor(llvm::raw_ostream::SAVEDCOLOR, /*Bold=*/true);
  printLocation(os, range);
  if (color)
    os.changeColor(labelColor, /*Bold=*/true);
  os << label << ": ";
  if (color)
    os.resetColor();
  os << message;
}

void printFixIt(llvm::raw_ostream &os, const FixIt &fix, bool color) {
  std::string text;
  llvm::StringRef old = fix.range.text();
  if (fix.range.size() == 0)
    text = "insert '" + fix.replacement + "'";
  else if (fix.replacement.empty())
    text = ("remove '" + old + "'").str();
  else if (old.size() > 60 || old.contains('\n'))
    text = "write '" + fix.replacement + "'";
  else
    text = ("write '" + fix.replacement + "' instead of '" + old + "'").str();
  printHeader(os, fix.range, "fix", llvm::raw_ostream::CYAN, text, color);
  os << '\n';
}

} // namespace

void printDiagnostic(llvm::raw_ostream &os, const Diagnostic &d, bool color) {
  bool isError = d.severity == Severity::Error;
  printHeader(os, d.range, isError ? "error" : "warning", isError ? llvm::raw_ostream::RED : llvm::raw_ostream::MAGENTA,
              d.message, color);
  os << " [" << codeText(d.code) << "]\n";
  printSnippet(os, d.range, color);
  for (const DiagnosticNote &note : d.notes) {
    printHeader(os, note.range, "note", llvm::raw_ostream::CYAN, note.message, color);
    os << '\n';
    printSnippet(os, note.range, color);
  }
  for (const FixIt &fix : d.fixits)
    printFixIt(os, fix, color);
}

void DiagnosticEngine::print(llvm::raw_ostream &os, bool color) const {
  for (const Diagnostic &d : diagnostics)
    printDiagnostic(os, d, color);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

void writeRange(llvm::json::OStream &json, SourceRange range) {
  if (!range.isValid()) {
    json.attribute("range", nullptr);
    return;
  }
  json.attributeObject("range", [&] {
    LineColumn begin = range.file->lineColumn(range.begin), end = range.file->lineColumn(range.end);
    json.attribute("file", llvm::json::fixUTF8(range.file->path()));
    json.attribute("line", begin.line);
    json.attribute("column", begin.column);
    json.attribute("endLine", end.line);
    json.attribute("endColumn", end.column);
    json.attribute("begin", range.begin);
    json.attribute("end", range.end);
  });
}

} // namespace

void DiagnosticEngine::printJson(llvm::raw_ostream &os) const {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const Diagnostic &d : diagnostics)
      json.object([&] {
        json.attribute("code", codeText(d.code));
        json.attribute("severity", d.severity == Severity::Error ? "error" : "warning");
        json.attribute("message", llvm::json::fixUTF8(d.message));
        writeRange(json, d.range);
        json.attributeArray("notes", [&] {
          for (const DiagnosticNote &note : d.notes)
            json.object([&] {
              json.attribute("message", llvm::json::fixUTF8(note.message));
              writeRange(json, note.range);
            });
        });
        json.attributeArray("fixes", [&] {
          for (const FixIt &fix : d.fixits)
            json.object([&] {
              json.attribute("replacement", llvm::json::fixUTF8(fix.replacement));
              writeRange(json, fix.range);
            });
        });
      });
  });
  os << '\n';
}

} // namespace pmap
