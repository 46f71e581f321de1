#include "compiler/Driver/Output.h"

#include "runtime/io/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace pmap {
namespace {

int report(const rt::Problem &problem, int status) {
  if (!problem)
    return 0;
  llvm::errs() << problem.render();
  return status;
}

} // namespace

int checkOutput(const std::string &path, OutputKind kind) {
  // A linker replaces what is there, which would take a device away from everybody.
  if (kind == OutputKind::Executable && llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path) &&
      !llvm::sys::fs::is_regular_file(path))
    return report({"E1027", path, "cannot write an executable: not a regular file", {}}, 2);
  return report(rt::checkWritable(path), 2);
}

int writeOutput(const std::string &path, llvm::StringRef text) {
  return report(rt::writeText(path, std::string_view(text.data(), text.size())), 1);
}

} // namespace pmap
