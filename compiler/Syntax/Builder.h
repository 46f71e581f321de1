// From ANTLR's parse tree to our AST. What is simpler to check on the tree than to say in the grammar is reported here:
// chained comparisons, assignment targets, `+=`, names given twice, mixed tuples and records.
#pragma once

#include "PmapParser.h"
#include "compiler/Syntax/AST.h"
#include "compiler/Syntax/TokenFilter.h"

namespace pmap {

class Builder {
public:
  Builder(const TokenizedFile &tokens, DiagnosticEngine &diagnostics) : tokens(tokens), diagnostics(diagnostics) {}

  /// Statements and items with a syntax error are left out.
  std::unique_ptr<ast::Module> buildModule(grammar::PmapParser::ModuleContext *context);
  ast::ItemPtr buildItem(grammar::PmapParser::ItemContext *context);
  ast::StmtPtr buildStatement(grammar::PmapParser::StatementContext *context);
  ast::ExprPtr buildExpr(grammar::PmapParser::ExprContext *context);
  /// An empty module of this file, with its comments.
  std::unique_ptr<ast::Module> emptyModule();

private:
  using P = grammar::PmapParser;

  // Items (BuildItems.cpp).
  ast::ItemPtr buildImport(P::ImportItemContext *context);
  ast::ItemPtr buildFunction(P::FunctionItemContext *context);
  ast::ItemPtr buildTypeItem(P::TypeItemContext *context);
  ast::ItemPtr buildConst(P::ConstItemContext *context);
  ast::ItemPtr buildTest(P::TestItemContext *context);
  std::vector<ast::Param> buildParams(P::ParamsContext *context);
  std::vector<ast::Ident> buildNames(P::NameListContext *context);
  ast::ExprPtr buildBody(P::BodyContext *context);
  ast::TypePtr buildType(P::TypeContext *context);
  ast::PatternPtr buildPattern(P::PatternContext *context);
  void collectNames(const ast::Pattern &pattern, std::vector<ast::Ident> &names);
  std::string docBefore(SourceRange range) const;
  std::string docBehind(SourceRange range) const;

  // Statements and expressions (BuildExpressions.cpp).
  ast::StmtPtr buildExprStatement(P::ExprStatementContext *context);
  ast::ExprPtr buildExprUnchecked(P::ExprContext *context);
  ast::ExprPtr buildBinary(P::BinaryExprContext *context);
  ast::ExprPtr buildAtom(P::AtomContext *context);
  ast::ExprPtr buildGroup(P::GroupAtomContext *context);
  ast::ExprPtr buildIndex(P::IndexExprContext *context);
  std::unique_ptr<ast::BlockExpr> buildBlock(P::BlockContext *context);
  std::unique_ptr<ast::IfExpr> buildIf(P::IfExprContext *context);
  std::vector<ast::Argument> buildArguments(P::ArgumentListContext *context);
  std::vector<ast::NamedExpr> buildFields(P::ArgumentListContext *context, llvm::StringRef what);

  ast::Ident ident(P::NameContext *context) const;
  ast::Ident word(P::WordContext *context) const;
  SourceRange range(const antlr4::ParserRuleContext *context) const {
    return tokens.range(context->start, context->stop);
  }
  SourceRange range(const antlr4::Token *token) const { return tokens.range(token); }
  SourceRange range(antlr4::tree::TerminalNode *node) const { return tokens.range(node->getSymbol()); }
  /// Reports E0112 for each name that occurs twice; `_` may.
  void checkDistinct(llvm::ArrayRef<const ast::Ident *> names, llvm::StringRef what);

  const TokenizedFile &tokens;
  DiagnosticEngine &diagnostics;
  /// Expressions in progress. Sema and the printer recurse as deep as the tree is, so its depth is limited here.
  unsigned depth = 0;
  static constexpr unsigned maxDepth = 1000;
  bool reportedDepth = false;
};

} // namespace pmap
