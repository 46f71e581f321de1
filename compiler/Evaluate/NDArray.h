// The arrays of the reference evaluator: an element type, a shape, and bytes in row-major order.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mlir {
class Type;
} // namespace mlir

namespace pmap::evaluate {

/// What one element is. As in the IR, integers have no sign of their own: whoever reads one says how. `index` values
/// are I64. Bool is stored as one byte, 0 or 1.
enum class Element : uint8_t { Bool, I8, I16, I32, I64, F16, BF16, F32, F64 };

/// The size of one element in bytes.
int64_t byteWidth(Element element);

inline bool isFloat(Element element) { return element >= Element::F16; }

/// The element type of an MLIR scalar type or of a tensor's element type. Anything else is a bug of the caller.
Element elementOf(mlir::Type type);

/// An array that copies on write: passing one by value is cheap, and writing to a shared one copies its bytes first.
class NDArray {
public:
  /// An array of no elements, which is what a slot holds before it is assigned.
  NDArray() = default;

  /// Zeros of the given shape.
  NDArray(Element element, llvm::ArrayRef<int64_t> shape);

  /// A scalar (rank 0).
  static NDArray ofInteger(Element element, int64_t value);
  static NDArray ofReal(Element element, double value);
  static NDArray ofIndex(int64_t value) { return ofInteger(Element::I64, value); }
  static NDArray ofBool(bool value) { return ofInteger(Element::Bool, value); }

  /// Copies `shape`'s worth of row-major elements from `data`.
  static NDArray fromBytes(Element element, llvm::ArrayRef<int64_t> shape, const void *data);

  Element element() const { return type; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  int64_t rank() const { return static_cast<int64_t>(extents.size()); }
  int64_t dim(int64_t d) const { return extents[d]; }
  int64_t count() const { return elements; }
  int64_t byteCount() const { return elements * byteWidth(type); }
  /// True once the array was given a value.
  bool assigned() const { return bytes != nullptr; }

  const void *data() const { return bytes ? bytes->data() : nullptr; }
  /// The bytes, for writing: shared bytes are copied first.
  void *mutableData();

  /// Element `i` in row-major order as a floating number (of a floating array).
  double real(int64_t i = 0) const;
  /// Element `i` as a two's complement integer; a Bool reads as 0 or 1.
  int64_t integer(int64_t i = 0) const;
  /// Element `i` as an unsigned integer.
  uint64_t unsignedInteger(int64_t i = 0) const;

  /// Stores `value` rounded once, to nearest even, to the element type.
  void setReal(int64_t i, double value);
  /// Stores the low bits of `value`; overflow wraps.
  void setInteger(int64_t i, int64_t value);
  /// Copies element `from` of `other`, which has the same element type.
  void copyElement(int64_t to, const NDArray &other, int64_t from);

  /// The same elements under another shape of the same count.
  NDArray reshaped(llvm::ArrayRef<int64_t> shape) const;

private:
  Element type = Element::Bool;
  llvm::SmallVector<int64_t, 4> extents;
  int64_t elements = 0;
  std::shared_ptr<std::vector<std::byte>> bytes;
};

/// `value` rounded to nearest even to `element` and widened back.
double roundTo(Element element, double value);

/// Elements between neighbours along each dimension, in row-major order.
llvm::SmallVector<int64_t, 4> stridesOf(llvm::ArrayRef<int64_t> shape);

/// The product of the extents.
int64_t countOf(llvm::ArrayRef<int64_t> shape);

/// Calls `visit(position, flat)` for every position of `shape` in row-major order.
template <typename Visit> void forEachPosition(llvm::ArrayRef<int64_t> shape, Visit visit) {
  int64_t count = countOf(shape);
  llvm::SmallVector<int64_t, 4> position(shape.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(llvm::ArrayRef<int64_t>(position), flat);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++position[d] < shape[d])
        break;
      position[d] = 0;
    }
  }
}

/// The row-major offset of `position`.
inline int64_t offsetOf(llvm::ArrayRef<int64_t> position, llvm::ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d)
    offset += position[d] * strides[d];
  return offset;
}

} // namespace pmap::evaluate
