// Lookups in the dtype table.

#include "compiler/Support/DType.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace pmap;

namespace {

struct Row {
  llvm::StringLiteral name;
  DTypeKind kind;
  unsigned bits;
  llvm::StringLiteral descr;
  DType sum, mean;
};

constexpr Row table[] = {
#define PMAP_DTYPE(id, name, kind, bits, descr, sum, mean)                                                             \
  {name, DTypeKind::kind, bits, descr, DType::sum, DType::mean},
#include "compiler/Support/DType.def"
};

const Row &row(DType dtype) { return table[unsigned(dtype)]; }

} // namespace

llvm::StringRef pmap::dtypeName(DType dtype) { return row(dtype).name; }
DTypeKind pmap::dtypeKind(DType dtype) { return row(dtype).kind; }
unsigned pmap::dtypeBits(DType dtype) { return row(dtype).bits; }
llvm::StringRef pmap::dtypeNpyDescr(DType dtype) { return row(dtype).descr; }
DType pmap::dtypeOfSum(DType dtype) { return row(dtype).sum; }
DType pmap::dtypeOfMean(DType dtype) { return row(dtype).mean; }

std::optional<DType> pmap::parseDType(llvm::StringRef name) {
  for (unsigned i = 0; i < std::size(table); ++i)
    if (table[i].name == name)
      return DType(i);
  return std::nullopt;
}

std::optional<DType> pmap::dtypeFromNpyDescr(llvm::StringRef descr) {
  for (unsigned i = 0; i < std::size(table); ++i)
    if (table[i].descr == descr)
      return DType(i);
  return std::nullopt;
}

bool pmap::dtypeHolds(DType dtype, int64_t value) {
  unsigned bits = dtypeBits(dtype);
  switch (dtypeKind(dtype)) {
  case DTypeKind::Signed:
    return bits == 64 || (value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << (bits - 1));
  case DTypeKind::Unsigned:
    return value >= 0 && (bits == 64 || value < int64_t(1) << bits);
  case DTypeKind::Bool:
    return value == 0 || value == 1;
  default:
    return true;
  }
}

mlir::Type pmap::elementType(DType dtype, mlir::MLIRContext *context) {
  switch (dtype) {
  case DType::Bool:
    return mlir::IntegerType::get(context, 1);
  case DType::F16:
    return mlir::Float16Type::get(context);
  case DType::BF16:
    return mlir::BFloat16Type::get(context);
  case DType::F32:
    return mlir::Float32Type::get(context);
  case DType::F64:
    return mlir::Float64Type::get(context);
  default:
    return mlir::IntegerType::get(context, dtypeBits(dtype));
  }
}
