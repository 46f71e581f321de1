// Every name of a function's body is looked up where it stands; what values it has is nobody's business here.
#include "compiler/Sema/UnknownNames.h"
#include "compiler/Sema/Builtin.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Sema/Modules.h"
#include "llvm/ADT/ScopeExit.h"

using namespace llvm;

namespace pmap::sema {

namespace {

struct NameCheck {
  Elaborator &e;
  bool found = false;

  void declare(const ast::Ident &name) { e.scope = bind(e.scope, name.text, Value::error(), name.range); }
  void declare(const ast::Pattern &pattern) {
    for (const ast::Ident *name : ast::boundNames(pattern))
      declare(*name);
  }
  void declareSizes(const ast::Type *type, SourceRange range) {
    StringSet<> names;
    sizeNames(type, names);
    for (const auto &name : names)
      e.scope = bind(e.scope, name.first().str(), Value::error(), range);
  }
  /// Parameters, and the sizes that their types bind.
  void declare(const std::vector<ast::Param> &params) {
    for (const ast::Param &param : params) {
      declareSizes(param.type.get(), param.range);
      declare(param.name);
    }
  }

  bool isKnown(StringRef name) {
    return lookup(e.scope, name) || (e.currentModule && e.currentModule->find(name)) ||
           BuiltinTable::get().find(name) || parseDType(name);
  }

  void visitChildren(const ast::Expr &expr) {
    ast::forEachChild(expr, [&](const ast::Expr &child) { visit(child); });
  }

  void visit(const ast::Expr &expr) {
    Scope outer = e.scope;
    scope_exit restore([&] { e.scope = outer; });
    if (const auto *name = dyn_cast<ast::NameExpr>(&expr)) {
      if (!isKnown(name->name)) {
        found = true;
        e.nameExpression(*name);
      }
      return;
    }
    if (const auto *field = dyn_cast<ast::FieldExpr>(&expr)) {
      const auto *base = dyn_cast<ast::NameExpr>(field->base.get());
      if (!base || isKnown(base->name))
        return base ? memberOf(*field, *base) : visitChildren(expr);
      found = true;
      e.fieldExpression(*field);
      return;
    }
    if (const auto *cast = dyn_cast<ast::CastExpr>(&expr))
      return visit(*cast->operand); // its sizes are checked where they are known
    if (const auto *lambda = dyn_cast<ast::LambdaExpr>(&expr)) {
      for (const ast::Param &param : lambda->params)
        if (param.defaultValue)
          visit(*param.defaultValue);
      declare(lambda->params);
      return visit(*lambda->body);
    }
    if (const auto *comprehension = dyn_cast<ast::ComprehensionExpr>(&expr)) {
      for (const ast::ComprehensionRange &range : comprehension->ranges)
        if (range.range)
          visit(*range.range);
      for (const ast::ComprehensionRange &range : comprehension->ranges)
        declare(range.index);
      return visit(*comprehension->body);
    }
    if (const auto *block = dyn_cast<ast::BlockExpr>(&expr)) {
      for (const ast::StmtPtr &statement : block->statements)
        visit(*statement);
      return;
    }
    visitChildren(expr);
  }

  void visit(const ast::Stmt &statement) {
    if (const auto *let = dyn_cast<ast::LetStmt>(&statement)) {
      visit(*let->value);
      for (const ast::Ident &size : let->sizes)
        declare(size);
      return declare(*let->pattern);
    }
    if (const auto *loop = dyn_cast<ast::ForStmt>(&statement)) {
      visit(*loop->iterable);
      Scope outer = e.scope;
      declare(*loop->pattern);
      visit(*loop->body);
      e.scope = outer;
      return;
    }
    ast::forEachChild(statement, [&](const ast::Expr &child) { visit(child); });
  }

  /// `nn.relu`, where `nn` is a module: the module must have it.
  void memberOf(const ast::FieldExpr &field, const ast::NameExpr &base) {
    if (lookup(e.scope, base.name) || !e.currentModule || !e.currentModule->import(base.name))
      return;
    unsigned before = e.diagnostics.errorCount();
    e.fieldExpression(field);
    found |= e.diagnostics.errorCount() > before;
  }
};

} // namespace

bool reportUnknownNames(Elaborator &elaborator, const ast::FunctionItem &function) {
  NameCheck check{elaborator};
  Scope outer = std::exchange(elaborator.scope, nullptr);
  elaborator.calls.push_back({function.name.text, SourceRange()});
  check.declare(function.params);
  check.visit(*function.body);
  elaborator.calls.pop_back();
  elaborator.scope = outer;
  return check.found;
}

} // namespace pmap::sema
