// Loading an object file into this process.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
}

namespace pmap {

/// The code of one object file in memory, alive as long as this is. Undefined symbols are the runtime's (linked into
/// this process) and the C library's; the BLAS-class part of the runtime is opened only when the object calls it.
class LoadedProgram {
public:
  /// Returns nothing and sets `error` when the object cannot be loaded.
  static std::unique_ptr<LoadedProgram> load(std::unique_ptr<llvm::MemoryBuffer> object, std::string &error);
  ~LoadedProgram();

  /// The address of a symbol that the object defines, or null.
  void *lookup(llvm::StringRef name);

private:
  LoadedProgram();
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace pmap
