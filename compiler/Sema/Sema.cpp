// From a parsed program to a module: its entry points, and the check of what no entry reaches.
#include "compiler/Sema/Sema.h"
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/Modules.h"
#include "compiler/Sema/SharedSamples.h"
#include "mlir/IR/Verifier.h"

using namespace llvm;

namespace pmap::sema {

bool Elaborator::isEntry(const ast::FunctionItem &function) {
  return function.isExport || function.name.text == "main";
}

void Elaborator::reset() {
  scope = nullptr;
  store.clear();
  calls.clear();
  meshes.clear();
  firstAssignable = 0;
  breakFlag.reset();
  // Each entry has symbols of its own, so that its signature shows the names that the user wrote.
  symbols.clear();
  symbolCounts.clear();
  placeholders.clear();
  facts.clear();
}

void Elaborator::elaborateEntries(LoadedModule &program, mlir::ModuleOp into) {
  unsigned tests = 0;
  const ast::FunctionItem *entry = nullptr;
  StringSet<> sizes;
  for (const ast::ItemPtr &item : program.ast->items) {
    reset();
    if (const auto *function = dyn_cast<ast::FunctionItem>(item.get());
        function && isEntry(*function) && options.entries) {
      elaborateFunction(*function, program, into, /*isEntry=*/true);
      entry = function;
      for (const ast::Param &param : function->params)
        sizeNames(param.type.get(), sizes);
    }
    if (const auto *test = dyn_cast<ast::TestItem>(item.get()); test && options.tests)
      elaborateTest(*test, program, into, tests++);
  }
  // A misspelt size would otherwise fix nothing, and nobody would know.
  for (const auto &[name, value] : options.sizes)
    if (entry && !sizes.contains(name)) {
      SmallVector<StringRef> candidates(sizes.keys());
      Report report = error(Code::E1012, entry->name.range,
                            "-D " + name + "=" + Twine(value) + " fixes nothing: no parameter of '" + entry->name.text +
                                "' has a size '" + name + "'");
      if (std::optional<StringRef> near = nearest(name, candidates))
        report.note(SourceRange(), "did you mean '" + *near + "'?");
    }
  reset();
  if (options.checkAll)
    checkUnreached(program, tests);
}

mlir::OwningOpRef<mlir::ModuleOp> elaborate(mlir::MLIRContext &context, const ast::Module &module,
                                            SourceManager &sources, DiagnosticEngine &diagnostics,
                                            const SemaOptions &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> into = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  Elaborator elaborator(context, sources, diagnostics, options);
  elaborator.builder.setInsertionPointToEnd(into->getBody());
  LoadedModule *program = elaborator.load(module);
  elaborator.elaborateEntries(*program, *into);
  if (!diagnostics.hasErrors())
    warnOfSharedSamples(elaborator, *into);
  diagnostics.sortByPosition();
  if (diagnostics.hasErrors())
    return {};
  // A module that does not verify is a fault of this compiler, and is said so in words that name the rule.
  std::string fault;
  SourceRange place;
  {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (fault.empty()) {
        fault = diagnostic.str();
        place = elaborator.rangeOf(diagnostic.getLocation());
      }
      return mlir::success();
    });
    if (succeeded(mlir::verify(*into)))
      return into;
  }
  diagnostics.error(Code::E1201, place, "the compiler built something inconsistent: " + fault).report();
  return {};
}

} // namespace pmap::sema
