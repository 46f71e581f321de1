//===- Elements.h - Elements of any dtype as wide values ---------------------------------------------------------===//

#ifndef PMAP_IO_ELEMENTS_H
#define PMAP_IO_ELEMENTS_H

#include "pmap/dtypes.h"

#include <cstring>
#include <string>

namespace pmap::rt {

/// 'b' bool, 'i' signed, 'u' unsigned, 'f' floating, 'k' key.
char kindOf(int32_t dtype);

/// The NumPy descriptor without its byte order, `f4`.
const char *npyCode(int32_t dtype);

/// f16 and bf16 bits to f32 and back (nearest even).
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

/// Element `index` of an array. `loadFloat` is for floating dtypes, `loadSigned` for bool and signed, `loadUnsigned`
/// for unsigned ones and keys.
double loadFloat(int32_t dtype, const void *data, int64_t index);
int64_t loadSigned(int32_t dtype, const void *data, int64_t index);
uint64_t loadUnsigned(int32_t dtype, const void *data, int64_t index);

/// Reads a number or `true`, `false` as one element of a dtype: decimal or `0x`, `_` between digits, an exponent,
/// `inf`, `nan`, a dtype suffix that must be this dtype's. Returns false and says why (`expected an i32, got 1.5`).
bool parseElement(int32_t dtype, const std::string &text, void *element, std::string &why);

} // namespace pmap::rt

#endif // PMAP_IO_ELEMENTS_H
