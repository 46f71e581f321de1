// What passes report through MLIR reaches the user as diagnostics of ours, or as an internal error without MLIR's text.
#include "compiler/Driver/MlirDiagnostics.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace pmap;

namespace {

struct MlirDiagnosticsTest : testing::Test {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  SourceManager sources;
  DiagnosticEngine diagnostics;

  std::string text() {
    std::string out;
    llvm::raw_string_ostream stream(out);
    diagnostics.print(stream);
    return out;
  }
};

TEST_F(MlirDiagnosticsTest, ACodeOfOursBecomesADiagnosticAtItsPlace) {
  sources.addText("f.pmap", "fn f(é) =\n  é + x\n");
  MlirDiagnostics handler(context, sources, diagnostics, /*debug=*/false);
  auto place = mlir::FileLineColLoc::get(&context, "f.pmap", 2, 7);
  mlir::emitError(place, "no derivative of this [E0801]").attachNote(place) << "it is here";
  ASSERT_EQ(diagnostics.all().size(), 1u);
  const Diagnostic &diagnostic = diagnostics.all()[0];
  EXPECT_EQ(diagnostic.code, Code::E0801);
  EXPECT_EQ(diagnostic.message, "no derivative of this");
  // Columns count characters, offsets count bytes: the x of the second line.
  EXPECT_EQ(sources.all()[0]->text()[diagnostic.range.begin], 'x');
  ASSERT_EQ(diagnostic.notes.size(), 1u);
  EXPECT_EQ(diagnostic.notes[0].message, "it is here");
}

TEST_F(MlirDiagnosticsTest, AnythingElseIsAnInternalErrorWithoutMlirText) {
  MlirDiagnostics handler(context, sources, diagnostics, /*debug=*/false);
  mlir::emitError(mlir::UnknownLoc::get(&context), "'linalg.generic' op secret");
  EXPECT_FALSE(diagnostics.hasErrors());
  handler.reportInternal("lowering to LLVM failed");
  EXPECT_NE(text().find("error: internal error: lowering to LLVM failed; run with --debug for details [E1201]"),
            std::string::npos)
      << text();
  EXPECT_EQ(text().find("secret"), std::string::npos) << text();
}

TEST_F(MlirDiagnosticsTest, DebugShowsWhatThePassSaid) {
  MlirDiagnostics handler(context, sources, diagnostics, /*debug=*/true);
  mlir::emitError(mlir::UnknownLoc::get(&context), "'linalg.generic' op secret");
  handler.reportInternal("lowering to LLVM failed");
  EXPECT_NE(text().find("secret"), std::string::npos) << text();
}

} // namespace
