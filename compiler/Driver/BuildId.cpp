#include "compiler/Driver/BuildId.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <algorithm>
#include <elf.h>
#include <link.h>
#include <vector>

namespace pmap {
namespace {

/// dl_iterate_phdr visits the executable itself first; its PT_NOTE segments hold the build id.
int findBuildId(dl_phdr_info *info, size_t, void *data) {
  auto &id = *static_cast<std::string *>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    const char *end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof(*note);
      const char *description = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID) {
        id = llvm::toHex(llvm::StringRef(description, note->n_descsz), /*LowerCase=*/true);
        return 1;
      }
      at = description + ((note->n_descsz + 3) & ~3u);
    }
  }
  return 1; // Only the executable itself is of interest.
}

} // namespace

std::string compilerBuildId() {
  std::string id;
  dl_iterate_phdr(findBuildId, &id);
  return id;
}

std::string hostCpuName() { return llvm::sys::getHostCPUName().str(); }

std::string hostCpuFeatures() {
  std::vector<std::string> names;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    names.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(names.begin(), names.end());
  return llvm::join(names, ",");
}

} // namespace pmap
