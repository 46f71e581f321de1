// What each verb of `pmapc` does, once its command line has been read. Each returns the exit status: 0 done; 1 the
// program failed; 2 bad usage or input (cli.md).
#pragma once

#include "compiler/Driver/Compiler.h"

#include <string>
#include <vector>

namespace pmap {

enum class Target { Auto, Cpu, Cuda, Reference };

/// Resolves `--target auto|cpu|cuda|ref`; sets `error` for a name that is none.
bool resolveTarget(llvm::StringRef name, Target &target, std::string &error);

struct RunOptions {
  CompileOptions compile;
  Target target = Target::Cpu;
};

/// Whether this machine runs code for the chosen CPU; where it does not, says so.
bool canRunHere(const RunOptions &options);

/// Compiles (or finds in the cache) and runs `main` with the program's own arguments: flags and `name=value` inputs.
int runProgram(const std::string &path, const RunOptions &options, const std::vector<std::string> &arguments);

/// Makes an executable, or with a stage writes that stage's text to `output` (standard output when empty).
int buildProgram(const std::string &path, const CompileOptions &options, const std::string &output,
                 std::optional<Stage> stage);

/// Reports every error of the files, as text or as JSON.
int checkFiles(const std::vector<std::string> &paths, const CompileOptions &options, bool json);

/// Prints the source of a file with the shapes, the variance and the collectives of each line; its errors as `check`
/// does.
int showFile(const std::string &path, const CompileOptions &options);

/// Formats files: to standard output, in place, or (`checkOnly`) only says which are not formatted. "-" is standard
/// input.
int formatFiles(const std::vector<std::string> &paths, bool inPlace, bool checkOnly);

/// Runs the `test` blocks of files whose titles contain `filter`; prints a line per failure and a count.
int testFiles(const std::vector<std::string> &paths, const RunOptions &options, const std::string &filter, int devices);

/// Prints the page of an error code, or the index of all.
int explainCode(const std::string &code);

/// The interactive session, on standard input and output.
int runRepl(const RunOptions &options, int devices, int threads, const std::vector<std::string> &load);

} // namespace pmap
