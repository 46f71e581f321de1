// Rendering of problems, and suggestions for misspelt names.

#include "runtime/io/Problem.h"

#include <algorithm>
#include <cctype>
#include <cstring>

using namespace pmap::rt;

std::string Problem::render() const {
  std::string text = (subject.empty() ? "" : subject + ": ") + "error: " + message + " [" + code + "]\n";
  for (const std::string &note : notes)
    text += "note: " + note + "\n";
  return text;
}

std::string pmap::rt::systemReason(int error) {
  std::string text = strerror(error);
  text[0] = (char)tolower((unsigned char)text[0]);
  return text;
}

namespace {

/// Edits (insert, delete, replace, swap neighbours) between two texts.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (!i || !j) {
        best[i][j] = i + j;
        continue;
      }
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
    }
  return best[a.size()][b.size()];
}

} // namespace

std::string pmap::rt::closest(const std::string &wanted, const std::vector<std::string> &candidates) {
  std::string found;
  size_t best = wanted.size() / 3 + 2;
  for (const std::string &candidate : candidates) {
    size_t edits = distance(wanted, candidate);
    if (edits < best && edits < candidate.size()) {
      best = edits;
      found = candidate;
    }
  }
  return found;
}
