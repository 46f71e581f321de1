// The syntax of statements. Included by AST.h.
#pragma once

#include "compiler/Syntax/ASTExpressions.h"

namespace pmap::ast {

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

enum class StmtKind { Let, Assign, For, While, Break, Assert, Expr };

struct Stmt {
  const StmtKind kind;
  SourceRange range;

  virtual ~Stmt() = default;

protected:
  Stmt(StmtKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `let p = e`, `let [k] y = e` (binds sizes that depend on data), `var x = e`; a type may follow the pattern: `let x:
/// f32[n] = e`.
struct LetStmt : Stmt {
  bool isVar = false;
  std::vector<Ident> sizes;
  PatternPtr pattern;
  TypePtr type; ///< May be null.
  ExprPtr value;

  explicit LetStmt(SourceRange range) : Stmt(StmtKind::Let, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Let; }
};

/// `x = e`, `x[i, :] = e`, `m.w = e`, `m.w[i] = e`: the target is a NameExpr under any nest of IndexExpr and FieldExpr.
/// `(a, b[i]) = e`: a TupleExpr of targets, in which a HoleExpr drops its part.
struct AssignStmt : Stmt {
  ExprPtr target;
  ExprPtr value;

  explicit AssignStmt(SourceRange range) : Stmt(StmtKind::Assign, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Assign; }
  /// The variables that are assigned, below indices and fields.
  std::vector<const NameExpr *> variables() const;
};

/// `for i in a..b { }` (the iterable is a RangeExpr), `for row in x { }`.
struct ForStmt : Stmt {
  PatternPtr pattern;
  ExprPtr iterable;
  std::unique_ptr<BlockExpr> body;

  explicit ForStmt(SourceRange range) : Stmt(StmtKind::For, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::For; }
};

struct WhileStmt : Stmt {
  ExprPtr condition;
  std::unique_ptr<BlockExpr> body;

  explicit WhileStmt(SourceRange range) : Stmt(StmtKind::While, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::While; }
};

struct BreakStmt : Stmt {
  explicit BreakStmt(SourceRange range) : Stmt(StmtKind::Break, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Break; }
};

/// `assert c, "message"`. (`assert_close(...)` and `print(...)` are calls.)
struct AssertStmt : Stmt {
  ExprPtr condition;
  ExprPtr message; ///< May be null.

  explicit AssertStmt(SourceRange range) : Stmt(StmtKind::Assert, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Assert; }
};

/// An expression by itself: the value of its block when it is the last, a call for its effect, or an `if`.
struct ExprStmt : Stmt {
  ExprPtr expr;

  explicit ExprStmt(SourceRange range) : Stmt(StmtKind::Expr, range) {}
  static bool classof(const Stmt *s) { return s->kind == StmtKind::Expr; }
};

} // namespace pmap::ast
