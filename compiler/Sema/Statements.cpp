// Statements and blocks: bindings, assignments, asserts, and what may stand alone.
#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/BoundNames.h"
#include "compiler/Sema/LoopBuilder.h"
#include "compiler/Sema/Modules.h"

using namespace llvm;

namespace pmap::sema {

static bool isUnit(const Value &value) {
  const auto *tuple = value.as<TupleValue>();
  return tuple && tuple->elements.empty();
}

bool Elaborator::dryRunReporting(function_ref<void()> body) {
  Scope savedScope = scope;
  Store savedStore = store;
  unsigned before = diagnostics.errorCount();
  mlir::Operation *container = scratch(SourceRange());
  inBlock(&container->getRegion(0).emplaceBlock(), body);
  container->getRegion(0).dropAllReferences();
  eraseScratch(container);
  scope = savedScope;
  store = savedStore;
  return diagnostics.errorCount() == before;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value Elaborator::blockExpression(const ast::BlockExpr &e, bool asStatement) {
  Scope saved = scope;
  VarId firstOwn = nextVar;
  Value result = statements(e, 0, asStatement);
  scope = saved;
  SmallVector<VarId> own;
  for (const auto &entry : store)
    if (entry.first >= firstOwn)
      own.push_back(entry.first);
  for (VarId id : own)
    store.erase(id);
  return result;
}

Value Elaborator::statements(const ast::BlockExpr &e, size_t from, bool asStatement) {
  const ast::Expr *result = asStatement ? nullptr : e.result();
  size_t count = result ? e.bodySize() : e.statements.size();
  for (size_t i = from; i < count; ++i) {
    const ast::Stmt &s = *e.statements[i];
    if (const auto *jump = dyn_cast<ast::BreakStmt>(&s)) {
      if (!breakFlag) {
        error(Code::E0605, s.range, "`break` stands outside of a loop");
        continue;
      }
      store[*breakFlag] = Value::boolean(true, jump->range);
      if (i + 1 < e.statements.size())
        error(Code::E0609, e.statements[i + 1]->range, "this is never reached: a `break` comes before it");
      return Value::unit(e.range);
    }
    statement(s);
    // After a statement that may have left the loop, the rest runs only if it did not.
    if (breakFlag && mayBreak(s) && i + 1 < e.statements.size()) {
      Value flag = store.lookup(*breakFlag);
      if (flag.isError())
        return Value::error();
      if (const auto *known = flag.as<BoolValue>()) {
        if (!known->value)
          continue;
        error(Code::E0609, e.statements[i + 1]->range, "this is never reached: a `break` comes before it");
        return Value::unit(e.range);
      }
      mlir::Value stopped = flag.as<ArrayValue>()->ssa;
      Value operand = Value::array(stopped, DType::Bool, s.range);
      mlir::Value yes = widen(constantInt(1, DType::Bool, s.range), varyOf(stopped));
      mlir::Value runs = mlir::arith::XOrIOp::create(builder, loc(s.range), stopped, yes);
      mlir::Value test = ToBoolOp::create(builder, loc(s.range), builder.getI1Type(), runs);
      conditional(
          test, varyOf(runs), runs, s.range, "whether this `break` was reached", e.range,
          [&] { return statements(e, i + 1, true); }, [&] { return Value::unit(e.range); }, /*wantsValue=*/false);
      return Value::unit(e.range);
    }
  }
  return result ? expression(*result) : Value::unit(e.range);
}

void Elaborator::statement(const ast::Stmt &s) {
  switch (s.kind) {
  case ast::StmtKind::Let:
    return letStatement(cast<ast::LetStmt>(s));
  case ast::StmtKind::Assign:
    return assignStatement(cast<ast::AssignStmt>(s));
  case ast::StmtKind::For:
    return forStatement(cast<ast::ForStmt>(s));
  case ast::StmtKind::While:
    return whileStatement(cast<ast::WhileStmt>(s));
  case ast::StmtKind::Break:
    return; // statements() handles it
  case ast::StmtKind::Assert:
    return assertStatement(cast<ast::AssertStmt>(s));
  case ast::StmtKind::Expr:
    break;
  }
  const ast::Expr &expr = *cast<ast::ExprStmt>(s).expr;
  if (const auto *conditional = dyn_cast<ast::IfExpr>(&expr)) {
    ifExpression(*conditional, /*asStatement=*/true);
    return;
  }
  if (const auto *block = dyn_cast<ast::BlockExpr>(&expr)) {
    blockExpression(*block, /*asStatement=*/true);
    return;
  }
  Value value = expression(expr);
  if (value.isError() || isUnit(value))
    return;
  Report report = error(Code::E0601, s.range,
                        "the value of '" + sourceText(expr.range) + "' is not used: expected a statement, got " +
                            (isArrayLike(value) || value.is(ValueKind::Tuple) ? render(value) : describeKind(value)));
  const auto *binary = dyn_cast<ast::BinaryExpr>(&expr);
  if (binary && binary->op == ast::BinaryOp::Eq && isa<ast::NameExpr>(binary->lhs.get()))
    report.fix(binary->opRange, "=");
  else
    report.fix(s.range.startPoint(), "let _ = ");
}

//===----------------------------------------------------------------------===//
// let and var
//===----------------------------------------------------------------------===//

/// The elements of a tuple that a pattern or the left side of an assignment takes apart; nothing (reported) where the
/// value has not as many. The rows of an array of literal length are taken apart as well: `let (key, other) =
/// random.split(key)`.
static std::optional<SmallVector<Value, 4>> takeApart(Elaborator &e, const Value &value, size_t count,
                                                      SourceRange range) {
  if (value.isError())
    return std::nullopt;
  const auto *tuple = value.as<TupleValue>();
  if (tuple && tuple->elements.size() == count)
    return tuple->elements;
  if (!tuple && e.isArrayLike(value) && e.rankOf(value) > 0 && e.sizesOf(value).front().isConstant(int64_t(count))) {
    SmallVector<Value, 4> rows;
    for (size_t i = 0; i < count; ++i)
      rows.push_back(e.row(value, Size(int64_t(i)), range));
    return rows;
  }
  e.error(Code::E0608, range,
          "expected a tuple of " + Twine(count) + " elements, got " +
              (tuple || e.isArrayLike(value) ? e.render(value) : describeKind(value)))
      .note(value.range(), "the value comes from here");
  return std::nullopt;
}

bool Elaborator::bindPattern(const ast::Pattern &pattern, const Value &value, bool isVar) {
  if (const auto *name = dyn_cast<ast::NamePattern>(&pattern)) {
    tellBound(*this, name->name.text, value, name->range);
    noteDimensions(value);
    if (isVar) {
      VarId id = nextVar++;
      store[id] = value;
      scope = bindVar(scope, name->name.text, id, name->range);
    } else {
      scope = bind(scope, name->name.text, value, name->range);
    }
    return true;
  }
  if (isa<ast::WildcardPattern>(&pattern))
    return true;
  const auto &tuple = cast<ast::TuplePattern>(pattern);
  auto parts = takeApart(*this, value, tuple.elements.size(), pattern.range);
  if (!parts) {
    for (const ast::PatternPtr &element : tuple.elements)
      bindPattern(*element, Value::error(), isVar);
    return false;
  }
  bool ok = true;
  for (auto [element, part] : zip(tuple.elements, *parts))
    ok &= bindPattern(*element, part, isVar);
  return ok;
}

void Elaborator::letStatement(const ast::LetStmt &s) {
  Value value = expression(*s.value);
  if (isUnit(value) && !isa<ast::TupleExpr>(s.value.get())) {
    error(Code::E0610, s.value->range,
          "expected a value, got no value: '" + sourceText(s.value->range) + "' is a statement");
    value = Value::error();
  }
  if (value.is(ValueKind::Hole) || value.is(ValueKind::Module)) {
    error(Code::E0303, s.value->range, "expected a value, got " + describeKind(value));
    value = Value::error();
  }
  if (!s.sizes.empty() && !value.isError()) {
    // The lengths that only the run knows, in the order in which they occur in the value's type.
    SmallVector<Value> leaves;
    SmallVector<std::string> lengths;
    flatten(value, leaves);
    for (const Value &leaf : leaves)
      for (const Size &size : sizesOf(leaf))
        for (const std::string &name : size.symbols())
          if (const SizeSymbol *symbol = findSymbol(name);
              symbol && symbol->dataDependent && !is_contained(lengths, name))
            lengths.push_back(name);
    if (lengths.size() != s.sizes.size())
      error(Code::E0413, s.sizes.front().range,
            "expected a value with " + Twine(s.sizes.size()) + " lengths that depend on data, got " + render(value));
    for (auto [i, ident] : enumerate(s.sizes)) {
      if (i < lengths.size()) {
        SizeSymbol *symbol = findSymbol(lengths[i]);
        symbol->shown = ident.text;
        symbol->birth = ident.range;
        scope = bind(scope, ident.text, Value::size(Size::symbol(lengths[i]), ident.range), ident.range);
      } else {
        scope = bind(scope, ident.text, Value::error(), ident.range);
      }
    }
  }
  if (s.type && !value.isError())
    value = checkAgainst(value, *s.type, {currentModule, nullptr, false, nullptr},
                         "'" + sourceText(s.pattern->range) + "'", s.value->range);
  bindPattern(*s.pattern, value, s.isVar);
}

//===----------------------------------------------------------------------===//
// Assignment
//===----------------------------------------------------------------------===//

/// The value under the type of what it replaces: weak ones take its dtype; another type is an error.
Value Elaborator::replacing(const Value &old, const Value &value, SourceRange range, const std::string &subject) {
  if (old.isError() || value.isError())
    return value;
  auto show = [&](const Value &v) { return isArrayLike(v) || v.is(ValueKind::Tuple) ? render(v) : describeKind(v); };
  if (!sameForm(old, value))
    return error(Code::E0604, range, subject + ": expected " + show(old) + ", got " + show(value))
        .note(old.range(), "it was given its type here");
  const auto *oldTuple = old.as<TupleValue>(), *newTuple = value.as<TupleValue>();
  if (oldTuple) {
    SmallVector<Value, 4> elements;
    for (auto [i, a, b] : enumerate(oldTuple->elements, newTuple->elements))
      elements.push_back(replacing(a, b, range, subject));
    if (any_of(elements, [](const Value &v) { return v.isError(); }))
      return Value::error();
    return Value::record(std::move(elements), newTuple->names, value.range(),
                         newTuple->typeName.empty() ? oldTuple->typeName : newTuple->typeName);
  }
  if (!isArrayLike(old) || !isArrayLike(value)) {
    if (old.kind() == value.kind())
      return value;
    return error(Code::E0604, range, subject + ": expected " + show(old) + ", got " + show(value));
  }
  std::optional<DType> dtype = dtypeOf(old), given = dtypeOf(value);
  Value made = value;
  if (dtype && !given) {
    made = materialize(value, dtype);
    if (made.isError())
      return made;
    given = dtype;
  }
  bool weakMismatch = !dtype && given && (!isNumeric(*given) || (isFloat(defaultDType(old)) && !isFloat(*given)));
  if ((dtype && *dtype != *given) || weakMismatch) {
    Report report = error(Code::E0604, range, subject + ": expected " + show(old) + ", got " + show(value));
    noteDType(report, old);
    noteDType(report, value);
    if (dtype && *dtype != DType::Key && value.range().isValid())
      report.fix(value.range(), dtypeName(*dtype) + "(" + value.range().text() + ")");
    return report;
  }
  SmallVector<Size> before = sizesOf(old), after = sizesOf(made);
  if (before != after && assumedEqual(before, after))
    return Value::error();
  if (before != after) {
    Report report = error(Code::E0604, range, subject + ": expected " + show(old) + ", got " + show(made));
    for (ArrayRef<Size> part : {ArrayRef<Size>(before), ArrayRef<Size>(after)})
      for (const Size &size : part)
        noteBirths(report, size);
    report.note(SourceRange(), "a variable keeps its shape; `let` binds the name anew");
    return report;
  }
  return made;
}

void Elaborator::assignTo(const ast::Expr &target, const Value &value, SourceRange range) {
  if (const auto *name = dyn_cast<ast::NameExpr>(&target)) {
    const ScopeNode *node = lookup(scope, name->name);
    if (!node) {
      Report report = error(Code::E0201, name->range, "no variable '" + name->name + "' is known here");
      report.fix(range.startPoint(), "var ");
      // Once is enough: the uses that follow say nothing new.
      scope = bind(scope, name->name, Value::error(), name->range);
      return;
    }
    if (!node->var) {
      if (node->value && node->value.isError())
        return;
      error(Code::E0602, name->range, "'" + name->name + "' cannot be assigned: expected a variable made by `var`")
          .note(node->declaration, "'" + name->name + "' is bound here");
      return;
    }
    if (*node->var < firstAssignable) {
      error(Code::E0603, name->range,
            "'" + name->name + "' is a variable outside of this function or comprehension, which can only read it")
          .note(node->declaration, "'" + name->name + "' is declared here");
      return;
    }
    Value old = store.lookup(*node->var);
    Value replaced = replacing(old, value, range, "'" + name->name + "'");
    tellBound(*this, name->name, replaced, name->range);
    if (!replaced.isError() || value.isError())
      store[*node->var] = replaced; // after a mismatch the variable keeps its type, so that later mistakes show as well
    return;
  }
  if (const auto *field = dyn_cast<ast::FieldExpr>(&target)) {
    Value base = expression(*field->base);
    if (base.isError() || value.isError())
      return;
    const auto *record = base.as<TupleValue>();
    int position = record ? record->find(field->field.text) : -1;
    if (position < 0) {
      error(Code::E0310, field->field.range,
            "expected a field of " + render(base) + ", got '" + field->field.text + "'");
      return;
    }
    SmallVector<Value, 4> elements = record->elements;
    elements[position] = replacing(elements[position], value, range, "'" + sourceText(target.range) + "'");
    if (!elements[position].isError())
      assignTo(*field->base, Value::record(elements, record->names, base.range(), record->typeName), range);
    return;
  }
  if (const auto *tuple = dyn_cast<ast::TupleExpr>(&target)) {
    // The value was there before any of them: `(a, b) = (b, a)` swaps.
    auto parts = takeApart(*this, value, tuple->elements.size(), target.range);
    for (size_t i = 0; i < tuple->elements.size(); ++i)
      assignTo(*tuple->elements[i], parts ? (*parts)[i] : Value::error(), range);
    return;
  }
  if (isa<ast::HoleExpr>(&target))
    return;
  const auto &index = cast<ast::IndexExpr>(target);
  Value base = expression(*index.base);
  if (base.isError() || value.isError())
    return;
  Value updated = updateIndex(base, index.subscripts, value, index.range);
  if (!updated.isError())
    assignTo(*index.base, updated, range);
}

void Elaborator::assignStatement(const ast::AssignStmt &s) {
  Value value = expression(*s.value);
  if (isUnit(value) && !isa<ast::TupleExpr>(s.value.get())) {
    error(Code::E0610, s.value->range,
          "expected a value, got no value: '" + sourceText(s.value->range) + "' is a statement");
    value = Value::error();
  }
  if (value.isError()) {
    // What the variable holds is unknown now; nothing more is said about it.
    for (const ast::NameExpr *variable : s.variables())
      if (const ScopeNode *node = lookup(scope, variable->name); node && node->var && *node->var >= firstAssignable)
        store[*node->var] = Value::error();
    return;
  }
  assignTo(*s.target, value, s.value->range);
}

void Elaborator::assertStatement(const ast::AssertStmt &s) {
  Value chosen = expression(*s.condition);
  std::string message = sourceText(s.condition->range, 80);
  if (s.message) {
    Value text = expression(*s.message);
    if (const auto *string = text.as<StringValue>())
      message = string->text;
    else if (!text.isError())
      error(Code::E0606, s.message->range, "the message of `assert` is a string, got " + describeKind(text));
  }
  mlir::Value test = condition(chosen, s.condition->range, "`assert`");
  if (!test)
    return;
  mlir::Value tensor = test.getDefiningOp()->getOperand(0);
  test.getDefiningOp()->erase();
  AssertOp::create(builder, loc(s.range), tensor, message);
}

} // namespace pmap::sema
