// Reading and writing .npy headers, checked before anything is allocated.

#include "runtime/io/Npy.h"
#include "pmap/runtime.h"
#include "runtime/core/Context.h"
#include "runtime/io/ColumnOrder.h"
#include "runtime/io/Elements.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace pmap::rt;

namespace {

constexpr int64_t maxHeaderBytes = 1 << 20;

/// The header is the text of a Python dictionary with three keys.
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  std::string descr;
  bool fortran = false, structured = false;
  std::vector<int64_t> sizes;
  bool overflow = false;

  bool parse() {
    bool seen[3] = {};
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!quoted(key) || !take(':'))
        return false;
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which])
        return false;
      seen[which] = true;
      if (!(which == 0 ? element() : which == 1 ? boolean() : shape()))
        return false;
      if (!take(',') && peek() != '}')
        return false;
    }
    skip();
    return at == text.size() && seen[0] && seen[1] && seen[2];
  }

private:
  const std::string &text;
  size_t at = 0;

  void skip() {
    while (at < text.size() && strchr(" \n\t\r", text[at]) && text[at])
      ++at;
  }
  char peek() {
    skip();
    return at < text.size() ? text[at] : 0;
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at;
    return true;
  }
  bool quoted(std::string &result) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, ++at);
    if (end == std::string::npos)
      return false;
    result = text.substr(at, end - at);
    at = end + 1;
    return true;
  }
  bool element() {
    if (peek() != '[')
      return quoted(descr);
    // A structured type; only its extent matters, for the message.
    structured = true;
    size_t begin = at;
    int depth = 0;
    do {
      if (at >= text.size())
        return false;
      depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    } while (++at, depth);
    descr = text.substr(begin, at - begin);
    return true;
  }
  bool boolean() {
    skip();
    for (bool value : {false, true}) {
      std::string word = value ? "True" : "False";
      if (text.compare(at, word.size(), word))
        continue;
      at += word.size();
      fortran = value;
      return true;
    }
    return false;
  }
  bool shape() {
    if (!take('('))
      return false;
    while (!take(')')) {
      if (!isdigit((unsigned char)peek()) || sizes.size() >= 64)
        return false;
      int64_t size = 0;
      while (at < text.size() && isdigit((unsigned char)text[at]))
        overflow |= __builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, text[at++] - '0', &size);
      sizes.push_back(size);
      if (at < text.size() && text[at] == 'L') // Python 2 wrote long integers so.
        ++at;
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }
};

/// The dtype of a descriptor such as `<f4`, or -1.
int32_t dtypeOf(const std::string &descr, bool &swapped) {
  if (descr.size() < 3 || !strchr("<>|=", descr[0]))
    return -1;
  std::string code = descr.substr(1);
  for (int32_t dtype = 0; dtype < PMAP_key; ++dtype)
    if (code == npyCode(dtype)) {
      swapped = descr[0] == '>' && pmap_dtype_bytes(dtype) > 1 && dtype != PMAP_bf16;
      return dtype;
    }
  return -1;
}

/// What an element type that the language lacks is called.
std::string foreignType(const std::string &descr) {
  char kind = descr.size() > 1 ? descr[1] : '?';
  switch (kind) {
  case 'c':
    return "complex numbers ('" + descr + "')";
  case 'O':
    return "Python objects";
  case 'U':
  case 'S':
    return "texts ('" + descr + "')";
  case 'M':
  case 'm':
    return "dates or time spans ('" + descr + "')";
  default:
    return "elements of type '" + descr + "'";
  }
}

/// How to save what can be read of elements without a dtype.
std::string foreignAdvice(const std::string &descr, bool structured) {
  if (structured)
    return "save each field by itself, as in np.save(path, array['a'])";
  if (descr.size() > 1 && descr[1] == 'c')
    return "save array.real and array.imag, two arrays";
  return "dtypes are bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64: convert it with array.astype(...)";
}

void swapBytes(char *data, int64_t count, int64_t bytes) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(data + i * bytes, data + (i + 1) * bytes);
}

} // namespace

int64_t HostArray::elements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

void HostArray::release() {
  if (mapping)
    munmap(mapping, mappingBytes);
  else
    pmap_rt_free(owner);
  owner = mapping = nullptr;
  data = nullptr;
}

std::string pmap::rt::typeText(int32_t dtype, const std::vector<int64_t> &sizes) {
  std::string text = pmap_dtype_name(dtype);
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "[") + std::to_string(sizes[i]);
  return text + (sizes.empty() ? "" : "]");
}

Problem pmap::rt::readNpyHeader(ByteSource &source, const std::string &subject, NpyHeader &header) {
  if (source.size == 0)
    return {"E1020", subject, "not a .npy file: the file is empty", {}};
  unsigned char start[12];
  if (source.read(start, 10) != 10 || memcmp(start, "\x93NUMPY", 6))
    return {"E1020", subject, "not a .npy file: it does not begin with the mark \\x93NUMPY", {}};
  int major = start[6];
  if (major < 1 || major > 3)
    return {"E1020", subject, "unknown version " + std::to_string(major) + " of the .npy format", {}};
  int64_t length = start[8] | start[9] << 8, before = 10;
  if (major > 1) {
    if (source.read(start + 10, 2) != 2)
      return {"E1021", subject, "the file ends within its header", {}};
    length |= (int64_t)start[10] << 16 | (int64_t)start[11] << 24;
    before = 12;
  }
  if (length > source.size - before)
    return {"E1021",
            subject,
            "the file ends within its header: expected " + std::to_string(length) + " bytes of it, got " +
                std::to_string(std::max<int64_t>(0, source.size - before)),
            {}};
  if (length > maxHeaderBytes)
    return {"E1020", subject, "damaged header: it claims a length of " + std::to_string(length) + " bytes", {}};
  std::string text((size_t)length, '\0');
  if (source.read(text.data(), length) != length)
    return {"E1021", subject, "the file ends within its header", {}};
  HeaderParser parser(text);
  if (!parser.parse())
    return {"E1020", subject, "damaged header: expected a dictionary with 'descr', 'fortran_order' and 'shape'", {}};
  header.dtype = parser.structured ? -1 : dtypeOf(parser.descr, header.swapped);
  if (header.dtype < 0)
    return {"E1025",
            subject,
            "the array holds " + (parser.structured ? "records" : foreignType(parser.descr)) +
                ", which have no dtype here",
            {foreignAdvice(parser.descr, parser.structured)}};
  header.sizes = parser.sizes;
  int64_t bytes = pmap_dtype_bytes(header.dtype);
  bool overflow = parser.overflow, empty = false;
  for (int64_t size : header.sizes) {
    empty |= size == 0;
    if (size)
      overflow |= __builtin_mul_overflow(bytes, size, &bytes);
  }
  if (overflow)
    return {"E1023", subject, "damaged header: the array would have more bytes than 64 bits can count", {}};
  header.dataBytes = empty ? 0 : bytes;
  header.dataOffset = before + length;
  int64_t have = source.size - header.dataOffset;
  std::string claimed = typeText(header.dtype, header.sizes) + " needs " + std::to_string(header.dataBytes) + " bytes";
  if (have < header.dataBytes)
    return {"E1021", subject, "the file is truncated: " + claimed + ", it holds " + std::to_string(have), {}};
  if (have > header.dataBytes)
    return {"E1022", subject, "the file is too long: " + claimed + ", it holds " + std::to_string(have), {}};
  size_t longer = 0;
  for (int64_t size : header.sizes)
    longer += size > 1;
  header.columns = parser.fortran && longer > 1 && !empty;
  return {};
}

Problem pmap::rt::readNpyData(ByteSource &source, const std::string &subject, const NpyHeader &header,
                              HostArray &array) {
  array.dtype = header.dtype;
  array.sizes = header.sizes;
  array.owner = context().host->arena->allocate(header.dataBytes);
  if (!array.owner)
    return {"E1018", subject, "not enough memory for " + typeText(header.dtype, header.sizes), {}};
  array.data = (char *)array.owner;
  if (source.read(array.data, header.dataBytes) != header.dataBytes) {
    array.release();
    return {"E1018", subject, "the file cannot be read to its end", {}};
  }
  if (header.swapped)
    swapBytes(array.data, array.elements(), pmap_dtype_bytes(header.dtype));
  // Compiled code relies on a bool being 0 or 1.
  if (header.dtype == PMAP_bool)
    for (int64_t i = 0; i < header.dataBytes; ++i)
      array.data[i] = array.data[i] != 0;
  if (header.columns) {
    void *rows = context().host->arena->allocate(header.dataBytes);
    if (!rows) {
      array.release();
      return {"E1018", subject, "not enough memory for " + typeText(header.dtype, header.sizes), {}};
    }
    columnsToRows(array.data, (char *)rows, header.sizes, pmap_dtype_bytes(header.dtype));
    array.release();
    array.owner = rows;
    array.data = (char *)rows;
  }
  return {};
}

std::string pmap::rt::npyHeaderText(int32_t dtype, const std::vector<int64_t> &sizes) {
  int64_t bytes = pmap_dtype_bytes(dtype);
  std::string shape;
  for (int64_t size : sizes)
    shape += std::to_string(size) + (sizes.size() == 1 ? "," : ", ");
  if (sizes.size() > 1)
    shape.resize(shape.size() - 2);
  std::string text = std::string("{'descr': '") + (bytes == 1 ? "|" : "<") + npyCode(dtype) +
                     "', 'fortran_order': False, 'shape': (" + shape + "), }";
  size_t before = text.size() + 11 > 65535 ? 12 : 10;
  while ((before + text.size() + 1) % 64)
    text += ' ';
  text += '\n';
  std::string result = std::string("\x93NUMPY") + (before == 12 ? '\x02' : '\x01') + '\0';
  for (size_t i = 0; i < before - 8; ++i)
    result += (char)(text.size() >> (8 * i) & 255);
  return result + text;
}
