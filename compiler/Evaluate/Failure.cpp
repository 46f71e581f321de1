// How a failure reads.
#include "compiler/Evaluate/Evaluate.h"

#include "pmap/runtime.h"

namespace pmap::evaluate {
namespace {

struct FailureRow {
  const char *code, *format;
};

/// The runtime's own table, so that both targets word a failure alike.
constexpr FailureRow failureRows[] = {
#define PMAP_FAILURE_ROW(name, code, format) {code, format},
    PMAP_FAILURES(PMAP_FAILURE_ROW)
#undef PMAP_FAILURE_ROW
};

void replaceAll(std::string &text, llvm::StringRef from, llvm::StringRef to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

} // namespace

std::string messageOf(const Failure &failure) {
  if (failure.kind < 0)
    return failure.text;
  std::string message = failureRows[failure.kind].format;
  if (failure.kind == PMAP_FAIL_ASSERT && failure.text.empty())
    return "assertion failed";
  replaceAll(message, "{a}", std::to_string(failure.a));
  replaceAll(message, "{b}", std::to_string(failure.b));
  replaceAll(message, "{c}", std::to_string(failure.c));
  replaceAll(message, "{text}", failure.text);
  return message;
}

std::string codeOf(const Failure &failure) {
  if (failure.kind >= 0)
    return failureRows[failure.kind].code;
  return failure.code;
}

} // namespace pmap::evaluate
