// The base of the generated parser: a limit on nesting, so that no input overflows the stack.
#pragma once

#include "antlr4-runtime.h"

namespace pmap::grammar {

class NestingParser : public antlr4::Parser {
public:
  using Parser::Parser;

  /// Thrown past all rules, which catch only ANTLR's own exceptions; the token at which it became too much.
  struct TooDeep {
    antlr4::Token *token;
  };

  // Generated code calls exitRule by its plain name, so that hiding it is enough; the other two are virtual.
  void enterRule(antlr4::ParserRuleContext *context, size_t state, size_t rule) override {
    Parser::enterRule(context, state, rule);
    deeper();
  }
  void exitRule() {
    --depth;
    Parser::exitRule();
  }
  void enterRecursionRule(antlr4::ParserRuleContext *context, size_t state, size_t rule, int precedence) override {
    Parser::enterRecursionRule(context, state, rule, precedence);
    deeper();
  }
  void unrollRecursionContexts(antlr4::ParserRuleContext *parent) override {
    --depth;
    Parser::unrollRecursionContexts(parent);
  }

private:
  /// Rules in progress, not brackets: one pair of parentheses takes five of them, a block about seven.
  static constexpr unsigned limit = 1200;

  void deeper() {
    if (++depth > limit)
      throw TooDeep{getCurrentToken()};
  }

  unsigned depth = 0;
};

} // namespace pmap::grammar
