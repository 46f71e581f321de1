#include "compiler/Syntax/Printer.h"
#include "compiler/Syntax/Literals.h"
#include "compiler/Syntax/Parser.h"
#include "compiler/Syntax/PrinterImpl.h"
#include "llvm/ADT/STLExtras.h"

namespace pmap {

using namespace ast;
using namespace layout;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;

namespace {

constexpr unsigned lineWidth = 100;

/// Whether the source of a node takes several lines.
bool isMultiLine(SourceRange range) { return range.text().contains('\n'); }

} // namespace

//===----------------------------------------------------------------------===//
// Comments
//===----------------------------------------------------------------------===//

bool Printer::hasCommentBefore(uint32_t offset) const {
  return module && nextComment < module->comments.size() && module->comments[nextComment].range.begin < offset;
}

bool Printer::hasCommentRightBefore(uint32_t offset) const {
  if (!hasCommentBefore(offset))
    return false;
  llvm::ArrayRef<Comment> pending = llvm::ArrayRef(module->comments).drop_front(nextComment);
  auto *after = llvm::partition_point(pending, [&](const Comment &c) { return c.range.begin < offset; });
  uint32_t end = (after - 1)->range.end;
  return end <= offset && module->file->text().slice(end, offset).trim().empty();
}

bool Printer::emptyLineBefore(uint32_t offset) const {
  if (!module)
    return false;
  llvm::StringRef before = module->file->text().take_front(offset).rtrim(" \t\r");
  if (!before.consume_back("\n"))
    return false;
  return before.rtrim(" \t\r").ends_with("\n");
}

Doc Printer::behind(uint32_t offset) {
  std::vector<Doc> parts;
  while (hasCommentBefore(offset) && !module->comments[nextComment].ownLine) {
    const std::string &comment = module->comments[nextComment++].text;
    // A line has room for one; a second one came from a line that has been joined to this one.
    parts.push_back(parts.empty() ? suffix(comment) : concat({hardLine(), text(comment)}));
  }
  return concat(std::move(parts));
}

Doc Printer::beforeClosing(uint32_t end) {
  std::vector<Doc> parts{behind(end)};
  while (hasCommentBefore(end)) {
    parts.push_back(hardLine());
    parts.push_back(text(module->comments[nextComment++].text));
  }
  return concat(std::move(parts));
}

Doc Printer::leftOver(uint32_t end, bool isItem) {
  std::vector<Doc> parts;
  while (hasCommentBefore(end)) {
    const std::string &comment = module->comments[nextComment++].text;
    if (parts.empty()) {
      parts.push_back(suffix(comment));
      continue;
    }
    // Behind an item, what follows on lines of its own reads as the comment of the next item, which stands apart.
    if (isItem && parts.size() == 1)
      parts.push_back(hardLine());
    parts.push_back(hardLine());
    parts.push_back(text(comment));
  }
  return concat(std::move(parts));
}

Doc Printer::above(uint32_t offset, bool keepEmptyLines) {
  std::vector<Doc> parts;
  while (hasCommentBefore(offset)) {
    const Comment &comment = module->comments[nextComment++];
    parts.push_back(text(comment.text));
    uint32_t following = hasCommentBefore(offset) ? module->comments[nextComment].range.begin : offset;
    if (keepEmptyLines && emptyLineBefore(following))
      parts.push_back(hardLine());
    parts.push_back(hardLine());
  }
  return concat(std::move(parts));
}

//===----------------------------------------------------------------------===//
// Modules and items
//===----------------------------------------------------------------------===//

Doc Printer::moduleDoc() {
  std::vector<Doc> parts;
  bool previousIsLong = false;
  for (const ItemPtr &item : module->items) {
    uint32_t begin = item->range.begin;
    parts.push_back(behind(begin));
    uint32_t firstLine = hasCommentBefore(begin) ? module->comments[nextComment].range.begin : begin;
    bool isLong = isMultiLine(item->range);
    bool isFirst = item == module->items.front();
    if (!isFirst) {
      parts.push_back(hardLine());
      // What takes several lines stands apart, and so does a comment; the rest is as the author grouped it.
      if (isLong || previousIsLong || firstLine != begin || emptyLineBefore(firstLine))
        parts.push_back(hardLine());
    }
    parts.push_back(above(begin, /*keepEmptyLines=*/true));
    parts.push_back(itemDoc(*item));
    parts.push_back(leftOver(item->range.end, /*isItem=*/true));
    previousIsLong = isLong;
  }
  auto end = static_cast<uint32_t>(module->file->text().size());
  parts.push_back(behind(end + 1));
  if (!module->items.empty()) {
    parts.push_back(hardLine());
    if (hasCommentBefore(end + 1) && emptyLineBefore(module->comments[nextComment].range.begin))
      parts.push_back(hardLine());
  }
  // The end of the file is no reason for an empty line.
  if (hasCommentBefore(end + 1)) {
    uint32_t last = module->comments.back().range.begin;
    parts.push_back(above(last, /*keepEmptyLines=*/true));
    parts.push_back(above(end + 1));
  }
  return concat(std::move(parts));
}

Doc Printer::itemDoc(const Item &item) {
  switch (item.kind) {
  case ItemKind::Import: {
    auto &import = cast<ImportItem>(item);
    std::string result = "import " + (import.isPath ? quoteString(import.module) : import.module);
    // An alias that was not written has the place of the module.
    if (import.alias.range != import.moduleRange)
      result += " as " + import.alias.text;
    return text(std::move(result));
  }
  case ItemKind::Function: {
    auto &f = cast<FunctionItem>(item);
    return concat({text((f.isExport ? "export fn " : "fn ") + f.name.text),
                   functionTail(f.params, f.resultType.get(), *f.body, f.range, /*keepBreak=*/true)});
  }
  case ItemKind::Type: {
    auto &t = cast<TypeItem>(item);
    return concat({text("type " + t.name.text), t.hasParams ? namesDoc(t.params) : text(""), text(" ="),
                   behind(t.type->range.begin), text(" "), typeDoc(*t.type)});
  }
  case ItemKind::Const: {
    auto &c = cast<ConstItem>(item);
    return concat({text("const " + c.name.text), c.type ? concat({text(": "), typeDoc(*c.type)}) : text(""), text(" ="),
                   bound(*c.value)});
  }
  case ItemKind::Test: {
    auto &t = cast<TestItem>(item);
    return concat({text("test " + quoteString(t.name) + " "), blockDoc(*t.body)});
  }
  }
  llvm_unreachable("unknown item");
}

Doc Printer::signatureDoc(const Item &item) {
  const auto *f = dyn_cast<FunctionItem>(&item);
  if (!f)
    return itemDoc(item);
  return concat({text((f->isExport ? "export fn " : "fn ") + f->name.text),
                 functionHead(f->params, f->resultType.get(), f->range)});
}

Doc Printer::functionHead(const std::vector<Param> &params, const Type *result, SourceRange whole) {
  Doc list = paramsDoc(params, whole);
  return result ? concat({std::move(list), text(" -> "), typeDoc(*result)}) : list;
}

Doc Printer::functionTail(const std::vector<Param> &params, const Type *result, const Expr &body, SourceRange whole,
                          bool keepBreak) {
  std::vector<Doc> parts;
  parts.push_back(functionHead(params, result, whole));
  if (auto *block = dyn_cast<BlockExpr>(&body)) {
    // `fn f() = { ... }` and `fn f() { ... }` mean the same; the shorter is the canonical one.
    parts.push_back(behind(block->range.begin));
    parts.push_back(text(" "));
    parts.push_back(blockDoc(*block));
    return concat(std::move(parts));
  }
  parts.push_back(text(" ="));
  bool broken = false;
  if (keepBreak && body.range.isValid()) {
    // The author's break after `=` stays, if it is the first thing there.
    llvm::StringRef before = body.range.file->text().take_front(body.range.begin).rtrim(" \t\r(");
    broken = before.ends_with("\n");
  }
  parts.push_back(bound(body, broken));
  return concat(std::move(parts));
}

Doc Printer::paramsDoc(const std::vector<Param> &params, SourceRange whole) {
  // The bracket that closes them: behind the last parameter, or the opening bracket, stand only blanks, a comma and
  // comments.
  uint32_t end = params.empty() ? whole.begin : params.back().range.end;
  if (module) {
    llvm::StringRef source = module->file->text();
    auto skipTo = [&](char wanted) {
      size_t at = end;
      while (at < source.size() && source[at] != wanted)
        at = source[at] == '#' ? std::min(source.find('\n', at), source.size()) : at + 1;
      end = static_cast<uint32_t>(at);
    };
    if (params.empty())
      skipTo('(');
    skipTo(')');
  }
  return list(
      "(", params, ")", end, [](const Param &p) { return p.range.begin; }, [&](const Param &p) { return paramDoc(p); });
}

Doc Printer::paramDoc(const Param &param) {
  std::vector<Doc> parts;
  if (param.label.text != param.name.text)
    parts.push_back(text(param.label.text + " "));
  parts.push_back(text(param.name.text));
  if (param.type)
    parts.push_back(concat({text(": "), typeDoc(*param.type)}));
  if (param.defaultValue)
    parts.push_back(concat({text(" = "), exprDoc(*param.defaultValue)}));
  return concat(std::move(parts));
}

Doc Printer::namesDoc(const std::vector<Ident> &names) {
  std::string result = "[";
  for (const Ident &name : names)
    result += (result.size() > 1 ? ", " : "") + name.text;
  return text(result + "]");
}

Doc Printer::typeDoc(const Type &t) {
  switch (t.kind) {
  case TypeKind::Named: {
    auto &named = cast<NamedType>(t);
    std::string path;
    for (const Ident &name : named.path)
      path += (path.empty() ? "" : ".") + name.text;
    if (!named.hasSizes)
      return text(std::move(path));
    bool outer = std::exchange(tight, true);
    Doc sizes = list(
        "[", named.sizes, "]", closing(t.range), [](const ExprPtr &e) { return e->range.begin; },
        [&](const ExprPtr &e) { return exprDoc(*e); });
    tight = outer;
    return concat({text(std::move(path)), std::move(sizes)});
  }
  case TypeKind::Tuple:
    return list(
        "(", cast<TupleType>(t).elements, ")", closing(t.range), [](const TypePtr &e) { return e->range.begin; },
        [&](const TypePtr &e) { return typeDoc(*e); }, /*commaOfOne=*/true);
  case TypeKind::Record:
    return list(
        "(", cast<RecordType>(t).fields, ")", closing(t.range),
        [](const RecordTypeField &f) { return f.name.range.begin; },
        [&](const RecordTypeField &f) { return concat({text(f.name.text + ": "), typeDoc(*f.type)}); });
  }
  llvm_unreachable("unknown type");
}

Doc Printer::patternDoc(const Pattern &p) {
  switch (p.kind) {
  case PatternKind::Name:
    return text(cast<NamePattern>(p).name.text);
  case PatternKind::Wildcard:
    return text("_");
  case PatternKind::Tuple:
    return list(
        "(", cast<TuplePattern>(p).elements, ")", closing(p.range), [](const PatternPtr &e) { return e->range.begin; },
        [&](const PatternPtr &e) { return patternDoc(*e); }, /*commaOfOne=*/true);
  }
  llvm_unreachable("unknown pattern");
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// What stands behind `=`: an expression that has brackets to break in stays on the line, others may go to the next.
Doc Printer::bound(const Expr &value, bool forceBreak) {
  Doc comments = behind(value.range.begin);
  bool ownBrackets = isa<CallExpr, IndexExpr, TupleExpr, RecordExpr, ArrayExpr, ComprehensionExpr, IfExpr, BlockExpr,
                         LambdaExpr, WithExpr>(value);
  if (!forceBreak && !hasCommentBefore(value.range.begin) && (ownBrackets || value.parenthesized))
    return concat({comments, text(" "), exprDoc(value)});
  Doc before = above(value.range.begin);
  return group(concat({comments, indent(concat({forceBreak ? hardLine() : line(), before, exprDoc(value)}))}));
}

Doc Printer::blockDoc(const BlockExpr &block, bool grouped) {
  uint32_t end = closing(block.range);
  if (block.statements.empty() && !hasCommentRightBefore(end))
    return text("{}");

  // A block that the author wrote on one line stays there if it fits.
  if (module && !isMultiLine(block.range)) {
    std::vector<Doc> inner{line()};
    for (const StmtPtr &s : block.statements) {
      if (s != block.statements.front()) {
        inner.push_back(ifBroken("", ";"));
        inner.push_back(line());
      }
      inner.push_back(statementDoc(*s));
    }
    Doc doc = concat({text("{"), indent(concat(std::move(inner))), line(), text("}")});
    return grouped ? group(doc) : doc;
  }

  std::vector<Doc> inner;
  for (const StmtPtr &s : block.statements) {
    uint32_t begin = s->range.begin;
    inner.push_back(behind(begin));
    uint32_t firstLine = hasCommentBefore(begin) ? module->comments[nextComment].range.begin : begin;
    inner.push_back(hardLine());
    if (s != block.statements.front() && emptyLineBefore(firstLine))
      inner.push_back(hardLine());
    inner.push_back(above(begin, /*keepEmptyLines=*/true));
    inner.push_back(statementDoc(*s));
    inner.push_back(leftOver(s->range.end, /*isItem=*/false));
  }
  inner.push_back(behind(end));
  while (hasCommentBefore(end)) {
    const Comment &comment = module->comments[nextComment++];
    inner.push_back(hardLine());
    if (emptyLineBefore(comment.range.begin) && !(block.statements.empty() && &comment == &module->comments.front()))
      inner.push_back(hardLine());
    inner.push_back(text(comment.text));
  }
  return concat({text("{"), indent(concat(std::move(inner))), hardLine(), text("}")});
}

Doc Printer::statementDoc(const Stmt &s) {
  switch (s.kind) {
  case StmtKind::Let: {
    auto &let = cast<LetStmt>(s);
    std::vector<Doc> parts{text(let.isVar ? "var " : "let ")};
    if (!let.sizes.empty())
      parts.push_back(concat({namesDoc(let.sizes), text(" ")}));
    parts.push_back(patternDoc(*let.pattern));
    if (let.type)
      parts.push_back(concat({text(": "), typeDoc(*let.type)}));
    parts.push_back(text(" ="));
    parts.push_back(bound(*let.value));
    return concat(std::move(parts));
  }
  case StmtKind::Assign: {
    auto &assign = cast<AssignStmt>(s);
    Doc target = exprDoc(*assign.target);
    return concat({std::move(target), text(" ="), bound(*assign.value)});
  }
  case StmtKind::For: {
    auto &loop = cast<ForStmt>(s);
    Doc pattern = patternDoc(*loop.pattern);
    Doc iterable = exprDoc(*loop.iterable);
    Doc body = blockDoc(*loop.body);
    return concat({text("for "), pattern, text(" in "), iterable, text(" "), body});
  }
  case StmtKind::While: {
    auto &loop = cast<WhileStmt>(s);
    Doc condition = exprDoc(*loop.condition);
    Doc body = blockDoc(*loop.body);
    return concat({text("while "), condition, text(" "), body});
  }
  case StmtKind::Break:
    return text("break");
  case StmtKind::Assert: {
    auto &assertion = cast<AssertStmt>(s);
    std::vector<Doc> parts{text("assert "), exprDoc(*assertion.condition)};
    if (assertion.message) {
      parts.push_back(text(","));
      parts.push_back(bound(*assertion.message));
    }
    return concat(std::move(parts));
  }
  case StmtKind::Expr:
    return exprDoc(*cast<ExprStmt>(s).expr);
  }
  llvm_unreachable("unknown statement");
}

//===----------------------------------------------------------------------===//
// The doors
//===----------------------------------------------------------------------===//

std::string formatSignature(const Item &item) {
  return render(Printer(/*module=*/nullptr).signatureDoc(item), lineWidth);
}

std::string formatModule(const Module &module) {
  std::string result = render(Printer(&module).moduleDoc(), lineWidth);
  // A block that did not fit on its one line has now become the author's choice of several, which may let what is
  // around it fit in another way; a second pass settles that, so that formatting again changes nothing.
  for (int pass = 0; pass < 2; ++pass) {
    SourceManager sources;
    DiagnosticEngine diagnostics;
    auto again = parseString(sources, "formatted", result, diagnostics);
    if (diagnostics.hasErrors())
      break;
    std::string next = render(Printer(again.get()).moduleDoc(), lineWidth);
    if (next == result)
      break;
    result = std::move(next);
  }
  return result;
}

std::string ast::toSource(const Expr &e) { return render(Printer(nullptr).exprDoc(e), /*width=*/100000); }
std::string ast::toSource(const Type &t) { return render(Printer(nullptr).typeDoc(t), /*width=*/100000); }

} // namespace pmap
