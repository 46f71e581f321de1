// The command line of `pmapc`. Each verb's work is in compiler/Driver; this file only reads arguments.

#include "compiler/Driver/Doc.h"
#include "compiler/Driver/Plot.h"
#include "compiler/Driver/Verbs.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <unistd.h>

namespace {

using pmap::CompileOptions;
using pmap::RunOptions;

/// The flags of a compilation, as typed.
struct CompileFlags {
  std::string target = "auto", cpu = "native";
  std::vector<std::string> sizes, archs;
  bool precise = false, debug = false, explain = false;

  void addTo(CLI::App &app, bool withTarget) {
    if (withTarget)
      app.add_option("--target", target, "what runs the program: auto, cpu, cuda, or ref (the reference evaluator)");
    app.add_option("--cpu", cpu, "the CPU to compile for: native, x86-64-v3, x86-64-v4");
    app.add_option("-D", sizes, "fix a size at compile time: -D n=1024")->allow_extra_args(false);
    app.add_flag("--precise", precise, "libm instead of fast vector math");
    app.add_flag("--explain", explain, "list fusions, copies, movements and collectives, by source line");
    app.add_flag("--debug", debug, "show the messages of MLIR and LLVM in internal errors");
  }

  void addArchs(CLI::App &app) {
    app.add_option("--arch", archs, "architectures of GPUs to make code for: sm_80,sm_90,sm_100")
        ->delimiter(',')
        ->allow_extra_args(false);
  }

  /// Returns an error message, or "".
  std::string read(RunOptions &options) const {
    std::string error;
    if (!pmap::resolveTarget(target, options.target, error))
      return error;
    std::string known;
    for (const pmap::KernelArch &arch : pmap::kernelArchs())
      known += (known.empty() ? "" : ", ") + std::string(arch.name);
    for (const std::string &arch : archs)
      if (std::none_of(pmap::kernelArchs().begin(), pmap::kernelArchs().end(),
                       [&](const pmap::KernelArch &each) { return arch == each.name; }))
        return "unknown architecture '" + arch + "'; expected some of " + known;
    if (!archs.empty())
      options.compile.archs = archs;
    options.compile.cpu = cpu;
    options.compile.precise = precise;
    options.compile.debug = debug;
    options.compile.explain = explain;
    for (const std::string &text : sizes) {
      auto at = text.find('=');
      char *end = nullptr;
      long long value = at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + 1, &end, 10);
      if (at == std::string::npos || at == 0 || !end || *end || end == text.c_str() + at + 1 || value < 0)
        return "-D takes name=size with a size of at least 0, got '" + text + "'";
      options.compile.sizes[text.substr(0, at)] = value;
    }
    return "";
  }
};

/// `name=value`, an input of the program.
bool isInput(const std::string &text) {
  auto at = text.find('=');
  if (at == std::string::npos || at == 0 || text[0] == '-')
    return false;
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at),
                     [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80; });
}

/// What `pmapc run` was given, split between the compiler (flags it knows) and the program (everything else, in order).
/// CLI11 cannot do this split: it would take the value of a program's flag for the file.
struct SplitArguments {
  std::vector<std::string> compiler, program;
  std::string file;
};

SplitArguments splitRunArguments(const std::vector<std::string> &arguments) {
  // The compiler's flags that take a value, and the program's.
  static const char *const compilerValues[] = {"--target", "--cpu", "--arch", "-D"};
  static const char *const programValues[] = {"--devices", "--threads", "--timeout", "--profile", "-o", "--output"};
  static const char *const compilerFlags[] = {"--precise", "--debug", "--explain"};
  auto among = [](const std::string &text, auto &list) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
  };
  SplitArguments split;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &text = arguments[i];
    std::string name = text.substr(0, text.find('='));
    bool takesNext = text.find('=') == std::string::npos && i + 1 < arguments.size();
    if (text.size() > 2 && text.rfind("-D", 0) == 0) {
      split.compiler.push_back(text);
    } else if (among(name, compilerValues)) {
      split.compiler.push_back(text);
      if (takesNext)
        split.compiler.push_back(arguments[++i]);
    } else if (among(text, compilerFlags)) {
      split.compiler.push_back(text);
    } else if (among(text, programValues)) {
      split.program.push_back(text);
      if (takesNext)
        split.program.push_back(arguments[++i]);
    } else if (text[0] != '-' && !isInput(text) && split.file.empty()) {
      split.file = text;
    } else {
      split.program.push_back(text);
    }
  }
  return split;
}

int usageError(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return 2;
}

/// Names the verb that is meant, and knows those who leave it out: `pmapc f.pmap`.
int unknownVerb(const CLI::App &app, llvm::StringRef verb) {
  std::string hint = "pmapc --help lists the verbs";
  unsigned best = 3;
  for (const CLI::App *each : app.get_subcommands([](const CLI::App *) { return true; }))
    if (unsigned distance = verb.edit_distance(each->get_name(), /*AllowReplacements=*/true, best); distance < best) {
      best = distance;
      hint = "did you mean '" + each->get_name() + "'?";
    }
  if (verb.ends_with(".pmap"))
    hint = "a program is run by 'pmapc run " + verb.str() + "'";
  return usageError("unknown verb '" + verb.str() + "' (" + hint + ")");
}

/// What is wrong with the words after a verb. A flag that the verb does not have is told first: its value looks like
/// one file too many.
int verbError(const CLI::App &verb, const std::string &message, int argc, char **argv) {
  std::string command = "pmapc " + verb.get_name();
  for (int i = 2; i < argc; ++i) {
    llvm::StringRef flag = llvm::StringRef(argv[i]).split('=').first;
    bool isFlag = flag.starts_with("--") ? flag.size() > 2 : flag.size() > 1 && flag[0] == '-' && isalpha(flag[1]);
    // `-Dn=3` and `-oFILE` have their value behind them.
    llvm::StringRef known = flag.starts_with("--") ? flag : flag.take_front(2);
    if (isFlag && !verb.get_option_no_throw(known.str()))
      return usageError(command + " has no flag '" + flag.str() + "' ('" + command + " --help' lists those it has)");
  }
  return usageError(message + " ('" + command + " --help' says more)");
}

int runVerb(const std::vector<std::string> &arguments) {
  SplitArguments split = splitRunArguments(arguments);
  CLI::App app("Compiles a program (or finds it in the cache) and runs its main.", "pmapc run");
  CompileFlags flags;
  flags.addTo(app, /*withTarget=*/true);
  flags.addArchs(app);
  app.footer("usage: pmapc run FILE [flags] [name=value ...] [-o result.npy]\n"
             "Flags of running (--devices N, --threads N, -o FILE, --timeout S, --time) and the inputs of a program:\n"
             "  pmapc run FILE --help");
  bool help =
      split.file.empty() && std::find(split.program.begin(), split.program.end(), "--help") != split.program.end();
  if (help || (split.file.empty() && arguments.empty())) {
    (help ? llvm::outs() : llvm::errs()) << app.help();
    return help ? 0 : 2;
  }
  std::reverse(split.compiler.begin(), split.compiler.end());
  try {
    app.parse(split.compiler);
  } catch (const CLI::ParseError &error) {
    return usageError(error.what());
  }
  if (split.file.empty())
    return usageError("run needs a program: pmapc run FILE [name=value ...]");
  RunOptions options;
  if (std::string error = flags.read(options); !error.empty())
    return usageError(error);
  return pmap::runProgram(split.file, options, split.program);
}

int main2(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "run")
    return runVerb({argv + 2, argv + argc});

  CLI::App app("pmapc: the compiler of the Pmap array language", "pmapc");
  app.set_version_flag("--version", "pmapc " PMAPC_VERSION);
  app.require_subcommand(1);
  app.add_subcommand("run", "compile (cached by content) and run: pmapc run f.pmap --devices 4 x=x.npy -o w.npy");

  CompileFlags flags;
  std::vector<std::string> files;
  std::string output, emit, filter, code;
  bool json = false, inPlace = false, checkOnly = false;
  int devices = 1, threads = 0;

  auto *build = app.add_subcommand("build", "make an executable, or print a stage of the compilation");
  build->add_option("FILE", files)->required()->expected(1);
  build->add_option("-o,--output", output, "the executable, or the file for the stage's text");
  build->add_option("--emit", emit, "ast, pmap, linalg, llvm, ptx, asm or obj");
  auto *buildTarget =
      build->add_option("--target", flags.target, "cpu (the default), cuda, or auto: what there is when it runs");
  flags.addArchs(*build);
  flags.addTo(*build, /*withTarget=*/false);

  auto *check = app.add_subcommand("check", "report every error: types, sizes, variance");
  check->add_option("FILE", files)->required();
  check->add_flag("--json", json, "for tools: one JSON array");
  check->add_option("-D", flags.sizes, "fix a size at compile time: -D n=1024")->allow_extra_args(false);
  check->add_flag("--explain", flags.explain, "list fusions, copies, movements and collectives, by source line");
  check->add_flag("--debug", flags.debug);

  auto *show = app.add_subcommand("show", "the source with the shapes, the variance and the collectives of each line");
  show->add_option("FILE", files)->required()->expected(1);
  show->add_option("-D", flags.sizes, "fix a size at compile time: -D n=1024")->allow_extra_args(false);
  show->add_flag("--debug", flags.debug);

  auto *test = app.add_subcommand("test", "run the `test` blocks");
  test->add_option("FILE", files)->required();
  test->add_option("--filter", filter, "only tests whose title contains this");
  test->add_option("--devices", devices, "CPU devices")->check(CLI::Range(1, 1024));
  flags.addTo(*test, /*withTarget=*/true);

  auto *fmt = app.add_subcommand("fmt", "format sources: to standard output, or in place; - is standard input");
  fmt->add_option("FILE", files)->required();
  fmt->add_flag("-i,--in-place", inPlace, "rewrite the files");
  fmt->add_flag("--check", checkOnly, "only say which files are not formatted");

  auto *explain = app.add_subcommand("explain", "print the page of an error code, or the index");
  explain->add_option("CODE", code, "such as E0401");

  auto *doc =
      app.add_subcommand("doc", "print what is written about a file, a module, a library function or a builtin");
  doc->add_option("NAME", files,
                  "FILE.pmap, nn, nn.linear, psum; builtins, library and errors are whole pages; nothing: all names");
  doc->add_option("-o,--output", output, "the file to write");

  auto *plot = app.add_subcommand("plot", "curves of arrays, as .svg or as text: pmapc plot losses.npy -o losses.svg");
  pmap::PlotOptions curves;
  plot->add_option("ARRAY", files, "x.npy, x.npz (every vector in it) or x.npz:name; a matrix's columns are curves")
      ->required();
  plot->add_option("-o,--output", curves.output, "the .svg file; without it the plot is printed as text");
  plot->add_option("--title", curves.title, "stands above the plot");
  plot->add_option("--x", curves.xLabel, "the name of the horizontal axis");
  plot->add_option("--y", curves.yLabel, "the name of the vertical axis");
  plot->add_flag("--log", curves.logarithmic, "a logarithmic vertical axis");

  auto *repl = app.add_subcommand("repl", "the interactive session");
  repl->add_option("FILE", files, "definitions to load first");
  repl->add_option("--devices", devices, "CPU devices")->check(CLI::Range(1, 1024));
  repl->add_option("--threads", threads, "threads in all")->check(CLI::Range(1, 1024));
  flags.addTo(*repl, /*withTarget=*/true);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) {
    return app.exit(success);
  } catch (const CLI::ParseError &error) {
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty())
      return unknownVerb(app, argv[1]);
    if (app.get_subcommands().empty())
      return usageError(std::string(error.what()) + " (pmapc --help lists the verbs)");
    return verbError(*app.get_subcommands().front(), error.what(), argc, argv);
  }

  RunOptions options;
  if (std::string error = flags.read(options); !error.empty())
    return usageError(error);
  if (build->parsed()) {
    static const std::map<std::string, pmap::Stage> stages = {
        {"ast", pmap::Stage::Ast},   {"pmap", pmap::Stage::Pmap}, {"linalg", pmap::Stage::Linalg},
        {"llvm", pmap::Stage::Llvm}, {"ptx", pmap::Stage::Ptx},   {"asm", pmap::Stage::Assembly},
        {"obj", pmap::Stage::Object}};
    if (options.target == pmap::Target::Reference)
      return usageError("build makes programs for the targets cpu, cuda and auto, not ref");
    if (options.target == pmap::Target::Cuda)
      options.compile.gpu = pmap::GpuChoice::Cuda;
    else if (options.target == pmap::Target::Auto && buildTarget->count() > 0)
      options.compile.gpu = pmap::GpuChoice::Auto;
    std::optional<pmap::Stage> stage;
    if (!emit.empty()) {
      auto found = stages.find(emit);
      if (found == stages.end())
        return usageError("--emit takes ast, pmap, linalg, llvm, ptx, asm or obj, got '" + emit + "'");
      stage = found->second;
    }
    return pmap::buildProgram(files.front(), options.compile, output, stage);
  }
  if (show->parsed())
    return pmap::showFile(files.front(), options.compile);
  if (check->parsed())
    return pmap::checkFiles(files, options.compile, json);
  if (options.target == pmap::Target::Cuda)
    return usageError("the target 'cuda' is for run and build; expected auto, cpu or ref");
  if (test->parsed())
    return pmap::testFiles(files, options, filter, devices);
  if (fmt->parsed())
    return pmap::formatFiles(files, inPlace, checkOnly);
  if (explain->parsed())
    return pmap::explainCode(code);
  if (doc->parsed())
    return pmap::printDocumentation(files, output);
  if (plot->parsed())
    return pmap::plotFiles(files, curves);
  if (repl->parsed())
    return pmap::runRepl(options, devices, threads, files);
  return 2;
}

} // namespace

/// The reference evaluator's arrays, and the compiler's own memory: no stack dump tells a user more than this.
void outOfMemory(void *, const char *, bool) {
  constexpr std::string_view text = "error: out of memory [E1115]\n";
  // Nothing that might allocate.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  _exit(1);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::install_bad_alloc_error_handler(outOfMemory);
  int status = main2(argc, argv);
  // A full disk behind the standard output; LLVM would end the process with words of its own.
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error()) {
    llvm::outs().clear_error();
    llvm::errs() << "standard output: error: cannot write to it: " << llvm::StringRef(error.message()).lower()
                 << " [E1027]\n";
    status = status ? status : 1;
  }
  llvm::errs().clear_error();
  return status;
}
