// Values as sizes: literals, polynomials, integers that only the run knows, and what is computed from them.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/ParallelMap.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace pmap::sema {

/// The bindings of an integer that are still in force: `plain` of the integer itself, which checks it, and `clamped` of
/// the greater of it and 0, which does not.
struct IntegerBindings {
  BindSizeOp plain, clamped;
  ToIndexOp index;
};
static IntegerBindings bindingsOf(const Elaborator &e, mlir::Value integer) {
  auto visibleAmong = [&](mlir::Operation *op) {
    for (mlir::Operation *user : op->getResult(0).getUsers())
      if (auto binding = dyn_cast<BindSizeOp>(user); binding && e.isVisible(binding))
        return binding;
    return BindSizeOp();
  };
  IntegerBindings found;
  for (mlir::Operation *user : integer.getUsers()) {
    auto index = dyn_cast<ToIndexOp>(user);
    if (!index)
      continue;
    if (!found.plain)
      found.plain = visibleAmong(index);
    for (mlir::Operation *most : index->getResult(0).getUsers())
      if (isa<mlir::arith::MaxSIOp>(most) && !found.clamped) {
        found.clamped = visibleAmong(most);
        found.index = index;
      }
  }
  return found;
}

/// Whether an `if` lies between the insertion point and the block that defines a value.
static bool isBranchOf(const Elaborator &e, mlir::Value value) {
  for (mlir::Block *block = e.builder.getInsertionBlock(); block && block != value.getParentBlock();) {
    mlir::Operation *parent = block->getParentOp();
    if (isa_and_nonnull<mlir::scf::IfOp>(parent))
      return true;
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

/// The size that an integer is: one symbol each, checked to be at least 0 where it becomes a size. In a branch of an
/// `if` the symbol is bound where the integer is, so that it means the same in the other branch and behind the `if`;
/// the check stays in the branch.
Size sizeOfInteger(Elaborator &e, mlir::Value integer, bool isUnsigned, StringRef shown, SourceRange range,
                   std::string birthText) {
  auto check = [&](mlir::Value index) { e.bindSize(shown, index, range, birthText, e.varyOf(integer)); };
  IntegerBindings known = bindingsOf(e, integer);
  if (known.clamped) {
    if (!known.plain)
      check(known.index);
    return Size::symbol(known.clamped.getSymbol());
  }
  if (known.plain)
    return Size::symbol(known.plain.getSymbol());
  mlir::Type type = e.builder.getIndexType();
  mlir::Location at = e.loc(range);
  if (!isBranchOf(e, integer))
    return e.bindSize(shown, ToIndexOp::create(e.builder, at, type, integer, isUnsigned), range, birthText,
                      e.varyOf(integer));
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  auto here = e.builder.saveInsertionPoint();
  e.builder.setInsertionPointAfterValue(integer);
  auto raw = ToIndexOp::create(e.builder, at, type, integer, isUnsigned);
  auto zero = mlir::arith::ConstantIndexOp::create(e.builder, at, 0);
  auto least = mlir::arith::MaxSIOp::create(e.builder, at, raw, zero);
  // The check takes the plain name, which its message shows.
  e.builder.restoreInsertionPoint(here);
  check(raw);
  e.builder.setInsertionPointAfter(least);
  return e.bindSize(shown, least, range, birthText, e.varyOf(integer));
}

std::optional<Size> Elaborator::sizeOf(const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  if (const auto *integer = value.as<IntValue>())
    return Size(integer->value);
  if (const auto *size = value.as<SizeValue>())
    return size->polynomial;
  if (const auto *quotient = value.as<FloatValue>(); quotient && quotient->isQuotient) {
    if (quotient->value == std::floor(quotient->value) && std::abs(quotient->value) < 9.0e18)
      return Size(static_cast<int64_t>(quotient->value));
    error(Code::E0407, value.range(),
          what + ": the division '" + sourceText(value.range()) + "' is not exact; `//` floors");
    return std::nullopt;
  }
  if (const auto *computed = value.as<ArrayValue>(); computed && computed->recipe) {
    Size size = computed->recipe->polynomial;
    for (const auto &[placeholder, scalar] : computed->recipe->scalars) {
      std::optional<Size> part = sizeOf(scalar, what);
      if (!part)
        return std::nullopt;
      size = size.substitute(placeholder, *part);
    }
    return size;
  }
  if (isArrayLike(value) && rankOf(value) == 0 && !value.is(ValueKind::Bool) && !value.is(ValueKind::Float)) {
    // One that no dtype has claimed is itself the size, so that every use of it is the same one.
    const auto *given = value.as<ArrayValue>();
    Value made = given && given->weak && isInteger(given->dtype) ? value : materialize(value);
    const auto *array = made.as<ArrayValue>();
    if (!array)
      return std::nullopt;
    if (isInteger(array->dtype)) {
      SourceRange range = value.range();
      std::string text = sourceText(range, 24);
      bool isName = !text.empty() &&
                    all_of(text, [](unsigned char c) { return isAlnum(c) || c == '_' || c >= 0x80; }) &&
                    !isDigit(text.front());
      return sizeOfInteger(*this, array->ssa, isUnsigned(array->dtype), isName ? text : "size", range,
                           "the value of '" + text + "'");
    }
    error(Code::E0407, value.range(), what + ": expected a size, got " + renderType(value));
    return std::nullopt;
  }
  error(Code::E0407, value.range(),
        what + ": expected a size, got " + (isArrayLike(value) ? renderType(value) : describeKind(value)));
  return std::nullopt;
}

std::optional<Size> Elaborator::pureSizeOf(const Value &value) const {
  if (const auto *integer = value.as<IntValue>())
    return Size(integer->value);
  if (const auto *size = value.as<SizeValue>())
    return size->polynomial;
  const auto *array = value.as<ArrayValue>();
  if (array && array->recipe && array->recipe->scalars.empty() && isInteger(array->dtype))
    return array->recipe->polynomial;
  return std::nullopt;
}

std::optional<Size> Elaborator::sizeBound(const Value &value, StringRef what) {
  const auto *array = value.as<ArrayValue>();
  if (std::optional<Size> known = pureSizeOf(value))
    return known;
  if (!array || array->weak || !isInteger(array->dtype) || rankOf(value) != 0)
    return sizeOf(value, what);
  mlir::Value ssa = tensorOf(value);
  for (mlir::Operation *user : ssa.getUsers())
    if (isa<ToIndexOp>(user))
      for (mlir::Operation *binding : user->getResult(0).getUsers())
        if (auto earlier = dyn_cast<BindSizeOp>(binding); earlier && isVisible(binding))
          return Size::symbol(earlier.getSymbol());
  SizeSymbol &symbol = newSymbol("bound", value.range(), "the value of '" + sourceText(value.range(), 24) + "'");
  symbol.ssa = ToIndexOp::create(builder, loc(value.range()), builder.getIndexType(), ssa, isUnsigned(array->dtype));
  symbol.vary = varyOf(ssa);
  symbol.nonNegative = isUnsigned(array->dtype);
  return Size::symbol(symbol.name);
}

std::shared_ptr<const SizeRecipe> Elaborator::recipeOf(const Value &value) {
  auto recipe = std::make_shared<SizeRecipe>();
  const auto *quotient = value.as<FloatValue>();
  if (const auto *integer = value.as<IntValue>()) {
    recipe->polynomial = Size(integer->value);
  } else if (quotient && quotient->isQuotient && quotient->value == std::floor(quotient->value) &&
             std::abs(quotient->value) < 9.0e18) {
    recipe->polynomial = Size(static_cast<int64_t>(quotient->value));
  } else if (const auto *size = value.as<SizeValue>()) {
    recipe->polynomial = size->polynomial;
  } else if (const auto *array = value.as<ArrayValue>()) {
    if (array->recipe)
      return array->recipe;
    if (!isInteger(array->dtype) || !isa<mlir::RankedTensorType>(array->ssa.getType()) || rankOf(value) != 0)
      return nullptr;
    // A placeholder is the same for the same scalar, so that i*b and (i+1)*b differ by b.
    unsigned &number = placeholders[array->ssa];
    if (number == 0)
      number = placeholders.size();
    std::string name = "$" + std::to_string(number);
    recipe->polynomial = Size::symbol(name);
    recipe->scalars.push_back({name, value});
  } else {
    return nullptr;
  }
  return recipe;
}

std::shared_ptr<const SizeRecipe> Elaborator::combine(ast::BinaryOp op, const Value &lhs, const Value &rhs) {
  return combine(lhs, rhs, [&](const Size &p, const Size &q) -> std::optional<Size> {
    switch (op) {
    case ast::BinaryOp::Add:
      return p + q;
    case ast::BinaryOp::Sub:
      return p - q;
    case ast::BinaryOp::Mul:
      return p * q;
    case ast::BinaryOp::Div:
    case ast::BinaryOp::FloorDiv:
    case ast::BinaryOp::Mod:
      if (q.isConstant(0))
        return std::nullopt;
      return op == ast::BinaryOp::Div   ? Size::exactQuotient(p, q)
             : op == ast::BinaryOp::Mod ? Size::mod(p, q)
                                        : Size::floorDiv(p, q);
    default:
      return std::nullopt;
    }
  });
}

std::shared_ptr<const SizeRecipe>
Elaborator::combine(const Value &lhs, const Value &rhs,
                    function_ref<std::optional<Size>(const Size &p, const Size &q)> operation) {
  auto a = recipeOf(lhs), b = recipeOf(rhs);
  if (!a || !b || a->scalars.size() + b->scalars.size() > 8)
    return nullptr;
  std::optional<Size> polynomial = operation(a->polynomial, b->polynomial);
  if (!polynomial || polynomial->overflowed())
    return nullptr;
  auto result = std::make_shared<SizeRecipe>();
  result->computed = true;
  result->polynomial = *polynomial;
  result->scalars = a->scalars;
  for (const auto &scalar : b->scalars)
    if (none_of(result->scalars, [&](const auto &known) { return known.first == scalar.first; }))
      result->scalars.push_back(scalar);
  return result;
}

bool Elaborator::isVisible(mlir::Operation *op) const {
  // Whether what `op` defines may be used at the insertion point: its block holds the insertion point, at any depth.
  // What was built so far in that block comes before.
  for (mlir::Block *block = builder.getInsertionBlock(); block;) {
    if (block == op->getBlock())
      return true;
    mlir::Operation *parent = block->getParentOp();
    block = parent ? parent->getBlock() : nullptr;
  }
  return false;
}

std::optional<SmallVector<Size>> Elaborator::shapeOf(const Value &value, StringRef what) {
  if (!value || value.isError())
    return std::nullopt;
  ArrayRef<Value> elements;
  Value self = value;
  if (const auto *list = value.as<ListValue>())
    elements = list->elements;
  else if (const auto *tuple = value.as<TupleValue>(); tuple && !tuple->isRecord())
    elements = tuple->elements;
  else
    elements = self;
  SmallVector<Size> sizes;
  for (const Value &element : elements) {
    std::optional<Size> size = sizeOf(element, what);
    if (!size)
      return std::nullopt;
    bindSymbolsOf(*size);
    sizes.push_back(*size);
  }
  return sizes;
}

} // namespace pmap::sema
