//===- Options.h - A program's command line ----------------------------------------------------------------------===//

#ifndef PMAP_IO_OPTIONS_H
#define PMAP_IO_OPTIONS_H

#include "pmap/program.h"
#include "runtime/io/Problem.h"

#include <string>
#include <utility>
#include <vector>

namespace pmap::rt {

struct Options {
  std::vector<int32_t> devices; ///< Empty: the default; several with `same`.
  int32_t threads = 0;          ///< 0: the default.
  double timeout = 0;
  bool time = false, help = false;
  bool same = false; ///< Run on each number of devices and compare the results.
  std::string output;
  std::vector<std::pair<std::string, std::string>> inputs; ///< name, value; in the order given.
};

/// Reads argv[1..]. All problems are found in one go.
std::vector<Problem> parseOptions(const pmap_signature &signature, int32_t argc, char **argv, Options &options);

/// What `--help` prints: usage, the entry's documentation, inputs with types and defaults, flags.
std::string helpText(const pmap_program &program);

/// One line with the flags and inputs.
std::string usageLine(const pmap_program &program);

/// `f32[n, d]` of a leaf.
std::string leafType(const pmap_leaf &leaf);

} // namespace pmap::rt

#endif // PMAP_IO_OPTIONS_H
