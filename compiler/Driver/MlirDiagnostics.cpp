#include "compiler/Driver/MlirDiagnostics.h"

#include "mlir/IR/Location.h"

namespace pmap {

MlirDiagnostics::MlirDiagnostics(mlir::MLIRContext &context, const SourceManager &sources,
                                 DiagnosticEngine &diagnostics, bool debug)
    : sources(sources), diagnostics(diagnostics), debug(debug),
      handler(&context, [this](mlir::Diagnostic &diagnostic) { return handle(diagnostic); }) {}

SourceRange MlirDiagnostics::rangeOf(mlir::Location location) const {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  if (!place)
    return {};
  for (const auto &file : sources.all()) {
    if (file->path() != place.getFilename().getValue() || place.getLine() == 0 || place.getLine() > file->lineCount())
      continue;
    // Columns count characters; step over the continuation bytes of UTF-8.
    uint32_t offset = file->lineStart(place.getLine());
    llvm::StringRef line = file->lineText(place.getLine());
    size_t at = 0;
    for (unsigned column = 1; column < place.getColumn() && at < line.size(); ++column) {
      ++at;
      while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80)
        ++at;
    }
    return {file.get(), static_cast<uint32_t>(offset + at), static_cast<uint32_t>(offset + at)};
  }
  return {};
}

mlir::LogicalResult MlirDiagnostics::handle(mlir::Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  llvm::StringRef message = text;
  if (message.consume_back("]")) {
    auto [before, code] = message.rsplit(" [");
    if (auto known = parseCode(code)) {
      auto builder = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error
                         ? diagnostics.error(*known, rangeOf(diagnostic.getLocation()), before)
                         : diagnostics.warning(*known, rangeOf(diagnostic.getLocation()), before);
      for (mlir::Diagnostic &note : diagnostic.getNotes())
        builder.note(rangeOf(note.getLocation()), note.str());
      return mlir::success();
    }
  }
  if (!place.isValid() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
    place = rangeOf(diagnostic.getLocation());
  aside += text + "\n";
  return mlir::success();
}

void MlirDiagnostics::reportInternal(llvm::StringRef what) {
  diagnostics
      .error(Code::E1201, place,
             "internal error: " + what + (debug ? "\n" + aside : std::string("; run with --debug for details")))
      .note("this is a fault of pmapc, not of the program; please report it with the program that shows it");
}

} // namespace pmap
