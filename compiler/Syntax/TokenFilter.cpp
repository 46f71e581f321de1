#include "compiler/Syntax/TokenFilter.h"
#include "PmapLexer.h"
#include "PmapParser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

namespace pmap {

using grammar::PmapLexer;

namespace {

/// Our own token: positions are bytes of the file, and the text is looked up there, not copied.
class SourceToken : public antlr4::CommonToken {
public:
  SourceToken(size_t type, uint32_t begin, uint32_t end, bool repair, int64_t bracket)
      : CommonToken(type), repair(repair), bracket(bracket) {
    setStartIndex(begin);
    setStopIndex(end);
  }
  std::string getText() const override { return {}; }
  const bool repair;
  const int64_t bracket;
};

/// Whether a newline after a token of this type cannot end a statement: binary operators, `=`, `->`, `:` and the comma;
/// and the words after which an operand must come.
bool continuesAfter(size_t type) {
  switch (type) {
  case PmapLexer::POW:
  case PmapLexer::STAR:
  case PmapLexer::SLASH:
  case PmapLexer::DOUBLE_SLASH:
  case PmapLexer::PERCENT:
  case PmapLexer::AT:
  case PmapLexer::PLUS:
  case PmapLexer::MINUS:
  case PmapLexer::DOT_DOT:
  case PmapLexer::EQ:
  case PmapLexer::NE:
  case PmapLexer::LT:
  case PmapLexer::LE:
  case PmapLexer::GT:
  case PmapLexer::GE:
  case PmapLexer::AND:
  case PmapLexer::OR:
  case PmapLexer::NOT:
  case PmapLexer::CAST:
  case PmapLexer::WITH:
  case PmapLexer::PIPE:
  case PmapLexer::ASSIGN:
  case PmapLexer::AUGMENT:
  case PmapLexer::ARROW:
  case PmapLexer::COLON:
  case PmapLexer::COMMA:
  case PmapLexer::IN:
  case PmapLexer::ELSE:
    return true;
  default:
    return false;
  }
}

bool continuesBefore(size_t type) {
  return type == PmapLexer::PIPE || type == PmapLexer::DOT || type == PmapLexer::ELSE;
}

bool isOpener(size_t type) {
  return type == PmapLexer::LPAREN || type == PmapLexer::LBRACKET || type == PmapLexer::LBRACE;
}

bool isCloser(size_t type) {
  return type == PmapLexer::RPAREN || type == PmapLexer::RBRACKET || type == PmapLexer::RBRACE;
}

size_t closerOf(size_t opener) {
  return opener == PmapLexer::LPAREN     ? PmapLexer::RPAREN
         : opener == PmapLexer::LBRACKET ? PmapLexer::RBRACKET
                                         : PmapLexer::RBRACE;
}

/// What is written in Pmap for an operator of another language: the words of the message, the text to put in its place
/// (empty when a whole expression must change), and the token that lets the parser go on.
struct ForeignOperator {
  llvm::StringRef hint, replacement;
  size_t standIn; ///< 0: leave it out.
};

ForeignOperator foreignOperator(llvm::StringRef text) {
  return llvm::StringSwitch<ForeignOperator>(text)
      .Case("&&", {"write 'and'", "and", PmapLexer::AND})
      .Case("||", {"write 'or'", "or", PmapLexer::OR})
      .Case("!", {"write 'not'", "not ", PmapLexer::NOT})
      .Case("^", {"a power is 'a ** b', an exclusive or 'bitxor(a, b)'", "", PmapLexer::POW})
      .Case("&", {"a bitwise and is 'bitand(a, b)', a logical one 'a and b'", "", PmapLexer::AND})
      .Case("|", {"a bitwise or is 'bitor(a, b)', a logical one 'a or b'", "", PmapLexer::OR})
      .Case("~", {"a logical not is 'not a', flipped bits are 'bitxor(a, -1)'", "", PmapLexer::NOT})
      .Case("<<", {"a shift to the left is 'shl(a, b)'", "", PmapLexer::STAR})
      .Case(">>", {"a shift to the right is 'shr(a, b)'", "", PmapLexer::STAR})
      .Case("++", {"write 'x = x + 1'", "", 0})
      .Case("=>", {"a function value is 'fn(x) = x + 1', its result type stands after '->'", "", PmapLexer::ASSIGN})
      .Case(":=", {"write 'let x = ...', or 'x = ...' for a variable", "=", PmapLexer::ASSIGN})
      .Default({"there is no such operator", "", 0});
}

} // namespace

/// One pass over the tokens of the lexer. The innermost open bracket decides what a newline means.
class TokenFilter {
public:
  TokenFilter(TokenizedFile &out, DiagnosticEngine &diagnostics) : out(out), diagnostics(diagnostics) {}

  void run(std::vector<std::unique_ptr<antlr4::Token>> &raw, const std::vector<uint32_t> &byteOffsets) {
    for (size_t i = 0; i < raw.size(); ++i) {
      const antlr4::Token &token = *raw[i];
      uint32_t begin = bytes(byteOffsets, token.getStartIndex());
      uint32_t end = bytes(byteOffsets, token.getStopIndex() + 1);
      SourceRange range(&out.file_, begin, end);
      switch (token.getType()) {
      case PmapLexer::COMMENT:
        addComment(range);
        break;
      case PmapLexer::NEWLINE:
        pendingNewline = true;
        atLineStart = true;
        break;
      case PmapLexer::SEP:
        beforeToken(PmapLexer::SEP, range, raw, i);
        separator(range);
        break;
      case PmapLexer::UNKNOWN:
        complained = true;
        if (size_t standIn = reportUnknown(range))
          token_(standIn, range, raw, i);
        break;
      case PmapLexer::FOREIGN_OPERATOR: {
        ForeignOperator foreign = foreignOperator(range.text());
        auto builder =
            diagnostics.error(Code::E0109, range, "'" + range.text() + "' is not an operator; " + foreign.hint);
        if (!foreign.replacement.empty())
          builder.fix(range, foreign.replacement);
        complained = true;
        if (foreign.standIn)
          token_(foreign.standIn, range, raw, i);
        break;
      }
      case PmapLexer::UNTERMINATED_STRING:
        diagnostics.error(Code::E0105, range, "expected '\"' to end the string, got the end of the line")
            .fix(range.endPoint(), "\"")
            .report();
        token_(PmapLexer::STRING, range, raw, i);
        break;
      case PmapLexer::SINGLE_QUOTED:
        diagnostics.error(Code::E0105, range, "strings are written in double quotes")
            .fix(range, "\"" + range.text().drop_front().drop_back() + "\"")
            .report();
        token_(PmapLexer::STRING, range, raw, i);
        break;
      default:
        token_(token.getType(), range, raw, i);
      }
    }
    finish();
  }

private:
  static uint32_t bytes(const std::vector<uint32_t> &offsets, size_t index) {
    return offsets.empty() ? static_cast<uint32_t>(index) : offsets[std::min(index, offsets.size() - 1)];
  }

  void emit(size_t type, SourceRange range, bool repair = false) {
    repair |= std::exchange(complained, false);
    out.tokens.push_back({type, range.begin, range.end, repair, open.empty() ? -1 : int64_t(open.back().range.begin)});
    if (type != PmapLexer::SEP)
      lastEnd = range.end;
  }

  size_t lastType() const { return out.tokens.empty() ? size_t(PmapLexer::SEP) : out.tokens.back().type; }

  bool newlineSeparates() const { return open.empty() || open.back().type == PmapLexer::LBRACE; }

  /// Ends a statement, unless there is none to end.
  void separator(SourceRange range) {
    if (lastType() != PmapLexer::SEP && lastType() != PmapLexer::LBRACE)
      emit(PmapLexer::SEP, range);
  }
  void separatorAtEndOfLine() { separator({&out.file_, lastEnd, lastEnd}); }

  /// Everything a newline before this token means.
  void beforeToken(size_t type, SourceRange range, const std::vector<std::unique_ptr<antlr4::Token>> &raw, size_t i) {
    out.empty = false;
    if (atLineStart && startsItem(range, raw, i)) {
      if (!open.empty())
        closeEverything(range);
      separatorAtEndOfLine();
    }
    if (pendingNewline && newlineSeparates() && !continuesAfter(lastType()) && !continuesBefore(type))
      separatorAtEndOfLine();
    pendingNewline = false;
    atLineStart = false;
  }

  void token_(size_t type, SourceRange range, const std::vector<std::unique_ptr<antlr4::Token>> &raw, size_t i) {
    // What follows a dot in its line is a label, which may be any word.
    bool isLabel = lastType() == PmapLexer::DOT && !pendingNewline && llvm::isAlpha(range.text().front());
    beforeToken(type, range, raw, i);
    if (isLabel || (type == PmapLexer::VAR && isCall(raw, i)))
      type = PmapLexer::NAME;
    if (isOpener(type)) {
      emit(type, range);
      open.push_back({type, range});
    } else if (isCloser(type)) {
      close(type, range);
    } else {
      emit(type, range);
    }
  }

  /// Whether `var` calls the builtin of that name: `var (a, b) = e` declares, `var(x, axis: 0)` computes a variance.
  static bool isCall(const std::vector<std::unique_ptr<antlr4::Token>> &raw, size_t i) {
    if (i + 1 >= raw.size() || raw[i + 1]->getType() != PmapLexer::LPAREN)
      return false;
    int depth = 0;
    for (size_t j = i + 1; j < raw.size(); ++j) {
      size_t type = raw[j]->getType();
      if (isOpener(type))
        ++depth;
      else if (isCloser(type) && --depth == 0)
        return j + 1 >= raw.size() ||
               (raw[j + 1]->getType() != PmapLexer::ASSIGN && raw[j + 1]->getType() != PmapLexer::COLON);
    }
    return false;
  }

  /// A definition that starts in the first column cannot be inside brackets: something before it was not closed.
  /// Without this, one missing bracket would swallow the rest of the file.
  bool startsItem(SourceRange range, const std::vector<std::unique_ptr<antlr4::Token>> &raw, size_t i) const {
    if (range.begin != 0 && out.file_.text()[range.begin - 1] != '\n')
      return false;
    size_t next = i + 1 < raw.size() ? raw[i + 1]->getType() : antlr4::Token::EOF;
    switch (raw[i]->getType()) {
    case PmapLexer::FN:
    case PmapLexer::TYPE:
      return next == PmapLexer::NAME;
    case PmapLexer::CONST:
    case PmapLexer::IMPORT:
      return next != PmapLexer::COLON;
    case PmapLexer::EXPORT:
      return next == PmapLexer::FN;
    case PmapLexer::TEST:
      return next == PmapLexer::STRING;
    default:
      return false;
    }
  }

  void close(size_t type, SourceRange range) {
    // The nearest bracket that this one closes. A round or square one does not reach beyond a block.
    size_t match = open.size();
    while (match > 0 && closerOf(open[match - 1].type) != type) {
      if (type != PmapLexer::RBRACE && open[match - 1].type == PmapLexer::LBRACE) {
        match = 0;
        break;
      }
      --match;
    }
    if (match == 0) {
      // `(x]` is a slip; other brackets that close nothing are left out.
      if (type != PmapLexer::RBRACE && !open.empty() && open.back().type != PmapLexer::LBRACE)
        return closeMissing(range, "'" + range.text() + "'");
      std::string message = ("'" + range.text() + "' closes nothing").str();
      if (!open.empty())
        message += "; expected '" + tokenText(closerOf(open.back().type)) + "' first";
      out.bracketErrors_.push_back({{}, {Severity::Error, Code::E0102, range, std::move(message), {}, {}}});
      return;
    }
    while (open.size() > match)
      closeMissing(range, "'" + range.text() + "'");
    if (type == PmapLexer::RBRACE)
      separatorAtEndOfLine();
    open.pop_back();
    emit(type, range);
  }

  void closeMissing(SourceRange at, const llvm::Twine &got, bool report = true) {
    Bracket bracket = open.pop_back_val();
    std::string closer = tokenText(closerOf(bracket.type));
    if (report) {
      Diagnostic error{Severity::Error, Code::E0102, at, ("expected '" + closer + "', got " + got).str(), {}, {}};
      error.notes.push_back({bracket.range, ("the '" + bracket.range.text() + "' is here").str()});
      out.bracketErrors_.push_back({bracket.range, std::move(error)});
    }
    SourceRange end(&out.file_, lastEnd, lastEnd);
    if (bracket.type == PmapLexer::LBRACE)
      separator(end);
    emit(closerOf(bracket.type), end, /*repair=*/true);
  }

  /// One message is enough: the innermost bracket is the one that was forgotten, more likely than not.
  void closeEverything(SourceRange at, llvm::StringRef got = "a new definition") {
    for (bool first = true; !open.empty(); first = false)
      closeMissing(at, got, first);
  }

  void finish() {
    SourceRange end = out.file_.endOfFile();
    out.incomplete = !open.empty() || (!out.empty && continuesAfter(lastType()));
    if (!open.empty())
      closeEverything(end, "the end of the file");
    separatorAtEndOfLine();
    emit(antlr4::Token::EOF, end);
  }

  void addComment(SourceRange range) {
    llvm::StringRef text = range.text().rtrim();
    range.end = range.begin + static_cast<uint32_t>(text.size());
    out.comments_.push_back({range, text.str(), atLineStart});
  }

  /// Reports a character that is not of the language; the token of the one that was meant, or 0.
  size_t reportUnknown(SourceRange range) {
    struct Meant {
      llvm::StringRef text;
      size_t type;
    };
    llvm::StringRef text = range.text();
    auto meant = llvm::StringSwitch<Meant>(text)
                     .Cases({"“", "”", "„", "«", "»"}, {"\"", 0})
                     .Cases({"−", "–", "—"}, {"-", PmapLexer::MINUS})
                     .Cases({"×", "·"}, {"*", PmapLexer::STAR})
                     .Case("÷", {"/", PmapLexer::SLASH})
                     .Case("≤", {"<=", PmapLexer::LE})
                     .Case("≥", {">=", PmapLexer::GE})
                     .Case("≠", {"!=", PmapLexer::NE})
                     .Case("→", {"->", PmapLexer::ARROW})
                     .Case("…", {"...", PmapLexer::ELLIPSIS})
                     .Default({"", 0});
    bool printable = llvm::sys::unicode::columnWidthUTF8(text) > 0;
    std::string shown = printable ? "'" + text.str() + "'" : "an invisible character";
    auto builder = diagnostics.error(Code::E0103, range, shown + " is not part of the language");
    if (!meant.text.empty())
      builder.fix(range, meant.text);
    if (text == "?")
      builder.note("a choice is written 'if c { a } else { b }'; for arrays of conditions there is 'where(c, a, b)'");
    return meant.type;
  }

  struct Bracket {
    size_t type;
    SourceRange range;
  };

  TokenizedFile &out;
  DiagnosticEngine &diagnostics;
  llvm::SmallVector<Bracket> open;
  uint32_t lastEnd = 0;
  bool pendingNewline = false;
  /// Something was reported between the last token and the next, at which the parser would only stumble.
  bool complained = false;
  bool atLineStart = true;
};

namespace {

/// The first byte that is not UTF-8, or the size of the text.
size_t validPrefix(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin()), *cursor = begin;
  auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  while (cursor < end && (*cursor < 0x80 || llvm::isLegalUTF8Sequence(cursor, end)))
    cursor += llvm::getNumBytesForUTF8(*cursor);
  return static_cast<size_t>(cursor - begin);
}

/// The byte offset of each character, and of the end; empty when the two are the same.
std::vector<uint32_t> characterOffsets(llvm::StringRef text) {
  if (llvm::all_of(text, [](unsigned char c) { return c < 0x80; }))
    return {};
  std::vector<uint32_t> offsets;
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      offsets.push_back(static_cast<uint32_t>(i));
  offsets.push_back(static_cast<uint32_t>(text.size()));
  return offsets;
}

} // namespace

TokenizedFile::TokenizedFile(const SourceFile &file, DiagnosticEngine &diagnostics) : file_(file) {
  llvm::StringRef text = file.text();
  size_t valid = validPrefix(text);
  if (valid < text.size() || text.contains('\0')) {
    auto at = static_cast<uint32_t>(std::min(valid, text.find('\0')));
    diagnostics
        .error(Code::E0117, {&file, at, at},
               "expected text in UTF-8, got the byte 0x" +
                   llvm::utohexstr(static_cast<unsigned char>(text[at]), true, 2))
        .report();
    text = text.take_front(at);
  }
  antlr4::ANTLRInputStream input;
  // A mark at the start of the file is dropped by ANTLR, which would shift every position.
  size_t skipped = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  input.load(text.drop_front(skipped).str());
  PmapLexer lexer(&input);
  lexer.removeErrorListeners();
  auto raw = lexer.getAllTokens();
  std::vector<uint32_t> offsets = characterOffsets(text.drop_front(skipped));
  if (skipped) {
    if (offsets.empty())
      for (size_t i = 0; i <= text.size() - skipped; ++i)
        offsets.push_back(static_cast<uint32_t>(i));
    for (uint32_t &offset : offsets)
      offset += skipped;
  }
  TokenFilter(*this, diagnostics).run(raw, offsets);
}

std::unique_ptr<antlr4::TokenSource> TokenizedFile::source() const {
  std::vector<std::unique_ptr<antlr4::Token>> list;
  list.reserve(tokens.size());
  for (const Token &t : tokens)
    list.push_back(std::make_unique<SourceToken>(t.type, t.begin, t.end, t.repair, t.bracket));
  return std::make_unique<antlr4::ListTokenSource>(std::move(list));
}

SourceRange TokenizedFile::range(const antlr4::Token *token) const { return range(token, token); }

SourceRange TokenizedFile::range(const antlr4::Token *first, const antlr4::Token *last) const {
  return {&file_, static_cast<uint32_t>(first->getStartIndex()), static_cast<uint32_t>(last->getStopIndex())};
}

bool TokenizedFile::isRepair(const antlr4::Token *token) const {
  auto *own = dynamic_cast<const SourceToken *>(token);
  return own && own->repair;
}

SourceRange TokenizedFile::unclosedBracketAround(const antlr4::Token *token) const {
  auto *own = dynamic_cast<const SourceToken *>(token);
  if (own && own->bracket >= 0)
    for (const BracketError &error : bracketErrors_)
      if (error.bracket.isValid() && error.bracket.begin == own->bracket)
        return error.bracket;
  return {};
}

std::string tokenText(size_t type) {
  switch (type) {
  case PmapLexer::NAME:
    return "a name";
  case PmapLexer::NUMBER:
    return "a number";
  case PmapLexer::STRING:
    return "a string";
  case PmapLexer::SEP:
    return "the end of the line";
  case antlr4::Token::EOF:
    return "the end of the file";
  default: {
    // The literal names of the grammar stand in quotes of their own.
    static const PmapLexer lexer(nullptr);
    std::string literal = lexer.getVocabulary().getLiteralName(type);
    return literal.size() >= 2 ? literal.substr(1, literal.size() - 2) : literal;
  }
  }
}

bool isReservedWord(size_t type) {
  if (type == PmapLexer::TYPE || type == PmapLexer::TEST || type == PmapLexer::AS)
    return false;
  return type >= PmapLexer::IMPORT && type <= PmapLexer::FALSE;
}

} // namespace pmap
