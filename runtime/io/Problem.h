//===- Problem.h - What is wrong with the command line, an input or an output ------------------------------------===//

#ifndef PMAP_IO_PROBLEM_H
#define PMAP_IO_PROBLEM_H

#include <string>
#include <vector>

namespace pmap::rt {

/// An error before or after the program proper; rendered as `subject: error: message [code]` and a line per note.
struct Problem {
  std::string code; ///< Empty: no problem.
  std::string subject, message;
  std::vector<std::string> notes;

  explicit operator bool() const { return !code.empty(); }
  std::string render() const;
};

/// What the system says of an error number, as part of a message: "no such file or directory".
std::string systemReason(int error);

/// The candidate that `wanted` is most likely a misspelling of, or "".
std::string closest(const std::string &wanted, const std::vector<std::string> &candidates);

} // namespace pmap::rt

#endif // PMAP_IO_PROBLEM_H
