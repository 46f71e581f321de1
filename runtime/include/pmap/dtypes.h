//===- dtypes.h - The one table of element types -----------------------------------------------------------------===//
//
// Everything in the runtime that depends on an element type derives from this table: the enum that compiled code and
// signatures carry, sizes in bytes, names in messages, the `.npy` descriptors.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_DTYPES_H
#define PMAP_DTYPES_H

#include <stdint.h>

/// X(name, bytes, npy descriptor without its byte order, kind: b bool, i signed, u unsigned, f floating, k key).
/// NumPy has no bfloat16: it is read and written as raw 2-byte elements, `V2`, which is also what `ml_dtypes` saves.
/// A random key is two u32 words.
#define PMAP_DTYPES(X)                                                                                                 \
  X(bool, 1, "b1", 'b')                                                                                                \
  X(i8, 1, "i1", 'i')                                                                                                  \
  X(i16, 2, "i2", 'i')                                                                                                 \
  X(i32, 4, "i4", 'i')                                                                                                 \
  X(i64, 8, "i8", 'i')                                                                                                 \
  X(u8, 1, "u1", 'u')                                                                                                  \
  X(u16, 2, "u2", 'u')                                                                                                 \
  X(u32, 4, "u4", 'u')                                                                                                 \
  X(u64, 8, "u8", 'u')                                                                                                 \
  X(f16, 2, "f2", 'f')                                                                                                 \
  X(bf16, 2, "V2", 'f')                                                                                                \
  X(f32, 4, "f4", 'f')                                                                                                 \
  X(f64, 8, "f8", 'f')                                                                                                 \
  X(key, 8, "u8", 'k')

#ifdef __cplusplus
extern "C" {
#endif

/// PMAP_bool = 0, PMAP_i8 = 1, ... in the order of the table. The values are part of the ABI.
typedef enum pmap_dtype {
#define PMAP_DTYPE_ENUM(name, bytes, npy, kind) PMAP_##name,
  PMAP_DTYPES(PMAP_DTYPE_ENUM)
#undef PMAP_DTYPE_ENUM
      PMAP_DTYPE_COUNT
} pmap_dtype;

/// Bytes of one element; 0 for a value that is no dtype.
int64_t pmap_dtype_bytes(int32_t dtype);

/// The dtype's name in the language, `f32`; "?" for a value that is no dtype.
const char *pmap_dtype_name(int32_t dtype);

/// The dtype called `name`, or -1.
int32_t pmap_dtype_from_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif // PMAP_DTYPES_H
