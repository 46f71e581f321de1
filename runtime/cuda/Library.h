//===- Library.h - Libraries that are opened at run time ----------------------------------------------------------===//

#ifndef PMAP_CUDA_LIBRARY_H
#define PMAP_CUDA_LIBRARY_H

#include <string>

namespace pmap::rt::cuda {

/// A shared library: the one that the environment variable names, else the first of `names` (nullptr ends them) that
/// the system finds.
class Library {
public:
  Library(const char *variable, const char *const *names);

  bool isOpen() const { return handle; }
  /// Why it could not be opened: what was looked for, and what the system said.
  const std::string &problem() const { return reason; }
  /// The address of a function. When it is missing, null, and `problem` says so.
  void *find(const char *symbol);

private:
  void *handle = nullptr;
  std::string name, reason;
};

} // namespace pmap::rt::cuda

#endif // PMAP_CUDA_LIBRARY_H
