// Rendering and unwinding.

#include "runtime/core/Failure.h"
#include "runtime/core/Context.h"
#include "runtime/core/FailureMessage.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace pmap::rt;

namespace {

/// Line `line` of the file, or nothing; of a very long line what may show near `column`. Read only when an error is
/// printed, so slowly is well enough.
std::string sourceLine(const char *path, int32_t line, int32_t column) {
  std::string text;
  FILE *file = path && line > 0 ? fopen(path, "r") : nullptr;
  if (!file)
    return text;
  size_t most = (size_t)std::max(column, 0) + 400;
  int32_t current = 1;
  for (int c; current <= line && (c = fgetc(file)) != EOF;) {
    if (c == '\n')
      ++current;
    else if (current == line && text.size() < most)
      text += c == '\t' ? ' ' : (char)c;
  }
  fclose(file);
  return text;
}

bool isContinuation(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

/// The line and a caret below it. Of a line of more than 120 columns a window around the caret is shown, as the
/// compiler's own messages do it.
std::string snippet(const std::string &line, int32_t column) {
  constexpr size_t most = 120, context = 40;
  size_t caret = std::min((size_t)std::max(column - 1, 0), line.size()), begin = 0, end = line.size();
  if (line.size() - (size_t)std::count_if(line.begin(), line.end(), isContinuation) > most) {
    begin = caret - std::min(caret, context);
    end = std::min(line.size(), begin + most);
    begin = std::min(begin, end - std::min(end, most));
    while (begin > 0 && isContinuation(line[begin]))
      --begin;
    while (end < line.size() && isContinuation(line[end]))
      ++end;
  }
  std::string before = begin > 0 ? "..." : "", after = end < line.size() ? "..." : "";
  // The caret's column counts bytes; continuation bytes of UTF-8 take no room on the screen.
  std::string blank(before.size(), ' ');
  for (size_t i = begin; i < caret; ++i)
    if (!isContinuation(line[i]))
      blank += ' ';
  return "  " + before + line.substr(begin, end - begin) + after + "\n  " + blank + "^\n";
}

PMAP_NORETURN void unwind() {
  Thread &thread = thisThread();
  UnwindTarget *target = thread.target;
  thread.target = target->outer;
  longjmp(target->buffer, 1);
}

/// Outside of any launch there is nobody to report to.
void requireTarget(const std::string &text) {
  if (thisThread().target)
    return;
  fputs(text.c_str(), stderr);
  exit(1);
}

} // namespace

UnwindTarget::UnwindTarget(ErrorRecord &record) : record(record), outer(thisThread().target) {
  thisThread().target = this;
}

void UnwindTarget::leave() { thisThread().target = outer; }

std::string pmap::rt::format(const char *text, ...) {
  va_list args, again;
  va_start(args, text);
  va_copy(again, args);
  std::string result((size_t)vsnprintf(nullptr, 0, text, args), '\0');
  va_end(args);
  vsnprintf(result.data(), result.size() + 1, text, again);
  va_end(again);
  return result;
}

std::string pmap::rt::renderError(const pmap_site *site, const char *code, const std::string &message,
                                  const std::string &note) {
  std::string text;
  bool known = site && site->file && *site->file;
  if (known && site->line > 0)
    text = format("%s:%d:%d: ", site->file, site->line, site->column);
  else if (known)
    text = format("%s: ", site->file);
  text += "error: " + message + " [" + code + "]\n";
  std::string source = known ? sourceLine(site->file, site->line, site->column) : "";
  if (!source.empty())
    text += snippet(source, site->column);
  for (size_t begin = 0; begin < note.size();) {
    size_t end = std::min(note.find('\n', begin), note.size());
    text += "note: " + note.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

namespace {

/// Fills the record of the launch and unwinds. The strings are consumed.
PMAP_NORETURN void failWith(const pmap_site *site, const char *code, std::string &&message, std::string &&note,
                            bool ofInput, bool ofValues) {
  {
    std::string text = renderError(site, code, message, note);
    requireTarget(text);
    ErrorRecord &record = thisThread().target->record;
    record.set = true;
    record.secondary = false;
    record.ofInput = ofInput;
    record.ofValues = ofValues;
    record.text = std::move(text);
    // Nobody will destroy these; assigning an empty string would keep their memory.
    std::string().swap(message);
    std::string().swap(note);
  }
  unwind();
}

} // namespace

void pmap::rt::fail(const pmap_site *site, const char *code, std::string &&message, std::string &&note) {
  failWith(site, code, std::move(message), std::move(note), /*ofInput=*/false, /*ofValues=*/false);
}

void pmap::rt::failOfInput(const pmap_site *site, const char *code, std::string &&message, std::string &&note) {
  failWith(site, code, std::move(message), std::move(note), /*ofInput=*/true, /*ofValues=*/false);
}

void pmap::rt::failAgain(ErrorRecord &record) {
  requireTarget(record.text);
  thisThread().target->record = std::move(record);
  // A moved-from string may hold the target's old memory, and nobody will destroy it.
  std::string().swap(record.text);
  record.clear();
  unwind();
}

void pmap::rt::stopQuietly() {
  ErrorRecord &record = thisThread().target->record;
  record.clear();
  record.set = record.secondary = true;
  unwind();
}

std::string pmap::rt::bytesText(int64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 10 << 10)
    return format("%lld B", (long long)bytes);
  double amount = (double)bytes / 1024;
  size_t unit = 0;
  for (; amount >= 10 << 10 && unit + 1 < std::size(units); ++unit)
    amount /= 1024;
  return format("%.1f %s", amount, units[unit]);
}

void pmap_rt_fail(const pmap_site *site, int32_t kind, int64_t a, int64_t b, int64_t c) {
  // The code is copied to where an unwinding leaves nothing to free.
  char code[8];
  std::string message, note;
  bool isTold;
  {
    const char *text = site && site->text ? site->text : "";
    FailureMessage words = failureMessage(kind, text, a, b, c);
    isTold = words.isTold;
    snprintf(code, sizeof code, "%s", words.code.c_str());
    message = std::move(words.message);
    note = std::move(words.note);
  }
  // What is told of a collective is true of every device that takes part.
  failWith(site, code, std::move(message), std::move(note), /*ofInput=*/false, /*ofValues=*/!isTold);
}
