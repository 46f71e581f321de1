//===- Format.h - Arrays as text ---------------------------------------------------------------------------------===//

#ifndef PMAP_IO_FORMAT_H
#define PMAP_IO_FORMAT_H

#include <cstdint>
#include <string>
#include <vector>

namespace pmap::rt {

/// The text NumPy prints for a dense array: `str`, or with `repr` separated by ", " (without `array(...)` around it).
std::string formatArray(int32_t dtype, const std::vector<int64_t> &sizes, const void *data, bool repr = false);

} // namespace pmap::rt

#endif // PMAP_IO_FORMAT_H
