// Reading the arguments of builtins, and emitting operations by dtype.

#include "compiler/Dialect/IR/Infer.h"
#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

//===--- Arguments --------------------------------------------------------------------------------------------===//

Operand Arguments::asArray(const Value &value, std::optional<DType> hint) {
  Value array = value ? e.materialize(value, hint) : Value::error();
  const auto *data = array.as<ArrayValue>();
  if (!data)
    return {};
  return {data->ssa, data->dtype, value.range()};
}

Operand Arguments::array(StringRef parameter, std::optional<DType> hint) { return asArray(c[parameter], hint); }

Value Arguments::badDType(const Operand &operand, StringRef wanted, StringRef conversion) {
  Report report =
      e.error(Code::E0320, operand.range,
              name() + " is for " + wanted.str() + ", got " + e.renderArray(operand.dtype, e.sizesOf(operand.ssa)));
  if (!conversion.empty() && operand.range.isValid() && operand.dtype != DType::Key) {
    report.fix(operand.range.startPoint(), conversion + "(");
    report.fix(operand.range.endPoint(), ")");
  }
  return report;
}

Operand Arguments::floating(StringRef parameter) {
  Operand operand = array(parameter, e.dtypeOf(c[parameter]) ? std::nullopt : std::optional(DType::F32));
  if (operand && !isFloat(operand.dtype)) {
    badDType(operand, "floats", "f32");
    return {};
  }
  return operand;
}

Operand Arguments::notKeys(StringRef parameter, std::optional<DType> hint) {
  Operand operand = array(parameter, hint);
  if (!operand || operand.dtype != DType::Key)
    return operand;
  badDType(operand, "numbers");
  return {};
}

Operand Arguments::integers(StringRef parameter) {
  Operand operand = array(parameter);
  if (operand && !isInteger(operand.dtype)) {
    badDType(operand, "integers");
    return {};
  }
  return operand;
}

std::optional<int64_t> Arguments::integer(const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  if (const auto *literal = value.as<IntValue>())
    return literal->value;
  if (const auto *size = value.as<SizeValue>())
    if (auto constant = size->polynomial.constant())
      return constant;
  return e.error(Code::E0520, value.range(),
                 name() + ": " + what + " must be a literal integer, got " + describeKind(value));
}

std::optional<int64_t> Arguments::dimension(const Value &value, int64_t rank) {
  auto literal = integer(value, "a dimension");
  if (!literal)
    return std::nullopt;
  if (*literal < -rank || *literal >= rank) {
    std::string wanted = rank == 0   ? "a scalar has no dimensions"
                         : rank == 1 ? "the array has 1 dimension, so expected 0 or -1"
                                     : "the array has " + std::to_string(rank) + " dimensions, so expected " +
                                           std::to_string(-rank) + " to " + std::to_string(rank - 1);
    return e.error(Code::E0404, value.range(), name() + ": " + wanted + ", got " + std::to_string(*literal));
  }
  return *literal < 0 ? *literal + rank : *literal;
}

SmallVector<Value, 4> Arguments::sequence(const Value &value) {
  if (const auto *list = value.as<ListValue>())
    return list->elements;
  if (const auto *tuple = value.as<TupleValue>())
    return tuple->elements;
  return {value};
}

std::optional<SmallVector<int64_t, 4>> Arguments::axes(int64_t rank, StringRef parameter) {
  SmallVector<int64_t, 4> result;
  const Value &value = c[parameter];
  if (!value) {
    for (int64_t i = 0; i < rank; ++i)
      result.push_back(i);
    return result;
  }
  for (const Value &element : sequence(value)) {
    auto dim = dimension(element, rank);
    if (!dim)
      return std::nullopt;
    if (llvm::is_contained(result, *dim))
      return e.error(Code::E0405, element.range(), name() + ": dimension " + std::to_string(*dim) + " is named twice");
    result.push_back(*dim);
  }
  llvm::sort(result);
  return result;
}

std::optional<int64_t> Arguments::axis(int64_t rank, std::optional<int64_t> fallback, StringRef parameter) {
  const Value &value = c[parameter];
  if (!value) {
    if (fallback && *fallback >= 0 && *fallback < rank)
      return fallback;
    return e.error(Code::E0403, c.range, name() + " needs an array with at least one dimension, got a scalar");
  }
  return dimension(value, rank);
}

std::optional<bool> Arguments::flag(StringRef parameter, bool fallback) {
  const Value &value = c[parameter];
  if (!value)
    return fallback;
  if (const auto *literal = value.as<BoolValue>())
    return literal->value;
  if (value.isError())
    return std::nullopt;
  return e.error(Code::E0520, value.range(),
                 name() + ": `" + parameter + ":` must be `true` or `false`, got " + describeKind(value));
}

std::optional<DType> Arguments::dtype(DType fallback, StringRef parameter) {
  const Value &value = c[parameter];
  if (!value)
    return fallback;
  if (const auto *type = value.as<TypeValue>())
    if (type->dtype)
      return type->dtype;
  if (value.isError())
    return std::nullopt;
  return e.error(Code::E0520, value.range(),
                 name() + ": `" + parameter + ":` must be a dtype such as `f32`, got " + describeKind(value));
}

//===--- Emit -------------------------------------------------------------------------------------------------===//

ReductionKind sema::maxKind(DType dtype) {
  return isUnsigned(dtype) ? ReductionKind::MaxU : isBool(dtype) ? ReductionKind::Or : ReductionKind::Max;
}
ReductionKind sema::minKind(DType dtype) {
  return isUnsigned(dtype) ? ReductionKind::MinU : isBool(dtype) ? ReductionKind::And : ReductionKind::Min;
}

static bool hasFloats(mlir::Value v) { return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType())); }

/// One elementwise op. Its operands have one V (V2): a number of rows that varies between devices makes what is counted
/// by it vary, beside literals that do not.
template <typename OpTy, typename... Arguments>
static mlir::Value elementwise(Emit &m, std::initializer_list<mlir::Value> operands, Arguments... arguments) {
  SmallVector<mlir::Value, 3> same(operands);
  m.unifyVary(same);
  if constexpr (std::is_same_v<OpTy, mlir::arith::SelectOp>)
    return OpTy::create(m.builder, m.loc, same[0], same[1], same[2]);
  else
    return OpTy::create(m.builder, m.loc, arguments..., same[0], same[1]);
}

mlir::Value Emit::add(mlir::Value a, mlir::Value b) {
  return hasFloats(a) ? elementwise<mlir::arith::AddFOp>(*this, {a, b})
                      : elementwise<mlir::arith::AddIOp>(*this, {a, b});
}
mlir::Value Emit::sub(mlir::Value a, mlir::Value b) {
  return hasFloats(a) ? elementwise<mlir::arith::SubFOp>(*this, {a, b})
                      : elementwise<mlir::arith::SubIOp>(*this, {a, b});
}
mlir::Value Emit::mul(mlir::Value a, mlir::Value b) {
  return hasFloats(a) ? elementwise<mlir::arith::MulFOp>(*this, {a, b})
                      : elementwise<mlir::arith::MulIOp>(*this, {a, b});
}
mlir::Value Emit::div(mlir::Value a, mlir::Value b) { return elementwise<mlir::arith::DivFOp>(*this, {a, b}); }
mlir::Value Emit::neg(mlir::Value a) {
  if (hasFloats(a))
    return mlir::arith::NegFOp::create(builder, loc, a);
  return sub(likeInt(a, 0, DType::I64), a);
}
mlir::Value Emit::maximum(mlir::Value a, mlir::Value b, DType dtype) {
  if (isFloat(dtype))
    return elementwise<mlir::arith::MaximumFOp>(*this, {a, b});
  if (isSigned(dtype))
    return elementwise<mlir::arith::MaxSIOp>(*this, {a, b});
  return elementwise<mlir::arith::MaxUIOp>(*this, {a, b});
}
mlir::Value Emit::minimum(mlir::Value a, mlir::Value b, DType dtype) {
  if (isFloat(dtype))
    return elementwise<mlir::arith::MinimumFOp>(*this, {a, b});
  if (isSigned(dtype))
    return elementwise<mlir::arith::MinSIOp>(*this, {a, b});
  return elementwise<mlir::arith::MinUIOp>(*this, {a, b});
}

static mlir::Value compare(Emit &m, mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
  return elementwise<mlir::arith::CmpFOp>(m, {a, b}, predicate);
}
static mlir::Value compare(Emit &m, mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
  return elementwise<mlir::arith::CmpIOp>(m, {a, b}, predicate);
}

mlir::Value Emit::less(mlir::Value a, mlir::Value b, DType dtype) {
  using mlir::arith::CmpFPredicate;
  using mlir::arith::CmpIPredicate;
  if (isFloat(dtype))
    return compare(*this, CmpFPredicate::OLT, a, b);
  return compare(*this, isSigned(dtype) ? CmpIPredicate::slt : CmpIPredicate::ult, a, b);
}
mlir::Value Emit::lessEqual(mlir::Value a, mlir::Value b, DType dtype) {
  using mlir::arith::CmpFPredicate;
  using mlir::arith::CmpIPredicate;
  if (isFloat(dtype))
    return compare(*this, CmpFPredicate::OLE, a, b);
  return compare(*this, isSigned(dtype) ? CmpIPredicate::sle : CmpIPredicate::ule, a, b);
}
mlir::Value Emit::equal(mlir::Value a, mlir::Value b) {
  return hasFloats(a) ? compare(*this, mlir::arith::CmpFPredicate::OEQ, a, b)
                      : compare(*this, mlir::arith::CmpIPredicate::eq, a, b);
}
mlir::Value Emit::notEqual(mlir::Value a, mlir::Value b) {
  return hasFloats(a) ? compare(*this, mlir::arith::CmpFPredicate::UNE, a, b)
                      : compare(*this, mlir::arith::CmpIPredicate::ne, a, b);
}
mlir::Value Emit::select(mlir::Value condition, mlir::Value a, mlir::Value b) {
  return elementwise<mlir::arith::SelectOp>(*this, {condition, a, b});
}
mlir::Value Emit::logicalAnd(mlir::Value a, mlir::Value b) { return elementwise<mlir::arith::AndIOp>(*this, {a, b}); }
mlir::Value Emit::logicalOr(mlir::Value a, mlir::Value b) { return elementwise<mlir::arith::OrIOp>(*this, {a, b}); }
mlir::Value Emit::logicalNot(mlir::Value a) {
  return mlir::arith::XOrIOp::create(builder, loc, a, likeInt(a, 1, DType::Bool));
}

mlir::Value Emit::like(mlir::Value array, double value, DType dtype) {
  mlir::Value scalar = e.constant(value, dtype, range);
  return e.widen(e.splat(scalar, e.sizesOf(array), range), e.varyOf(array));
}

mlir::Value Emit::likeInt(mlir::Value array, int64_t value, DType dtype) {
  // The element type of the array decides the width; `dtype` only where it has none of its own.
  mlir::Type element = mlir::getElementTypeOrSelf(array.getType());
  DType as = element.isInteger(1)    ? DType::Bool
             : element.isInteger(8)  ? DType::I8
             : element.isInteger(16) ? DType::I16
             : element.isInteger(32) ? DType::I32
             : element.isInteger(64) ? DType::I64
                                     : dtype;
  mlir::Value scalar = e.constantInt(value, as, range);
  return e.widen(e.splat(scalar, e.sizesOf(array), range), e.varyOf(array));
}

mlir::Value Emit::sizeScalar(const Size &size, DType dtype) {
  mlir::Value index = e.indexOf(size, range);
  auto type = e.tensorType(dtype, {}, e.varyOf(size));
  return FromIndexOp::create(builder, loc, type, index, isUnsigned(dtype) ? builder.getUnitAttr() : mlir::UnitAttr());
}

mlir::Value Emit::sizeLike(mlir::Value array, const Size &size, DType dtype) {
  mlir::Value scalar = sizeScalar(size, dtype);
  return e.widen(e.splat(scalar, e.sizesOf(array), range), e.varyOf(array));
}

mlir::Value Emit::convert(mlir::Value array, DType from, DType to) {
  if (from == to)
    return array;
  Value converted = e.convert(Value::array(array, from, range), to, range);
  const auto *data = converted.as<ArrayValue>();
  return data ? data->ssa : mlir::Value();
}

mlir::Value Emit::reduce(ReductionKind kind, mlir::Value array, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return array;
  return ReduceOp::create(builder, loc, kind, array, dims);
}

mlir::Value Emit::keepDims(mlir::Value array, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return array;
  SmallVector<Size, 4> old = e.sizesOf(array), kept;
  for (size_t i = 0, k = 0; i < old.size() + dims.size(); ++i)
    kept.push_back(llvm::is_contained(dims, int64_t(i)) ? Size(1) : old[k++]);
  return reshape(array, kept);
}

mlir::Value Emit::reshape(mlir::Value array, ArrayRef<Size> sizes) {
  auto type = mlir::cast<mlir::RankedTensorType>(array.getType());
  auto result = withSizes(type, sizes);
  if (result == type)
    return array;
  // A scalar of an array whose size is not known to be 1 goes by way of one element, where the count is checked.
  bool single = llvm::all_of(e.sizesOf(array), [](const Size &size) { return size.isConstant(1); });
  if (sizes.empty() && !single)
    array = ReshapeOp::create(builder, loc, withSizes(type, Size(1)), array);
  return ReshapeOp::create(builder, loc, result, array);
}

mlir::Value Emit::transpose(mlir::Value array, ArrayRef<int64_t> permutation) {
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i)
    identity &= permutation[i] == int64_t(i);
  if (identity)
    return array;
  return TransposeOp::create(builder, loc, array, permutation);
}

mlir::Value Emit::broadcast(mlir::Value array, ArrayRef<Size> sizes, ArrayRef<int64_t> dims) {
  auto type = mlir::cast<mlir::RankedTensorType>(array.getType());
  auto result = withSizes(type, sizes);
  if (result == type)
    return array;
  return BroadcastOp::create(builder, loc, result, array, builder.getDenseI64ArrayAttr(dims));
}

mlir::Value Emit::iota(DType dtype, ArrayRef<Size> sizes, int64_t dim) {
  VarySet vary;
  for (const Size &size : sizes)
    vary = unionOf(vary, e.varyOf(size));
  return IotaOp::create(builder, loc, e.tensorType(dtype, sizes, vary), builder.getI64IntegerAttr(dim));
}

mlir::Value Emit::concat(ArrayRef<mlir::Value> arrays, int64_t dim) {
  if (arrays.size() == 1)
    return arrays[0];
  SmallVector<mlir::Value, 4> same(arrays);
  unifyVary(same);
  return ConcatOp::create(builder, loc, mlir::ValueRange(same), dim);
}

mlir::Value Emit::slice(mlir::Value array, int64_t dim, const Size &offset, const Size &length) {
  SmallVector<Size, 4> old = e.sizesOf(array), result = old;
  if (offset.isConstant(0) && length == old[dim])
    return array;
  result[dim] = length;
  SmallVector<mlir::Value, 4> offsets;
  for (int64_t i = 0; i < int64_t(old.size()); ++i)
    offsets.push_back(e.indexOf(i == dim ? offset : Size(0), range));
  bool inBounds =
      e.provablyNonNegative(offset) && e.provablyNonNegative(length) && e.provablyAtMost(offset + length, old[dim]);
  VarySet vary = unionOf(e.varyOf(array), unionOf(e.varyOf(offset), e.varyOf(length)));
  array = e.widen(array, vary);
  auto type = withSizes(mlir::cast<mlir::RankedTensorType>(array.getType()), result);
  return SliceOp::create(builder, loc, type, array, offsets, inBounds);
}

void Emit::unifyVary(llvm::MutableArrayRef<mlir::Value> arrays) {
  VarySet all;
  for (mlir::Value array : arrays)
    all = unionOf(all, e.varyOf(array));
  for (mlir::Value &array : arrays)
    array = e.widen(array, all);
}

Value sema::notBuiltYet(Elaborator &e, SourceRange range, StringRef what) {
  return e.error(Code::E0901, range, what + " is not compiled by this version yet");
}

Size sema::countOf(ArrayRef<Size> sizes) {
  Size count(1);
  for (const Size &size : sizes)
    count *= size;
  return count;
}

std::string sema::shown(CallContext &c, const Operand &x) { return c.e.renderArray(x.dtype, c.e.sizesOf(x.ssa)); }

mlir::Value sema::widenBySizes(CallContext &c, mlir::Value array, ArrayRef<Size> sizes) {
  VarySet vary;
  for (const Size &size : sizes)
    vary = unionOf(vary, c.e.varyOf(size));
  return c.e.widen(array, vary);
}
