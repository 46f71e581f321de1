// The syntax of types as written, and of the patterns that bind names. Included by AST.h.
#pragma once

#include "compiler/Syntax/ASTBase.h"

namespace pmap::ast {

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

} // namespace pmap::ast
