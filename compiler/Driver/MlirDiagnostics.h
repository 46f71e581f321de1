// MLIR's diagnostics as ours: a user never sees MLIR text unless --debug asks for it.
#pragma once

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/SourceFile.h"

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace pmap {

/// While it lives, what passes report with a code of ours at its end (`... [E0803]`) becomes a diagnostic at the op's
/// place; anything else is kept aside, as the detail of an internal error.
class MlirDiagnostics {
public:
  MlirDiagnostics(mlir::MLIRContext &context, const SourceManager &sources, DiagnosticEngine &diagnostics, bool debug);

  /// Reports a failure that is the compiler's own fault, at the line that was compiled, with what MLIR
  /// said about it when `debug` is set.
  void reportInternal(llvm::StringRef what);

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);
  SourceRange rangeOf(mlir::Location location) const;

  const SourceManager &sources;
  DiagnosticEngine &diagnostics;
  bool debug;
  std::string aside;
  SourceRange place; ///< of the first that was kept aside and has one
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace pmap
