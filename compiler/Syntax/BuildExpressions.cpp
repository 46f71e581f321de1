#include "compiler/Syntax/Builder.h"
#include "compiler/Syntax/Literals.h"
#include "llvm/ADT/STLExtras.h"

namespace pmap {

using namespace ast;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

StmtPtr Builder::buildStatement(P::StatementContext *context) {
  SourceRange at = range(context);
  if (auto *c = dynamic_cast<P::ExprStatementContext *>(context))
    return buildExprStatement(c);
  if (auto *c = dynamic_cast<P::LetStatementContext *>(context)) {
    auto let = std::make_unique<LetStmt>(at);
    let->sizes = buildNames(c->nameList());
    let->pattern = buildPattern(c->pattern());
    if (c->type())
      let->type = buildType(c->type());
    let->value = buildExpr(c->expr());
    return let;
  }
  if (auto *c = dynamic_cast<P::VarStatementContext *>(context)) {
    auto var = std::make_unique<LetStmt>(at);
    var->isVar = true;
    var->pattern = buildPattern(c->pattern());
    if (c->type())
      var->type = buildType(c->type());
    var->value = buildExpr(c->expr());
    return var;
  }
  if (auto *c = dynamic_cast<P::ForStatementContext *>(context)) {
    auto loop = std::make_unique<ForStmt>(at);
    loop->pattern = buildPattern(c->pattern());
    loop->iterable = buildExpr(c->expr());
    loop->body = buildBlock(c->block());
    return loop;
  }
  if (auto *c = dynamic_cast<P::WhileStatementContext *>(context)) {
    auto loop = std::make_unique<WhileStmt>(at);
    loop->condition = buildExpr(c->expr());
    loop->body = buildBlock(c->block());
    return loop;
  }
  if (auto *c = dynamic_cast<P::AssertStatementContext *>(context)) {
    auto assertion = std::make_unique<AssertStmt>(at);
    assertion->condition = buildExpr(c->condition);
    if (c->message)
      assertion->message = buildExpr(c->message);
    return assertion;
  }
  return std::make_unique<BreakStmt>(at);
}

/// The part of an assignment's left side that cannot be assigned; null where all can. A tuple is taken apart: its
/// elements are variables, parts of them, tuples of such, and `_`.
static const Expr *notAssignable(const Expr &target) {
  if (auto *tuple = dyn_cast<TupleExpr>(&target); tuple && !tuple->elements.empty()) {
    for (const ExprPtr &element : tuple->elements)
      if (const Expr *wrong = isa<HoleExpr>(element.get()) ? nullptr : notAssignable(*element))
        return wrong;
    return nullptr;
  }
  // The variable below fields and indices.
  const Expr *root = &target;
  while (isa<IndexExpr, FieldExpr>(root))
    root = isa<IndexExpr>(root) ? cast<IndexExpr>(root)->base.get() : cast<FieldExpr>(root)->base.get();
  return isa<NameExpr>(root) ? nullptr : &target;
}

StmtPtr Builder::buildExprStatement(P::ExprStatementContext *context) {
  ExprPtr target = buildExpr(context->target);
  if (!context->op) {
    auto statement = std::make_unique<ExprStmt>(range(context));
    statement->expr = std::move(target);
    return statement;
  }
  if (const Expr *wrong = notAssignable(*target)) {
    auto builder =
        diagnostics.error(Code::E0108, wrong->range,
                          "expected a variable, an element 'x[i]', a field 'r.f' or a tuple of these to assign to");
    if (auto *compare = dyn_cast<BinaryExpr>(target.get()); compare && isComparison(compare->op))
      builder.note("'=' binds; a comparison is '=='");
  } else if (context->op->getType() == P::AUGMENT) {
    llvm::StringRef op = range(context->op).text().drop_back();
    // `x -= a + b` is `x = x - (a + b)`.
    llvm::StringRef value = range(context->value).text();
    bool simple = !value.contains(' ') || value.starts_with("(");
    diagnostics
        .error(Code::E0109, range(context->op),
               "'" + range(context->op).text() + "' is not an operator; write 'x = x " + op + " ...'")
        .fix(range(context), target->range.text() + " = " + target->range.text() + " " + op + " " +
                                 (simple ? value.str() : "(" + value.str() + ")"))
        .report();
  }
  auto assign = std::make_unique<AssignStmt>(range(context));
  assign->target = std::move(target);
  assign->value = buildExpr(context->value);
  return assign;
}

std::unique_ptr<BlockExpr> Builder::buildBlock(P::BlockContext *context) {
  auto block = std::make_unique<BlockExpr>(range(context));
  for (antlr4::tree::ParseTree *child : context->children)
    if (auto *line = dynamic_cast<P::LineContext *>(child); line && !line->exception)
      block->statements.push_back(buildStatement(line->statement()));
  return block;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

ExprPtr Builder::buildExpr(P::ExprContext *context) {
  if (depth >= maxDepth) {
    if (!reportedDepth)
      diagnostics
          .error(Code::E0106, range(context).startPoint(),
                 "expected at most " + llvm::Twine(maxDepth) +
                     " operations within one another; name a part of them by 'let'")
          .report();
    reportedDepth = true;
    return std::make_unique<HoleExpr>(range(context));
  }
  ++depth;
  ExprPtr expr = buildExprUnchecked(context);
  --depth;
  return expr;
}

ExprPtr Builder::buildExprUnchecked(P::ExprContext *context) {
  SourceRange at = range(context);
  if (auto *c = dynamic_cast<P::AtomExprContext *>(context))
    return buildAtom(c->atom());
  if (auto *c = dynamic_cast<P::BinaryExprContext *>(context))
    return buildBinary(c);
  if (auto *c = dynamic_cast<P::CallExprContext *>(context)) {
    auto call = std::make_unique<CallExpr>(at);
    call->callee = buildExpr(c->callee);
    call->args = buildArguments(c->argumentList());
    return call;
  }
  if (auto *c = dynamic_cast<P::FieldExprContext *>(context)) {
    auto field = std::make_unique<FieldExpr>(at);
    field->base = buildExpr(c->base);
    field->field = ident(c->name());
    if (isa<NumberExpr>(field->base.get()) && !field->base->parenthesized)
      diagnostics.error(Code::E0104, at, "a number ends with a digit, got '" + at.text() + "'").report();
    return field;
  }
  if (auto *c = dynamic_cast<P::IndexExprContext *>(context))
    return buildIndex(c);
  if (auto *c = dynamic_cast<P::UnaryExprContext *>(context)) {
    auto unary = std::make_unique<UnaryExpr>(at);
    unary->op = c->op->getType() == P::NOT ? UnaryOp::Not : UnaryOp::Neg;
    unary->opRange = range(c->op);
    unary->operand = buildExpr(c->operand);
    return unary;
  }
  if (auto *c = dynamic_cast<P::LambdaExprContext *>(context)) {
    auto lambda = std::make_unique<LambdaExpr>(at);
    lambda->params = buildParams(c->params());
    if (c->type())
      lambda->resultType = buildType(c->type());
    lambda->body = buildBody(c->body());
    return lambda;
  }
  if (auto *c = dynamic_cast<P::CastExprContext *>(context)) {
    auto result = std::make_unique<CastExpr>(at);
    result->opRange = range(c->CAST());
    result->operand = buildExpr(c->operand);
    result->type = buildType(c->type());
    return result;
  }
  auto *c = static_cast<P::WithExprContext *>(context);
  auto with = std::make_unique<WithExpr>(at);
  with->opRange = range(c->WITH());
  with->record = buildExpr(c->operand);
  with->fields = buildFields(c->argumentList(), "a 'with'");
  return with;
}

namespace {

BinaryOp binaryOp(size_t tokenType) {
  using P = grammar::PmapParser;
  switch (tokenType) {
  case P::OR:
    return BinaryOp::Or;
  case P::AND:
    return BinaryOp::And;
  case P::EQ:
    return BinaryOp::Eq;
  case P::NE:
    return BinaryOp::Ne;
  case P::LT:
    return BinaryOp::Lt;
  case P::LE:
    return BinaryOp::Le;
  case P::GT:
    return BinaryOp::Gt;
  case P::GE:
    return BinaryOp::Ge;
  case P::PLUS:
    return BinaryOp::Add;
  case P::MINUS:
    return BinaryOp::Sub;
  case P::STAR:
    return BinaryOp::Mul;
  case P::SLASH:
    return BinaryOp::Div;
  case P::DOUBLE_SLASH:
    return BinaryOp::FloorDiv;
  case P::PERCENT:
    return BinaryOp::Mod;
  case P::AT:
    return BinaryOp::MatMul;
  default:
    return BinaryOp::Pow;
  }
}

} // namespace

ExprPtr Builder::buildBinary(P::BinaryExprContext *context) {
  SourceRange at = range(context);
  SourceRange opRange = range(context->op);
  ExprPtr lhs = buildExpr(context->lhs);
  ExprPtr rhs = buildExpr(context->rhs);

  if (context->op->getType() == P::DOT_DOT) {
    if (isa<RangeExpr>(lhs.get()) && !lhs->parenthesized)
      diagnostics.error(Code::E0116, opRange, "a range has one '..', got a second").report();
    auto result = std::make_unique<RangeExpr>(at);
    result->opRange = opRange;
    result->begin = std::move(lhs);
    result->end = std::move(rhs);
    return result;
  }
  if (context->op->getType() == P::PIPE) {
    auto pipe = std::make_unique<PipeExpr>(at);
    pipe->opRange = opRange;
    pipe->lhs = std::move(lhs);
    pipe->rhs = std::move(rhs);
    return pipe;
  }

  auto binary = std::make_unique<BinaryExpr>(at);
  binary->op = binaryOp(context->op->getType());
  binary->opRange = opRange;
  if (isComparison(binary->op))
    if (auto *inner = dyn_cast<BinaryExpr>(lhs.get()); inner && isComparison(inner->op) && !inner->parenthesized)
      diagnostics
          .error(Code::E0107, opRange,
                 "comparisons do not chain: write 'a < b and b < c', or parentheses to compare a bool")
          .note(inner->opRange, "the first comparison is here")
          .fix(opRange.startPoint(), "and " + inner->rhs->range.text() + " ")
          .report();
  // `a == not b` would silently mean something else than its order of precedence says.
  if (auto *inner = dyn_cast<UnaryExpr>(rhs.get());
      inner && inner->op == UnaryOp::Not && !inner->parenthesized && !isLogical(binary->op))
    diagnostics
        .error(Code::E0116, inner->opRange,
               "'not' binds less than '" + spelling(binary->op) + "'; put parentheses around it")
        .fix(inner->range, "(" + inner->range.text() + ")")
        .report();
  binary->lhs = std::move(lhs);
  binary->rhs = std::move(rhs);
  return binary;
}

ExprPtr Builder::buildAtom(P::AtomContext *context) {
  SourceRange at = range(context);
  if (dynamic_cast<P::NameAtomContext *>(context)) {
    auto name = std::make_unique<NameExpr>(at);
    name->name = at.text().str();
    return name;
  }
  if (dynamic_cast<P::NumberAtomContext *>(context))
    return readNumber(at, diagnostics);
  if (auto *c = dynamic_cast<P::GroupAtomContext *>(context))
    return buildGroup(c);
  if (auto *c = dynamic_cast<P::ArrayAtomContext *>(context)) {
    auto array = std::make_unique<ArrayExpr>(at);
    if (c->expressionList())
      for (P::ExprContext *element : c->expressionList()->items)
        array->elements.push_back(buildExpr(element));
    return array;
  }
  if (dynamic_cast<P::StringAtomContext *>(context)) {
    auto string = std::make_unique<StringExpr>(at);
    string->value = readString(at, diagnostics);
    return string;
  }
  if (auto *c = dynamic_cast<P::BoolAtomContext *>(context))
    return std::make_unique<BoolExpr>(at, c->value->getType() == P::TRUE);
  if (dynamic_cast<P::HoleAtomContext *>(context))
    return std::make_unique<HoleExpr>(at);
  if (auto *c = dynamic_cast<P::IfAtomContext *>(context))
    return buildIf(c->ifExpr());
  if (auto *c = dynamic_cast<P::BlockAtomContext *>(context))
    return buildBlock(c->block());

  auto *c = static_cast<P::ComprehensionAtomContext *>(context);
  auto comprehension = std::make_unique<ComprehensionExpr>(at);
  for (P::ForRangeContext *r : c->ranges) {
    ComprehensionRange result;
    result.index = r->name() ? ident(r->name()) : Ident{"_", range(r->HOLE())};
    if (r->expr())
      result.range = buildExpr(r->expr());
    comprehension->ranges.push_back(std::move(result));
  }
  std::vector<const Ident *> names;
  for (const ComprehensionRange &r : comprehension->ranges)
    names.push_back(&r.index);
  checkDistinct(names, "index");
  comprehension->body = buildExpr(c->expr());
  return comprehension;
}

ExprPtr Builder::buildGroup(P::GroupAtomContext *context) {
  SourceRange at = range(context);
  P::ArgumentListContext *list = context->argumentList();
  if (list && llvm::any_of(list->items, [](auto *argument) { return argument->label; })) {
    auto record = std::make_unique<RecordExpr>(at);
    record->fields = buildFields(list, "a record");
    return record;
  }
  if (list && list->items.size() == 1 && !list->trailing) {
    ExprPtr inner = buildExpr(list->items[0]->expr());
    inner->parenthesized = true;
    return inner;
  }
  auto tuple = std::make_unique<TupleExpr>(at);
  if (list)
    for (P::ArgumentContext *element : list->items)
      tuple->elements.push_back(buildExpr(element->expr()));
  return tuple;
}

std::vector<NamedExpr> Builder::buildFields(P::ArgumentListContext *list, llvm::StringRef what) {
  std::vector<NamedExpr> fields;
  if (!list)
    return fields;
  for (P::ArgumentContext *c : list->items) {
    NamedExpr field;
    if (c->label)
      field.name = word(c->label);
    else
      diagnostics.error(Code::E0110, range(c), "expected 'name: value', as all fields of " + what + " have").report();
    field.value = buildExpr(c->expr());
    fields.push_back(std::move(field));
  }
  std::vector<const Ident *> names;
  for (const NamedExpr &field : fields)
    names.push_back(&field.name);
  checkDistinct(names, "field");
  return fields;
}

std::vector<Argument> Builder::buildArguments(P::ArgumentListContext *list) {
  std::vector<Argument> args;
  if (!list)
    return args;
  for (P::ArgumentContext *c : list->items) {
    Argument argument;
    if (c->label)
      argument.label = word(c->label);
    argument.value = buildExpr(c->expr());
    if (!argument.isNamed() && !args.empty() && args.back().isNamed())
      diagnostics.error(Code::E0111, range(c), "expected 'name: value' after an argument passed by name")
          .note(args.back().label.range, "passed by name here")
          .report();
    args.push_back(std::move(argument));
  }
  std::vector<const Ident *> names;
  for (const Argument &argument : args)
    names.push_back(&argument.label);
  checkDistinct(names, "argument");
  return args;
}

ExprPtr Builder::buildIndex(P::IndexExprContext *context) {
  auto index = std::make_unique<IndexExpr>(range(context));
  index->base = buildExpr(context->base);
  if (!context->subscriptList()) {
    diagnostics.error(Code::E0101, range(context->RBRACKET()), "expected an index or a slice, got ']'").report();
    return index;
  }
  for (P::SubscriptContext *c : context->subscriptList()->items) {
    Subscript subscript;
    subscript.range = range(c);
    if (c->ELLIPSIS()) {
      subscript.kind = Subscript::Ellipsis;
    } else if (P::SliceContext *slice = c->slice()) {
      subscript.kind = Subscript::Slice;
      if (c->lower)
        subscript.lower = buildExpr(c->lower);
      if (slice->upper)
        subscript.upper = buildExpr(slice->upper);
      if (slice->stride)
        subscript.stride = buildExpr(slice->stride);
    } else {
      subscript.index = buildExpr(c->lower);
      auto *name = dyn_cast<NameExpr>(subscript.index.get());
      if (name && name->name == "newaxis") {
        subscript.kind = Subscript::NewAxis;
        subscript.index = nullptr;
      }
    }
    index->subscripts.push_back(std::move(subscript));
  }
  return index;
}

std::unique_ptr<IfExpr> Builder::buildIf(P::IfExprContext *context) {
  auto result = std::make_unique<IfExpr>(range(context));
  result->condition = buildExpr(context->expr());
  result->thenBlock = buildBlock(context->thenBlock);
  if (context->elseIf)
    result->elseBranch = buildIf(context->elseIf);
  else if (context->elseBlock)
    result->elseBranch = buildBlock(context->elseBlock);
  return result;
}

} // namespace pmap
