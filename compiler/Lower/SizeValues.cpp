#include "compiler/Lower/SizeValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace pmap {

static Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value zeroLike(OpBuilder &builder, Location loc, Value value) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(value.getType()));
}

Value createFloorMod(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  Value rest = arith::RemSIOp::create(builder, loc, lhs, rhs), zero = zeroLike(builder, loc, lhs);
  Value differ = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       arith::XOrIOp::create(builder, loc, rest, rhs), zero);
  Value nonzero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
  Value adjust = arith::AndIOp::create(builder, loc, differ, nonzero);
  return arith::SelectOp::create(builder, loc, adjust, arith::AddIOp::create(builder, loc, rest, rhs), rest);
}

Value createFloorDiv(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  // The quotient is corrected, not the dividend: `lhs - mod` may overflow where the quotient does not.
  Value quotient = arith::DivSIOp::create(builder, loc, lhs, rhs), zero = zeroLike(builder, loc, lhs);
  Value rest = arith::SubIOp::create(builder, loc, lhs, arith::MulIOp::create(builder, loc, quotient, rhs));
  Value differ = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       arith::XOrIOp::create(builder, loc, rest, rhs), zero);
  Value nonzero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, rest, zero);
  Value adjust = arith::AndIOp::create(builder, loc, differ, nonzero);
  Value one = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(lhs.getType(), 1));
  return arith::SelectOp::create(builder, loc, adjust, arith::SubIOp::create(builder, loc, quotient, one), quotient);
}

void SizeValues::enterFunction(Block *entry) {
  levels.clear();
  levels.emplace_back().block = entry;
}

size_t SizeValues::enterScope(Block *block) {
  size_t mark = levels.size();
  levels.emplace_back().block = block;
  return mark;
}

void SizeValues::bind(StringRef symbol, Value value, Operation *anchor) {
  if (anchor) {
    Level &level = levels.emplace_back();
    level.block = anchor->getBlock();
    level.last = anchor;
  }
  levels.back().symbols[symbol] = value;
}

void SizeValues::bindAtEntry(StringRef symbol, Value value) {
  Level &entry = levels.front();
  entry.symbols[symbol] = value;
  if (!entry.last)
    entry.last = value.getDefiningOp();
}

bool SizeValues::isBound(StringRef symbol) const {
  return llvm::any_of(levels, [&](const Level &level) { return level.symbols.contains(symbol); });
}

SizeValues::Level &SizeValues::levelOf(const Size &size) {
  std::set<std::string> symbols = size.symbols();
  for (Level &level : llvm::reverse(levels))
    if (llvm::any_of(symbols, [&](const std::string &symbol) { return level.symbols.contains(symbol); }))
      return level;
  return levels.front();
}

Value SizeValues::get(const Size &size, Location loc) {
  Level &level = levelOf(size);
  std::string text = size.str();
  if (Value known = level.values.lookup(text))
    return known;
  if (auto symbol = size.asSymbol())
    if (Value value = level.symbols.lookup(*symbol))
      return value;
  // The values of parts may have moved the place where this level grows, so the builder is set after they are made.
  for (const Size::Term &term : size.terms())
    for (const Size::Factor &factor : term.factors)
      for (const Size &operand : factor.atom->operands)
        get(operand, loc);
  // The block may be in an op that is still being built and has no parent yet.
  OpBuilder builder(loc.getContext());
  if (level.last)
    builder.setInsertionPointAfter(level.last);
  else
    builder.setInsertionPointToStart(level.block);
  Value value = build(builder, size, loc);
  // What was made last stands right before the insertion point, unless the value is an argument or older.
  if (builder.getInsertionPoint() != level.block->begin())
    level.last = &*std::prev(builder.getInsertionPoint());
  level.values[text] = value;
  return value;
}

Value SizeValues::buildAtom(OpBuilder &builder, const SizeAtom &atom, Location loc) {
  if (atom.kind == SizeAtom::Symbol) {
    for (Level &level : llvm::reverse(levels))
      if (Value value = level.symbols.lookup(atom.text))
        return value;
    llvm::report_fatal_error(llvm::Twine("size symbol used before it is bound: ") + atom.text);
  }
  SmallVector<Value> operands;
  for (const Size &operand : atom.operands)
    operands.push_back(get(operand, loc));
  auto nonzero = [&](Value value) -> Value {
    Value one = constantIndex(builder, loc, 1), zero = constantIndex(builder, loc, 0);
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, zero);
    return arith::SelectOp::create(builder, loc, isZero, one, value);
  };
  switch (atom.kind) {
  case SizeAtom::FloorDiv:
    return createFloorDiv(builder, loc, operands[0], nonzero(operands[1]));
  case SizeAtom::Mod:
    return createFloorMod(builder, loc, operands[0], nonzero(operands[1]));
  case SizeAtom::Min:
    return arith::MinSIOp::create(builder, loc, operands[0], operands[1]);
  case SizeAtom::Max:
    return arith::MaxSIOp::create(builder, loc, operands[0], operands[1]);
  default:
    return operands[0];
  }
}

Value SizeValues::build(OpBuilder &builder, const Size &size, Location loc) {
  if (auto constant = size.constant())
    return constantIndex(builder, loc, *constant);
  auto [numerator, denominator] = size.asQuotient();
  if (!denominator.isConstant(1)) {
    Value top = build(builder, numerator, loc), bottom = build(builder, denominator, loc);
    Value one = constantIndex(builder, loc, 1), zero = constantIndex(builder, loc, 0);
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bottom, zero);
    return arith::DivSIOp::create(builder, loc, top, arith::SelectOp::create(builder, loc, isZero, one, bottom));
  }
  Value sum;
  for (const Size::Term &term : size.terms()) {
    Value product;
    for (const Size::Factor &factor : term.factors) {
      Value atom = buildAtom(builder, *factor.atom, loc);
      for (int power = 0; power < factor.power; ++power)
        product = product ? Value(arith::MulIOp::create(builder, loc, product, atom)) : atom;
    }
    int64_t coefficient = term.coefficient.num;
    if (!product)
      product = constantIndex(builder, loc, coefficient);
    else if (coefficient != 1 && !(coefficient == -1 && sum))
      product = arith::MulIOp::create(builder, loc, product, constantIndex(builder, loc, coefficient));
    if (!sum)
      sum = product;
    else if (coefficient == -1 && !term.factors.empty())
      sum = arith::SubIOp::create(builder, loc, sum, product);
    else
      sum = arith::AddIOp::create(builder, loc, sum, product);
  }
  return sum ? sum : constantIndex(builder, loc, 0);
}

void SizeValues::collectQuotients(const Size &size, SmallVectorImpl<Size> &quotients) {
  for (const Size::Term &term : size.terms())
    for (const Size::Factor &factor : term.factors)
      for (const Size &operand : factor.atom->operands)
        collectQuotients(operand, quotients);
  if (!size.asQuotient().second.isConstant(1))
    quotients.push_back(size);
}

bool SizeValues::takeUncheckedSign(const Size &size) {
  if (size.provablyNonNegative())
    return false;
  std::string text = size.str() + " >= 0";
  if (llvm::any_of(levels, [&](const Level &level) { return level.checked.contains(text); }))
    return false;
  levels.back().checked[text] = 1;
  return true;
}

SmallVector<SizeValues::Division> SizeValues::takeUnchecked(const Size &size, Location loc) {
  SmallVector<Size> quotients;
  collectQuotients(size, quotients);
  SmallVector<Division> divisions;
  for (const Size &quotient : quotients) {
    std::string text = quotient.str();
    if (llvm::any_of(levels, [&](const Level &level) { return level.checked.contains(text); }))
      continue;
    levels.back().checked[text] = 1;
    auto [numerator, denominator] = quotient.asQuotient();
    divisions.push_back({get(numerator, loc), get(denominator, loc)});
  }
  return divisions;
}

} // namespace pmap
