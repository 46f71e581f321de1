// The abstract syntax of Pmap: what a parsed file means, and where each part of it stands.
//
// Plain structs with one kind tag per family (Expr, Stmt, Type, Pattern, Item), children owned by std::unique_ptr, and
// classof, so that llvm::isa, dyn_cast and TypeSwitch work. Nothing here is resolved: a name is text, `f32` and `Model`
// are both a NamedType. Nodes are made by the parser and never changed.
#pragma once

#include "compiler/Support/SourceFile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Casting.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pmap::ast {

struct Expr;
struct Stmt;
struct Type;
struct Pattern;
struct Item;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;
using TypePtr = std::unique_ptr<Type>;
using PatternPtr = std::unique_ptr<Pattern>;
using ItemPtr = std::unique_ptr<Item>;

/// A name as written, and where.
struct Ident {
  std::string text;
  SourceRange range;

  llvm::StringRef str() const { return text; }
  bool empty() const { return text.empty(); }
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

enum class TypeKind { Named, Tuple, Record };

struct Type {
  const TypeKind kind;
  SourceRange range;

  virtual ~Type() = default;

protected:
  Type(TypeKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `f32`, `f32[n, 2*d+1]`, `Model`, `Model[d]`, `nn.Layer[i, o]`, `_`, `_[..., i]`. Which of them it is, is Sema's to
/// say. A size is an expression: names, integers, `+ - * / // %`, calls of `min` and `max`; besides a HoleExpr (`_`:
/// any size) or an EllipsisExpr (`...`: any number of dimensions).
struct NamedType : Type {
  std::vector<Ident> path; ///< One name, or a module and a name.
  bool hasSizes = false;   ///< Whether brackets were written; `f32[]` is a scalar like `f32`.
  std::vector<ExprPtr> sizes;

  explicit NamedType(SourceRange range) : Type(TypeKind::Named, range) {}
  static bool classof(const Type *t) { return t->kind == TypeKind::Named; }
  /// Whether this is `_`, with or without brackets.
  bool isHole() const { return path.size() == 1 && path[0].text == "_"; }
  /// The last name of the path, and the module before it (empty if none).
  llvm::StringRef name() const { return path.back().text; }
  llvm::StringRef module() const { return path.size() > 1 ? llvm::StringRef(path[0].text) : llvm::StringRef(); }
};

/// `(a, b)`, `(a,)`, `()`.
struct TupleType : Type {
  std::vector<TypePtr> elements;

  explicit TupleType(SourceRange range) : Type(TypeKind::Tuple, range) {}
  static bool classof(const Type *t) { return t->kind == TypeKind::Tuple; }
};

struct RecordTypeField {
  Ident name;
  TypePtr type;
  std::string doc; ///< Text of `##` comments, without the marks; lines separated by '\n'.
};

/// `(w: f32[i, o], b: f32[o])`.
struct RecordType : Type {
  std::vector<RecordTypeField> fields;

  explicit RecordType(SourceRange range) : Type(TypeKind::Record, range) {}
  static bool classof(const Type *t) { return t->kind == TypeKind::Record; }
};

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

enum class PatternKind { Name, Wildcard, Tuple };

/// What `let`, `var` and `for` bind.
struct Pattern {
  const PatternKind kind;
  SourceRange range;

  virtual ~Pattern() = default;

protected:
  Pattern(PatternKind kind, SourceRange range) : kind(kind), range(range) {}
};

struct NamePattern : Pattern {
  Ident name;

  explicit NamePattern(Ident name) : Pattern(PatternKind::Name, name.range), name(std::move(name)) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::Name; }
};

/// `_`.
struct WildcardPattern : Pattern {
  explicit WildcardPattern(SourceRange range) : Pattern(PatternKind::Wildcard, range) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::Wildcard; }
};

/// `(a, (b, _))`; also takes a record apart, by position.
struct TuplePattern : Pattern {
  std::vector<PatternPtr> elements;

  explicit TuplePattern(SourceRange range) : Pattern(PatternKind::Tuple, range) {}
  static bool classof(const Pattern *p) { return p->kind == PatternKind::Tuple; }
};

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

//===----------------------------------------------------------------------===//
// Items and modules
//===----------------------------------------------------------------------===//

enum class ItemKind { Import, Function, Type, Const, Test };

struct Item {
  const ItemKind kind;
  SourceRange range;
  std::string doc; ///< Text of the `##` comments right before it, without the marks; lines separated by '\n'.

  virtual ~Item() = default;

protected:
  Item(ItemKind kind, SourceRange range) : kind(kind), range(range) {}
};

/// `import nn`, `import nn as n`, `import "path.pmap" as p`.
struct ImportItem : Item {
  std::string module; ///< `nn`, or the path as written (without quotes).
  SourceRange moduleRange;
  bool isPath = false;
  Ident alias; ///< What the program calls it: after `as`, else the module's name, else the file's stem.

  explicit ImportItem(SourceRange range) : Item(ItemKind::Import, range) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Import; }
};

struct FunctionItem : Item {
  bool isExport = false;
  Ident name;
  std::vector<Param> params;
  TypePtr resultType; ///< May be null.
  ExprPtr body;       ///< A BlockExpr when written with braces.

  explicit FunctionItem(SourceRange range) : Item(ItemKind::Function, range) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Function; }
};

/// `type Layer[i, o] = (w: f32[i, o], b: f32[o])`.
struct TypeItem : Item {
  Ident name;
  bool hasParams = false;
  std::vector<Ident> params;
  TypePtr type;

  explicit TypeItem(SourceRange range) : Item(ItemKind::Type, range) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Type; }
};

/// `const k = 3`, `const k: i64 = 3`.
struct ConstItem : Item {
  Ident name;
  TypePtr type; ///< May be null.
  ExprPtr value;

  explicit ConstItem(SourceRange range) : Item(ItemKind::Const, range) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Const; }
};

/// `test "name" { ... }`.
struct TestItem : Item {
  std::string name;
  SourceRange nameRange;
  std::unique_ptr<BlockExpr> body;

  explicit TestItem(SourceRange range) : Item(ItemKind::Test, range) {}
  static bool classof(const Item *i) { return i->kind == ItemKind::Test; }
};

/// A comment, `#` included, without the line's end.
struct Comment {
  SourceRange range;
  std::string text;
  bool ownLine = false; ///< Nothing but blanks stands before it on its line.

  bool isDoc() const { return llvm::StringRef(text).starts_with("##"); }
};

struct Module {
  const SourceFile *file = nullptr;
  std::string doc; ///< `##` comments at the top, separated from the first item by an empty line.
  std::vector<ItemPtr> items;
  /// Every comment in the order of the source, doc comments included. The printer puts each back by its position.
  std::vector<Comment> comments;

  /// The item of a name (function, type, const, or the alias of an import); the last when there are several. Null if
  /// none.
  const Item *find(llvm::StringRef name) const;
};

/// The name an item introduces; empty for a test.
const Ident *nameOf(const Item &item);

//===----------------------------------------------------------------------===//
// Walking
//===----------------------------------------------------------------------===//

/// Calls `visit` on each direct child expression of `e`: operands, arguments, subscripts, the expressions in the
/// statements of a block, in source order. Sizes in types and the defaults of a lambda's parameters are children, too.
void forEachChild(const Expr &e, llvm::function_ref<void(const Expr &)> visit);
/// Calls `visit` on each expression directly in a statement (targets included), in source order.
void forEachChild(const Stmt &s, llvm::function_ref<void(const Expr &)> visit);
/// Calls `visit` on `e` and everything below it, parents first. `visit` returns false to skip what is below.
void walk(const Expr &e, llvm::function_ref<bool(const Expr &)> visit);
/// Calls `visit` on every statement in the block, nested loops and ifs included, and not the bodies of lambdas or
/// comprehensions (they cannot assign outer variables).
void walkStatements(const BlockExpr &block, llvm::function_ref<void(const Stmt &)> visit);

/// The outer variables that the statements of a block assign, in the order of first assignment: what a loop around it
/// carries. Variables declared inside the block (by `let`, `var` or `for`) and only assigned there do not count.
std::vector<Ident> assignedVariables(const BlockExpr &block);
/// The names a pattern binds, in source order.
std::vector<const Ident *> boundNames(const Pattern &pattern);

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The tree as text, one node a line, without positions: `--emit ast`. Two trees mean the same exactly when their dumps
/// are equal.
std::string dumpAST(const Module &module);
std::string dumpAST(const Expr &e);
std::string dumpAST(const Stmt &s);

/// Source text of one expression or type on one line, for messages: `2 * d + 1`, `f32[n]`.
std::string toSource(const Expr &e);
std::string toSource(const Type &t);

} // namespace pmap::ast
