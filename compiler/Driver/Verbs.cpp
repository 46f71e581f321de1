#include "compiler/Driver/Verbs.h"

#include "compiler/Driver/Jit.h"
#include "compiler/Driver/Link.h"
#include "compiler/Driver/Output.h"
#include "compiler/Driver/ReferenceProgram.h"
#include "compiler/Support/ErrorPages.h"
#include "compiler/Syntax/Parser.h"
#include "compiler/Syntax/Printer.h"

#include "pmap/program.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace pmap {
namespace {

/// Prints what the compiler found; 2 (bad input) when there were errors, otherwise 0.
int report(Compiler &compiler) {
  compiler.diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  return compiler.diagnostics.hasErrors() ? 2 : 0;
}

int fail(const llvm::Twine &message, int status = 2) {
  llvm::errs() << "error: " << message << "\n";
  return status;
}

/// argv as a C program gets it.
struct ArgumentVector {
  explicit ArgumentVector(const std::string &name, const std::vector<std::string> &arguments) : storage(arguments) {
    storage.insert(storage.begin(), name);
    for (std::string &text : storage)
      pointers.push_back(text.data());
    pointers.push_back(nullptr);
  }
  int count() const { return static_cast<int>(storage.size()); }
  std::vector<std::string> storage;
  std::vector<char *> pointers;
};

int runReference(const std::string &path, const RunOptions &options, const std::vector<std::string> &arguments) {
  Compiler compiler(options.compile);
  auto ast = compiler.parse(path);
  auto module = ast ? compiler.elaborate(*ast) : nullptr;
  if (!module || !compiler.transform(*module))
    return report(compiler);
  report(compiler);
  compiler.printExplanation();
  auto program = ReferenceProgram::create(*module, "pmapc run " + path);
  if (!program)
    return fail("'" + path + "' has no `main` to run [E1003]");
  ArgumentVector argv("pmapc", arguments);
  return program->main(argv.count(), argv.pointers.data());
}

/// Elaborates the tests of a file. Tests that have errors are dropped from the module and counted in `failed`, so that
/// the others can run; null when the errors are elsewhere, which counts as one failure.
mlir::OwningOpRef<mlir::ModuleOp> elaborateTests(Compiler &compiler, ast::Module &ast, int &failed) {
  auto module = compiler.elaborate(ast);
  if (module && compiler.transform(*module))
    return module;
  auto isBroken = [&](const ast::ItemPtr &item) {
    return item->kind == ast::ItemKind::Test && llvm::any_of(compiler.diagnostics.all(), [&](const Diagnostic &d) {
             return d.severity == Severity::Error && d.range.file == item->range.file &&
                    d.range.begin >= item->range.begin && d.range.end <= item->range.end;
           });
  };
  size_t before = ast.items.size();
  llvm::erase_if(ast.items, isBroken);
  int dropped = static_cast<int>(before - ast.items.size());
  failed += std::max(dropped, 1);
  if (dropped == 0)
    return nullptr;
  report(compiler);
  compiler.diagnostics.clear();
  int elsewhere = 0;
  return elaborateTests(compiler, ast, elsewhere);
}

} // namespace

bool resolveTarget(llvm::StringRef name, Target &target, std::string &error) {
  static constexpr std::pair<llvm::StringLiteral, Target> names[] = {
      {"auto", Target::Auto}, {"cpu", Target::Cpu}, {"cuda", Target::Cuda}, {"ref", Target::Reference}};
  for (auto &[known, meant] : names)
    if (name == known) {
      target = meant;
      return true;
    }
  error = ("unknown target '" + name + "'; expected auto, cpu, cuda or ref").str();
  return false;
}

/// `pmapc run --target cuda`: the program's half for GPUs, by the part of the runtime that only such programs need.
static int runOnGpus(const pmap_program &program, pmap_packed entry, ArgumentVector &argv) {
  using Main = int32_t (*)(const pmap_program *, pmap_packed, int32_t, int32_t, char **);
  auto main = reinterpret_cast<Main>(llvm::sys::DynamicLibrary::SearchForAddressOfSymbol("pmap_cuda_program_main"));
  return main(&program, entry, /*cuda=*/1, argv.count(), argv.pointers.data());
}

/// Opens the part of the runtime for GPUs and looks for one. The message of a program that finds none, or "".
static std::string openGpuRuntime() {
  std::string error, library = runtimeLibraryFolder() + "/libpmaprt_cuda.so";
  if (llvm::sys::DynamicLibrary::LoadLibraryPermanently(library.c_str(), &error))
    return "error: cannot open the runtime for GPUs: " + error + "\n";
  using Probe = int32_t (*)(char *, int64_t);
  auto probe = reinterpret_cast<Probe>(llvm::sys::DynamicLibrary::SearchForAddressOfSymbol("pmap_cuda_probe"));
  char problem[2048] = "";
  return probe(problem, sizeof problem) > 0 ? "" : problem;
}

int runProgram(const std::string &path, const RunOptions &options, const std::vector<std::string> &arguments) {
  if (options.target == Target::Reference)
    return runReference(path, options, arguments);
  if (!canRunHere(options))
    return 2;
  RunOptions chosen = options;
  if (options.target == Target::Cuda) {
    if (std::string problem = openGpuRuntime(); !problem.empty()) {
      llvm::errs() << problem;
      return 2;
    }
    chosen.compile.gpu = GpuChoice::Cuda;
  }
  Compiler compiler(chosen.compile);
  auto object = compiler.object(path);
  if (!object)
    return report(compiler);
  std::string error;
  auto loaded = LoadedProgram::load(std::move(object), error);
  if (!loaded)
    return fail("cannot load the compiled program: " + error + " [E1201]", 1);
  const auto *programs = static_cast<const pmap_program *>(loaded->lookup(programsSymbol));
  if (!programs || std::string(programs[0].signature->name) != "main")
    return fail("'" + path + "' has no `main` to run [E1003]");
  pmap_program program = programs[0];
  std::string name = "pmapc run " + path;
  program.name = name.c_str();
  ArgumentVector argv(name, arguments);
  if (options.target == Target::Cuda)
    return runOnGpus(program, *static_cast<pmap_packed *>(loaded->lookup(cudaEntrySymbol)), argv);
  return pmap_program_main(&program, argv.count(), argv.pointers.data());
}

int buildProgram(const std::string &path, const CompileOptions &options, const std::string &output,
                 std::optional<Stage> stage) {
  Compiler compiler(options);
  if (stage) {
    bool toFile = !output.empty() && output != "-";
    if (int status = toFile ? checkOutput(output) : 0)
      return status;
    auto text = compiler.emit(path, *stage);
    if (!text)
      return report(compiler);
    report(compiler);
    compiler.printExplanation();
    if (toFile)
      return writeOutput(output, *text);
    llvm::outs() << *text;
    return 0;
  }
  std::string executable = output.empty() ? llvm::sys::path::stem(path).str() : output;
  if (int status = output.empty() ? 0 : checkOutput(output, OutputKind::Executable))
    return status;
  auto object = compiler.object(path);
  if (!object)
    return report(compiler);
  // A program's own name comes second to what is wrong with the program.
  if (int status = checkOutput(executable, OutputKind::Executable))
    return status;
  if (!needsSymbol(object->getBuffer(), options.gpu ? "pmap_cuda_program_main" : "pmap_program_main"))
    return fail("'" + path + "' has no `main` to build an executable of [E1003]");
  std::string error = linkExecutable(object->getBuffer(), executable);
  return error.empty() ? 0 : fail(error, 1);
}

int checkFiles(const std::vector<std::string> &paths, const CompileOptions &options, bool json) {
  Compiler compiler(options);
  for (const std::string &path : paths)
    if (auto ast = compiler.parse(path))
      // What has no derivative, and collectives that a derivative would make unsafe (V6), show when gradients are
      // taken.
      if (auto module = compiler.elaborate(*ast))
        if (compiler.transform(*module) && options.explain)
          compiler.lower(*module);
  if (!json) {
    if (!compiler.diagnostics.hasErrors())
      compiler.printExplanation();
    return report(compiler);
  }
  if (options.explain)
    llvm::outs() << "{\"diagnostics\": ";
  compiler.diagnostics.printJson(llvm::outs());
  if (options.explain) {
    llvm::outs() << ", \"facts\": ";
    compiler.explanation.printJson(llvm::outs());
    llvm::outs() << "}\n";
  }
  return compiler.diagnostics.hasErrors() ? 2 : 0;
}

int formatFiles(const std::vector<std::string> &paths, bool inPlace, bool checkOnly) {
  int status = 0;
  for (const std::string &path : paths) {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    std::string reason;
    const SourceFile *file = nullptr;
    if (path == "-") {
      auto input = llvm::MemoryBuffer::getSTDIN();
      if (!input)
        return fail("cannot read standard input: " + input.getError().message());
      file = sources.addText("<stdin>", (*input)->getBuffer().str());
    } else {
      file = sources.addFile(path, reason);
    }
    if (!file) {
      status = fail("cannot read '" + path + "': " + reason + " [E1001]");
      continue;
    }
    auto module = parseFile(*file, diagnostics);
    if (diagnostics.hasErrors()) {
      diagnostics.print(llvm::errs(), llvm::errs().has_colors());
      status = 2;
      continue;
    }
    std::string text = formatModule(*module);
    bool changed = text != file->text();
    if (checkOnly) {
      if (changed) {
        llvm::outs() << path << ": not formatted\n";
        status = status ? status : 1;
      }
    } else if (!inPlace || path == "-") {
      llvm::outs() << text;
    } else if (changed) {
      int written = checkOutput(path);
      written = written ? written : writeOutput(path, text);
      status = written ? written : status;
    }
  }
  return status;
}

int testFiles(const std::vector<std::string> &paths, const RunOptions &options, const std::string &filter,
              int devices) {
  if (!canRunHere(options))
    return 2;
  RunOptions testOptions = options;
  testOptions.compile.tests = true;
  int passed = 0, failed = 0;
  // A file none of whose tests can run is bad input; a test that has an error of its own only fails.
  bool unusable = false;
  size_t seen = 0;
  pmap_rt_start(devices, 0);
  for (const std::string &path : paths) {
    Compiler compiler(testOptions.compile);
    std::unique_ptr<LoadedProgram> loaded;
    std::unique_ptr<ReferenceProgram> reference;
    std::vector<const pmap_program *> tests;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::unique_ptr<ast::Module> ast;
    if (options.target == Target::Reference) {
      ast = compiler.parse(path);
      module = ast ? elaborateTests(compiler, *ast, failed) : nullptr;
      if (!module) {
        failed += !ast;
        unusable = true;
        report(compiler);
        continue;
      }
      report(compiler);
      reference = ReferenceProgram::create(*module, path, devices);
      if (reference)
        tests = reference->programs();
    } else {
      auto object = compiler.object(path);
      if (!object) {
        // Some test has an error: the others still run.
        Compiler again(testOptions.compile);
        ast = again.parse(path);
        if (!ast || !elaborateTests(again, *ast, failed)) {
          failed += !ast;
          unusable = true;
          report(again);
          continue;
        }
        report(again);
        again.diagnostics.clear();
        std::string remaining = path;
        for (const ast::ItemPtr &item : ast->items)
          remaining += item->range.text();
        object = again.objectOf(*ast, path, remaining);
        if (!object) {
          report(again);
          ++failed;
          continue;
        }
      }
      std::string error;
      loaded = LoadedProgram::load(std::move(object), error);
      if (!loaded)
        return fail("cannot load the compiled tests: " + error, 1);
      const auto *list = static_cast<const pmap_program *>(loaded->lookup(programsSymbol));
      const auto *count = static_cast<const int32_t *>(loaded->lookup(programCountSymbol));
      for (int i = 0; list && count && i < *count; ++i)
        tests.push_back(&list[i]);
    }
    seen += tests.size();
    for (const pmap_program *test : tests) {
      std::string title = test->signature->name;
      if (!filter.empty() && title.find(filter) == std::string::npos)
        continue;
      // A test takes nothing and gives nothing.
      int status = test->call ? test->call(test->user, nullptr) : pmap_rt_call(test->entry, nullptr);
      if (status == 0) {
        ++passed;
        continue;
      }
      ++failed;
      llvm::errs() << path << ": test \"" << title << "\" failed\n";
      if (!test->call)
        llvm::errs() << pmap_rt_error_message();
    }
  }
  llvm::outs() << passed << " passed, " << failed << " failed\n";
  if (!filter.empty() && seen > 0 && passed + failed == 0)
    return fail("no test's title contains '" + filter + "'");
  return unusable ? 2 : failed ? 1 : 0;
}

int explainCode(const std::string &code) {
  if (code.empty()) {
    for (const auto &page : errorPages())
      llvm::outs() << page.second.split('\n').first.ltrim("# ") << "\n";
    return 0;
  }
  auto page = errorPage(code);
  if (!page)
    return fail("there is no error '" + code + "'; 'pmapc explain' lists all");
  llvm::outs() << *page;
  return 0;
}

} // namespace pmap
