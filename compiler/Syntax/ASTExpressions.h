// The syntax of expressions. Included by AST.h, since blocks hold statements.
#pragma once

#include "compiler/Syntax/ASTTypes.h"

namespace pmap::ast {

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class ExprKind {
  Number,
  Bool,
  String,
  Name,
  Hole,
  Ellipsis,
  Unary,
  Binary,
  Range,
  Cast,
  With,
  Pipe,
  Call,
  Index,
  Field,
  Tuple,
  Record,
  Array,
  Comprehension,
  If,
  Block,
  Lambda,
};

struct Expr {
  const ExprKind kind;
  /// From the first to the last character, without parentheses around it.
  SourceRange range;
  /// Whether parentheses stood around it; only the printer cares.
  bool parenthesized = false;

  virtual ~Expr() = default;

protected:
  Expr(ExprKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `1`, `1_000`, `0xff`, `1.5e-3`, `inf`, `nan`, and with a dtype suffix `1i64`, `2.0f64`. Never negative: `-1` is a
/// UnaryExpr.
struct NumberExpr : Expr {
  std::string text;     ///< As written.
  bool isFloat = false; ///< A fraction or an exponent was written, or it is inf or nan, or the suffix is a float dtype.
  uint64_t intValue = 0;   ///< The value when not isFloat.
  double floatValue = 0.0; ///< The value in any case.
  std::string suffix;      ///< The dtype's name, or empty: a weak literal.

  explicit NumberExpr(SourceRange range) : Expr(ExprKind::Number, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Number; }
};

struct BoolExpr : Expr {
  bool value;

  BoolExpr(SourceRange range, bool value) : Expr(ExprKind::Bool, range), value(value) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Bool; }
};

struct StringExpr : Expr {
  std::string value; ///< With escapes resolved.

  explicit StringExpr(SourceRange range) : Expr(ExprKind::String, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::String; }
};

/// A name by itself. `m.x` is a FieldExpr, also where `m` turns out to be a module.
struct NameExpr : Expr {
  std::string name;

  explicit NameExpr(SourceRange range) : Expr(ExprKind::Name, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Name; }
};

/// `_`: "replicated" in a spec, "any" in a type, "the devices there are" in a mesh.
struct HoleExpr : Expr {
  explicit HoleExpr(SourceRange range) : Expr(ExprKind::Hole, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Hole; }
};

/// `...` as a size in a type. (In an index it is a Subscript.)
struct EllipsisExpr : Expr {
  explicit EllipsisExpr(SourceRange range) : Expr(ExprKind::Ellipsis, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Ellipsis; }
};

enum class UnaryOp { Neg, Not };

struct UnaryExpr : Expr {
  UnaryOp op;
  SourceRange opRange;
  ExprPtr operand;

  explicit UnaryExpr(SourceRange range) : Expr(ExprKind::Unary, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Unary; }
};

enum class BinaryOp { Or, And, Eq, Ne, Lt, Le, Gt, Ge, Add, Sub, Mul, Div, FloorDiv, Mod, MatMul, Pow };

/// `+`, `and`, `==`: the operator as written.
llvm::StringRef spelling(BinaryOp op);
llvm::StringRef spelling(UnaryOp op);
inline bool isComparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
inline bool isLogical(BinaryOp op) { return op == BinaryOp::Or || op == BinaryOp::And; }

struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange opRange;
  ExprPtr lhs, rhs;

  explicit BinaryExpr(SourceRange range) : Expr(ExprKind::Binary, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Binary; }
};

/// `a..b`: a to b, b not included.
struct RangeExpr : Expr {
  SourceRange opRange;
  ExprPtr begin, end;

  explicit RangeExpr(SourceRange range) : Expr(ExprKind::Range, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Range; }
};

/// `x :> f32[m]`.
struct CastExpr : Expr {
  SourceRange opRange;
  ExprPtr operand;
  TypePtr type;

  explicit CastExpr(SourceRange range) : Expr(ExprKind::Cast, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Cast; }
};

/// `name: value`.
struct NamedExpr {
  Ident name;
  ExprPtr value;
};

/// `r with (w: a2, b: b2)`.
struct WithExpr : Expr {
  SourceRange opRange;
  ExprPtr record;
  std::vector<NamedExpr> fields;

  explicit WithExpr(SourceRange range) : Expr(ExprKind::With, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::With; }
};

/// `a |> f(b)` is `f(a, b)`: when the right side is a CallExpr, the left becomes its first argument; else it is called
/// with it. `a |> vmap(f)(b)` is `vmap(f)(a, b)` by the same rule, since the outermost node of the right side is the
/// second call.
struct PipeExpr : Expr {
  SourceRange opRange;
  ExprPtr lhs, rhs;

  explicit PipeExpr(SourceRange range) : Expr(ExprKind::Pipe, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Pipe; }
};

/// One argument; positional when the label is empty. Positional ones come first, and no label occurs twice.
struct Argument {
  Ident label;
  ExprPtr value;

  bool isNamed() const { return !label.empty(); }
  SourceRange range() const { return label.range.merge(value->range); }
};

struct CallExpr : Expr {
  ExprPtr callee;
  std::vector<Argument> args;

  explicit CallExpr(SourceRange range) : Expr(ExprKind::Call, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Call; }
  /// The name of the function when it is called by one (`print` of `print(x)`), else empty.
  llvm::StringRef calleeName() const;
  const Argument *findLabel(llvm::StringRef label) const;
};

/// One place between the brackets of `x[i, 2:n, a:b:s, :, ..., newaxis]`.
struct Subscript {
  enum Kind { At, Slice, Ellipsis, NewAxis };
  Kind kind = At;
  SourceRange range;
  ExprPtr index;                ///< Of an At: an integer, or an integer array.
  ExprPtr lower, upper, stride; ///< Of a Slice; each may be null.
};

struct IndexExpr : Expr {
  ExprPtr base;
  std::vector<Subscript> subscripts;

  explicit IndexExpr(SourceRange range) : Expr(ExprKind::Index, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Index; }
};

/// `r.w`, `nn.relu`.
struct FieldExpr : Expr {
  ExprPtr base;
  Ident field;

  explicit FieldExpr(SourceRange range) : Expr(ExprKind::Field, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Field; }
};

/// `(a, b)`, `(a,)`, `()`.
struct TupleExpr : Expr {
  std::vector<ExprPtr> elements;

  explicit TupleExpr(SourceRange range) : Expr(ExprKind::Tuple, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Tuple; }
};

/// `(w: a, b: c)`; no name occurs twice.
struct RecordExpr : Expr {
  std::vector<NamedExpr> fields;

  explicit RecordExpr(SourceRange range) : Expr(ExprKind::Record, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Record; }
};

/// `[1, 2]`; also a spec `["a", _]`.
struct ArrayExpr : Expr {
  std::vector<ExprPtr> elements;

  explicit ArrayExpr(SourceRange range) : Expr(ExprKind::Array, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Array; }
};

/// `i in n` (0 to n), `i in a..b`, or `i` alone: the dimension it indexes.
struct ComprehensionRange {
  Ident index;   ///< `_` when the index is not used.
  ExprPtr range; ///< May be null.
};

/// `[for i in n, j in m: x[i, j] * y[j]]`.
struct ComprehensionExpr : Expr {
  std::vector<ComprehensionRange> ranges;
  ExprPtr body;

  explicit ComprehensionExpr(SourceRange range) : Expr(ExprKind::Comprehension, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Comprehension; }
};

/// `{ statements; last expression }`. The value is the last statement's when that is an expression; otherwise there is
/// none.
struct BlockExpr : Expr {
  std::vector<StmtPtr> statements;

  explicit BlockExpr(SourceRange range) : Expr(ExprKind::Block, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Block; }
  /// The expression that is the block's value, or null.
  const Expr *result() const;
  /// The number of statements before the result (all of them when there is none).
  size_t bodySize() const { return statements.size() - (result() ? 1 : 0); }
};

/// `if c { a } else if d { b } else { e }`, as expression and as statement (inside an ExprStmt).
struct IfExpr : Expr {
  ExprPtr condition;
  std::unique_ptr<BlockExpr> thenBlock;
  ExprPtr elseBranch; ///< A BlockExpr, an IfExpr, or null.

  explicit IfExpr(SourceRange range) : Expr(ExprKind::If, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::If; }
};

/// A parameter of a function. `in specs: T = d` has the label `in` and the name `specs`: callers write the label, the
/// body the name. Usually they are the same word, written once.
struct Param {
  Ident label;
  Ident name;
  TypePtr type;         ///< Null: generic.
  ExprPtr defaultValue; ///< Null: required.
  std::string doc;      ///< Text of `##` comments before it, or behind it on its line.

  SourceRange range;
};

/// `fn(x) = x + 1`, `fn(x) { ... }`.
struct LambdaExpr : Expr {
  std::vector<Param> params;
  TypePtr resultType; ///< May be null.
  ExprPtr body;       ///< A BlockExpr when written with braces.

  explicit LambdaExpr(SourceRange range) : Expr(ExprKind::Lambda, range) {}
  static bool classof(const Expr *e) { return e->kind == ExprKind::Lambda; }
};

} // namespace pmap::ast
