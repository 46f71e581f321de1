#include "compiler/Driver/Link.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>
#include <vector>

namespace pmap {
namespace {

/// Removes a file when it goes out of scope.
struct Temporary {
  llvm::SmallString<128> path;
  ~Temporary() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
};

std::string findLinker() {
  if (const char *given = std::getenv("CC"); given && *given) {
    auto found = llvm::sys::findProgramByName(given);
    return found ? *found : std::string();
  }
  for (const char *name : {"cc", "gcc", "clang"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return "";
}

std::string readText(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// Whether `matches(name, undefined)` holds for a symbol of the object.
bool anySymbol(llvm::StringRef object, llvm::function_ref<bool(llvm::StringRef, bool)> matches) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "program"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return false;
  }
  for (const auto &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (flags && name && matches(*name, *flags & llvm::object::SymbolRef::SF_Undefined))
      return true;
    if (!flags)
      llvm::consumeError(flags.takeError());
    if (!name)
      llvm::consumeError(name.takeError());
  }
  return false;
}

} // namespace

std::string runtimeLibraryFolder() {
  llvm::SmallString<128> path(
      llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&runtimeLibraryFolder)));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib");
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

bool needsSymbol(llvm::StringRef object, llvm::StringRef prefix) {
  return anySymbol(object, [&](llvm::StringRef name, bool undefined) { return undefined && name.starts_with(prefix); });
}

bool definesSymbol(llvm::StringRef object, llvm::StringRef wanted) {
  return anySymbol(object, [&](llvm::StringRef name, bool undefined) { return !undefined && name == wanted; });
}

std::string linkExecutable(llvm::StringRef object, llvm::StringRef output) {
  std::string linker = findLinker();
  if (linker.empty()) {
    const char *given = std::getenv("CC");
    if (given && *given)
      return "no linker: CC names '" + std::string(given) + "', which is not on the PATH";
    return "no linker: 'build' needs the system's C compiler (cc, gcc or clang); install one, for example by "
           "'apt-get install gcc', or use 'pmapc run', which needs none";
  }

  Temporary objectFile, executable, log;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("pmapc", "o", descriptor, objectFile.path))
    return "cannot write a temporary object file: is the temporary folder writable and is there room on the disk?";
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  out << object;
  out.close();
  if (out.has_error()) {
    std::string reason = out.error().message();
    out.clear_error();
    return "cannot write a temporary object file: " + reason;
  }
  if (auto error = llvm::sys::fs::createUniqueFile(output + ".%%%%%%%%", executable.path))
    return "cannot write '" + output.str() + "': " + error.message();
  llvm::sys::fs::createTemporaryFile("pmapc", "log", log.path);

  std::string libraries = runtimeLibraryFolder();
  std::vector<std::string> command = {linker, std::string(objectFile.path), "-o", std::string(executable.path)};
  if (needsSymbol(object, "pmap_rt_gemm"))
    command.push_back(libraries + "/libpmaprt_blas.a");
  if (needsSymbol(object, "pmap_cuda_"))
    command.push_back(libraries + "/libpmaprt_cuda.a");
  command.push_back(libraries + "/libpmaprt.a");
  // The libraries that the runtime itself was built against, one line of linker flags written by the build.
  llvm::SmallVector<llvm::StringRef> flags;
  std::string flagsText = readText(libraries + "/pmaprt.link");
  std::string blasText =
      needsSymbol(object, "pmap_rt_gemm") ? readText(libraries + "/pmaprt_blas.link") : std::string();
  llvm::StringRef(blasText).split(flags, ' ', -1, /*KeepEmpty=*/false);
  llvm::StringRef(flagsText).split(flags, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef flag : flags)
    command.push_back(flag.str());
  if (needsSymbol(object, "pmap_cuda_"))
    command.push_back("-ldl");
  command.push_back("-Wl,--gc-sections");
  command.push_back("-s");

  std::vector<llvm::StringRef> arguments(command.begin(), command.end());
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log.path), llvm::StringRef(log.path)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects, 0, 0, &message);
  if (status != 0)
    return "the linker '" + linker + "' failed" + (message.empty() ? "" : ": " + message) + "\n" + readText(log.path);
  // A unique file is made private; an executable is for everybody whom the umask allows.
  auto permissions = llvm::sys::fs::all_read | llvm::sys::fs::all_exe | llvm::sys::fs::owner_write;
  llvm::sys::fs::setPermissions(executable.path,
                                static_cast<llvm::sys::fs::perms>(permissions & ~llvm::sys::fs::getUmask()));
  if (auto error = llvm::sys::fs::rename(executable.path, output))
    return "cannot write '" + output.str() + "': " + error.message();
  executable.path.clear();
  return "";
}

} // namespace pmap
