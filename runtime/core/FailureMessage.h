//===- FailureMessage.h - The words of a failure, for the runtime and the reference evaluator ---------------------===//

#ifndef PMAP_CORE_FAILUREMESSAGE_H
#define PMAP_CORE_FAILUREMESSAGE_H

#include "pmap/runtime.h"

#include <string>
#include <string_view>

namespace pmap::rt {

struct FailureMessage {
  std::string code, message, note;
  bool isTold = false; ///< The words are the site's own.
};

/// What a failure of `kind` says; `text` is its site's, and a, b, c what its format names. A kind whose format does not
/// name a text takes a text that it is given all the same instead of its own words: `E1103 message`, and a note after a
/// line break.
inline FailureMessage failureMessage(int32_t kind, std::string_view text, int64_t a, int64_t b, int64_t c) {
  struct Row {
    const char *code;
    std::string_view format;
  };
  static constexpr Row rows[] = {
#define PMAP_FAILURE_ROW(name, code, format) {code, format},
      PMAP_FAILURES(PMAP_FAILURE_ROW)
#undef PMAP_FAILURE_ROW
  };
  if (kind < 0 || kind >= PMAP_FAILURE_COUNT)
    return {"E1202", "unknown failure", ""};
  constexpr std::string_view hole = "{text}";
  constexpr size_t codeLength = 5;
  bool hasCode = text.size() > codeLength && text[0] == 'E' && text[codeLength] == ' ' &&
                 text.find_first_not_of("0123456789", 1) == codeLength;
  bool namesText = rows[kind].format.find(hole) != std::string_view::npos;
  bool told = !namesText && hasCode;
  FailureMessage result{rows[kind].code, std::string(rows[kind].format), ""};
  result.isTold = told;
  if (told) {
    result.code = text.substr(0, codeLength);
    result.message = text.substr(codeLength + 1);
  }
  if (kind == PMAP_FAIL_ASSERT && text.empty())
    result.message = "assertion failed";
  auto replace = [&](std::string_view from, const std::string &to) {
    for (size_t at = result.message.find(from); at != std::string::npos; at = result.message.find(from, at + to.size()))
      result.message.replace(at, from.size(), to);
  };
  replace("{a}", std::to_string(a));
  replace("{b}", std::to_string(b));
  replace("{c}", std::to_string(c));
  replace("{b-a}", std::to_string(b - a));
  replace("{a-1}", std::to_string(a - 1));
  replace("{c-1}", std::to_string(c - 1));
  // Last, for braces in the program's own text are no holes.
  if (namesText)
    replace(hole, std::string(text));
  if (size_t end = told ? result.message.find('\n') : std::string::npos; end != std::string::npos) {
    result.note = result.message.substr(end + 1);
    result.message.resize(end);
  }
  return result;
}

/// P3: what a size says that the devices along some axes do not divide (E1120). `label` is its subject, and after " | "
/// what needs blocks of one size, where ragged ones are no way out.
inline FailureMessage indivisibleSize(std::string_view label, int64_t size, int64_t parts, std::string_view axes) {
  constexpr std::string_view bar = " | ";
  size_t end = label.find(bar);
  std::string_view subject = label.substr(0, end);
  std::string count = std::to_string(parts);
  FailureMessage words{"E1120",
                       std::string(subject.empty() ? "input" : subject) + ": size " + std::to_string(size) +
                           " does not divide by the " + count + " devices of axis \"" + std::string(axes) + "\"",
                       "write 'ragged: true' to give the first devices one more"};
  if (end != std::string_view::npos)
    words.note = std::string(label.substr(end + bar.size())) + ": make it a multiple of " + count + ", as " +
                 std::to_string((size / parts + 1) * parts) + " is, or use a number of devices that divides it";
  return words;
}

} // namespace pmap::rt

#endif // PMAP_CORE_FAILUREMESSAGE_H
