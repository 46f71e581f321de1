// Semantic analysis: types a program and elaborates it into one module of the pmap dialect.
#pragma once

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Size.h"
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

/// What a name was bound to, for tools that show a program's types. `sizes` are polynomials as the dialect has them;
/// `shown` is the leaf's type as a message would say it.
struct BoundName {
  struct Leaf {
    std::string name; ///< the path of a record's leaf (`w`, `first.w`), "" for a lone value
    std::string dtype, shown;
    std::vector<Size> sizes;
    std::vector<std::string> vary;
    bool onDevices = false; ///< outside of a pmap, and distributed over its mesh
  };
  SourceRange range;
  std::string name; ///< "" for the result of a function
  std::vector<std::pair<std::string, SourceRange>>
      calls; ///< the functions around it, outermost first, with their calls
  std::vector<Leaf> leaves;
  std::vector<std::string> axes;    ///< of the meshes and named vmaps around it
  bool axesUnknown = false;         ///< in a function that no entry reaches, where V is not known
  mlir::Operation *entry = nullptr; ///< the function of the module that it is in
};

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
  /// Told of every array that gets a name. The body of a loop is elaborated until its types are settled: what was said
  /// last of a name and its calls counts.
  std::function<void(BoundName)> onBind;
};

/// Elaborates a parsed program. The module has one `func.func` per entry point: `@main`, `@<name>` of each export, and
/// `@test.<k>` with the attribute `pmap.test` (its title) for each test. Null when there was an error; every error of
/// the program has been reported then. `module` and `sources` must outlive nothing: locations hold copies.
mlir::OwningOpRef<mlir::ModuleOp> elaborate(mlir::MLIRContext &context, const ast::Module &module,
                                            SourceManager &sources, DiagnosticEngine &diagnostics,
                                            const SemaOptions &options = {});

} // namespace pmap::sema
