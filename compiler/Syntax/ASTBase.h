// What every node of the syntax tree shares: names, and pointers to nodes of each family.
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

} // namespace pmap::ast
