#include "compiler/Syntax/SyntaxErrors.h"
#include "llvm/ADT/StringSwitch.h"

namespace pmap {

using antlr4::misc::IntervalSet;
using grammar::PmapParser;

namespace {

bool isName(size_t type) {
  return type == PmapParser::NAME || type == PmapParser::TYPE || type == PmapParser::TEST || type == PmapParser::AS;
}

bool startsExpression(const IntervalSet &set) { return set.contains(size_t(PmapParser::NUMBER)); }

/// The token before this one, or null.
antlr4::Token *previous(PmapParser &parser, const antlr4::Token *token) {
  size_t index = token->getTokenIndex();
  return index > 0 && index != INVALID_INDEX ? parser.getTokenStream()->get(index - 1) : nullptr;
}

antlr4::Token *next(PmapParser &parser, const antlr4::Token *token) {
  size_t index = token->getTokenIndex();
  return token->getType() != antlr4::Token::EOF ? parser.getTokenStream()->get(index + 1) : nullptr;
}

/// What an element of the list in this rule is called.
llvm::StringRef elementOf(size_t rule) {
  switch (rule) {
  case PmapParser::RuleFunctionItem:
  case PmapParser::RuleParams:
    return "a parameter";
  case PmapParser::RuleType:
  case PmapParser::RuleTypeFieldList:
    return "a type";
  case PmapParser::RuleTypeItem:
  case PmapParser::RuleNameList:
  case PmapParser::RulePattern:
    return "a name";
  default:
    return "an expression";
  }
}

std::string quoted(size_t type) {
  std::string text = tokenText(type);
  return llvm::StringRef(text).starts_with("a ") || llvm::StringRef(text).starts_with("the ") ? text : "'" + text + "'";
}

std::string joinAlternatives(const std::vector<std::string> &parts) {
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i)
    result += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  return result;
}

/// The expected tokens in words: whole categories rather than their first tokens.
std::string describeExpected(const IntervalSet &set, size_t rule, const antlr4::Token *before) {
  auto has = [&](size_t type) { return set.contains(type); };
  size_t beforeType = before ? before->getType() : size_t(PmapParser::SEP);
  std::vector<std::string> parts;
  auto closers = [&] {
    for (size_t type : {size_t(PmapParser::RPAREN), size_t(PmapParser::RBRACKET)})
      if (has(type))
        parts.push_back(quoted(type));
  };

  if (startsExpression(set)) {
    parts.push_back(has(PmapParser::LET) && has(PmapParser::WHILE) && has(PmapParser::BREAK) && !has(PmapParser::IN)
                        ? "a statement"
                    : rule == PmapParser::RuleSize || rule == PmapParser::RuleType ? "a size"
                                                                                   : "an expression");
    closers();
    return joinAlternatives(parts);
  }
  // A closing bracket alone: the list before it may go on, unless it has not begun.
  if (set.size() == 1 && (has(PmapParser::RPAREN) || has(PmapParser::RBRACKET))) {
    if (beforeType == PmapParser::COMMA || beforeType == PmapParser::LPAREN || beforeType == PmapParser::LBRACKET)
      parts.push_back(beforeType == PmapParser::LBRACKET && rule == PmapParser::RuleType ? "a size"
                                                                                         : elementOf(rule).str());
    else
      parts.push_back("','");
    closers();
    return joinAlternatives(parts);
  }
  if (set.size() == 1 && has(PmapParser::COLON) && rule == PmapParser::RuleAtom)
    return "',' or ':'";
  if (has(PmapParser::NAME)) {
    bool anyWord = has(PmapParser::WHILE);
    if (rule == PmapParser::RuleType || rule == PmapParser::RuleTypeField)
      parts.push_back("a type");
    else if (anyWord)
      parts.push_back(rule == PmapParser::RuleParam || rule == PmapParser::RuleFunctionItem ? "a parameter" : "a name");
    else
      parts.push_back("a name");
    if (has(PmapParser::STRING))
      parts.push_back("a file name in quotes");
    if (has(PmapParser::LPAREN) && rule == PmapParser::RulePattern)
      parts.push_back("'('");
    closers();
    return joinAlternatives(parts);
  }
  if (has(PmapParser::SEP))
    return "the end of the statement";
  if (has(PmapParser::COMMA))
    parts.push_back("','");
  for (const auto &interval : set.getIntervals())
    for (ssize_t type = interval.a; type <= interval.b; ++type)
      if (type != PmapParser::COMMA)
        parts.push_back(quoted(static_cast<size_t>(type)));
  return joinAlternatives(parts);
}

/// What people write who come from other languages, by the first word of the statement.
llvm::StringRef foreignStatement(llvm::StringRef word) {
  return llvm::StringSwitch<llvm::StringRef>(word)
      .Case("return", "there is no 'return': the last expression of a block is its value")
      .Case("elif", "write 'else if' behind the '}'")
      .Cases({"def", "func", "function", "fun"}, "a function is written 'fn name(x) = ...' or 'fn name(x) { ... }'")
      .Cases({"class", "struct", "record"}, "a record type is written 'type Name = (field: f32[n], ...)'")
      .Cases({"from", "use", "include"}, "write 'import nn' or 'import \"file.pmap\" as f'")
      .Cases({"continue", "pass"}, "there is no such statement; turn the condition around")
      .Case("lambda", "a function value is written 'fn(x) = x + 1'")
      .Cases({"do", "repeat", "loop"}, "loops are 'for i in 0..n { }' and 'while c { }'")
      .Default("");
}

bool isBinaryOperator(size_t type) { return type >= PmapParser::POW && type <= PmapParser::GT; }

} // namespace

llvm::StringRef SyntaxErrors::text(const antlr4::Token *token) const { return file.range(token).text(); }

std::string SyntaxErrors::describe(PmapParser &parser, antlr4::Token *token) const {
  size_t type = token->getType();
  if (type == antlr4::Token::EOF)
    return "the end of the file";
  if (type == PmapParser::SEP) {
    if (text(token) == ";")
      return "';'";
    // The filter ends the last statement of a block, and of the file, where nothing is written.
    antlr4::Token *after = next(parser, token);
    if (after && after->getType() == antlr4::Token::EOF && text(after).empty())
      return "the end of the file";
    if (after && after->getType() == PmapParser::RBRACE && !file.isRepair(after)) {
      llvm::StringRef between = file.file().text().slice(token->getStopIndex(), after->getStartIndex());
      if (!between.contains('\n'))
        return "'}'";
    }
    return "the end of the line";
  }
  llvm::StringRef shown = text(token);
  if (shown.size() <= 40)
    return "'" + shown.str() + "'";
  return type == PmapParser::STRING ? "a string" : type == PmapParser::NUMBER ? "a number" : "a long name";
}

antlr4::Token *SyntaxErrors::firstOfStatement(PmapParser &parser, antlr4::Token *got) const {
  for (antlr4::RuleContext *context = parser.getContext(); context;
       context = static_cast<antlr4::RuleContext *>(context->parent)) {
    size_t rule = context->getRuleIndex();
    if (rule == PmapParser::RuleLine || rule == PmapParser::RuleItemLine || rule == PmapParser::RuleReplLine)
      return static_cast<antlr4::ParserRuleContext *>(context)->getStart();
  }
  return got;
}

antlr4::Token *SyntaxErrors::recoverInline(antlr4::Parser *parser) { throw antlr4::InputMismatchException(parser); }

void SyntaxErrors::reportError(antlr4::Parser *generic, const antlr4::RecognitionException &error) {
  if (reported)
    return;
  reported = true;
  auto &parser = static_cast<PmapParser &>(*generic);
  antlr4::Token *got = error.getOffendingToken();
  if (file.isRepair(got))
    return;
  antlr4::Token *before = previous(parser, got);
  // The filter's repair of an open block ends its last statement, too.
  if (got->getType() == PmapParser::SEP && before && file.isRepair(before))
    return;

  size_t rule = parser.getContext()->getRuleIndex();
  IntervalSet expected = error.getExpectedTokens();
  SourceRange range = file.range(got);
  std::string gotText = describe(parser, got);

  if (before && before->getType() == PmapParser::FN && got->getType() == PmapParser::NAME) {
    diagnostics
        .error(Code::E0115, range,
               "expected '(', got " + gotText + ": functions with a name are defined outside of blocks")
        .fix(file.range(before, got), "let " + text(got) + " = fn")
        .report();
    return;
  }
  bool wantsName = expected.contains(size_t(PmapParser::NAME)) && !startsExpression(expected);
  if (wantsName && isReservedWord(got->getType())) {
    diagnostics.error(Code::E0113, range, "expected a name, got the reserved word " + gotText).report();
    return;
  }
  bool wantsEnd = expected.contains(size_t(PmapParser::SEP)) && !startsExpression(expected);
  auto builder = diagnostics.error(wantsEnd ? Code::E0114 : Code::E0101, range,
                                   "expected " + describeExpected(expected, rule, before) + ", got " + gotText);
  if (SourceRange bracket = file.unclosedBracketAround(got); bracket.isValid()) {
    explained.insert(bracket.begin);
    builder.note(bracket, "the '" + bracket.text() + "' is here");
  }
  addHint(builder, parser, got, expected);
}

void SyntaxErrors::reportBrackets() {
  for (const TokenizedFile::BracketError &error : file.bracketErrors())
    if (!error.bracket.isValid() || !explained.contains(error.bracket.begin))
      diagnostics.report(error.diagnostic);
}

void SyntaxErrors::addHint(DiagnosticBuilder &builder, PmapParser &parser, antlr4::Token *got,
                           const IntervalSet &expected) const {
  size_t type = got->getType();
  antlr4::Token *before = previous(parser, got);
  antlr4::Token *first = firstOfStatement(parser, got);
  if (llvm::StringRef hint = foreignStatement(text(first)); !hint.empty() && first != got) {
    builder.note(file.range(first), hint);
    return;
  }
  if (first != got && first->getType() == PmapParser::TYPE && isName(type)) {
    builder.note("types are defined outside of functions");
    return;
  }
  if (first != got && first->getType() == PmapParser::EXPORT && before == first) {
    builder.note("only functions are exported");
    return;
  }
  if (first->getType() == PmapParser::IMPORT && type == PmapParser::DOT) {
    builder.note("a whole module is imported: 'import nn', then 'nn.relu'");
    return;
  }
  if (type == PmapParser::FOR && expected.contains(size_t(PmapParser::RBRACKET))) {
    builder.note("in a comprehension the loop comes first: '[for i in n: x[i]]'");
    return;
  }
  if (type == PmapParser::IF && first != got && expected.contains(size_t(PmapParser::SEP))) {
    builder.note("a choice is written 'if c { a } else { b }'; for arrays of conditions there is 'where(c, a, b)'");
    return;
  }
  if (before && text(before) == "lambda" && isName(type)) {
    builder.note("a function value is written 'fn(x) = x + 1'");
    return;
  }
  size_t rule = parser.getContext()->getRuleIndex();
  bool inArguments = expected.contains(size_t(PmapParser::RPAREN)) && rule == PmapParser::RuleExpr;
  bool inCondition = expected.contains(size_t(PmapParser::LBRACE)) && rule == PmapParser::RuleBlock &&
                     first->getType() != PmapParser::TEST && first->getType() != PmapParser::FN;
  if (type == PmapParser::ASSIGN && (inArguments || inCondition || rule == PmapParser::RuleAtom)) {
    antlr4::Token *label = before;
    antlr4::Token *bracket = label ? previous(parser, label) : nullptr;
    if (inArguments && label && isName(label->getType()) && bracket &&
        (bracket->getType() == PmapParser::LPAREN || bracket->getType() == PmapParser::COMMA))
      builder.note("an argument is passed by name as 'name: value'").fix(file.range(label, got), text(label) + ":");
    else
      builder.note("'==' compares; '=' binds a name").fix(file.range(got), "==");
    return;
  }
  if (type == PmapParser::COLON && expected.contains(size_t(PmapParser::LBRACE))) {
    builder.note("blocks stand in braces: 'if c { ... }'");
    return;
  }
  if (type == PmapParser::COLON && expected.contains(size_t(PmapParser::SEP)) && before == first) {
    builder.note("a value is named by 'let', a variable declared by 'var'").fix(file.range(first).startPoint(), "let ");
    return;
  }
  antlr4::Token *after = next(parser, got);
  if (type == PmapParser::SEP && expected.contains(size_t(PmapParser::LBRACE)) && after &&
      after->getType() == PmapParser::LBRACE) {
    builder.note(file.range(after), "the '{' stands on the same line");
    return;
  }
  if (before && before->getType() == PmapParser::DOT && type == PmapParser::NUMBER)
    builder.note("the elements of a tuple are taken out by 'let (a, b) = t'");
  else if (before && before->getType() == PmapParser::NUMBER && type == PmapParser::NAME &&
           !file.file().text().slice(before->getStopIndex(), got->getStartIndex()).contains('\n'))
    builder.note("a product is written with '*'");
  else if (type == PmapParser::DOT && startsExpression(expected) && after && after->getType() == PmapParser::NUMBER)
    builder.note("a number starts with a digit").fix(file.range(got), "0.");
  else if (before && before->getType() == PmapParser::DOT)
    if (antlr4::Token *digits = previous(parser, before); digits && digits->getType() == PmapParser::NUMBER)
      builder.note("a number ends with a digit").fix(file.range(before), ".0");
}

void SyntaxErrors::recover(antlr4::Parser *generic, std::exception_ptr error) {
  auto &parser = static_cast<PmapParser &>(*generic);
  switch (parser.getContext()->getRuleIndex()) {
  case PmapParser::RuleLine:
  case PmapParser::RuleItemLine:
  case PmapParser::RuleReplLine:
    reported = false;
    skipStatement(parser);
    return;
  case PmapParser::RuleExpressionFile:
    return;
  default:
    std::rethrow_exception(error);
  }
}

void SyntaxErrors::skipStatement(PmapParser &parser) {
  for (;;) {
    switch (parser.getInputStream()->LA(1)) {
    case antlr4::Token::EOF:
    case PmapParser::RBRACE:
      return;
    case PmapParser::SEP:
      parser.consume();
      // A block on the next line belongs to what failed: its `{` should have stood on this one.
      if (parser.getInputStream()->LA(1) != PmapParser::LBRACE)
        return;
      break;
    case PmapParser::LBRACE:
      parser.block();
      break;
    default:
      parser.consume();
    }
  }
}

void SyntaxErrors::sync(antlr4::Parser *generic) {
  auto &parser = static_cast<PmapParser &>(*generic);
  size_t rule = parser.getContext()->getRuleIndex();
  if (rule != PmapParser::RuleBlock && rule != PmapParser::RuleModule && rule != PmapParser::RuleRepl)
    return;
  const antlr4::atn::ATN &atn = parser.getATN();
  const IntervalSet &possible = atn.nextTokens(atn.states[parser.getState()]);
  while (!possible.contains(parser.getInputStream()->LA(1)) && parser.getInputStream()->LA(1) != antlr4::Token::EOF) {
    reportMisplaced(parser);
    size_t before = parser.getInputStream()->index();
    skipStatement(parser);
    if (parser.getInputStream()->index() == before)
      parser.consume();
  }
}

void SyntaxErrors::reportMisplaced(PmapParser &parser) {
  antlr4::Token *got = parser.getCurrentToken();
  if (file.isRepair(got))
    return;
  SourceRange range = file.range(got);
  std::string gotText = describe(parser, got);
  size_t type = got->getType();
  bool inModule = parser.getContext()->getRuleIndex() == PmapParser::RuleModule;
  if (isBinaryOperator(type) || type == PmapParser::DOT_DOT || type == PmapParser::CAST || type == PmapParser::WITH ||
      type == PmapParser::AND || type == PmapParser::OR || type == PmapParser::ASSIGN) {
    diagnostics
        .error(Code::E0101, range,
               "expected a " + llvm::Twine(inModule ? "definition" : "statement") + ", got " + gotText)
        .note("a line that goes on ends with its operator, or stands in parentheses")
        .report();
    return;
  }
  if (!inModule) {
    bool isItem = type == PmapParser::IMPORT || type == PmapParser::EXPORT || type == PmapParser::CONST;
    auto builder = diagnostics.error(isItem ? Code::E0115 : Code::E0101, range, "expected a statement, got " + gotText);
    if (type == PmapParser::CONST)
      builder.note("inside a block, write 'let'").fix(range, "let");
    else if (isItem)
      builder.note(gotText + " stands outside of functions");
    else if (type == PmapParser::ELSE)
      builder.note("'else' stands behind the '}' of an 'if'");
    return;
  }
  auto builder = diagnostics.error(Code::E0115, range,
                                   "expected a definition (fn, type, const, import, export, test), got " + gotText);
  if (llvm::StringRef hint = foreignStatement(text(got)); !hint.empty())
    builder.note(hint);
  else if (type == PmapParser::LET)
    builder.note("a constant of the file is defined by 'const'").fix(range, "const");
  else if (type == PmapParser::VAR || type == PmapParser::FOR || type == PmapParser::WHILE || type == PmapParser::IF ||
           isName(type))
    builder.note("statements stand in functions; a program starts at 'fn main'");
}

} // namespace pmap
