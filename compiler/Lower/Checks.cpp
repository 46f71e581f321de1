// Run-time checks. A failed one calls `pmap_rt_fail` on a cold path; what follows may rely on it.
#include "compiler/Dialect/IR/FailureText.h"
#include "compiler/Lower/Translator.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "pmap/runtime.h"

using namespace mlir;
using arith::CmpIPredicate;

namespace pmap {

int32_t runtimeDType(Type element, bool isUnsigned) {
  if (element.isF16())
    return PMAP_f16;
  if (element.isBF16())
    return PMAP_bf16;
  if (element.isF32())
    return PMAP_f32;
  if (element.isF64())
    return PMAP_f64;
  switch (element.getIntOrFloatBitWidth()) {
  case 1:
    return PMAP_bool;
  case 8:
    return isUnsigned ? PMAP_u8 : PMAP_i8;
  case 16:
    return isUnsigned ? PMAP_u16 : PMAP_i16;
  case 32:
    return isUnsigned ? PMAP_u32 : PMAP_i32;
  default:
    return isUnsigned ? PMAP_u64 : PMAP_i64;
  }
}

static constexpr StringLiteral dtypeNames[] = {
#define PMAP_NAME(name, bytes, npy, kind) #name,
    PMAP_DTYPES(PMAP_NAME)
#undef PMAP_NAME
};

StringRef runtimeDTypeName(int32_t dtype) { return dtypeNames[dtype]; }

int32_t runtimeDTypeFromName(StringRef name) {
  return std::distance(std::begin(dtypeNames), llvm::find(dtypeNames, name));
}

static Value compare(OpBuilder &b, Location loc, CmpIPredicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
}

static Value anyOf(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::OrIOp::create(b, loc, lhs, rhs);
}

void Translator::failIf(OpBuilder &builder, Location loc, Value bad, int32_t kind, ArrayRef<Value> values,
                        StringRef text) {
  if (!bad || matchPattern(bad, m_Zero()))
    return;
  MLIRContext *context = builder.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = builder.getI32Type(), i64 = builder.getI64Type();
  if (StringRef told = failureText(loc); !told.empty()) {
    // The format of these names a text of its own.
    if (kind == PMAP_FAIL_ASSERT || (kind == PMAP_FAIL_NEGATIVE_SIZE && told.starts_with("E1106")))
      kind = PMAP_FAIL_TOLD;
    if (kind == PMAP_FAIL_TOLD || kind == PMAP_FAIL_INDEX || kind == PMAP_FAIL_INEXACT || kind == PMAP_FAIL_SLICE ||
        kind == PMAP_FAIL_CAST)
      text = told;
  }
  SymbolRefAttr callee = declareRuntimeFunction(
      module, "pmap_rt_fail", FunctionType::get(context, {pointer, i32, i64, i64, i64}, {}), {"noreturn", "cold"});
  auto guard = scf::IfOp::create(builder, loc, bad, /*withElseRegion=*/false);
  OpBuilder cold = guard.getThenBodyBuilder();
  SmallVector<Value> arguments{constants.site(cold, loc, text), arith::ConstantIntOp::create(cold, loc, kind, 32)};
  for (unsigned i = 0; i < 3; ++i) {
    if (i >= values.size())
      arguments.push_back(arith::ConstantIntOp::create(cold, loc, 0, 64));
    else if (values[i].getType().isIndex())
      arguments.push_back(arith::IndexCastOp::create(cold, loc, i64, values[i]));
    else
      arguments.push_back(values[i]);
  }
  func::CallOp::create(cold, loc, callee, TypeRange(), arguments);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Indices
//===--------------------------------------------------------------------------------------------------------------===//

bool Translator::isWithin(Value oldIndex, Value oldSize) {
  APInt constant, bound;
  if (matchPattern(oldIndex, m_ConstantInt(&constant)) && matchPattern(oldSize, m_ConstantInt(&bound)))
    return !constant.isNegative() && constant.slt(bound);
  // An index that has been checked against the same size.
  if (auto checked = oldIndex.getDefiningOp<CheckedIndexOp>())
    return isSameIndex(checked.getSize(), oldSize) || isWithin(checked.getIndex(), oldSize);
  auto argument = dyn_cast<BlockArgument>(oldIndex);
  if (!argument)
    return false;
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto forEach = dyn_cast<ForEachOp>(parent))
    return isSameIndex(forEach.getBounds()[argument.getArgNumber()], oldSize);
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    APInt lower;
    return argument == loop.getInductionVar() && matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
           !lower.isNegative() && isSameIndex(loop.getUpperBound(), oldSize);
  }
  return false;
}

void Translator::translateCheckedIndex(CheckedIndexOp op) {
  Location loc = op.getLoc();
  Value position = plain(op.getIndex());
  if (hoisted.contains(op) || isWithin(op.getIndex(), op.getSize())) {
    set(op, position);
    return;
  }
  Value bound = plain(op.getSize());
  // One unsigned comparison finds negative indices too, for sizes are not negative.
  Value bad = compare(b, loc, CmpIPredicate::uge, position, bound);
  failIf(b, loc, bad, PMAP_FAIL_INDEX, {position, index(op.getDim(), loc), bound});
  // Clamped, so that a read that is moved above the check stays harmless.
  set(op, arith::SelectOp::create(b, loc, bad, index(0, loc), position));
}

void Translator::checkIndices(Operation *op, Value oldIndices, bool isUnsigned, Value bound, int64_t dim) {
  Location loc = op->getLoc();
  auto toIndex = [&](OpBuilder &builder, Value element) -> Value {
    if (isUnsigned)
      return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), element);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), element);
  };
  Value dimension = index(dim, loc);
  View source = view(oldIndices);
  auto type = dyn_cast<RankedTensorType>(source.base.getType());
  if (!type) {
    Value position = toIndex(b, source.base);
    failIf(b, loc, compare(b, loc, CmpIPredicate::uge, position, bound), PMAP_FAIL_INDEX, {position, dimension, bound});
    return;
  }
  // First a reduction that finds whether there is a bad index at all: it vectorizes and costs little. The largest
  // index, read as unsigned, is too large exactly when one is.
  Type element = type.getElementType();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  Value init = linalg::FillOp::create(b, loc, zero, empty(loc, {}, element)).getResult(0);
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::reduction);
  SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(type.getRank()),
                              AffineMap::get(type.getRank(), 0, b.getContext())};
  auto largest = linalg::GenericOp::create(b, loc, init.getType(), source.base, init, maps, iterators,
                                           [&](OpBuilder &builder, Location at, ValueRange elements) {
                                             Value m = arith::MaxUIOp::create(builder, at, elements[0], elements[1]);
                                             linalg::YieldOp::create(builder, at, m);
                                           });
  Value worst = tensor::ExtractOp::create(b, loc, largest.getResult(0), ValueRange());
  Value position = toIndex(b, worst);
  // An empty list of indices is fine even for an empty array, and then the largest is 0.
  Value count = index(1, loc);
  for (int64_t i = 0; i < type.getRank(); ++i)
    count = arith::MulIOp::create(b, loc, count, tensor::DimOp::create(b, loc, source.base, i));
  Value some = compare(b, loc, CmpIPredicate::ne, count, index(0, loc));
  Value bad = arith::AndIOp::create(b, loc, some, compare(b, loc, CmpIPredicate::uge, position, bound));
  failIf(b, loc, bad, PMAP_FAIL_INDEX, {position, dimension, bound});
}

void Translator::checkSlice(Operation *op, Value array, Type part, ValueRange offsets, ArrayRef<int64_t> strides) {
  Location loc = op->getLoc();
  Value zero = index(0, loc);
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    Size whole = sizeOf(array.getType(), dim), length = sizeOf(part, dim);
    APInt constant;
    bool isConstant = matchPattern(offset, m_ConstantInt(&constant));
    if (isConstant && !constant.isNegative() && length.provablyNonNegative()) {
      Size stop = Size(constant.getSExtValue()) + (length - Size(1)) * Size(strides[dim]) + Size(1);
      if (stop.provablyAtMost(whole) &&
          (length.provablyPositive() || Size(constant.getSExtValue()).provablyAtMost(whole)))
        continue;
    }
    Value start = plain(offset), count = size(length, loc), bound = size(whole, loc);
    Value stop = arith::AddIOp::create(b, loc, start, count);
    if (strides[dim] != 1) {
      Value one = index(1, loc), step = index(strides[dim], loc);
      Value reach = arith::MulIOp::create(b, loc, arith::SubIOp::create(b, loc, count, one), step);
      Value last = arith::AddIOp::create(b, loc, arith::AddIOp::create(b, loc, start, reach), one);
      stop = arith::SelectOp::create(b, loc, compare(b, loc, CmpIPredicate::sgt, count, zero), last, stop);
    }
    Value bad = compare(b, loc, CmpIPredicate::slt, start, zero);
    if (!length.provablyNonNegative())
      bad = anyOf(b, loc, bad, compare(b, loc, CmpIPredicate::slt, count, zero));
    bad = anyOf(b, loc, bad, compare(b, loc, CmpIPredicate::sgt, stop, bound));
    failIf(b, loc, bad, PMAP_FAIL_SLICE, {start, stop, bound});
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Integer division, sizes, scalars
//===--------------------------------------------------------------------------------------------------------------===//

void Translator::checkDivisor(Operation *op, Value oldDivisor) {
  Location loc = op->getLoc();
  Value base = view(oldDivisor).base;
  APInt constant;
  if (matchPattern(base, m_ConstantInt(&constant)) && !constant.isZero())
    return;
  auto type = dyn_cast<RankedTensorType>(base.getType());
  if (type) {
    // The least element, read as unsigned, is 0 exactly when one is.
    Type element = type.getElementType();
    Value ones = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, -1));
    Value init = linalg::FillOp::create(b, loc, ones, empty(loc, {}, element)).getResult(0);
    SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::reduction);
    SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(type.getRank()),
                                AffineMap::get(type.getRank(), 0, b.getContext())};
    auto least = linalg::GenericOp::create(b, loc, init.getType(), base, init, maps, iterators,
                                           [&](OpBuilder &builder, Location at, ValueRange elements) {
                                             Value m = arith::MinUIOp::create(builder, at, elements[0], elements[1]);
                                             linalg::YieldOp::create(builder, at, m);
                                           });
    base = tensor::ExtractOp::create(b, loc, least.getResult(0), ValueRange());
  }
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(base.getType()));
  failIf(b, loc, compare(b, loc, CmpIPredicate::eq, base, zero), PMAP_FAIL_DIVIDE_BY_ZERO, {});
}

void Translator::translateBindSize(BindSizeOp op) {
  Location loc = op.getLoc();
  Value value = plain(op.getValue()), zero = index(0, loc);
  Value negative = compare(b, loc, CmpIPredicate::slt, value, zero);
  failIf(b, loc, negative, PMAP_FAIL_NEGATIVE_SIZE, {value}, readableSize(op.getSymbol()));
  // Sizes that depend on the symbol are computed after the last op of the check.
  sizes.bind(op.getSymbol(), value, &*std::prev(b.getInsertionPoint()));
  set(op, value);
}

std::pair<int64_t, int64_t> rangeOfInteger(IntegerType type, bool isUnsigned) {
  unsigned width = type.getWidth();
  if (isUnsigned)
    return {0, width >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t(1) << width) - 1};
  return {APInt::getSignedMinValue(width).getSExtValue(), APInt::getSignedMaxValue(width).getSExtValue()};
}

void Translator::translateFromIndex(FromIndexOp op) {
  Location loc = op.getLoc();
  Type type = cast<RankedTensorType>(op.getType()).getElementType();
  Value value = plain(op.getIndex());
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer) {
    Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    set(op, arith::SIToFPOp::create(b, loc, type, wide));
    return;
  }
  bool isUnsigned = op.getIsUnsigned();
  if (!hoisted.contains(op) && (integer.getWidth() < 64 || isUnsigned)) {
    auto [least, greatest] = rangeOfInteger(integer, isUnsigned);
    Value bad = compare(b, loc, CmpIPredicate::slt, value, index(least, loc));
    if (greatest != std::numeric_limits<int64_t>::max())
      bad = anyOf(b, loc, bad, compare(b, loc, CmpIPredicate::sgt, value, index(greatest, loc)));
    failIf(b, loc, bad, PMAP_FAIL_NARROW, {value}, ((isUnsigned ? "u" : "i") + Twine(integer.getWidth())).str());
  }
  set(op, arith::IndexCastOp::create(b, loc, type, value));
}

} // namespace pmap
