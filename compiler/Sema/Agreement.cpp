// How operands meet: in one dtype, one shape by broadcasting, one variance.
#include "compiler/Sema/Elaborator.h"

using namespace llvm;

namespace pmap::sema {

std::optional<DType> Elaborator::commonDType(ArrayRef<Value> operands, SourceRange range, StringRef what,
                                             bool allowAllWeak) {
  failedCommonDType = true;
  std::optional<DType> strong;
  const Value *first = nullptr;
  bool weakFloat = false;
  const Value *fraction = nullptr;
  for (const Value &operand : operands) {
    if (!operand || operand.isError())
      return std::nullopt;
    if (!isArrayLike(operand)) {
      error(Code::E0303, operand.range(), what + ": expected an array, got " + describeKind(operand));
      return std::nullopt;
    }
    std::optional<DType> dtype = dtypeOf(operand);
    if (isWeakFloat(operand)) {
      weakFloat = true;
      fraction = &operand;
    }
    if (!dtype)
      continue;
    if (!strong) {
      strong = dtype;
      first = &operand;
      continue;
    }
    if (*dtype == *strong)
      continue;
    Report report =
        error(Code::E0301, range,
              what + ": " + dtypeName(*strong) + " meets " + dtypeName(*dtype) + ", and neither converts by itself");
    noteDType(report, *first);
    noteDType(report, operand);
    // The fix converts towards the float, or the wider of two of a kind.
    auto weight = [](DType d) { return (isFloat(d) ? 1000 : 0) + (isBool(d) ? -1000 : 0) + int(dtypeBits(d)); };
    bool towardsFirst = weight(*strong) >= weight(*dtype);
    const Value &converted = towardsFirst ? operand : *first;
    DType target = towardsFirst ? *strong : *dtype;
    if (target != DType::Key && converted.range().isValid())
      report.fix(converted.range(), dtypeName(target) + "(" + converted.range().text() + ")");
    return std::nullopt;
  }
  if (strong && weakFloat && !isFloat(*strong)) {
    Report report = error(Code::E0302, range,
                          what + ": the fraction '" + sourceText(fraction->range()) + "' meets " + dtypeName(*strong) +
                              ", and neither converts by itself");
    noteDType(report, *first);
    if (first->range().isValid())
      report.fix(first->range(), "f32(" + first->range().text() + ")");
    return std::nullopt;
  }
  failedCommonDType = false;
  if (strong)
    return strong;
  if (allowAllWeak)
    return std::nullopt;
  return weakFloat ? DType::F32 : DType::I32;
}

std::optional<SmallVector<Size>> Elaborator::broadcastShapes(ArrayRef<Value> operands, SourceRange range,
                                                             StringRef what) {
  SmallVector<Size> result;
  SmallVector<const Value *> owner; // which operand gave a dimension its size
  for (const Value &operand : operands) {
    SmallVector<Size> sizes = sizesOf(operand);
    if (sizes.size() > result.size()) {
      size_t added = sizes.size() - result.size();
      result.insert(result.begin(), added, Size(1));
      owner.insert(owner.begin(), added, nullptr);
    }
    size_t shift = result.size() - sizes.size();
    for (auto [i, size] : enumerate(sizes)) {
      Size &merged = result[shift + i];
      if (merged == size || size.isConstant(1))
        continue;
      if (merged.isConstant(1)) {
        merged = size;
        owner[shift + i] = &operand;
        continue;
      }
      if (assumedEqual(merged, size))
        return std::nullopt;
      const Value &other = owner[shift + i] ? *owner[shift + i] : operands.front();
      Report report = error(Code::E0402, range,
                            what + ": shapes " + render(sizesOf(other)) + " and " + render(sizes) +
                                " do not broadcast: " + render(merged) + " meets " + render(size));
      noteBirths(report, merged);
      noteBirths(report, size);
      return std::nullopt;
    }
  }
  return result;
}

bool Elaborator::unifyForElementwise(MutableArrayRef<Value> operands, SourceRange range, StringRef what,
                                     bool keepDTypes) {
  std::optional<DType> dtype;
  if (!keepDTypes) {
    dtype = commonDType(operands, range, what);
    if (!dtype)
      return false;
  }
  VarySet vary;
  bool ok = true;
  for (Value &operand : operands) {
    // Lists and distributed values become tensors first, so that sizes below are those of what is computed with.
    operand = materialize(operand, dtype);
    ok &= !operand.isError();
    vary = unionOf(vary, varyOf(operand));
  }
  if (!ok)
    return false;
  std::optional<SmallVector<Size>> shape = broadcastShapes(operands, range, what);
  if (!shape)
    return false;
  for (Value &operand : operands) {
    const auto *array = operand.as<ArrayValue>();
    mlir::Value ssa = broadcastTo(widen(array->ssa, vary), *shape, range);
    if (ssa != array->ssa)
      operand = Value::array(ssa, array->dtype, operand.range());
  }
  return true;
}

} // namespace pmap::sema
