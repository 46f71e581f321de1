// Arrays as NumPy prints them (`str`, or `repr` without its frame), with NumPy's default options: 8 digits after the
// point at most, a summary past 1000 elements with 3 at each edge, lines of 75 characters. It follows
// numpy/core/arrayprint.py of NumPy 2.4, step by step. bf16 and f16 have the shortest digits that give the value back.

#include "runtime/io/Format.h"
#include "runtime/core/Failure.h"
#include "runtime/io/Elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace pmap::rt;

namespace {

constexpr int maxPrecision = 8;
constexpr int64_t threshold = 1000, edgeItems = 3;
constexpr size_t lineWidth = 75;

/// The shortest digits of a value of a dtype, in scientific form: digits without a point, and the exponent of the
/// first.
struct Decimal {
  bool negative;
  std::string digits; ///< No trailing zeros; "0" for zero.
  int exponent;
};

Decimal shortest(int32_t dtype, double value) {
  char text[64];
  char *end = text;
  double magnitude = std::fabs(value);
  if (dtype == PMAP_f64)
    end = std::to_chars(text, text + sizeof(text), magnitude, std::chars_format::scientific).ptr;
  else if (dtype == PMAP_f32)
    end = std::to_chars(text, text + sizeof(text), (float)magnitude, std::chars_format::scientific).ptr;
  else
    for (int precision = 0; precision < 9; ++precision) {
      end = text + snprintf(text, sizeof(text), "%.*e", precision, magnitude);
      float back = strtof(text, nullptr);
      if (dtype == PMAP_f16 ? floatToHalf(back) == floatToHalf((float)magnitude)
                            : floatToBfloat(back) == floatToBfloat((float)magnitude))
        break;
    }
  Decimal decimal{std::signbit(value), "", 0};
  const char *at = text;
  for (; at < end && *at != 'e'; ++at)
    if (*at != '.')
      decimal.digits += *at;
  decimal.exponent = at < end ? atoi(std::string(at + 1, (const char *)end).c_str()) : 0;
  while (decimal.digits.size() > 1 && decimal.digits.back() == '0')
    decimal.digits.pop_back();
  return decimal;
}

/// Digits before and after the point.
struct Pieces {
  std::string whole, fraction;
};

/// The value in positional form, at most `precision` digits after the point (negative: all), no trailing zeros.
Pieces positional(int32_t dtype, double value, int precision) {
  Decimal decimal = shortest(dtype, value);
  Pieces pieces;
  int length = (int)decimal.digits.size(), point = decimal.exponent + 1;
  if (precision >= 0 && length - point > precision) {
    // Cut by rounding the value itself, not its shortest digits.
    std::string text = format("%.*f", precision, std::fabs(value));
    size_t dot = text.find('.');
    pieces.whole = text.substr(0, dot);
    pieces.fraction = dot == std::string::npos ? "" : text.substr(dot + 1);
  } else if (point <= 0) {
    pieces.whole = "0";
    pieces.fraction = std::string((size_t)-point, '0') + decimal.digits;
  } else if (point >= length) {
    pieces.whole = decimal.digits + std::string((size_t)(point - length), '0');
  } else {
    pieces.whole = decimal.digits.substr(0, (size_t)point);
    pieces.fraction = decimal.digits.substr((size_t)point);
  }
  while (!pieces.fraction.empty() && pieces.fraction.back() == '0')
    pieces.fraction.pop_back();
  if (decimal.negative)
    pieces.whole = "-" + pieces.whole;
  return pieces;
}

/// The value in scientific form: whole digit with sign, fraction without trailing zeros, exponent.
Pieces scientific(int32_t dtype, double value, int precision, int &exponent) {
  Decimal decimal = shortest(dtype, value);
  if (precision >= 0 && (int)decimal.digits.size() - 1 > precision) {
    std::string text = format("%.*e", precision, std::fabs(value));
    size_t e = text.find('e');
    decimal.exponent = atoi(text.c_str() + e + 1);
    decimal.digits.clear();
    for (char c : text.substr(0, e))
      if (c != '.')
        decimal.digits += c;
    while (decimal.digits.size() > 1 && decimal.digits.back() == '0')
      decimal.digits.pop_back();
  }
  exponent = value == 0 ? 0 : decimal.exponent;
  return {(decimal.negative ? "-" : "") + decimal.digits.substr(0, 1), decimal.digits.substr(1)};
}

std::string exponentText(int exponent, int digits) {
  return format("e%c%0*d", exponent < 0 ? '-' : '+', std::max(digits, 2), std::abs(exponent));
}

std::string padLeft(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// A number on its own: `str(np.float32(x))`.
std::string scalarFloat(int32_t dtype, double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  double magnitude = std::fabs(value);
  double cutoff = dtype == PMAP_f64 ? 1e16 : dtype == PMAP_f32 ? 1e6 : 1e3;
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < cutoff)) {
    Pieces pieces = positional(dtype, value, -1);
    return pieces.whole + "." + (pieces.fraction.empty() ? "0" : pieces.fraction);
  }
  int exponent;
  Pieces pieces = scientific(dtype, value, -1, exponent);
  return pieces.whole + (pieces.fraction.empty() ? "" : "." + pieces.fraction) + exponentText(exponent, 2);
}

/// A random key is there to be used, not to be looked at; `key_data` has its bits.
const char *const opaqueKey = "<key>";

/// How the elements of one array are written, all in one width.
class ElementFormat {
public:
  ElementFormat(int32_t dtype, const void *data) : dtype(dtype), data(data) {}

  void fit(const std::vector<int64_t> &shown) {
    char kind = kindOf(dtype);
    if (kind == 'f')
      return fitFloats(shown);
    for (int64_t index : shown)
      width = std::max(width, kind == 'b' ? 5 : integer(index).size());
  }

  std::string operator()(int64_t index) const {
    char kind = kindOf(dtype);
    if (kind == 'f')
      return floating(loadFloat(dtype, data, index));
    if (kind == 'b')
      return loadSigned(dtype, data, index) ? " True" : "False";
    return padLeft(integer(index), width);
  }

private:
  int32_t dtype;
  const void *data;
  size_t width = 0;
  bool exponential = false;
  size_t left = 0, right = 0;
  int precision = maxPrecision, exponentDigits = 0;

  std::string integer(int64_t index) const {
    if (kindOf(dtype) == 'k')
      return opaqueKey;
    return kindOf(dtype) == 'i' ? std::to_string(loadSigned(dtype, data, index))
                                : std::to_string(loadUnsigned(dtype, data, index));
  }

  void fitFloats(const std::vector<int64_t> &shown) {
    double largest = 0, smallest = INFINITY;
    bool anyOther = false, negativeInfinity = false;
    for (int64_t index : shown) {
      double value = loadFloat(dtype, data, index), magnitude = std::fabs(value);
      if (!std::isfinite(value)) {
        anyOther = true;
        negativeInfinity |= std::isinf(value) && value < 0;
        continue;
      }
      if (magnitude > 0) {
        largest = std::max(largest, magnitude);
        smallest = std::min(smallest, magnitude);
      }
    }
    // The ratio is taken in the array's own precision.
    double ratio = largest / smallest;
    if (dtype == PMAP_f16)
      ratio = halfToFloat(floatToHalf((float)ratio));
    else if (dtype != PMAP_f64)
      ratio = (float)largest / (float)smallest;
    double cutoff = dtype == PMAP_f64 ? 1e8 : dtype == PMAP_f32 ? 1e6 : 1e3;
    exponential = largest > 0 && (largest >= cutoff || smallest < 0.0001 || ratio > 1000);
    size_t exponentWidth = 0, fraction = 0;
    for (int64_t index : shown) {
      double value = loadFloat(dtype, data, index);
      if (!std::isfinite(value))
        continue;
      int exponent = 0;
      Pieces pieces = exponential ? scientific(dtype, value, precision, exponent) : positional(dtype, value, precision);
      left = std::max(left, pieces.whole.size());
      fraction = std::max(fraction, pieces.fraction.size());
      if (exponential)
        exponentWidth = std::max(exponentWidth, exponentText(exponent, 2).size() - 2);
    }
    if (exponential) {
      precision = (int)fraction;
      exponentDigits = (int)exponentWidth;
      right = exponentWidth + 2 + fraction;
    } else {
      right = fraction;
    }
    if (anyOther) {
      size_t offset = right + 1, nan = 3, inf = negativeInfinity ? 4 : 3;
      left = std::max({left, nan > offset ? nan - offset : 0, inf > offset ? inf - offset : 0});
    }
  }

  std::string floating(double value) const {
    if (!std::isfinite(value))
      return padLeft(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf", left + right + 1);
    if (exponential) {
      // All elements get the same number of digits, of the value itself where its shortest form has fewer.
      std::string text = format("%.*e", precision, value);
      size_t e = text.find('e'), point = std::min(text.find('.'), e);
      std::string fraction = point < e ? text.substr(point + 1, e - point - 1) : "";
      return padLeft(text.substr(0, point), left) + "." + fraction +
             exponentText(atoi(text.c_str() + e + 1), exponentDigits);
    }
    Pieces pieces = positional(dtype, value, precision);
    pieces.fraction.resize(right, ' ');
    return padLeft(pieces.whole, left) + "." + pieces.fraction;
  }
};

class Printer {
public:
  Printer(int32_t dtype, const std::vector<int64_t> &sizes, const void *data, const char *separator)
      : sizes(sizes), separator(separator), stem(separator), element(dtype, data) {
    while (!stem.empty() && stem.back() == ' ')
      stem.pop_back();
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    summary = count > threshold;
    std::vector<int64_t> shown;
    collect(0, 0, shown);
    element.fit(shown);
  }

  std::string print() { return recurse(0, 0, " ", lineWidth); }

private:
  const std::vector<int64_t> &sizes;
  std::string separator, stem;
  ElementFormat element;
  bool summary;

  bool cut(size_t axis) const { return summary && 2 * edgeItems < sizes[axis]; }

  void collect(size_t axis, int64_t base, std::vector<int64_t> &shown) const {
    if (axis == sizes.size()) {
      shown.push_back(base);
      return;
    }
    for (int64_t i = 0; i < sizes[axis]; ++i) {
      if (cut(axis) && i == edgeItems)
        i = sizes[axis] - edgeItems;
      collect(axis + 1, base * sizes[axis] + i, shown);
    }
  }

  static void extend(std::string &text, std::string &line, const std::string &word, size_t width,
                     const std::string &indent) {
    if (line.size() + word.size() > width && line.size() > indent.size()) {
      while (!line.empty() && line.back() == ' ')
        line.pop_back();
      text += line + "\n";
      line = indent;
    }
    line += word;
  }

  std::string recurse(size_t axis, int64_t base, const std::string &indent, size_t width) const {
    size_t axesLeft = sizes.size() - axis;
    int64_t n = sizes[axis];
    std::string text;
    if (axesLeft == 1) {
      size_t elementWidth = width - std::max<size_t>(stem.size(), 1);
      std::string line = indent;
      for (int64_t i = 0; i < n; ++i) {
        if (cut(axis) && i == edgeItems) {
          extend(text, line, "...", elementWidth, indent);
          line += separator;
          i = n - edgeItems;
        }
        extend(text, line, element(base * n + i), elementWidth, indent);
        if (i + 1 < n)
          line += separator;
      }
      text += line;
    } else {
      std::string lineSeparator = stem + std::string(axesLeft - 1, '\n');
      for (int64_t i = 0; i < n; ++i) {
        if (cut(axis) && i == edgeItems) {
          text += indent + "..." + lineSeparator;
          i = n - edgeItems;
        }
        text += indent + recurse(axis + 1, base * n + i, indent + " ", width - 1);
        if (i + 1 < n)
          text += lineSeparator;
      }
    }
    return "[" + text.substr(indent.size()) + "]";
  }
};

} // namespace

std::string pmap::rt::formatArray(int32_t dtype, const std::vector<int64_t> &sizes, const void *data, bool repr) {
  if (sizes.empty()) {
    char kind = kindOf(dtype);
    if (kind == 'f')
      return scalarFloat(dtype, loadFloat(dtype, data, 0));
    if (kind == 'b')
      return loadSigned(dtype, data, 0) ? "True" : "False";
    if (kind == 'k')
      return opaqueKey;
    return kind == 'i' ? std::to_string(loadSigned(dtype, data, 0)) : std::to_string(loadUnsigned(dtype, data, 0));
  }
  for (int64_t size : sizes)
    if (size == 0)
      return "[]";
  return Printer(dtype, sizes, data, repr ? ", " : " ").print();
}

char *pmap_format_array(int32_t dtype, int32_t rank, const int64_t *sizes, const void *data, int32_t repr) {
  return strdup(formatArray(dtype, std::vector<int64_t>(sizes, sizes + rank), data, repr).c_str());
}
