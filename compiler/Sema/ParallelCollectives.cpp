// Reductions over devices: psum, pprod, pmean, pmax, pmin (V3, V8, V10).

#include "compiler/Sema/ParallelCollectives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// Whether a size is one of blocks, and not of the whole that they make up: it has a size of the outside in it that is
/// divided by the devices.
bool countsBlocks(Elaborator &e, const Size &size) {
  bool isWhole = false;
  Size apart = size.substitute([&](StringRef name) -> std::optional<Size> {
    const SizeSymbol *symbol = e.findSymbol(name);
    if (!symbol || symbol->splitOver.empty())
      return std::nullopt;
    Size block = Size::symbol(name), quotient = block;
    for (const std::string &axis : symbol->splitOver)
      quotient = Size::exactQuotient(quotient, Size::axis(axis));
    isWhole |= size == block * productOf(e, axisAttributes(&e.context, symbol->splitOver));
    return quotient;
  });
  // A quotient may stand within a call, as in floordiv((n)/(@a),2).
  auto isDivided = [](const Size::Factor &factor) {
    llvm::StringRef text = factor.atom->text;
    return factor.power < 0 ? text.starts_with("@") : text.contains(")/(@");
  };
  return !isWhole &&
         llvm::any_of(apart.terms(), [&](const Size::Term &term) { return llvm::any_of(term.factors, isDivided); });
}

/// Whether a number that is the same on all devices is computed from the size of a block: nullopt where anything but
/// sizes, constants and integers that the program was given is in it.
std::optional<bool> countsIn(Elaborator &e, mlir::Value value, unsigned depth = 0) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return mlir::getElementTypeOrSelf(value.getType()).isInteger() ? std::optional(false) : std::nullopt;
  if (mlir::isa<mlir::arith::ConstantOp>(op))
    return false;
  if (auto from = mlir::dyn_cast<FromIndexOp>(op)) {
    auto size = from.getIndex().getDefiningOp<SizeOp>();
    const SizeSymbol *symbol = size ? nullptr : e.symbolOf(from.getIndex());
    auto polynomial = size     ? Size::parse(size.getSize())
                      : symbol ? std::optional(Size::symbol(symbol->name))
                               : std::nullopt;
    return polynomial && countsBlocks(e, *polynomial);
  }
  constexpr unsigned deepest = 8;
  if (op->getDialect() != e.context.getLoadedDialect<mlir::arith::ArithDialect>() || depth == deepest)
    return std::nullopt;
  bool found = false;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<bool> counts = countsIn(e, operand, depth + 1);
    if (!counts)
      return std::nullopt;
    found |= *counts;
  }
  return found;
}

/// A count of devices or of the elements of all blocks, as in psum(1, "a") or psum(f32(n // 2), "a") for a block of
/// size n: the idiom, and no reason to warn.
bool isCount(Elaborator &e, const Operand &operand) {
  if (operand.rank() != 0)
    return false;
  return mlir::isa_and_nonnull<mlir::arith::ConstantOp>(operand.ssa.getDefiningOp()) ||
         countsIn(e, operand.ssa).value_or(false);
}

} // namespace

void sema::warnInvariant(CallContext &c, const Operand &operand, ArrayRef<mlir::StringAttr> missing) {
  if (isCount(c.e, operand))
    return;
  bool power = c.builtin.name == "pprod";
  std::string axis = missing.front().str();
  c.e.warning(Code::E0710, c.range,
              spelt(c) + " over \"" + axis + "\" of a value that is the same on all its devices " +
                  (power ? "raises it to the power of" : "multiplies it by") + " their number")
      .note(operand.range, "'" + c.e.sourceText(operand.range) + "' does not vary over \"" + axis + "\"");
}

namespace {

/// psum and pprod: over an axis that a value does not vary over they multiply it, or raise it to a power (V8). Where
/// the number of rows varies between devices, each multiplies by its own, and these products are summed.
Value sumOver(CallContext &c, const Value &value) {
  auto collective = readCollective(c, value, Members::AnyNumber);
  if (!collective)
    return Value::error();
  Emit m(c);
  VarySet uneven = unevenOver(c.e, collective->axes);
  bool product = c.builtin.name == "pprod";
  SmallVector<mlir::Value, 4> values;
  SmallVector<VarySet, 4> axesOf;
  for (auto [operand, invariant] : llvm::zip(collective->leaves, collective->missing)) {
    if (!invariant.empty())
      warnInvariant(c, operand, invariant);
    VarySet missing = differenceOf(collective->set, unionOf(c.e.varyOf(operand.ssa), uneven)); // with groups none
    if (isBool(operand.dtype)) {                                                               // C2: counts
      operand.ssa = m.convert(operand.ssa, operand.dtype, DType::I32);
      operand.dtype = DType::I32;
    }
    mlir::Value ssa = operand.ssa;
    VarySet over = collective->set;
    if (!product && !missing.empty()) {
      ssa = m.mul(ssa, m.sizeLike(ssa, productOf(c.e, missing), operand.dtype));
      over = differenceOf(over, missing);
    }
    ssa = c.e.widen(ssa, over);
    values.push_back(ssa);
    axesOf.push_back(over);
  }
  allReduce(c, product ? ReductionKind::Prod : ReductionKind::Sum, values, axesOf, collective->groups);
  return finishCollective(c, value, values, *collective);
}

Value psum(CallContext &c) {
  // Of a number that all devices know, `psum(1, "a")`, the sum is a multiple of their number, and a number as well.
  const Value &x = c["x"];
  bool isNumber = x && (x.is(ValueKind::Int) || x.is(ValueKind::Float) || x.is(ValueKind::Size));
  if (isNumber && c.builtin.name == "psum" && !c.has("groups")) {
    auto axes = readMeshAxes(c.e, c["axis"], c.range, spelt(c));
    if (!axes || !c.e.collectiveAllowed(*axes, c.range, c.builtin.name))
      return Value::error();
    auto attributes = axisAttributes(&c.e.context, *axes);
    VarySet varies = c.e.varyOf(x);
    varies = unionOf(varies, unevenOver(c.e, *axes));
    if (llvm::none_of(attributes, [&](mlir::StringAttr axis) { return llvm::is_contained(varies, axis); }))
      return c.e.binary(ast::BinaryOp::Mul, x, Value::size(productOf(c.e, attributes), c.range), c.range, c.range);
  }
  return sumOver(c, x);
}

//===--- pmean ------------------------------------------------------------------------------------------------===//

/// Whether a value was computed by dividing by a size that varies over one of the axes (V10).
mlir::Operation *raggedDivision(mlir::Value root, ArrayRef<mlir::StringAttr> axes) {
  llvm::SmallPtrSet<mlir::Operation *, 32> seen;
  SmallVector<mlir::Operation *, 32> work;
  auto push = [&](mlir::Value value) {
    if (mlir::Operation *op = value.getDefiningOp(); op && seen.insert(op).second)
      work.push_back(op);
  };
  /// Whether a divisor comes from a size whose value varies, through conversions, splats and arithmetic of scalars.
  auto fromVaryingSize = [&](mlir::Value divisor) {
    SmallVector<mlir::Value, 8> sources = {divisor};
    for (int steps = 0; !sources.empty() && steps < 64; ++steps) {
      mlir::Value value = sources.pop_back_val();
      mlir::Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      if (auto from = mlir::dyn_cast<FromIndexOp>(op)) {
        mlir::Operation *index = from.getIndex().getDefiningOp();
        if (index && mlir::isa<ToIndexOp>(index))
          continue;
        if (llvm::any_of(axes,
                         [&](mlir::StringAttr axis) { return contains(varyOf(from.getType()), axis.getValue()); }))
          return true;
        continue;
      }
      // A sum over devices has one value again.
      if (mlir::isa<AllReduceOp>(op))
        continue;
      sources.append(op->operand_begin(), op->operand_end());
    }
    return false;
  };
  push(root);
  while (!work.empty()) {
    mlir::Operation *op = work.pop_back_val();
    if (auto division = mlir::dyn_cast<mlir::arith::DivFOp>(op))
      if (fromVaryingSize(division.getRhs()))
        return op;
    for (mlir::Value operand : op->getOperands())
      push(operand);
    op->walk([&](mlir::Operation *inner) {
      if (inner != op && seen.insert(inner).second)
        work.push_back(inner);
    });
  }
  return nullptr;
}

/// The mean where the number of rows varies between devices: the sum of all rows, divided by how many there are.
mlir::Value meanOfRows(CallContext &c, const Collective &collective, mlir::Value x, DType dtype) {
  Emit m(c);
  DType wide = dtype == DType::F64 ? dtype : DType::F32; // C2
  x = c.e.widen(m.convert(x, dtype, wide), collective.set);
  SmallVector<mlir::Value, 4> sums = {x, c.e.widen(c.e.constant(1, wide, c.range), c.e.varyOf(x))};
  allReduce(c, ReductionKind::Sum, sums, {collective.set, collective.set});
  return m.convert(m.div(sums[0], c.e.splat(sums[1], c.e.sizesOf(x), c.range)), wide, dtype);
}

Value pmean(CallContext &c) {
  Emit m(c);
  if (c.has("weight")) {
    // psum(x * w) / psum(w), the sums in one collective. The weight is the same for all leaves.
    auto collective = readCollective(c, c["x"], Members::AnyNumber);
    if (!collective)
      return Value::error();
    SmallVector<mlir::Value, 4> values;
    SmallVector<VarySet, 4> axesOf;
    for (Operand &operand : collective->leaves) {
      DType dtype = dtypeOfMean(operand.dtype);
      operand.ssa = m.convert(operand.ssa, operand.dtype, dtype);
      operand.dtype = dtype;
      Value weight = c.e.convert(c["weight"], dtype, c.range);
      SmallVector<Value, 2> pair = {Value::array(operand.ssa, dtype, operand.range), weight};
      if (weight.isError() || !c.e.unifyForElementwise(pair, c.range, "`pmean`"))
        return Value::error();
      mlir::Value x = pair[0].as<ArrayValue>()->ssa, w = weight.as<ArrayValue>()->ssa;
      if (!c.e.sizesOf(w).empty())
        return c.e.error(Code::E0403, c["weight"].range(),
                         "`weight:` is a scalar per device, got " + c.e.render(weight));
      values.push_back(c.e.widen(m.mul(x, pair[1].as<ArrayValue>()->ssa), collective->set));
      values.push_back(c.e.widen(w, collective->set));
      axesOf.append(2, collective->set);
    }
    allReduce(c, ReductionKind::Sum, values, axesOf, collective->groups);
    SmallVector<mlir::Value, 4> means;
    for (size_t i = 0; i < values.size(); i += 2) {
      SmallVector<mlir::Value, 2> parts = {values[i], c.e.splat(values[i + 1], c.e.sizesOf(values[i]), c.range)};
      m.unifyVary(parts);
      means.push_back(m.div(parts[0], parts[1]));
    }
    return finishCollective(c, c["x"], means, *collective);
  }
  auto collective = readCollective(c, c["x"], Members::AnyNumber);
  if (!collective)
    return Value::error();
  VarySet uneven = unevenOver(c.e, collective->axes);
  bool countsRows = differenceOf(uneven, collective->set).size() < uneven.size();
  SmallVector<mlir::Value, 4> values;
  SmallVector<VarySet, 4> axesOf;
  for (Operand &operand : collective->leaves) {
    // V8: a value that does not vary is its own mean.
    VarySet present = differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(operand.ssa)));
    if (mlir::Operation *division = raggedDivision(operand.ssa, present)) {
      Report report =
          c.e.warning(Code::E0711, c.range,
                      "this `pmean` weighs blocks of different sizes alike: expected `weight: n`, or sums of both "
                      "parts divided, got an unweighted mean");
      SourceRange at = c.e.rangeOf(division->getLoc());
      if (at.isValid())
        report.note(at, "'" + c.e.sourceText(at) + "' divides by a size that varies");
    }
    DType dtype = dtypeOfMean(operand.dtype);
    operand.ssa = m.convert(operand.ssa, operand.dtype, dtype);
    operand.dtype = dtype;
    if (countsRows && !present.empty()) {
      operand.ssa = meanOfRows(c, *collective, operand.ssa, dtype);
      present.clear();
    }
    values.push_back(operand.ssa);
    axesOf.push_back(present);
  }
  allReduce(c, ReductionKind::Mean, values, axesOf, collective->groups);
  return finishCollective(c, c["x"], values, *collective);
}

Value extremumOver(CallContext &c) {
  auto collective = readCollective(c, c["x"], Members::AnyNumber);
  if (!collective)
    return Value::error();
  Emit m(c);
  bool larger = c.builtin.name == "pmax";
  SmallVector<mlir::Value, 4> results(collective->leaves.size());
  // Leaves of one kind of comparison go together; a bool travels as an integer.
  for (ReductionKind kind :
       {larger ? ReductionKind::Max : ReductionKind::Min, larger ? ReductionKind::MaxU : ReductionKind::MinU}) {
    SmallVector<mlir::Value, 4> values;
    SmallVector<VarySet, 4> axesOf;
    SmallVector<size_t, 4> places;
    bool isUnsignedKind = kind == ReductionKind::MaxU || kind == ReductionKind::MinU;
    for (auto [i, operand] : llvm::enumerate(collective->leaves)) {
      if ((isUnsigned(operand.dtype) || isBool(operand.dtype)) != isUnsignedKind)
        continue;
      mlir::Value ssa = isBool(operand.dtype) ? m.convert(operand.ssa, DType::Bool, DType::U8) : operand.ssa;
      values.push_back(ssa);
      axesOf.push_back(differenceOf(collective->set, differenceOf(collective->set, c.e.varyOf(ssa))));
      places.push_back(i);
    }
    allReduce(c, kind, values, axesOf, collective->groups);
    for (auto [place, value] : llvm::zip(places, values))
      results[place] = isBool(collective->leaves[place].dtype) ? m.convert(value, DType::U8, DType::Bool) : value;
  }
  return finishCollective(c, c["x"], results, *collective);
}

} // namespace

void sema::registerCollectiveBuiltins(BuiltinTable &table) {
  registerGatherBuiltins(table);
  registerExchangeBuiltins(table);
  registerPermuteBuiltins(table);
  table.add("psum", "x, axis, groups:?", psum);
  table.add("pprod", "x, axis, groups:?", psum);
  table.add("pmean", "x, axis, weight:?, groups:?", pmean);
  table.add("pmax", "x, axis, groups:?", extremumOver);
  table.add("pmin", "x, axis, groups:?", extremumOver);
}
