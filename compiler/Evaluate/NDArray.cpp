#include "compiler/Evaluate/NDArray.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"
#include <cassert>
#include <cstring>

namespace pmap::evaluate {

int64_t byteWidth(Element element) {
  switch (element) {
  case Element::Bool:
  case Element::I8:
    return 1;
  case Element::I16:
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::I32:
  case Element::F32:
    return 4;
  case Element::I64:
  case Element::F64:
    return 8;
  }
  llvm_unreachable("no such element type");
}

Element elementOf(mlir::Type type) {
  if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
    type = shaped.getElementType();
  if (type.isIndex() || type.isInteger(64))
    return Element::I64;
  if (type.isInteger(1))
    return Element::Bool;
  if (type.isInteger(8))
    return Element::I8;
  if (type.isInteger(16))
    return Element::I16;
  if (type.isInteger(32))
    return Element::I32;
  if (type.isF16())
    return Element::F16;
  if (type.isBF16())
    return Element::BF16;
  if (type.isF32())
    return Element::F32;
  if (type.isF64())
    return Element::F64;
  llvm_unreachable("no array of the language has this element type");
}

int64_t countOf(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

llvm::SmallVector<int64_t, 4> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The 16-bit formats have no type in C++20, so APFloat converts them.
static const llvm::fltSemantics &semanticsOf16(Element element) {
  return element == Element::F16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat();
}

static uint16_t encode16(Element element, double value) {
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(semanticsOf16(element), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

static double decode16(Element element, uint16_t bits) {
  return llvm::APFloat(semanticsOf16(element), llvm::APInt(16, bits)).convertToDouble();
}

double roundTo(Element element, double value) {
  switch (element) {
  case Element::F64:
    return value;
  case Element::F32:
    return static_cast<float>(value);
  default:
    return decode16(element, encode16(element, value));
  }
}

NDArray::NDArray(Element element, llvm::ArrayRef<int64_t> shape)
    : type(element), extents(shape.begin(), shape.end()), elements(countOf(shape)),
      bytes(std::make_shared<std::vector<std::byte>>(elements * byteWidth(element))) {}

NDArray NDArray::ofInteger(Element element, int64_t value) {
  NDArray scalar(element, {});
  scalar.setInteger(0, value);
  return scalar;
}

NDArray NDArray::ofReal(Element element, double value) {
  NDArray scalar(element, {});
  scalar.setReal(0, value);
  return scalar;
}

NDArray NDArray::fromBytes(Element element, llvm::ArrayRef<int64_t> shape, const void *data) {
  NDArray array(element, shape);
  if (array.byteCount() != 0)
    std::memcpy(array.bytes->data(), data, array.byteCount());
  return array;
}

void *NDArray::mutableData() {
  if (bytes.use_count() > 1)
    bytes = std::make_shared<std::vector<std::byte>>(*bytes);
  return bytes->data();
}

template <typename T> static T load(const void *data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte *>(data) + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(void *data, int64_t i, T value) {
  std::memcpy(static_cast<std::byte *>(data) + i * sizeof(T), &value, sizeof(T));
}

double NDArray::real(int64_t i) const {
  assert(i >= 0 && i < elements && "element out of range");
  switch (type) {
  case Element::F64:
    return load<double>(data(), i);
  case Element::F32:
    return load<float>(data(), i);
  case Element::F16:
  case Element::BF16:
    return decode16(type, load<uint16_t>(data(), i));
  default:
    llvm_unreachable("an integer array was read as floating");
  }
}

int64_t NDArray::integer(int64_t i) const {
  assert(i >= 0 && i < elements && "element out of range");
  switch (type) {
  case Element::Bool:
    return load<uint8_t>(data(), i) != 0;
  case Element::I8:
    return load<int8_t>(data(), i);
  case Element::I16:
    return load<int16_t>(data(), i);
  case Element::I32:
    return load<int32_t>(data(), i);
  case Element::I64:
    return load<int64_t>(data(), i);
  default:
    llvm_unreachable("a floating array was read as integer");
  }
}

uint64_t NDArray::unsignedInteger(int64_t i) const {
  uint64_t value = static_cast<uint64_t>(integer(i));
  int64_t bits = 8 * byteWidth(type);
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

void NDArray::setReal(int64_t i, double value) {
  assert(i >= 0 && i < elements && "element out of range");
  switch (type) {
  case Element::F64:
    return store(mutableData(), i, value);
  case Element::F32:
    return store(mutableData(), i, static_cast<float>(value));
  case Element::F16:
  case Element::BF16:
    return store(mutableData(), i, encode16(type, value));
  default:
    llvm_unreachable("a floating number was stored in an integer array");
  }
}

void NDArray::setInteger(int64_t i, int64_t value) {
  assert(i >= 0 && i < elements && "element out of range");
  switch (type) {
  case Element::Bool:
    return store(mutableData(), i, static_cast<uint8_t>(value & 1));
  case Element::I8:
    return store(mutableData(), i, static_cast<int8_t>(value));
  case Element::I16:
    return store(mutableData(), i, static_cast<int16_t>(value));
  case Element::I32:
    return store(mutableData(), i, static_cast<int32_t>(value));
  case Element::I64:
    return store(mutableData(), i, value);
  default:
    llvm_unreachable("an integer was stored in a floating array");
  }
}

void NDArray::copyElement(int64_t to, const NDArray &other, int64_t from) {
  assert(type == other.type && to >= 0 && to < elements && from >= 0 && from < other.elements);
  int64_t width = byteWidth(type);
  std::memcpy(static_cast<std::byte *>(mutableData()) + to * width,
              static_cast<const std::byte *>(other.data()) + from * width, width);
}

NDArray NDArray::reshaped(llvm::ArrayRef<int64_t> shape) const {
  assert(countOf(shape) == elements && "a reshape keeps the count");
  NDArray result = *this;
  result.extents.assign(shape.begin(), shape.end());
  return result;
}

} // namespace pmap::evaluate
