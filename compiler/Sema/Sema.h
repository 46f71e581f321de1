// Semantic analysis: types a program and elaborates it into one module of the pmap dialect.
#pragma once

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/SourceFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pmap::ast {
struct Module;
}

namespace pmap::sema {

struct SemaOptions {
  /// `-D n=1024`: sizes of entry points that are fixed at compile time.
  std::map<std::string, int64_t> sizes;
  /// Elaborate `main`, the `export fn`s, the `test` blocks.
  bool entries = true;
  bool tests = false;
  /// Check functions that no entry reaches, too (`pmapc check`).
  bool checkAll = true;
  /// Folders searched for an imported module, after the importing file's own folder.
  std::vector<std::string> libraryPaths;
};

/// Elaborates a parsed program. The module has one `func.func` per entry point: `@main`, `@<name>` of each export, and
/// `@test.<k>` with the attribute `pmap.test` (its title) for each test. Null when there was an error; every error of
/// the program has been reported then. `module` and `sources` must outlive nothing: locations hold copies.
mlir::OwningOpRef<mlir::ModuleOp> elaborate(mlir::MLIRContext &context, const ast::Module &module,
                                            SourceManager &sources, DiagnosticEngine &diagnostics,
                                            const SemaOptions &options = {});

} // namespace pmap::sema
