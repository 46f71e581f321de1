// `for` and `while` as statements: what they run over, and whether they may be left early.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/LoopBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace llvm;

namespace pmap::sema {

static SourceRange firstBreak(const ast::Stmt &s) {
  if (isa<ast::BreakStmt>(&s))
    return s.range;
  const auto *statement = dyn_cast<ast::ExprStmt>(&s);
  return statement ? firstBreak(statement->expr.get()) : SourceRange();
}
SourceRange firstBreak(const ast::Expr *e) {
  if (const auto *block = dyn_cast_or_null<ast::BlockExpr>(e))
    for (const ast::StmtPtr &s : block->statements)
      if (SourceRange found = firstBreak(*s); found.isValid())
        return found;
  if (const auto *conditional = dyn_cast_or_null<ast::IfExpr>(e)) {
    SourceRange found = firstBreak(conditional->thenBlock.get());
    return found.isValid() ? found : firstBreak(conditional->elseBranch.get());
  }
  return SourceRange();
}
bool mayBreak(const ast::Expr *e) { return firstBreak(e).isValid(); }
bool mayBreak(const ast::Stmt &s) { return firstBreak(s).isValid(); }

void Elaborator::forStatement(const ast::ForStmt &s) {
  Value iterable = expression(*s.iterable);
  auto lookAtBody = [&] {
    // The iterable failed; the body is looked at with what it would bind as erroneous, for its own errors.
    dryRunReporting([&] {
      bindPattern(*s.pattern, Value::error(), false);
      blockExpression(*s.body, /*asStatement=*/true);
    });
    for (const ast::Ident &name : ast::assignedVariables(*s.body))
      if (const ScopeNode *node = lookup(scope, name.text); node && node->var)
        store[*node->var] = Value::error();
  };
  if (iterable.isError())
    return lookAtBody();

  std::optional<Size> low = Size(0), high;
  SmallVector<Value> leaves;
  if (const auto *bounds = iterable.as<RangeValue>()) {
    low = sizeBound(bounds->low, "the start of a range");
    high = sizeBound(bounds->high, "the end of a range");
    if (!low || !high)
      return lookAtBody();
  } else if (iterable.is(ValueKind::Int) || iterable.is(ValueKind::Size) ||
             (isArrayLike(iterable) && rankOf(iterable) == 0)) {
    error(Code::E0611, s.iterable->range, "expected a range or rows to loop over, got " + render(iterable))
        .fix(s.iterable->range.startPoint(), "0..");
    return lookAtBody();
  } else {
    // Rows of an array, or of each leaf of a nest.
    auto asArray = [&](const Value &leaf) { return isArrayLike(leaf) ? claimable(leaf) : leaf; };
    iterable = isArrayLike(iterable) ? claimable(iterable) : mapLeavesOf(iterable, asArray);
    flatten(iterable, leaves);
    for (const Value &leaf : leaves) {
      if (leaf.isError())
        return lookAtBody();
      if (!isArrayLike(leaf) || rankOf(leaf) == 0) {
        error(Code::E0611, s.iterable->range,
              "expected a range or rows to loop over, got " + (isArrayLike(leaf) ? render(leaf) : describeKind(leaf)));
        return lookAtBody();
      }
      Size rows = sizesOf(leaf).front();
      if (!high)
        high = rows;
      else if (!expectEqual(*high, rows, s.iterable->range,
                            "a loop over several arrays needs as many rows of each: expected " + render(*high) +
                                ", got " + render(rows)))
        return lookAtBody();
    }
    if (leaves.empty()) {
      error(Code::E0611, s.iterable->range, "expected a range or rows to loop over, got no value");
      return lookAtBody();
    }
  }

  mlir::Value lowIndex = indexOf(*low, s.iterable->range), highIndex = indexOf(*high, s.iterable->range);
  SourceRange patternRange = s.pattern->range;
  const auto *named = dyn_cast<ast::NamePattern>(s.pattern.get());
  auto bindIndex = [&](mlir::Value index, const VarySet &vary) {
    SizeSymbol &symbol =
        newSymbol(named && leaves.empty() ? named->name.str() : "i", patternRange, "the index of this loop");
    symbol.ssa = index;
    symbol.low = *low;
    symbol.high = *high;
    symbol.nonNegative = provablyNonNegative(*low);
    symbol.vary = vary;
    Size position = Size::symbol(symbol.name);
    if (leaves.empty()) {
      bindPattern(*s.pattern, Value::size(position, patternRange), false);
      return;
    }
    SmallVector<Value> rows;
    for (const Value &leaf : leaves)
      rows.push_back(row(seenFromHere(leaf), position, s.iterable->range));
    bindPattern(*s.pattern, rebuild(iterable, rows), false);
  };
  LoopBuilder loop(*this, s.range, *s.body);
  if (mayBreak(s.body.get()))
    loop.buildWhile(nullptr, lowIndex, highIndex, unionOf(varyOf(*low), varyOf(*high)), s.iterable->range, bindIndex);
  else
    loop.buildFor(*low, *high, lowIndex, highIndex, s.iterable->range, bindIndex);
}

void Elaborator::whileStatement(const ast::WhileStmt &s) {
  LoopBuilder loop(*this, s.range, *s.body);
  loop.buildWhile(s.condition.get(), {}, {}, {}, s.condition->range, nullptr);
}

} // namespace pmap::sema
