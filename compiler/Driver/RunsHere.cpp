// Code for another CPU than this machine's would end the process at its first unknown instruction.

#include "compiler/Driver/Verbs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace pmap {
namespace {

/// Whether ordinary code for a CPU with the feature uses its instructions; others (of cryptography, of the system) it
/// never does.
bool isUsedByCode(llvm::StringRef feature) {
  for (llvm::StringRef prefix : {"sse", "ssse", "avx", "bmi"})
    if (feature.starts_with(prefix))
      return true;
  return llvm::is_contained({"fma", "fma4", "f16c", "popcnt", "lzcnt", "movbe", "xop", "tbm"}, feature);
}

} // namespace

bool canRunHere(const RunOptions &options) {
  llvm::StringRef cpu = options.compile.cpu;
  if (options.target == Target::Reference || cpu.empty() || cpu == "native" ||
      !llvm::Triple(llvm::sys::getProcessTriple()).isX86())
    return true;
  // An unknown name is told by the compiler.
  if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return true;
  llvm::SmallVector<llvm::StringRef> wanted;
  llvm::X86::getFeaturesForCPU(cpu, wanted);
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> lacking;
  for (llvm::StringRef feature : wanted)
    if (auto known = host.find(feature); known != host.end() && !known->second && isUsedByCode(feature))
      lacking.push_back(feature.str());
  if (lacking.empty())
    return true;
  llvm::sort(lacking);
  llvm::errs() << "error: this machine does not run code for the CPU '" << cpu << "': it lacks "
               << llvm::join(lacking, ", ") << " [E1002]\n";
  return false;
}

} // namespace pmap
