// Reductions and scans over dimensions.

#include "compiler/Dialect/IR/NeedsElements.h"
#include "compiler/Sema/Builtins.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

using Dims = SmallVector<int64_t, 4>;

/// The array, the dimensions and `keep:` of a reduction.
struct Reduction {
  Operand x;
  Dims dims;
  bool keep = false;
};

std::optional<Reduction> read(CallContext &c) {
  Arguments arguments(c);
  Reduction result;
  result.x = arguments.array("x");
  if (!result.x)
    return std::nullopt;
  auto dims = arguments.axes(result.x.rank());
  auto keep = arguments.flag("keep", false);
  if (!dims || !keep)
    return std::nullopt;
  result.dims = *dims;
  result.keep = *keep;
  return result;
}

Value finish(CallContext &c, Emit &m, const Reduction &r, mlir::Value result, DType dtype) {
  return Value::array(r.keep ? m.keepDims(result, r.dims) : result, dtype, c.range);
}

/// The number of elements that meet in one result, as a scalar of `dtype` spread over `like`.
mlir::Value countLike(Emit &m, mlir::Value like, mlir::Value array, llvm::ArrayRef<int64_t> dims, DType dtype) {
  Size count(1);
  SmallVector<Size, 4> sizes = m.sizes(array);
  for (int64_t dim : dims)
    count *= sizes[dim];
  return m.sizeLike(like, count, dtype);
}

Value sumOrProduct(CallContext &c) {
  auto r = read(c);
  if (!r)
    return Value::error();
  if (r->x.dtype == DType::Key)
    return Arguments(c).badDType(r->x, "numbers");
  DType dtype = dtypeOfSum(r->x.dtype);
  Emit m(c);
  auto kind = c.builtin.name == "sum" ? ReductionKind::Sum : ReductionKind::Prod;
  return finish(c, m, *r, m.reduce(kind, m.convert(r->x.ssa, r->x.dtype, dtype), r->dims), dtype);
}

Value extremum(CallContext &c) {
  auto r = read(c);
  if (!r)
    return Value::error();
  if (r->x.dtype == DType::Key)
    return Arguments(c).badDType(r->x, "numbers");
  SmallVector<Size, 4> sizes = c.e.sizesOf(r->x.ssa);
  for (int64_t dim : r->dims)
    if (sizes[dim].isConstant(0))
      return c.e.error(Code::E0409, c.range,
                       "`" + c.builtin.name + "` over dimension " + std::to_string(dim) + " of size 0 has no value");
  Emit m(c);
  auto kind = c.builtin.name == "max" ? maxKind(r->x.dtype) : minKind(r->x.dtype);
  mlir::Value result = m.reduce(kind, r->x.ssa, r->dims);
  if (llvm::any_of(r->dims, [&](int64_t dim) { return !sizes[dim].provablyPositive(); }))
    setNeedsElements(result.getDefiningOp<ReduceOp>());
  return finish(c, m, *r, result, r->x.dtype);
}

Value anyOrAll(CallContext &c) {
  auto r = read(c);
  if (!r)
    return Value::error();
  if (!isBool(r->x.dtype)) {
    Report report =
        c.e.error(Code::E0320, r->x.range,
                  "`" + c.builtin.name + "` is for bool, got " + c.e.renderArray(r->x.dtype, c.e.sizesOf(r->x.ssa)));
    if (r->x.range.isValid())
      report.fix(r->x.range.endPoint(), " != 0");
    return report;
  }
  Emit m(c);
  auto kind = c.builtin.name == "any" ? ReductionKind::Or : ReductionKind::And;
  return finish(c, m, *r, m.reduce(kind, r->x.ssa, r->dims), DType::Bool);
}

/// Half floats are summed and divided as f32, then rounded once.
DType workDType(DType dtype) {
  DType mean = dtypeOfMean(dtype);
  return mean == DType::F16 || mean == DType::BF16 ? DType::F32 : mean;
}

mlir::Value meanOf(Emit &m, mlir::Value x, llvm::ArrayRef<int64_t> dims, DType dtype) {
  mlir::Value total = m.reduce(ReductionKind::Sum, x, dims);
  return m.div(total, countLike(m, total, x, dims, dtype));
}

Value mean(CallContext &c) {
  auto r = read(c);
  if (!r)
    return Value::error();
  if (r->x.dtype == DType::Key)
    return Arguments(c).badDType(r->x, "numbers");
  DType work = workDType(r->x.dtype), dtype = dtypeOfMean(r->x.dtype);
  Emit m(c);
  mlir::Value result = meanOf(m, m.convert(r->x.ssa, r->x.dtype, work), r->dims, work);
  return finish(c, m, *r, m.convert(result, work, dtype), dtype);
}

/// The mean squared distance from the mean, over count - ddof; `std` is its root.
Value variance(CallContext &c) {
  auto r = read(c);
  if (!r)
    return Value::error();
  if (r->x.dtype == DType::Key)
    return Arguments(c).badDType(r->x, "numbers");
  int64_t ddof = 0;
  if (c.has("ddof")) {
    auto literal = Arguments(c).integer(c["ddof"], "`ddof:`");
    if (!literal)
      return Value::error();
    ddof = *literal;
  }
  DType work = workDType(r->x.dtype), dtype = dtypeOfMean(r->x.dtype);
  Emit m(c);
  mlir::Value x = m.convert(r->x.ssa, r->x.dtype, work);
  SmallVector<Size, 4> sizes = m.sizes(x);
  mlir::Value centre = meanOf(m, x, r->dims, work);
  Dims left;
  for (int64_t i = 0; i < int64_t(sizes.size()); ++i)
    if (!llvm::is_contained(r->dims, i))
      left.push_back(i);
  mlir::Value distance = m.sub(x, m.broadcast(centre, sizes, left));
  mlir::Value total = m.reduce(ReductionKind::Sum, m.mul(distance, distance), r->dims);
  mlir::Value count = countLike(m, total, x, r->dims, work);
  if (ddof)
    count = m.sub(count, m.like(count, double(ddof), work));
  mlir::Value result = m.div(total, count);
  if (c.builtin.name == "std")
    result = mlir::math::SqrtOp::create(m.builder, m.loc, result);
  return finish(c, m, *r, m.convert(result, work, dtype), dtype);
}

Value argExtremum(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  auto keep = arguments.flag("keep", false);
  if (!x || !keep)
    return Value::error();
  if (x.dtype == DType::Key)
    return arguments.badDType(x, "numbers");
  Emit m(c);
  mlir::Value array = x.ssa;
  SmallVector<Size, 4> sizes = m.sizes(array);
  int64_t dim = 0;
  if (c.has("axis")) {
    auto chosen = arguments.axis(x.rank(), std::nullopt);
    if (!chosen)
      return Value::error();
    dim = *chosen;
  } else {
    // Without an axis, the position in the flattened array.
    Size count(1);
    for (const Size &size : sizes)
      count *= size;
    array = m.reshape(array, {count});
    sizes = {count};
    if (*keep && x.rank() != 1)
      return c.e.error(Code::E0520, c.range, "`" + c.builtin.name + "` with `keep:` needs an `axis:`, got none");
  }
  if (sizes[dim].isConstant(0))
    return c.e.error(Code::E0409, c.range,
                     "`" + c.builtin.name + "` over dimension " + std::to_string(dim) + " of size 0 has no value");
  DType dtype = x.dtype;
  if (isBool(dtype)) {
    array = m.convert(array, dtype, DType::I32);
    dtype = DType::I32;
  }
  auto kind = c.builtin.name == "argmax" ? maxKind(dtype) : minKind(dtype);
  mlir::Value result = ArgReduceOp::create(m.builder, m.loc, kind, array, dim);
  return Value::array(*keep ? m.keepDims(result, {dim}) : result, DType::I32, c.range);
}

Value scan(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.array("x");
  if (!x)
    return Value::error();
  if (x.dtype == DType::Key)
    return arguments.badDType(x, "numbers");
  DType dtype = dtypeOfSum(x.dtype);
  Emit m(c);
  mlir::Value array = m.convert(x.ssa, x.dtype, dtype);
  int64_t dim = 0;
  if (c.has("axis") || x.rank() == 1) {
    auto chosen = arguments.axis(x.rank(), 0);
    if (!chosen)
      return Value::error();
    dim = *chosen;
  } else {
    Size count(1);
    for (const Size &size : m.sizes(array))
      count *= size;
    array = m.reshape(array, {count});
  }
  auto kind = c.builtin.name == "cumsum" ? ReductionKind::Sum : ReductionKind::Prod;
  mlir::Value result = ScanOp::create(m.builder, m.loc, array.getType(), kind, array, uint64_t(dim));
  return Value::array(result, dtype, c.range);
}

/// log(sum(exp(x))): the maximum is taken out first, and rows of minus infinities stay that.
Value logSumExp(CallContext &c) {
  Arguments arguments(c);
  Operand x = arguments.floating("x");
  if (!x)
    return Value::error();
  auto dims = arguments.axes(x.rank());
  auto keep = arguments.flag("keep", false);
  if (!dims || !keep)
    return Value::error();
  Emit m(c);
  SmallVector<Size, 4> sizes = m.sizes(x.ssa);
  Dims left;
  for (int64_t i = 0; i < int64_t(sizes.size()); ++i)
    if (!llvm::is_contained(*dims, i))
      left.push_back(i);
  mlir::Value top = m.reduce(ReductionKind::Max, x.ssa, *dims);
  mlir::Value limit = m.like(top, HUGE_VAL, x.dtype);
  mlir::Value magnitude = mlir::math::AbsFOp::create(m.builder, m.loc, top);
  top = m.select(m.less(magnitude, limit, x.dtype), top, m.like(top, 0, x.dtype));
  top = StopGradientOp::create(m.builder, m.loc, top.getType(), top);
  mlir::Value shifted = m.sub(x.ssa, m.broadcast(top, sizes, left));
  mlir::Value powers = mlir::math::ExpOp::create(m.builder, m.loc, shifted);
  mlir::Value total = m.reduce(ReductionKind::Sum, powers, *dims);
  mlir::Value result = m.add(mlir::math::LogOp::create(m.builder, m.loc, total), top);
  return Value::array(*keep ? m.keepDims(result, *dims) : result, x.dtype, c.range);
}

} // namespace

void sema::registerReduceBuiltins(BuiltinTable &table) {
  for (StringRef name : {"sum", "prod"})
    table.add(name, "x, axis:?, keep:?", sumOrProduct);
  for (StringRef name : {"max", "min"})
    table.add(name, "x, axis:?, keep:?", extremum);
  for (StringRef name : {"any", "all"})
    table.add(name, "x, axis:?, keep:?", anyOrAll);
  table.add("mean", "x, axis:?, keep:?", mean);
  for (StringRef name : {"var", "std"})
    table.add(name, "x, axis:?, keep:?, ddof:?", variance);
  for (StringRef name : {"argmax", "argmin"})
    table.add(name, "x, axis:?, keep:?", argExtremum);
  for (StringRef name : {"cumsum", "cumprod"})
    table.add(name, "x, axis:?", scan);
  table.add("logsumexp", "x, axis:?, keep:?", logSumExp);
}
