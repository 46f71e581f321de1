//===- Files.h - Reading inputs and writing outputs --------------------------------------------------------------===//

#ifndef PMAP_IO_FILES_H
#define PMAP_IO_FILES_H

#include "runtime/io/Npy.h"

#include <memory>
#include <string_view>

namespace pmap::rt {

/// Reads a .npy file; large ones are mapped, not copied.
Problem readNpy(const std::string &path, HostArray &array);

/// Reads the files that a pattern with `*` matches as the blocks of one array along dimension 0, in the order of their
/// names with numbers in them taken as numbers: `part-9.npy` before `part-10.npy`. `subject` is for messages.
Problem readBlocks(const std::string &pattern, const std::string &subject, HostArray &array);

/// A .npz archive open for reading.
class Archive {
public:
  ~Archive();
  Problem open(const std::string &path);
  /// Names of the arrays, without `.npy`.
  const std::vector<std::string> &names() const { return entries; }
  bool has(const std::string &name) const;
  Problem read(const std::string &name, HostArray &array);

private:
  std::string path;
  void *zip = nullptr;
  std::vector<std::string> entries;
};

/// A named dense array to write; the memory is the caller's.
struct NamedArray {
  std::string name;
  int32_t dtype;
  std::vector<int64_t> sizes;
  const void *data;
};

/// Whether a file could be written at `path`; checked before any work, so that a long run is not lost to a typo.
Problem checkWritable(const std::string &path);

/// Write to a temporary file beside the target, then rename it: either all is there or nothing. What is no regular file
/// (`/dev/stdout`) is written directly.
Problem writeNpy(const std::string &path, const NamedArray &array);
Problem writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);
Problem writeText(const std::string &path, std::string_view text);

} // namespace pmap::rt

#endif // PMAP_IO_FILES_H
