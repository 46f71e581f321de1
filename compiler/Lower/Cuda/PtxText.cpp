// What PTX text is checked for, and NVIDIA's assembler.

#include "compiler/Lower/Cuda/Ptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <optional>
#include <thread>

using namespace llvm;

namespace pmap {

//===--------------------------------------------------------------------------------------------------------------===//
// Instructions
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The forms of each instruction: `ld` → `global.b32 global.v4.b32 ...`.
const StringMap<SmallVector<StringRef>> &knownInstructions() {
  static const StringMap<SmallVector<StringRef>> known = [] {
    StringMap<SmallVector<StringRef>> table;
#define PMAP_PTX(name, forms) StringRef(forms).split(table[#name], ' ', -1, /*KeepEmpty=*/false);
#include "compiler/Lower/Cuda/PtxOpcodes.def"
    return table;
  }();
  return known;
}

/// The instruction of a line of PTX, `ld.global.b32`, or "" for a label, a directive or a brace.
StringRef instructionOf(StringRef line) {
  line = line.split("//").first.trim();
  // A line that opens a scope may hold a declaration.
  line.consume_front("{");
  line = line.trim();
  if (line.consume_front("@"))
    line = line.split(' ').second.trim();
  if (line.empty() || !isAlpha(line.front()) || line.ends_with(":"))
    return "";
  return line.take_until([](char c) { return c == ' ' || c == '\t' || c == ';'; });
}

} // namespace

std::string unknownPtxInstruction(StringRef ptx) {
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  int depth = 0;
  bool inCall = false;
  for (StringRef line : lines) {
    StringRef code = line.split("//").first;
    int before = depth;
    depth += code.count('{') - code.count('}');
    // Instructions stand in bodies. A call runs over several lines, up to its semicolon.
    if ((before == 0 && depth == 0) || code.trim().starts_with("."))
      continue;
    if (inCall) {
      inCall = !code.contains(';');
      continue;
    }
    StringRef instruction = instructionOf(line);
    if (instruction.empty())
      continue;
    auto [name, form] = instruction.split('.');
    auto known = knownInstructions().find(name);
    if (known == knownInstructions().end() || !is_contained(known->second, form.empty() ? "-" : form))
      return instruction.str() + " (" + line.trim().str() + ")";
    inCall = name == "call" && !code.contains(';');
  }
  return "";
}

//===--------------------------------------------------------------------------------------------------------------===//
// The assembler
//===--------------------------------------------------------------------------------------------------------------===//

std::string findPtxas() {
  if (const char *given = std::getenv("PMAP_PTXAS"))
    return sys::fs::can_execute(given) ? given : "";
  if (auto found = sys::findProgramByName("ptxas"))
    return *found;
  const char *home = std::getenv("CUDA_HOME");
  SmallString<128> path(home ? home : "/usr/local/cuda");
  sys::path::append(path, "bin", "ptxas");
  return sys::fs::can_execute(path) ? std::string(path) : std::string();
}

namespace {

std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::string assembleOne(KernelImage &image, StringRef ptxas) {
  SmallString<128> in, out, log;
  int descriptor;
  if (sys::fs::createTemporaryFile("pmapc", "ptx", descriptor, in) ||
      sys::fs::createTemporaryFile("pmapc", "cubin", out) || sys::fs::createTemporaryFile("pmapc", "log", log))
    return "cannot write temporary files";
  {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << image.ptx;
  }
  std::string arch = "-arch=" + image.arch;
  SmallVector<StringRef> arguments{ptxas, arch, "-O3", in, "-o", out};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log), StringRef(log)};
  std::string message;
  int status = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0, &message);
  if (status == 0)
    image.cubin = readFile(out);
  else
    message = "ptxas rejects the code for " + image.arch + ": " + message + readFile(log);
  for (const auto &path : {in, out, log})
    sys::fs::remove(path);
  return status == 0 ? "" : message;
}

} // namespace

std::string assemble(std::vector<KernelImage> &images, StringRef ptxas) {
  std::vector<std::string> errors(images.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < images.size(); ++i)
    threads.emplace_back([&, i] { errors[i] = assembleOne(images[i], ptxas); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    if (!error.empty())
      return error;
  return "";
}

} // namespace pmap
