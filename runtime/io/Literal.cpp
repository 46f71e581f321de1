// Array literals on the command line.

#include "pmap/runtime.h"
#include "runtime/core/Context.h"
#include "runtime/io/Elements.h"
#include "runtime/io/Inputs.h"

#include <cstring>

using namespace pmap::rt;

namespace {

class Parser {
public:
  Parser(const std::string &text, int32_t dtype, int32_t rank)
      : text(text), dtype(dtype), rank((size_t)rank), bytes((size_t)pmap_dtype_bytes(dtype)), sizes((size_t)rank, -1) {}

  bool parse() {
    if (!value(0))
      return false;
    skip();
    if (at != text.size())
      return wrong("expected nothing after the value, got '" + text.substr(at) + "'");
    // Below an empty list nothing says how long the inner ones would be.
    for (int64_t &size : sizes)
      size = std::max<int64_t>(size, 0);
    return true;
  }

  std::string why, code = "E1014";
  std::string elements;

private:
  const std::string &text;
  int32_t dtype;
  size_t rank, bytes;

public:
  std::vector<int64_t> sizes;

private:
  size_t at = 0;

  bool wrong(std::string message, const char *problem = "E1014") {
    if (why.empty()) {
      why = std::move(message);
      code = problem;
    }
    return false;
  }
  void skip() {
    while (at < text.size() && strchr(" \t\n", text[at]))
      ++at;
  }
  bool take(char c) {
    skip();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool value(size_t depth) {
    if (!take('['))
      return element(depth);
    if (depth >= rank)
      return wrong("expected rank " + std::to_string(rank) + ", got a list of rank " + std::to_string(depth + 1) +
                       " or more",
                   "E1016");
    int64_t count = 0;
    while (!take(']')) {
      if (at >= text.size())
        return wrong("a '[' is not closed");
      if (count && !take(','))
        return wrong("expected ',' or ']', got '" + text.substr(at, 10) + "'");
      if (count && take(']'))
        break;
      if (!value(depth + 1))
        return false;
      ++count;
    }
    if (sizes[depth] >= 0 && sizes[depth] != count)
      return wrong("the lists have different lengths, " + std::to_string(sizes[depth]) + " and " +
                   std::to_string(count));
    sizes[depth] = count;
    return true;
  }
  bool element(size_t depth) {
    skip();
    size_t begin = at;
    while (at < text.size() && !strchr(",[] \t\n", text[at]))
      ++at;
    std::string word = text.substr(begin, at - begin);
    if (word.empty())
      return wrong(begin < text.size() ? "expected a number, got '" + text.substr(begin, 10) + "'"
                                       : std::string("expected a value"));
    char storage[8] = {};
    std::string reason;
    if (!parseElement(dtype, word, storage, reason))
      return wrong(std::move(reason));
    if (depth != rank)
      return wrong("expected rank " + std::to_string(rank) + ", got rank " + std::to_string(depth), "E1016");
    elements.append(storage, bytes);
    return true;
  }
};

} // namespace

Problem pmap::rt::parseLiteral(const std::string &text, int32_t dtype, int32_t rank, const std::string &subject,
                               HostArray &array) {
  Parser parser(text, dtype, rank);
  if (!parser.parse())
    return {parser.code, subject, parser.why, {}};
  array.dtype = dtype;
  array.sizes = parser.sizes;
  array.owner = context().host->arena->allocate((int64_t)parser.elements.size());
  if (!array.owner)
    return {"E1018", subject, "not enough memory", {}};
  array.data = (char *)array.owner;
  memcpy(array.data, parser.elements.data(), parser.elements.size());
  return {};
}
