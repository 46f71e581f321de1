#include "compiler/Syntax/Parser.h"
#include "compiler/Syntax/Builder.h"
#include "compiler/Syntax/SyntaxErrors.h"
#include "compiler/Syntax/TokenFilter.h"

namespace pmap {

using grammar::NestingParser;
using grammar::PmapParser;

namespace {

/// One parse of the filtered tokens. Parsing is fast in ANTLR's SLL mode; when that finds an error, the full LL mode
/// has the last word (it decides by the whole context, so that an error it finds is one).
class Parse {
public:
  Parse(const SourceFile &file, DiagnosticEngine &diagnostics)
      : diagnostics(diagnostics), tokens(file, diagnostics), builder(tokens, diagnostics) {}

  /// Runs `rule`, a member function of PmapParser. Null when nesting was too deep to go on.
  template <typename Context> Context *run(Context *(PmapParser::*rule)()) {
    {
      DiagnosticTrial trial(diagnostics);
      Context *context = attempt(rule, antlr4::atn::PredictionMode::SLL);
      if (!trial.hasErrors())
        return context;
    }
    return attempt(rule, antlr4::atn::PredictionMode::LL);
  }

  DiagnosticEngine &diagnostics;
  TokenizedFile tokens;
  Builder builder;

private:
  template <typename Context> Context *attempt(Context *(PmapParser::*rule)(), antlr4::atn::PredictionMode mode) {
    parser.reset();
    source = tokens.source();
    stream = std::make_unique<antlr4::CommonTokenStream>(source.get());
    // Messages look a token ahead of the parser.
    stream->fill();
    parser = std::make_unique<PmapParser>(stream.get());
    parser->removeErrorListeners();
    auto errors = std::make_shared<SyntaxErrors>(tokens, diagnostics);
    parser->setErrorHandler(errors);
    parser->getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(mode);
    try {
      Context *context = (parser.get()->*rule)();
      errors->reportBrackets();
      return context;
    } catch (const NestingParser::TooDeep &error) {
      diagnostics.error(Code::E0106, tokens.range(error.token), "nested too deeply; name a part of it by 'let'")
          .report();
      return nullptr;
    }
  }

  std::unique_ptr<antlr4::TokenSource> source;
  std::unique_ptr<antlr4::CommonTokenStream> stream;
  std::unique_ptr<PmapParser> parser;
};

} // namespace

std::unique_ptr<ast::Module> parseFile(const SourceFile &file, DiagnosticEngine &diagnostics) {
  size_t before = diagnostics.all().size();
  Parse parse(file, diagnostics);
  auto *context = parse.run(&PmapParser::module);
  auto module = context ? parse.builder.buildModule(context) : parse.builder.emptyModule();
  // Brackets were checked before statements; a reader wants the order of the file.
  if (diagnostics.all().size() > before + 1)
    diagnostics.sortByPosition();
  return module;
}

std::unique_ptr<ast::Module> parseString(SourceManager &sources, std::string name, std::string text,
                                         DiagnosticEngine &diagnostics) {
  return parseFile(*sources.addText(std::move(name), std::move(text)), diagnostics);
}

ReplInput parseExpressionOrItem(const SourceFile &file, DiagnosticEngine &diagnostics) {
  ReplInput input;
  llvm::StringRef text = file.text();
  bool endsEmpty = text.rtrim(" \t\r").ends_with("\n\n");

  DiagnosticTrial trial(diagnostics);
  Parse parse(file, diagnostics);
  if (parse.tokens.isEmpty() && !trial.hasErrors()) {
    input.kind = ReplInput::Empty;
    return input;
  }
  if (parse.tokens.isIncomplete() && !endsEmpty) {
    input.kind = ReplInput::Incomplete;
    return input;
  }
  trial.keep();
  auto *context = parse.run(&PmapParser::repl);
  input.module = parse.builder.emptyModule();
  input.block = std::make_unique<ast::BlockExpr>(SourceRange(&file, 0, static_cast<uint32_t>(text.size())));
  if (context) {
    for (PmapParser::ReplLineContext *line : context->replLine()) {
      if (line->exception)
        continue;
      if (line->item())
        input.module->items.push_back(parse.builder.buildItem(line->item()));
      else
        input.block->statements.push_back(parse.builder.buildStatement(line->statement()));
    }
  }
  if (trial.hasErrors()) {
    input.kind = ReplInput::Error;
    return input;
  }
  bool hasItems = !input.module->items.empty(), hasStatements = !input.block->statements.empty();
  if (hasItems && hasStatements) {
    diagnostics
        .error(Code::E0115, input.block->statements.front()->range,
               "expected definitions or statements in one entry, got both")
        .report();
    return input;
  }
  input.kind = hasItems ? ReplInput::Item : ReplInput::Statements;
  return input;
}

ast::ExprPtr parseExpression(const SourceFile &file, DiagnosticEngine &diagnostics) {
  unsigned before = diagnostics.errorCount();
  Parse parse(file, diagnostics);
  auto *context = parse.run(&PmapParser::expressionFile);
  if (!context || diagnostics.errorCount() > before)
    return nullptr;
  ast::ExprPtr expr = parse.builder.buildExpr(context->expr());
  return diagnostics.errorCount() > before ? nullptr : std::move(expr);
}

} // namespace pmap
