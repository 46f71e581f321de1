// The content-addressed cache of object files that `run`, `build` and `repl` share.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace pmap {

/// Everything outside the source text that decides what an object file holds.
struct CompileKey {
  std::string mainPath;
  /// Flags that change the code, in one fixed spelling (target, CPU, sizes given by -D, precise math).
  std::string flags;
};

/// The files a program was made from: those read, and those looked for in vain before another was taken (a file that
/// appears there later would win).
struct Dependencies {
  std::vector<std::string> read;
  std::vector<std::string> absent;
};

/// A hit needs no parse and never touches MLIR: a small manifest, named by the key, lists the hash of every file read
/// and names the object. Objects are named by their content. Files are written to a temporary and renamed, so that
/// concurrent compilers see whole files only. Every failure of the cache is a miss, never an error.
class ObjectCache {
public:
  /// The folder is $PMAPC_CACHE, else $XDG_CACHE_HOME/pmapc, else ~/.cache/pmapc; none of them: the cache is off.
  ObjectCache();
  explicit ObjectCache(std::string folder) : folder(std::move(folder)) {}

  /// The object, or null. `messages` gets the warnings of the compilation that made it, as they were printed.
  std::unique_ptr<llvm::MemoryBuffer> lookup(const CompileKey &key, std::string &messages) const;
  void store(const CompileKey &key, const Dependencies &dependencies, llvm::StringRef object,
             llvm::StringRef messages) const;

private:
  /// Removes the objects used least recently once the folder is larger than its limit.
  void trim() const;

  std::string folder;
};

/// The hash of a file's content in hexadecimal, or nothing when it cannot be read.
std::string hashOfFile(llvm::StringRef path);
std::string hashOfText(llvm::StringRef text);

} // namespace pmap
