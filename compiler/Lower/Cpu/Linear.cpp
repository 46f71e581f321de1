// Sums of index values: reading them from arithmetic, and back.

#include "compiler/Lower/Cpu/Linear.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace pmap {

// a + factor * b, without terms that cancel.
static Linear sum(const Linear &a, const Linear &b, int64_t factor) {
  Linear result = a;
  result.constant += factor * b.constant;
  for (auto [value, count] : b.terms) {
    auto *same = llvm::find_if(result.terms, [&](const auto &term) { return term.first == value; });
    if (same == result.terms.end())
      result.terms.push_back({value, factor * count});
    else if ((same->second += factor * count) == 0)
      result.terms.erase(same);
  }
  return result;
}

Linear operator+(const Linear &a, const Linear &b) { return sum(a, b, 1); }
Linear operator-(const Linear &a, const Linear &b) { return sum(a, b, -1); }

Linear linearOf(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Linear(*constant);
  Value index = cast<Value>(value);
  if (auto add = index.getDefiningOp<arith::AddIOp>())
    return linearOf(add.getLhs()) + linearOf(add.getRhs());
  if (auto subtract = index.getDefiningOp<arith::SubIOp>())
    return linearOf(subtract.getLhs()) - linearOf(subtract.getRhs());
  if (auto multiply = index.getDefiningOp<arith::MulIOp>())
    if (std::optional<int64_t> factor = getConstantIntValue(multiply.getRhs()))
      return sum(Linear(), linearOf(multiply.getLhs()), *factor);
  Linear result;
  result.terms.push_back({index, 1});
  return result;
}

SmallVector<Linear> linearOf(ArrayRef<OpFoldResult> values) {
  return llvm::map_to_vector(values, [](OpFoldResult value) { return linearOf(value); });
}

std::optional<int64_t> difference(const Linear &a, const Linear &b) {
  Linear rest = a - b;
  if (!rest.terms.empty())
    return std::nullopt;
  return rest.constant;
}

bool isAtMost(const Linear &a, const Linear &b) {
  std::optional<int64_t> more = difference(a, b);
  return more && *more <= 0;
}

Value valueOf(OpBuilder &builder, Location loc, const Linear &linear) {
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value result;
  for (auto [value, count] : linear.terms) {
    if (result && count == -1) {
      result = builder.createOrFold<arith::SubIOp>(loc, result, value);
      continue;
    }
    Value term = count == 1 ? value : builder.createOrFold<arith::MulIOp>(loc, value, constant(count));
    result = result ? builder.createOrFold<arith::AddIOp>(loc, result, term) : term;
  }
  if (!result)
    return constant(linear.constant);
  return linear.constant ? builder.createOrFold<arith::AddIOp>(loc, result, constant(linear.constant)) : result;
}

} // namespace pmap
