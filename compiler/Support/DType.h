// The element types of Pmap arrays. Signedness lives here and in the operation chosen, never in the MLIR type.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mlir {
class MLIRContext;
class Type;
} // namespace mlir

namespace pmap {

enum class DType : uint8_t {
#define PMAP_DTYPE(id, name, kind, bits, descr, sum, mean) id,
#include "compiler/Support/DType.def"
};

enum class DTypeKind : uint8_t { Bool, Signed, Unsigned, Float, Key };

/// "f32".
llvm::StringRef dtypeName(DType dtype);
std::optional<DType> parseDType(llvm::StringRef name);
DTypeKind dtypeKind(DType dtype);
/// Bits in memory; a bool takes 8.
unsigned dtypeBits(DType dtype);
inline unsigned dtypeBytes(DType dtype) { return dtypeBits(dtype) / 8; }
/// The `descr` of a .npy header, little-endian.
llvm::StringRef dtypeNpyDescr(DType dtype);
std::optional<DType> dtypeFromNpyDescr(llvm::StringRef descr);

/// The dtype of sums, products and cumulative sums; of mean, var and std.
DType dtypeOfSum(DType dtype);
DType dtypeOfMean(DType dtype);

inline bool isFloat(DType dtype) { return dtypeKind(dtype) == DTypeKind::Float; }
inline bool isBool(DType dtype) { return dtype == DType::Bool; }
inline bool isSigned(DType dtype) { return dtypeKind(dtype) == DTypeKind::Signed; }
inline bool isUnsigned(DType dtype) { return dtypeKind(dtype) == DTypeKind::Unsigned; }
/// An integer that counts; bool and key are none.
inline bool isInteger(DType dtype) { return isSigned(dtype) || isUnsigned(dtype); }
inline bool isNumeric(DType dtype) { return isFloat(dtype) || isInteger(dtype); }

/// True when an integer dtype can hold `value`.
bool dtypeHolds(DType dtype, int64_t value);

/// The MLIR element type: i1, signless integers, floats; a key is an i64.
mlir::Type elementType(DType dtype, mlir::MLIRContext *context);

} // namespace pmap
