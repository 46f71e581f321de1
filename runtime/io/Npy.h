//===- Npy.h - The .npy format (NEP 1, versions 1 to 3) ----------------------------------------------------------===//

#ifndef PMAP_IO_NPY_H
#define PMAP_IO_NPY_H

#include "runtime/io/Problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pmap::rt {

/// A dense array in memory. `owner` is a buffer of pmap_rt_alloc with one reference of the holder's, or null when
/// `mapping` is a mapped file.
struct HostArray {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  void *owner = nullptr;
  char *data = nullptr;
  void *mapping = nullptr;
  size_t mappingBytes = 0;

  int64_t elements() const;
  /// Gives the memory back.
  void release();
};

/// Where bytes of a .npy come from.
struct ByteSource {
  virtual ~ByteSource() = default;
  /// Reads up to `bytes` bytes; returns how many, fewer only at the end or after an error.
  virtual int64_t read(void *target, int64_t bytes) = 0;
  int64_t size = 0; ///< All bytes of it.
};

struct NpyHeader {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  bool swapped = false; ///< Elements have the other byte order.
  bool columns = false; ///< In Fortran order: the first dimension is the one whose elements are neighbours.
  int64_t dataOffset = 0, dataBytes = 0;
};

/// Reads and checks a header, before anything is allocated: damage, unknown element types, sizes that overflow, a file
/// that is too short or too long.
Problem readNpyHeader(ByteSource &source, const std::string &subject, NpyHeader &header);

/// Reads what follows the header, into row-major order.
Problem readNpyData(ByteSource &source, const std::string &subject, const NpyHeader &header, HostArray &array);

/// The bytes before the data: magic, version, header text, padded to 64.
std::string npyHeaderText(int32_t dtype, const std::vector<int64_t> &sizes);

/// `f32[442, 10]`.
std::string typeText(int32_t dtype, const std::vector<int64_t> &sizes);

} // namespace pmap::rt

#endif // PMAP_IO_NPY_H
