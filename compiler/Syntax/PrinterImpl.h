// The printer's own declarations; Printer.h is its door.
#pragma once

#include "compiler/Syntax/AST.h"
#include "compiler/Syntax/Layout.h"

namespace pmap {

/// Turns trees into documents, and puts each comment back where it stood: comments are taken from the module's list in
/// order, at the places between statements, list elements and operands.
class Printer {
public:
  explicit Printer(const ast::Module *module) : module(module) {}

  layout::Doc moduleDoc();
  /// An item without the body of a function.
  layout::Doc signatureDoc(const ast::Item &item);
  layout::Doc typeDoc(const ast::Type &t);
  /// How tightly an expression binds; see `level`.
  layout::Doc exprDoc(const ast::Expr &e, unsigned minimum = 0);

private:
  using Doc = layout::Doc;

  // Items and statements (Printer.cpp).
  Doc itemDoc(const ast::Item &item);
  Doc statementDoc(const ast::Stmt &s);
  Doc patternDoc(const ast::Pattern &p);
  Doc paramsDoc(const std::vector<ast::Param> &params, SourceRange whole);
  Doc paramDoc(const ast::Param &param);
  Doc namesDoc(const std::vector<ast::Ident> &names);
  Doc functionHead(const std::vector<ast::Param> &params, const ast::Type *result, SourceRange whole);
  Doc functionTail(const std::vector<ast::Param> &params, const ast::Type *result, const ast::Expr &body,
                   SourceRange whole, bool keepBreak);
  Doc bound(const ast::Expr &value, bool forceBreak = false);
  Doc blockDoc(const ast::BlockExpr &block, bool grouped = true);

  // Expressions (PrintExpressions.cpp).
  Doc exprUnwrapped(const ast::Expr &e);
  Doc binaryDoc(const ast::BinaryExpr &e);
  Doc pipeDoc(const ast::PipeExpr &e);
  Doc ifDoc(const ast::IfExpr &e);
  Doc comprehensionDoc(const ast::ComprehensionExpr &e);
  Doc arrayDoc(const ast::ArrayExpr &e);
  Doc callDoc(const ast::CallExpr &e);
  Doc namedDoc(const ast::NamedExpr &field);
  Doc subscriptDoc(const ast::Subscript &s);

  /// A bracketed list: on one line, or one element a line with a comma behind each. `end` is the offset of the closing
  /// bracket.
  template <typename List, typename BeginOf, typename DocOf>
  Doc list(llvm::StringRef open, const List &elements, llvm::StringRef close, uint32_t end, BeginOf beginOf,
           DocOf docOf, bool commaOfOne = false);

  // Comments (Printer.cpp).
  /// The comments behind the last token, before `offset`: they stay at the end of their line.
  Doc behind(uint32_t offset);
  /// The comments before `offset` that stand on lines of their own, each with its line break; empty lines kept when
  /// asked.
  Doc above(uint32_t offset, bool keepEmptyLines = false);
  /// All comments before a closing bracket, each on its line; the break behind the last is the bracket's own.
  Doc beforeClosing(uint32_t end);
  /// The comments inside a statement or item for which no better place was found, at its end.
  Doc leftOver(uint32_t end, bool isItem);
  bool hasCommentBefore(uint32_t offset) const;
  /// Whether nothing but a comment stands before `offset`: that of an empty pair of brackets.
  bool hasCommentRightBefore(uint32_t offset) const;
  bool emptyLineBefore(uint32_t offset) const;
  /// The position of the bracket that closes a node of this range.
  static uint32_t closing(SourceRange range) { return range.isValid() ? range.end - 1 : 0; }

  const ast::Module *module;
  size_t nextComment = 0;
  /// Inside sizes and slices: `2*d+1` without blanks.
  bool tight = false;
};

template <typename List, typename BeginOf, typename DocOf>
layout::Doc Printer::list(llvm::StringRef open, const List &elements, llvm::StringRef close, uint32_t end,
                          BeginOf beginOf, DocOf docOf, bool commaOfOne) {
  using namespace layout;
  if (std::empty(elements) && !hasCommentRightBefore(end))
    return text((open + close).str());
  std::vector<Doc> inner;
  bool first = true;
  for (const auto &element : elements) {
    if (!first)
      inner.push_back(text(","));
    inner.push_back(behind(beginOf(element)));
    inner.push_back(first ? softLine() : line());
    inner.push_back(above(beginOf(element)));
    inner.push_back(docOf(element));
    first = false;
  }
  if (!first)
    inner.push_back(commaOfOne && std::size(elements) == 1 ? text(",") : ifBroken(","));
  inner.push_back(beforeClosing(end));
  return group(concat({text(open.str()), indent(concat(std::move(inner))), softLine(), text(close.str())}));
}

} // namespace pmap
