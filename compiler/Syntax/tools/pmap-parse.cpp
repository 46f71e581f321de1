// pmap-parse FILE... [--dump | --fmt | --roundtrip | --repl | --json | --time]
//
//   --dump       the tree (the default)
//   --fmt        the file in the canonical layout
//   --roundtrip  checks that the formatted text parses to the same tree and keeps the comments, and that formatting it
//   again
//                changes nothing
//   --repl       what the REPL makes of the file as one entry
//   --time       seconds taken by the parser, and nothing else
// Diagnostics go to standard error (as JSON with --json). Exit status 1 after an error.
#include "compiler/Syntax/Parser.h"
#include "compiler/Syntax/Printer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace pmap;
namespace cl = llvm::cl;

namespace {

enum class Mode { Dump, Format, RoundTrip, Repl, Time };

cl::list<std::string> inputs(cl::Positional, cl::desc("<files>"), cl::OneOrMore);
cl::opt<Mode> mode(cl::desc("what to do:"), cl::init(Mode::Dump),
                   cl::values(clEnumValN(Mode::Dump, "dump", "print the tree"),
                              clEnumValN(Mode::Format, "fmt", "print in the canonical layout"),
                              clEnumValN(Mode::RoundTrip, "roundtrip", "check that formatting keeps the meaning"),
                              clEnumValN(Mode::Repl, "repl", "parse as one entry of the REPL"),
                              clEnumValN(Mode::Time, "time", "print the seconds that parsing took")));
cl::opt<bool> json("json", cl::desc("diagnostics as JSON"));

bool finish(const DiagnosticEngine &diagnostics) {
  if (json)
    diagnostics.printJson(llvm::errs());
  else
    diagnostics.print(llvm::errs());
  return !diagnostics.hasErrors();
}

bool roundTrip(SourceManager &sources, const ast::Module &module, llvm::StringRef path) {
  DiagnosticEngine diagnostics;
  std::string once = formatModule(module);
  auto again = parseString(sources, (path + " (formatted)").str(), once, diagnostics);
  if (!finish(diagnostics)) {
    llvm::errs() << path << ": the formatted text does not parse:\n" << once;
    return false;
  }
  if (ast::dumpAST(module) != ast::dumpAST(*again)) {
    llvm::errs() << path << ": the formatted text means something else:\n" << once;
    return false;
  }
  bool sameComments = module.comments.size() == again->comments.size();
  for (size_t i = 0; sameComments && i < module.comments.size(); ++i)
    sameComments = module.comments[i].text == again->comments[i].text;
  if (!sameComments) {
    llvm::errs() << path << ": the comments changed:\n" << once;
    return false;
  }
  std::string twice = formatModule(*again);
  if (once != twice) {
    llvm::errs() << path << ": formatting twice differs from once:\n" << once << "--- twice:\n" << twice;
    return false;
  }
  return true;
}

void printRepl(const ReplInput &input) {
  constexpr llvm::StringLiteral names[] = {"incomplete", "error", "empty", "item", "statements"};
  llvm::outs() << names[input.kind] << '\n';
  if (input.kind == ReplInput::Item)
    llvm::outs() << ast::dumpAST(*input.module);
  if (input.kind == ReplInput::Statements)
    llvm::outs() << ast::dumpAST(*input.block);
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "the parser and printer of Pmap\n");
  bool ok = true;
  for (const std::string &path : inputs) {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    std::string error;
    const SourceFile *file = sources.addFile(path, error);
    if (!file) {
      llvm::errs() << path << ": " << error << '\n';
      return 2;
    }
    if (mode == Mode::Repl) {
      ReplInput input = parseExpressionOrItem(*file, diagnostics);
      printRepl(input);
      ok &= finish(diagnostics);
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    auto module = parseFile(*file, diagnostics);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (!finish(diagnostics)) {
      ok = false;
      if (mode != Mode::Dump)
        continue;
    }
    switch (mode) {
    case Mode::Dump:
      llvm::outs() << ast::dumpAST(*module);
      break;
    case Mode::Format:
      llvm::outs() << formatModule(*module);
      break;
    case Mode::RoundTrip:
      ok &= roundTrip(sources, *module, path);
      break;
    case Mode::Time:
      llvm::outs() << llvm::formatv("{0:f4}\n", seconds.count());
      break;
    case Mode::Repl:
      break;
    }
  }
  return ok ? 0 : 1;
}
