#include "compiler/Syntax/Builder.h"
#include "compiler/Syntax/Literals.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

namespace pmap {

using namespace ast;

//===----------------------------------------------------------------------===//
// Names and comments
//===----------------------------------------------------------------------===//

Ident Builder::ident(P::NameContext *context) const {
  SourceRange r = range(context);
  return {r.text().str(), r};
}

Ident Builder::word(P::WordContext *context) const {
  SourceRange r = range(context);
  return {r.text().str(), r};
}

void Builder::checkDistinct(llvm::ArrayRef<const Ident *> names, llvm::StringRef what) {
  llvm::StringMap<SourceRange> seen;
  for (const Ident *name : names) {
    if (name->empty() || name->text == "_")
      continue;
    auto [entry, isNew] = seen.try_emplace(name->text, name->range);
    if (!isNew)
      diagnostics.error(Code::E0112, name->range, "the " + what + " '" + name->text + "' is given twice")
          .note(entry->second, "first here")
          .report();
  }
}

namespace {

/// The text of a doc comment without its marks and the blank behind them.
llvm::StringRef docText(const Comment &comment) {
  llvm::StringRef text = llvm::StringRef(comment.text).ltrim('#');
  text.consume_front(" ");
  return text;
}

std::string joinDocs(llvm::ArrayRef<Comment> comments) {
  std::string result;
  for (const Comment &comment : comments) {
    if (!result.empty())
      result += '\n';
    result += docText(comment);
  }
  return result;
}

/// The comments in an unbroken run of doc lines that ends right above `line`.
llvm::ArrayRef<Comment> docRunAbove(llvm::ArrayRef<Comment> before, unsigned line) {
  size_t count = 0;
  while (count < before.size()) {
    const Comment &comment = before[before.size() - 1 - count];
    if (!comment.ownLine || !comment.isDoc() || comment.range.file->lineColumn(comment.range.begin).line + 1 != line)
      break;
    --line;
    ++count;
  }
  return before.take_back(count);
}

} // namespace

std::string Builder::docBefore(SourceRange at) const {
  // Only what begins its line is what the comment above is about.
  llvm::StringRef text = tokens.file().text().take_front(at.begin).rtrim(" \t");
  if (!text.empty() && !text.ends_with("\n"))
    return {};
  llvm::ArrayRef<Comment> comments = tokens.comments();
  auto *end = llvm::partition_point(comments, [&](const Comment &c) { return c.range.begin < at.begin; });
  llvm::ArrayRef<Comment> before = comments.take_front(static_cast<size_t>(end - comments.begin()));
  if (before.empty())
    return {};
  return joinDocs(docRunAbove(before, tokens.file().lineColumn(at.begin).line));
}

std::string Builder::docBehind(SourceRange at) const {
  llvm::ArrayRef<Comment> comments = tokens.comments();
  auto *next = llvm::partition_point(comments, [&](const Comment &c) { return c.range.begin < at.end; });
  if (next == comments.end() || next->ownLine || !next->isDoc() ||
      tokens.file().lineColumn(next->range.begin).line != tokens.file().lineColumn(at.end).line)
    return {};
  // Of several parameters on the line only the last has the comment right behind it.
  llvm::StringRef between = tokens.file().text().slice(at.end, next->range.begin);
  return between.trim(" \t,)").empty() ? docText(*next).str() : std::string();
}

//===----------------------------------------------------------------------===//
// Modules and items
//===----------------------------------------------------------------------===//

std::unique_ptr<Module> Builder::emptyModule() {
  auto module = std::make_unique<Module>();
  module->file = &tokens.file();
  module->comments = tokens.comments();
  return module;
}

std::unique_ptr<Module> Builder::buildModule(P::ModuleContext *context) {
  auto module = emptyModule();
  for (antlr4::tree::ParseTree *child : context->children)
    if (auto *line = dynamic_cast<P::ItemLineContext *>(child); line && !line->exception)
      module->items.push_back(buildItem(line->item()));

  // Doc comments at the top that an empty line separates from the first item are the module's.
  llvm::ArrayRef<Comment> comments = module->comments;
  size_t count = 0;
  uint32_t limit = module->items.empty() ? ~0u : module->items.front()->range.begin;
  while (count < comments.size() && comments[count].isDoc() && comments[count].range.begin < limit &&
         (count == 0 || module->file->lineColumn(comments[count].range.begin).line ==
                            module->file->lineColumn(comments[count - 1].range.begin).line + 1))
    ++count;
  if (count > 0) {
    unsigned lastLine = module->file->lineColumn(comments[count - 1].range.begin).line;
    if (module->items.empty() || module->file->lineColumn(limit).line > lastLine + 1)
      module->doc = joinDocs(comments.take_front(count));
  }
  return module;
}

ItemPtr Builder::buildItem(P::ItemContext *context) {
  ItemPtr item;
  if (auto *c = context->functionItem())
    item = buildFunction(c);
  else if (auto *c = context->typeItem())
    item = buildTypeItem(c);
  else if (auto *c = context->constItem())
    item = buildConst(c);
  else if (auto *c = context->testItem())
    item = buildTest(c);
  else
    item = buildImport(context->importItem());
  item->doc = docBefore(item->range);
  return item;
}

ItemPtr Builder::buildImport(P::ImportItemContext *context) {
  auto item = std::make_unique<ImportItem>(range(context));
  if (context->path) {
    item->isPath = true;
    item->moduleRange = range(context->path);
    item->module = readString(item->moduleRange, diagnostics);
    item->alias = {llvm::sys::path::stem(item->module).str(), item->moduleRange};
  } else {
    Ident name = ident(context->module_);
    item->module = name.text;
    item->moduleRange = name.range;
    item->alias = std::move(name);
  }
  if (context->alias)
    item->alias = ident(context->alias);
  return item;
}

ItemPtr Builder::buildFunction(P::FunctionItemContext *context) {
  auto item = std::make_unique<FunctionItem>(range(context));
  item->isExport = context->EXPORT() != nullptr;
  item->name = ident(context->name());
  item->params = buildParams(context->params());
  if (context->type())
    item->resultType = buildType(context->type());
  item->body = buildBody(context->body());
  return item;
}

ItemPtr Builder::buildTypeItem(P::TypeItemContext *context) {
  auto item = std::make_unique<TypeItem>(range(context));
  item->name = ident(context->name());
  item->hasParams = context->LBRACKET() != nullptr;
  item->params = buildNames(context->nameList());
  item->type = buildType(context->type());
  std::vector<const Ident *> names;
  for (const Ident &param : item->params)
    names.push_back(&param);
  checkDistinct(names, "size");
  return item;
}

ItemPtr Builder::buildConst(P::ConstItemContext *context) {
  auto item = std::make_unique<ConstItem>(range(context));
  item->name = ident(context->name());
  if (context->type())
    item->type = buildType(context->type());
  item->value = buildExpr(context->expr());
  return item;
}

ItemPtr Builder::buildTest(P::TestItemContext *context) {
  auto item = std::make_unique<TestItem>(range(context));
  item->nameRange = range(context->STRING());
  item->name = readString(item->nameRange, diagnostics);
  item->body = buildBlock(context->block());
  return item;
}

std::vector<Param> Builder::buildParams(P::ParamsContext *context) {
  std::vector<Param> params;
  if (!context)
    return params;
  for (P::ParamContext *c : context->items) {
    Param param;
    param.range = range(c);
    param.label = word(c->first);
    if (c->second) {
      param.name = ident(c->second);
    } else {
      param.name = param.label;
      if (isReservedWord(c->first->start->getType()))
        diagnostics
            .error(Code::E0113, param.name.range,
                   "expected a name, got the reserved word '" + llvm::Twine(param.name.text) + "'")
            .note("as a label it needs a name behind it: '" + llvm::Twine(param.name.text) + " value'")
            .report();
    }
    if (c->type())
      param.type = buildType(c->type());
    if (c->expr())
      param.defaultValue = buildExpr(c->expr());
    param.doc = docBefore(param.range);
    if (param.doc.empty())
      param.doc = docBehind(param.range);
    params.push_back(std::move(param));
  }
  std::vector<const Ident *> names, labels;
  for (const Param &param : params) {
    names.push_back(&param.name);
    if (param.label.range != param.name.range)
      labels.push_back(&param.label);
  }
  checkDistinct(names, "parameter");
  checkDistinct(labels, "label");
  return params;
}

std::vector<Ident> Builder::buildNames(P::NameListContext *context) {
  std::vector<Ident> names;
  if (context)
    for (P::NameContext *c : context->items)
      names.push_back(ident(c));
  return names;
}

ExprPtr Builder::buildBody(P::BodyContext *context) {
  if (context->block())
    return buildBlock(context->block());
  return buildExpr(context->expr());
}

//===----------------------------------------------------------------------===//
// Types and patterns
//===----------------------------------------------------------------------===//

TypePtr Builder::buildType(P::TypeContext *context) {
  if (auto *named = dynamic_cast<P::NamedTypeContext *>(context)) {
    auto type = std::make_unique<NamedType>(range(context));
    for (P::NameContext *name : named->path)
      type->path.push_back(ident(name));
    if (named->HOLE())
      type->path.push_back({"_", range(named->HOLE())});
    type->hasSizes = named->LBRACKET() != nullptr;
    if (named->sizeList())
      for (P::SizeContext *size : named->sizeList()->items)
        type->sizes.push_back(size->expr() ? buildExpr(size->expr()) : std::make_unique<EllipsisExpr>(range(size)));
    return type;
  }

  auto *group = static_cast<P::GroupTypeContext *>(context);
  P::TypeFieldListContext *list = group->typeFieldList();
  size_t count = list ? list->items.size() : 0;
  size_t labels = list ? static_cast<size_t>(llvm::count_if(list->items, [](auto *f) { return f->label; })) : 0;
  if (labels != 0) {
    auto type = std::make_unique<RecordType>(range(context));
    std::vector<const Ident *> names;
    for (P::TypeFieldContext *field : list->items) {
      RecordTypeField result;
      if (field->label)
        result.name = word(field->label);
      else
        diagnostics.error(Code::E0110, range(field), "expected 'name: type', as the other fields of the record have")
            .report();
      result.type = buildType(field->type());
      result.doc = docBefore(range(field));
      if (result.doc.empty())
        result.doc = docBehind(range(field));
      type->fields.push_back(std::move(result));
    }
    for (const RecordTypeField &field : type->fields)
      names.push_back(&field.name);
    checkDistinct(names, "field");
    return type;
  }
  // Parentheses around one type group it; `(a,)` is a tuple.
  if (count == 1 && !list->trailing)
    return buildType(list->items[0]->type());
  auto type = std::make_unique<TupleType>(range(context));
  if (list)
    for (P::TypeFieldContext *field : list->items)
      type->elements.push_back(buildType(field->type()));
  return type;
}

PatternPtr Builder::buildPattern(P::PatternContext *context) {
  if (auto *name = dynamic_cast<P::NamePatternContext *>(context))
    return std::make_unique<NamePattern>(ident(name->name()));
  if (auto *tuple = dynamic_cast<P::TuplePatternContext *>(context)) {
    auto pattern = std::make_unique<TuplePattern>(range(context));
    for (P::PatternContext *element : tuple->items)
      pattern->elements.push_back(buildPattern(element));
    checkDistinct(boundNames(*pattern), "name");
    return pattern;
  }
  return std::make_unique<WildcardPattern>(range(context));
}

} // namespace pmap
