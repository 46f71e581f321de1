//===- ColumnOrder.h - Arrays whose first dimension is the innermost ---------------------------------------------===//

#ifndef PMAP_IO_COLUMNORDER_H
#define PMAP_IO_COLUMNORDER_H

#include <cstdint>
#include <vector>

namespace pmap::rt {

/// Copies an array in Fortran order (column-major) to row-major order. No size is 0; elements have 1, 2, 4 or 8 bytes.
void columnsToRows(const char *from, char *to, const std::vector<int64_t> &sizes, int64_t elementBytes);

} // namespace pmap::rt

#endif // PMAP_IO_COLUMNORDER_H
