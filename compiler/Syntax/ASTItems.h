// The syntax of items and of whole files. Included by AST.h.
#pragma once

#include "compiler/Syntax/ASTStatements.h"

namespace pmap::ast {

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

} // namespace pmap::ast
