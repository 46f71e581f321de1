// The abstract syntax of Pmap: what a parsed file means, and where each part of it stands.
//
// Plain structs with one kind tag per family (Expr, Stmt, Type, Pattern, Item), children owned by std::unique_ptr, and
// classof, so that llvm::isa, dyn_cast and TypeSwitch work. Nothing here is resolved: a name is text, `f32` and `Model`
// are both a NamedType. Nodes are made by the parser and never changed.
#pragma once

#include "compiler/Syntax/ASTItems.h"

namespace pmap::ast {

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
