#include "compiler/Syntax/AST.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace pmap::ast {

using llvm::cast;
using llvm::dyn_cast;

llvm::StringRef spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or:
    return "or";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Eq:
    return "==";
  case BinaryOp::Ne:
    return "!=";
  case BinaryOp::Lt:
    return "<";
  case BinaryOp::Le:
    return "<=";
  case BinaryOp::Gt:
    return ">";
  case BinaryOp::Ge:
    return ">=";
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::Div:
    return "/";
  case BinaryOp::FloorDiv:
    return "//";
  case BinaryOp::Mod:
    return "%";
  case BinaryOp::MatMul:
    return "@";
  case BinaryOp::Pow:
    return "**";
  }
  llvm_unreachable("unknown operator");
}

llvm::StringRef spelling(UnaryOp op) { return op == UnaryOp::Neg ? "-" : "not"; }

llvm::StringRef CallExpr::calleeName() const {
  auto *name = dyn_cast<NameExpr>(callee.get());
  return name ? llvm::StringRef(name->name) : llvm::StringRef();
}

const Argument *CallExpr::findLabel(llvm::StringRef label) const {
  for (const Argument &argument : args)
    if (argument.isNamed() && argument.label.text == label)
      return &argument;
  return nullptr;
}

const Expr *BlockExpr::result() const {
  if (statements.empty())
    return nullptr;
  auto *last = dyn_cast<ExprStmt>(statements.back().get());
  return last ? last->expr.get() : nullptr;
}

static void collectTargets(const Expr *target, std::vector<const NameExpr *> &variables) {
  if (auto *index = dyn_cast<IndexExpr>(target))
    return collectTargets(index->base.get(), variables);
  if (auto *field = dyn_cast<FieldExpr>(target))
    return collectTargets(field->base.get(), variables);
  if (auto *tuple = dyn_cast<TupleExpr>(target))
    for (const ExprPtr &element : tuple->elements)
      collectTargets(element.get(), variables);
  else if (auto *name = dyn_cast<NameExpr>(target))
    variables.push_back(name);
}

std::vector<const NameExpr *> AssignStmt::variables() const {
  std::vector<const NameExpr *> result;
  collectTargets(target.get(), result);
  return result;
}

const Ident *nameOf(const Item &item) {
  switch (item.kind) {
  case ItemKind::Import:
    return &cast<ImportItem>(item).alias;
  case ItemKind::Function:
    return &cast<FunctionItem>(item).name;
  case ItemKind::Type:
    return &cast<TypeItem>(item).name;
  case ItemKind::Const:
    return &cast<ConstItem>(item).name;
  case ItemKind::Test:
    return nullptr;
  }
  llvm_unreachable("unknown item");
}

const Item *Module::find(llvm::StringRef name) const {
  for (const ItemPtr &item : llvm::reverse(items))
    if (const Ident *ident = nameOf(*item); ident && ident->text == name)
      return item.get();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

namespace {

using Visit = llvm::function_ref<void(const Expr &)>;

void visitIf(const ExprPtr &e, Visit visit) {
  if (e)
    visit(*e);
}

void visitSizes(const Type *type, Visit visit) {
  if (!type)
    return;
  switch (type->kind) {
  case TypeKind::Named:
    for (const ExprPtr &size : cast<NamedType>(type)->sizes)
      visit(*size);
    return;
  case TypeKind::Tuple:
    for (const TypePtr &element : cast<TupleType>(type)->elements)
      visitSizes(element.get(), visit);
    return;
  case TypeKind::Record:
    for (const RecordTypeField &field : cast<RecordType>(type)->fields)
      visitSizes(field.type.get(), visit);
    return;
  }
}

} // namespace

void forEachChild(const Expr &e, Visit visit) {
  switch (e.kind) {
  case ExprKind::Number:
  case ExprKind::Bool:
  case ExprKind::String:
  case ExprKind::Name:
  case ExprKind::Hole:
  case ExprKind::Ellipsis:
    return;
  case ExprKind::Unary:
    return visit(*cast<UnaryExpr>(e).operand);
  case ExprKind::Binary:
    visit(*cast<BinaryExpr>(e).lhs);
    return visit(*cast<BinaryExpr>(e).rhs);
  case ExprKind::Range:
    visit(*cast<RangeExpr>(e).begin);
    return visit(*cast<RangeExpr>(e).end);
  case ExprKind::Cast:
    visit(*cast<CastExpr>(e).operand);
    return visitSizes(cast<CastExpr>(e).type.get(), visit);
  case ExprKind::With:
    visit(*cast<WithExpr>(e).record);
    for (const NamedExpr &field : cast<WithExpr>(e).fields)
      visit(*field.value);
    return;
  case ExprKind::Pipe:
    visit(*cast<PipeExpr>(e).lhs);
    return visit(*cast<PipeExpr>(e).rhs);
  case ExprKind::Call:
    visit(*cast<CallExpr>(e).callee);
    for (const Argument &argument : cast<CallExpr>(e).args)
      visit(*argument.value);
    return;
  case ExprKind::Index:
    visit(*cast<IndexExpr>(e).base);
    for (const Subscript &s : cast<IndexExpr>(e).subscripts) {
      visitIf(s.index, visit);
      visitIf(s.lower, visit);
      visitIf(s.upper, visit);
      visitIf(s.stride, visit);
    }
    return;
  case ExprKind::Field:
    return visit(*cast<FieldExpr>(e).base);
  case ExprKind::Tuple:
    for (const ExprPtr &element : cast<TupleExpr>(e).elements)
      visit(*element);
    return;
  case ExprKind::Record:
    for (const NamedExpr &field : cast<RecordExpr>(e).fields)
      visit(*field.value);
    return;
  case ExprKind::Array:
    for (const ExprPtr &element : cast<ArrayExpr>(e).elements)
      visit(*element);
    return;
  case ExprKind::Comprehension:
    for (const ComprehensionRange &range : cast<ComprehensionExpr>(e).ranges)
      visitIf(range.range, visit);
    return visit(*cast<ComprehensionExpr>(e).body);
  case ExprKind::If:
    visit(*cast<IfExpr>(e).condition);
    visit(*cast<IfExpr>(e).thenBlock);
    return visitIf(cast<IfExpr>(e).elseBranch, visit);
  case ExprKind::Block:
    for (const StmtPtr &statement : cast<BlockExpr>(e).statements)
      forEachChild(*statement, visit);
    return;
  case ExprKind::Lambda:
    for (const Param &param : cast<LambdaExpr>(e).params) {
      visitSizes(param.type.get(), visit);
      visitIf(param.defaultValue, visit);
    }
    visitSizes(cast<LambdaExpr>(e).resultType.get(), visit);
    return visit(*cast<LambdaExpr>(e).body);
  }
}

void forEachChild(const Stmt &s, Visit visit) {
  switch (s.kind) {
  case StmtKind::Let:
    visitSizes(cast<LetStmt>(s).type.get(), visit);
    return visit(*cast<LetStmt>(s).value);
  case StmtKind::Assign:
    visit(*cast<AssignStmt>(s).target);
    return visit(*cast<AssignStmt>(s).value);
  case StmtKind::For:
    visit(*cast<ForStmt>(s).iterable);
    return visit(*cast<ForStmt>(s).body);
  case StmtKind::While:
    visit(*cast<WhileStmt>(s).condition);
    return visit(*cast<WhileStmt>(s).body);
  case StmtKind::Break:
    return;
  case StmtKind::Assert:
    visit(*cast<AssertStmt>(s).condition);
    return visitIf(cast<AssertStmt>(s).message, visit);
  case StmtKind::Expr:
    return visit(*cast<ExprStmt>(s).expr);
  }
}

void walk(const Expr &e, llvm::function_ref<bool(const Expr &)> visit) {
  if (visit(e))
    forEachChild(e, [&](const Expr &child) { walk(child, visit); });
}

namespace {

/// The blocks that belong to the same function as the expression: those of ifs and plain blocks, not of lambdas or
/// comprehensions.
void walkBlocks(const Expr &e, llvm::function_ref<void(const BlockExpr &)> visit) {
  if (auto *block = dyn_cast<BlockExpr>(&e))
    return visit(*block);
  if (llvm::isa<LambdaExpr, ComprehensionExpr>(e))
    return;
  forEachChild(e, [&](const Expr &child) { walkBlocks(child, visit); });
}

/// Collects assignments to variables that are not declared within; scopes nest by copying the set of names of the outer
/// one.
void collectAssigned(const BlockExpr &block, llvm::StringSet<> local, llvm::StringSet<> &seen,
                     std::vector<Ident> &result) {
  auto nested = [&](const Expr &e) {
    walkBlocks(e, [&](const BlockExpr &inner) { collectAssigned(inner, local, seen, result); });
  };
  for (const StmtPtr &statement : block.statements) {
    if (auto *loop = dyn_cast<ForStmt>(statement.get())) {
      nested(*loop->iterable);
      llvm::StringSet<> inLoop = local;
      for (const Ident *name : boundNames(*loop->pattern))
        inLoop.insert(name->text);
      collectAssigned(*loop->body, std::move(inLoop), seen, result);
      continue;
    }
    forEachChild(*statement, nested);
    if (auto *let = dyn_cast<LetStmt>(statement.get())) {
      for (const Ident *name : boundNames(*let->pattern))
        local.insert(name->text);
      for (const Ident &size : let->sizes)
        local.insert(size.text);
    } else if (auto *assign = dyn_cast<AssignStmt>(statement.get())) {
      for (const NameExpr *variable : assign->variables())
        if (!local.contains(variable->name) && seen.insert(variable->name).second)
          result.push_back({variable->name, variable->range});
    }
  }
}

} // namespace

void walkStatements(const BlockExpr &block, llvm::function_ref<void(const Stmt &)> visit) {
  for (const StmtPtr &statement : block.statements) {
    visit(*statement);
    forEachChild(*statement,
                 [&](const Expr &e) { walkBlocks(e, [&](const BlockExpr &inner) { walkStatements(inner, visit); }); });
  }
}

std::vector<Ident> assignedVariables(const BlockExpr &block) {
  std::vector<Ident> result;
  llvm::StringSet<> seen;
  collectAssigned(block, {}, seen, result);
  return result;
}

std::vector<const Ident *> boundNames(const Pattern &pattern) {
  std::vector<const Ident *> names;
  if (auto *name = dyn_cast<NamePattern>(&pattern))
    names.push_back(&name->name);
  else if (auto *tuple = dyn_cast<TuplePattern>(&pattern))
    for (const PatternPtr &element : tuple->elements)
      llvm::append_range(names, boundNames(*element));
  return names;
}

} // namespace pmap::ast
