// Look-ups in the table of element types.

#include "pmap/dtypes.h"

#include <cstring>

namespace {

struct Row {
  const char *name;
  int64_t bytes;
};

constexpr Row rows[] = {
#define PMAP_ROW(name, bytes, npy, kind) {#name, bytes},
    PMAP_DTYPES(PMAP_ROW)
#undef PMAP_ROW
};

bool valid(int32_t dtype) { return dtype >= 0 && dtype < PMAP_DTYPE_COUNT; }

} // namespace

int64_t pmap_dtype_bytes(int32_t dtype) { return valid(dtype) ? rows[dtype].bytes : 0; }

const char *pmap_dtype_name(int32_t dtype) { return valid(dtype) ? rows[dtype].name : "?"; }

int32_t pmap_dtype_from_name(const char *name) {
  for (int32_t i = 0; i < PMAP_DTYPE_COUNT; ++i)
    if (!strcmp(rows[i].name, name))
      return i;
  return -1;
}
