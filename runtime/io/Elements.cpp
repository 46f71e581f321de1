// Conversions of single elements.

#include "runtime/io/Elements.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace pmap::rt;

namespace {

struct Row {
  char kind;
  const char *npy;
};

constexpr Row rows[] = {
#define PMAP_ROW(name, bytes, npy, kind) {kind, npy},
    PMAP_DTYPES(PMAP_ROW)
#undef PMAP_ROW
};

template <typename T> T at(const void *data, int64_t index) {
  T value;
  memcpy(&value, (const char *)data + index * (int64_t)sizeof(T), sizeof(T));
  return value;
}

template <typename T> void put(void *element, T value) { memcpy(element, &value, sizeof(T)); }

/// Least and greatest value of an integer dtype of `bytes` bytes.
int64_t signedLimit(int64_t bytes) { return (int64_t)(((uint64_t)1 << (bytes * 8 - 1)) - 1); }
uint64_t unsignedLimit(int64_t bytes) { return bytes == 8 ? UINT64_MAX : ((uint64_t)1 << (bytes * 8)) - 1; }

} // namespace

char pmap::rt::kindOf(int32_t dtype) { return dtype >= 0 && dtype < PMAP_DTYPE_COUNT ? rows[dtype].kind : '?'; }

const char *pmap::rt::npyCode(int32_t dtype) { return rows[dtype].npy; }

float pmap::rt::halfToFloat(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  float value;
  if (exponent == 0)
    value = (float)mantissa * 0x1p-24f;
  else if (exponent == 31)
    put(&value, (uint32_t)(0x7f800000 | mantissa << 13));
  else
    put(&value, (uint32_t)((exponent + 112) << 23 | mantissa << 13));
  uint32_t word = at<uint32_t>(&value, 0) | sign;
  put(&value, word);
  return value;
}

uint16_t pmap::rt::floatToHalf(float value) {
  uint32_t bits = at<uint32_t>(&value, 0), sign = bits >> 16 & 0x8000;
  if (std::isnan(value))
    return (uint16_t)(sign | 0x7e00);
  float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f)
    return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x1p-14f) // Subnormal: an integer multiple of 2^-24, rounded by the addition.
    return (uint16_t)(sign | (uint32_t)std::nearbyintf(magnitude * 0x1p24f));
  uint32_t word = bits & 0x7fffffff;
  word += 0xfff + (word >> 13 & 1);
  return (uint16_t)(sign | ((word >> 13) - (112u << 10)));
}

float pmap::rt::bfloatToFloat(uint16_t bits) {
  float value;
  put(&value, (uint32_t)bits << 16);
  return value;
}

uint16_t pmap::rt::floatToBfloat(float value) {
  uint32_t bits = at<uint32_t>(&value, 0);
  if (std::isnan(value))
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double pmap::rt::loadFloat(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case PMAP_f16:
    return halfToFloat(at<uint16_t>(data, index));
  case PMAP_bf16:
    return bfloatToFloat(at<uint16_t>(data, index));
  case PMAP_f32:
    return at<float>(data, index);
  default:
    return at<double>(data, index);
  }
}

int64_t pmap::rt::loadSigned(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case PMAP_bool:
    return at<uint8_t>(data, index) != 0;
  case PMAP_i8:
    return at<int8_t>(data, index);
  case PMAP_i16:
    return at<int16_t>(data, index);
  case PMAP_i32:
    return at<int32_t>(data, index);
  default:
    return at<int64_t>(data, index);
  }
}

uint64_t pmap::rt::loadUnsigned(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case PMAP_u8:
    return at<uint8_t>(data, index);
  case PMAP_u16:
    return at<uint16_t>(data, index);
  case PMAP_u32:
    return at<uint32_t>(data, index);
  default:
    return at<uint64_t>(data, index);
  }
}

bool pmap::rt::parseElement(int32_t dtype, const std::string &written, void *element, std::string &why) {
  std::string text;
  for (size_t i = 0; i < written.size(); ++i) {
    bool between = i > 0 && i + 1 < written.size() && isxdigit((unsigned char)written[i - 1]) &&
                   isxdigit((unsigned char)written[i + 1]);
    if (written[i] != '_' || !between)
      text += written[i];
  }
  std::string name = pmap_dtype_name(dtype);
  const char *article = strchr("aeiofhlmnrsx", name[0]) && name[0] != 'u' ? "an " : "a ";
  if (name[0] == 'b' || name == "key")
    article = "a ";
  why = "expected " + (article + name) + ", got '" + written + "'";

  // A suffix names the dtype; hexadecimal digits may look like one only after `0x`.
  bool hexadecimal = text.find("0x") != std::string::npos || text.find("0X") != std::string::npos;
  if (!hexadecimal)
    for (int32_t other = 0; other < PMAP_DTYPE_COUNT; ++other) {
      std::string suffix = pmap_dtype_name(other);
      if (text.size() > suffix.size() && text.ends_with(suffix) && other != PMAP_bool && other != PMAP_key &&
          (isdigit((unsigned char)text[text.size() - suffix.size() - 1]) ||
           text[text.size() - suffix.size() - 1] == '.')) {
        if (other != dtype)
          return false;
        text.resize(text.size() - suffix.size());
        break;
      }
    }

  char kind = kindOf(dtype);
  if (kind == 'b') {
    if (text != "true" && text != "false") {
      why = "expected true or false, got '" + written + "'";
      return false;
    }
    put(element, (uint8_t)(text == "true"));
    return true;
  }
  if (text.empty() || isspace((unsigned char)text[0]))
    return false;
  char *end;
  errno = 0;
  if (kind == 'f') {
    double value = strtod(text.c_str(), &end);
    std::string body = text[0] == '-' || text[0] == '+' ? text.substr(1) : text;
    if (*end || (isalpha((unsigned char)body[0]) && body != "inf" && body != "nan"))
      return false;
    if (dtype == PMAP_f64)
      put(element, value);
    else if (dtype == PMAP_f32)
      put(element, strtof(text.c_str(), nullptr)); // Not by way of a double: that would round twice.
    else if (dtype == PMAP_f16)
      put(element, floatToHalf((float)value));
    else
      put(element, floatToBfloat((float)value));
    // Infinity is written `inf`.
    if (std::isinf(loadFloat(dtype, element, 0)) && body != "inf") {
      why += ", which does not fit";
      return false;
    }
    return true;
  }
  int base = hexadecimal ? 16 : 10;
  int64_t bytes = pmap_dtype_bytes(dtype);
  std::string range = why + ", which does not fit";
  if (kind == 'i') {
    long long value = strtoll(text.c_str(), &end, base);
    if (*end)
      return false;
    int64_t limit = signedLimit(bytes);
    if (errno == ERANGE || value > limit || value < -limit - 1) {
      why = range;
      return false;
    }
    memcpy(element, &value, (size_t)bytes);
    return true;
  }
  unsigned long long value = strtoull(text.c_str(), &end, base);
  if (*end)
    return false;
  if (errno == ERANGE || value > unsignedLimit(bytes) || text[0] == '-') {
    why = range;
    return false;
  }
  memcpy(element, &value, (size_t)bytes);
  return true;
}
