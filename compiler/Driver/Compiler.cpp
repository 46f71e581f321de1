#include "compiler/Driver/Compiler.h"

#include "compiler/Dialect/IR/PmapDialect.h"
#include "compiler/Driver/Cache.h"
#include "compiler/Driver/MlirDiagnostics.h"
#include "compiler/Lower/Cpu/Codegen.h"
#include "compiler/Pipeline/Cpu.h"
#include "compiler/Pipeline/Cuda.h"
#include "compiler/Pipeline/Transform.h"
#include "compiler/Sema/Sema.h"
#include "compiler/Syntax/Parser.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>

namespace pmap {
namespace {

/// The folder of the running compiler, whose sibling folders hold what it ships with.
std::string installationFolder(llvm::StringRef name) {
  llvm::SmallString<128> path(
      llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&standardLibraryFolder)));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", name);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

/// The files read, and the ones beside the program that would win over a module of the standard library if they
/// existed.
Dependencies dependenciesOf(const SourceManager &sources, llvm::StringRef mainPath) {
  Dependencies dependencies;
  std::string library = standardLibraryFolder();
  for (const auto &file : sources.all()) {
    if (!llvm::sys::fs::exists(file->path()))
      continue; // Text that was never a file, such as an entry of the REPL.
    dependencies.read.push_back(file->path().str());
    if (file->path().starts_with(library)) {
      llvm::SmallString<128> beside(llvm::sys::path::parent_path(mainPath));
      llvm::sys::path::append(beside, llvm::sys::path::filename(file->path()));
      if (!llvm::sys::fs::exists(beside))
        dependencies.absent.push_back(std::string(beside));
    }
  }
  return dependencies;
}

} // namespace

std::string standardLibraryFolder() { return installationFolder("stdlib"); }

std::string CompileOptions::spelling() const {
  std::string text = "cpu=" + cpu + (precise ? " precise" : "") + (debug ? " debug" : "") + (tests ? " tests" : "");
  if (gpu) {
    // What NVIDIA's tools add to an object depends on whether they are there.
    text += std::string(*gpu == GpuChoice::Auto ? " gpu=auto " : " gpu=cuda ") + findPtxas() + " " + findLibdevice();
    for (const std::string &arch : archs)
      text += " " + arch;
  }
  for (const auto &[name, value] : sizes)
    text += " " + name + "=" + std::to_string(value);
  return text;
}

Compiler::Compiler(CompileOptions options) : options(std::move(options)) {}
Compiler::~Compiler() = default;

mlir::MLIRContext &Compiler::context() {
  if (!mlirContext) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    registerCpuDialects(registry);
    registerCudaDialects(registry);
    // One thread: starting a pool costs more than it saves on programs of a page.
    mlirContext = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    mlirContext->loadAllAvailableDialects();
    // No message shows MLIR text unless asked.
    mlirContext->printOpOnDiagnostic(options.debug);
    if (options.explain)
      explanation.collectFrom(*mlirContext);
  }
  return *mlirContext;
}

std::unique_ptr<ast::Module> Compiler::parse(llvm::StringRef path) {
  std::string reason;
  const SourceFile *file = sources.addFile(path, reason);
  if (!file) {
    diagnostics.error(Code::E1001, SourceRange(), "cannot read '" + path + "': " + reason).report();
    return nullptr;
  }
  auto module = parseFile(*file, diagnostics);
  return diagnostics.hasErrors() ? nullptr : std::move(module);
}

mlir::OwningOpRef<mlir::ModuleOp> Compiler::elaborate(const ast::Module &module) {
  MlirDiagnostics handler(context(), sources, diagnostics, options.debug);
  sema::SemaOptions semaOptions;
  semaOptions.sizes = options.sizes;
  semaOptions.entries = !options.tests || onBind;
  semaOptions.tests = options.tests || onBind;
  semaOptions.onBind = onBind;
  semaOptions.libraryPaths = {standardLibraryFolder()};
  auto result = sema::elaborate(context(), module, sources, diagnostics, semaOptions);
  if (!result && !diagnostics.hasErrors())
    handler.reportInternal("the front end made no module");
  return result;
}

bool Compiler::run(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build, llvm::StringRef what) {
  MlirDiagnostics handler(context(), sources, diagnostics, options.debug);
  mlir::PassManager pm(&context());
  // Verifying after every pass takes as long as the passes, so a user's compilation does without; the tests ask for it.
  pm.enableVerifier(options.debug || std::getenv("PMAPC_VERIFY"));
  build(pm);
  if (mlir::succeeded(pm.run(module)))
    return true;
  if (!diagnostics.hasErrors())
    handler.reportInternal(what);
  return false;
}

bool Compiler::transform(mlir::ModuleOp module) {
  return run(module, [](mlir::OpPassManager &pm) { buildTransformPipeline(pm); }, "differentiation failed");
}

bool Compiler::lowerToLinalg(mlir::ModuleOp module) {
  return run(module, [](mlir::OpPassManager &pm) { buildPmapToLinalgPipeline(pm); }, "lowering to linalg failed");
}

bool Compiler::lowerToLlvm(mlir::ModuleOp module) {
  CpuTarget target;
  std::string error;
  if (!resolveCpuTarget(options.cpu, target, error)) {
    diagnostics.error(Code::E1002, SourceRange(), error).report();
    return false;
  }
  CpuOptions cpu;
  cpu.cpu = target.cpu;
  cpu.features = target.features;
  cpu.vectorBits = target.vectorBits;
  cpu.precise = options.precise;
  cpu.debug = options.debug;
  return run(module, [&](mlir::OpPassManager &pm) { buildLinalgToLlvmPipeline(pm, cpu); }, "lowering to LLVM failed");
}

std::vector<ProgramEntry> Compiler::entries(mlir::ModuleOp module) {
  std::vector<ProgramEntry> list;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (auto signature = getSignature(function))
      list.push_back({function.getName().str(), std::move(*signature)});
  return list;
}

bool Compiler::generate(mlir::ModuleOp module, llvm::ArrayRef<ProgramEntry> programEntries, llvm::StringRef name,
                        CodegenOutput output, llvm::SmallVectorImpl<char> &bytes) {
  // Both halves begin at linalg.
  CudaProgram cuda;
  if (options.gpu) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    if (!lowerToCuda(*copy, cuda, /*kernelsOnly=*/false))
      return false;
    cuda.host = std::move(copy);
  }
  if (!lowerToLlvm(module))
    return false;
  CpuTarget target;
  std::string error;
  resolveCpuTarget(options.cpu, target, error);
  error = generateCode(module, target, output, bytes, [&](llvm::Module &code) {
    std::string message = addProgramTable(code, programEntries, name);
    if (message.empty() && options.gpu)
      message = addCudaProgram(code, cuda, programEntries, *options.gpu);
    return message;
  });
  if (error.empty())
    return true;
  diagnostics.error(Code::E1201, SourceRange(), "internal error: " + error).report();
  return false;
}

std::optional<std::string> Compiler::emit(llvm::StringRef path, Stage stage) {
  auto ast = parse(path);
  if (!ast)
    return std::nullopt;
  if (stage == Stage::Ast)
    return ast::dumpAST(*ast);
  auto module = elaborate(*ast);
  if (!module)
    return std::nullopt;
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream(text) << *module << "\n";
    return text;
  };
  if (stage == Stage::Pmap)
    return print();
  auto programEntries = entries(*module);
  if (!transform(*module) || !lowerToLinalg(*module))
    return std::nullopt;
  if (stage == Stage::Linalg)
    return print();
  if (stage == Stage::Ptx) {
    CudaProgram program;
    if (!lowerToCuda(*module, program, /*kernelsOnly=*/true))
      return std::nullopt;
    std::string text;
    for (const KernelImage &image : program.images)
      text += image.ptx;
    return text;
  }
  llvm::SmallVector<char> bytes;
  auto output = stage == Stage::Llvm       ? CodegenOutput::LlvmText
                : stage == Stage::Assembly ? CodegenOutput::AssemblyText
                                           : CodegenOutput::Object;
  if (!generate(*module, programEntries, llvm::sys::path::stem(path), output, bytes))
    return std::nullopt;
  return std::string(bytes.begin(), bytes.end());
}

std::unique_ptr<llvm::MemoryBuffer> Compiler::compile(const ast::Module &ast, llvm::StringRef programName) {
  auto module = elaborate(ast);
  if (!module)
    return nullptr;
  auto programEntries = entries(*module);
  llvm::SmallVector<char> bytes;
  if (!transform(*module) || !lowerToLinalg(*module) ||
      !generate(*module, programEntries, programName, CodegenOutput::Object, bytes))
    return nullptr;
  ++compilations;
  return llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes.data(), bytes.size()), programName);
}

void Compiler::printExplanation() {
  if (!options.explain)
    return;
  explanation.print(llvm::errs());
  explanation.clear();
}

std::unique_ptr<llvm::MemoryBuffer> Compiler::object(llvm::StringRef path) {
  ObjectCache cache;
  CompileKey key{path.str(), options.spelling()};
  std::string messages;
  if (auto found = options.explain ? nullptr : cache.lookup(key, messages)) {
    llvm::errs() << messages;
    return found;
  }
  auto ast = parse(path);
  auto object = ast ? compile(*ast, llvm::sys::path::stem(path)) : nullptr;
  if (!object)
    return nullptr;
  // Warnings are printed now, and again whenever the cached object is used.
  llvm::raw_string_ostream out(messages);
  diagnostics.print(out);
  diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  diagnostics.clear();
  printExplanation();
  cache.store(key, dependenciesOf(sources, path), object->getBuffer(), messages);
  return object;
}

std::unique_ptr<llvm::MemoryBuffer> Compiler::objectOf(const ast::Module &module, llvm::StringRef name,
                                                       llvm::StringRef text) {
  ObjectCache cache;
  CompileKey key{name.str(), options.spelling() + " text=" + hashOfText(text)};
  std::string messages;
  if (auto found = options.explain ? nullptr : cache.lookup(key, messages)) {
    llvm::errs() << messages;
    return found;
  }
  auto object = compile(module, name);
  if (!object)
    return nullptr;
  llvm::raw_string_ostream out(messages);
  diagnostics.print(out);
  diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  diagnostics.clear();
  printExplanation();
  cache.store(key, dependenciesOf(sources, ""), object->getBuffer(), messages);
  return object;
}

} // namespace pmap
