// From a source file to a module, an object, or text of any stage: what every verb of the command line shares.
#pragma once

#include "compiler/Driver/CudaProgram.h"
#include "compiler/Driver/Explain.h"
#include "compiler/Driver/ProgramTable.h"
#include "compiler/Lower/Cpu/Codegen.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/SourceFile.h"
#include "compiler/Syntax/AST.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
class OpPassManager;
} // namespace mlir

namespace pmap {
namespace sema {
struct BoundName;
}

/// What the command line may ask of a compilation.
struct CompileOptions {
  /// `native`, or a level that older machines have: `x86-64-v3`, `x86-64-v4`.
  std::string cpu = "native";
  /// `-D n=1024`.
  std::map<std::string, int64_t> sizes;
  /// libm instead of vector math.
  bool precise = false;
  /// Show MLIR's own messages, too.
  bool debug = false;
  /// Code for GPUs besides the CPU's, and what the program then runs on.
  std::optional<GpuChoice> gpu;
  /// The architectures of GPUs to make code for.
  std::vector<std::string> archs = {"sm_80", "sm_90", "sm_100"};
  /// Elaborate the `test` blocks instead of the entries.
  bool tests = false;
  /// Collect what `--explain` prints. A cached object explains nothing, so one is made even where the cache holds it.
  bool explain = false;

  /// The options that change the code, in one fixed spelling, for the cache's key.
  std::string spelling() const;
};

/// The stages whose text `--emit` prints.
enum class Stage { Ast, Pmap, Linalg, Llvm, Ptx, Assembly, Object };

/// One compilation of one program. Errors are collected in `diagnostics`; whoever owns the compiler prints them.
class Compiler {
public:
  explicit Compiler(CompileOptions options);
  ~Compiler();

  SourceManager sources;
  DiagnosticEngine diagnostics;
  /// The facts about the code made so far, where `CompileOptions::explain` asks for them.
  Explanation explanation;
  /// Told of every name that elaboration binds to an array (`pmapc show`), in tests as well as in entries.
  std::function<void(sema::BoundName)> onBind;

  /// Reads and parses a file; null after an error.
  std::unique_ptr<ast::Module> parse(llvm::StringRef path);

  /// Types and elaborates; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> elaborate(const ast::Module &module);

  /// Differentiates and simplifies in place: what the reference evaluator and the lowering start from.
  bool transform(mlir::ModuleOp module);
  /// Lowers a transformed module as far as decisions are made, for what `--explain` says of them.
  bool lower(mlir::ModuleOp module) { return lowerToLinalg(module) && lowerToLlvm(module); }

  /// The text of a stage of a file, or nothing after an error.
  std::optional<std::string> emit(llvm::StringRef path, Stage stage);

  /// The object of a file, from the cache where it holds one. Warnings are printed. Null after an error.
  std::unique_ptr<llvm::MemoryBuffer> object(llvm::StringRef path);
  /// The object of a program that is no file (the REPL's); `text` stands for all of it in the cache's key.
  std::unique_ptr<llvm::MemoryBuffer> objectOf(const ast::Module &module, llvm::StringRef name, llvm::StringRef text);

  /// Prints the facts collected so far to standard error, where they were asked for, and forgets them.
  void printExplanation();

  /// The entry points of an elaborated module.
  static std::vector<ProgramEntry> entries(mlir::ModuleOp module);

  /// How many times object code was made, rather than found in the cache.
  unsigned compilations = 0;

private:
  mlir::MLIRContext &context();
  bool lowerToLinalg(mlir::ModuleOp module);
  bool lowerToLlvm(mlir::ModuleOp module);
  /// The half of the program for GPUs, from linalg; `module` is used up. `kernelsOnly` stops at PTX.
  bool lowerToCuda(mlir::ModuleOp module, CudaProgram &program, bool kernelsOnly);
  /// Makes code of a module in linalg: of the CPU's half, and of the GPU's where the options ask for it.
  bool generate(mlir::ModuleOp module, llvm::ArrayRef<ProgramEntry> programEntries, llvm::StringRef name,
                CodegenOutput output, llvm::SmallVectorImpl<char> &bytes);
  std::unique_ptr<llvm::MemoryBuffer> compile(const ast::Module &module, llvm::StringRef programName);
  bool run(mlir::ModuleOp module, llvm::function_ref<void(mlir::OpPassManager &)> build, llvm::StringRef what);

  CompileOptions options;
  std::unique_ptr<mlir::MLIRContext> mlirContext;
};

/// The folder of the standard library: stdlib/ beside the compiler's bin/.
std::string standardLibraryFolder();

} // namespace pmap
