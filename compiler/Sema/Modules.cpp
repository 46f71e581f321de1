// Modules: what a file imports, the items of each, and functions that call themselves.
#include "compiler/Sema/Modules.h"
#include "compiler/Sema/Elaborator.h"
#include "compiler/Syntax/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace pmap::sema {

std::optional<StringRef> nearest(StringRef name, ArrayRef<StringRef> candidates) {
  // Any letter is one away from any other, which says nothing.
  if (name.size() < 2)
    return std::nullopt;
  // Two neighbours that changed places are one mistake.
  auto isSwap = [&](StringRef candidate) {
    if (candidate.size() != name.size())
      return false;
    size_t first = 0;
    while (first < name.size() && name[first] == candidate[first])
      ++first;
    return first + 1 < name.size() && name[first] == candidate[first + 1] && name[first + 1] == candidate[first] &&
           name.drop_front(first + 2) == candidate.drop_front(first + 2);
  };
  unsigned best = name.size() < 3 ? 1 : name.size() / 3; // a third of the letters may be wrong
  std::optional<StringRef> found;
  for (StringRef candidate : candidates) {
    if (candidate.size() < 2)
      continue;
    unsigned distance = isSwap(candidate) ? 1 : name.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance <= best && candidate != name && (!found || distance < best)) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

LoadedModule *Elaborator::declare(std::unique_ptr<LoadedModule> module) {
  LoadedModule *loaded = module.get();
  modules[module->path] = std::move(module);
  loading.push_back(loaded);
  for (const ast::ItemPtr &item : loaded->ast->items) {
    const ast::Ident *name = ast::nameOf(*item);
    if (!name)
      continue;
    auto [entry, inserted] = loaded->items.try_emplace(name->text, item.get());
    if (!inserted)
      error(Code::E0205, name->range, "'" + name->text + "' is declared twice in this file")
          .note(ast::nameOf(*entry->second)->range, "the first declaration");
  }
  for (const ast::ItemPtr &item : loaded->ast->items)
    if (const auto *import = dyn_cast<ast::ImportItem>(item.get()))
      if (LoadedModule *target = importModule(*import, *loaded))
        loaded->imports[import->alias.text] = target;
  loading.pop_back();
  findRecursion(*loaded, *this);
  return loaded;
}

LoadedModule *Elaborator::load(const ast::Module &module) {
  auto loaded = std::make_unique<LoadedModule>();
  loaded->ast = &module;
  loaded->path = module.file ? module.file->path().str() : "";
  return declare(std::move(loaded));
}

LoadedModule *Elaborator::importModule(const ast::ImportItem &import, LoadedModule &importer) {
  // `import nn`: beside the importing file first, which wins and says so, then the libraries.
  SmallString<128> beside(sys::path::parent_path(importer.path));
  std::string file = import.isPath ? import.module : import.module + ".pmap";
  if (import.isPath && sys::path::is_absolute(import.module))
    beside = "";
  sys::path::append(beside, file);
  std::string library;
  if (!import.isPath)
    for (const std::string &folder : options.libraryPaths) {
      SmallString<128> path(folder);
      sys::path::append(path, file);
      if (sys::fs::exists(path)) {
        library = path.str().str();
        break;
      }
    }
  bool isBeside = sys::fs::exists(beside);
  if (!isBeside && library.empty()) {
    Report report = error(Code::E0202, import.moduleRange, "no module '" + import.module + "' is found");
    if (import.module == "numpy" || import.module == "jax" || import.module == "math")
      report.note(SourceRange(),
                  "the functions of arrays are part of the language and need no module: 'sum(x)', 'exp(x)'");
    report.note(SourceRange(), "looked for " + beside.str());
    for (const std::string &folder : options.libraryPaths)
      if (!import.isPath)
        report.note(SourceRange(), "looked in " + folder);
    return nullptr;
  }
  if (isBeside && !library.empty() && !sys::fs::equivalent(beside, library))
    warning(Code::E0207, import.moduleRange,
            "'" + import.module + "' is " + beside.str() + ", which hides the library's module of that name");
  std::string path = isBeside ? beside.str().str() : library;

  for (auto [i, open] : enumerate(loading))
    if (open->path == path) {
      std::string cycle;
      for (LoadedModule *step : ArrayRef<LoadedModule *>(loading).drop_front(i))
        cycle += sys::path::filename(step->path).str() + " imports ";
      error(Code::E0203, import.moduleRange, "modules import each other: " + cycle + sys::path::filename(path));
      return nullptr;
    }
  if (auto known = modules.find(path); known != modules.end())
    return known->second.get();

  std::string why;
  const SourceFile *source = sources.addFile(path, why);
  if (!source) {
    error(Code::E0202, import.moduleRange, "the module '" + path + "' cannot be read: " + why);
    return nullptr;
  }
  unsigned before = diagnostics.errorCount();
  std::unique_ptr<ast::Module> parsed = parseFile(*source, diagnostics);
  if (diagnostics.errorCount() != before)
    return nullptr;
  auto loaded = std::make_unique<LoadedModule>();
  loaded->name = sys::path::stem(path).str();
  loaded->path = path;
  loaded->isLibrary = !isBeside || path == library;
  loaded->owned = std::move(parsed);
  loaded->ast = loaded->owned.get();
  return declare(std::move(loaded));
}

LoadedModule *Elaborator::library(StringRef name, SourceRange use) {
  ast::ImportItem import(use);
  import.module = name.str();
  import.moduleRange = use;
  // As if the library imported it: a program's own file of that name is not meant.
  LoadedModule importer;
  if (!options.libraryPaths.empty())
    importer.path = options.libraryPaths.front() + "/";
  return importModule(import, importer);
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

Value Elaborator::item(LoadedModule &module, StringRef name, SourceRange use) {
  const ast::Item *found = module.find(name);
  if (!found)
    return Value();
  switch (found->kind) {
  case ast::ItemKind::Import: {
    LoadedModule *target = module.import(name);
    return target ? Value::module(target, use) : Value::error();
  }
  case ast::ItemKind::Function:
    return functionValue(*cast<ast::FunctionItem>(found), module);
  case ast::ItemKind::Type:
    return Value::typeDecl(cast<ast::TypeItem>(found), &module, use);
  case ast::ItemKind::Const:
    return constant(*cast<ast::ConstItem>(found), module, use);
  case ast::ItemKind::Test:
    break;
  }
  return Value();
}

/// A const is evaluated where it is used: what of it is an array must exist there, and nothing can tell the difference.
Value Elaborator::constant(const ast::ConstItem &decl, LoadedModule &module, SourceRange use) {
  if (!module.evaluating.insert(&decl).second)
    return error(Code::E0208, decl.name.range, "the value of '" + decl.name.text + "' depends on itself");
  Scope savedScope = std::exchange(scope, nullptr);
  Store savedStore = std::exchange(store, Store());
  LoadedModule *savedModule = std::exchange(currentModule, &module);
  Value value = expression(*decl.value);
  if (decl.type && !value.isError())
    value = checkAgainst(value, *decl.type, {&module, nullptr, false, nullptr}, "'" + decl.name.text + "'",
                         decl.value->range);
  scope = savedScope;
  store = savedStore;
  currentModule = savedModule;
  module.evaluating.erase(&decl);
  return value;
}

//===----------------------------------------------------------------------===//
// Recursion
//===----------------------------------------------------------------------===//

namespace {

/// What a function's text names, apart from its own local names. A local of a function's name hides it, wherever it is.
void referencedItems(const ast::FunctionItem &function, const LoadedModule &module,
                     SmallVectorImpl<std::pair<const ast::FunctionItem *, SourceRange>> &out) {
  StringSet<> locals;
  auto addParams = [&](const std::vector<ast::Param> &params) {
    for (const ast::Param &param : params)
      locals.insert(param.name.text);
  };
  auto addPattern = [&](const ast::Pattern &pattern) {
    for (const ast::Ident *name : ast::boundNames(pattern))
      locals.insert(name->text);
  };
  addParams(function.params);
  auto visitAll = [&](function_ref<void(const ast::Expr &)> visit) {
    ast::walk(*function.body, [&](const ast::Expr &e) {
      visit(e);
      return true;
    });
  };
  visitAll([&](const ast::Expr &e) {
    if (const auto *lambda = dyn_cast<ast::LambdaExpr>(&e))
      addParams(lambda->params);
    if (const auto *comprehension = dyn_cast<ast::ComprehensionExpr>(&e))
      for (const ast::ComprehensionRange &range : comprehension->ranges)
        locals.insert(range.index.text);
    if (const auto *block = dyn_cast<ast::BlockExpr>(&e))
      ast::walkStatements(*block, [&](const ast::Stmt &s) {
        if (const auto *let = dyn_cast<ast::LetStmt>(&s))
          addPattern(*let->pattern);
        if (const auto *loop = dyn_cast<ast::ForStmt>(&s))
          addPattern(*loop->pattern);
      });
  });
  visitAll([&](const ast::Expr &e) {
    const auto *name = dyn_cast<ast::NameExpr>(&e);
    if (!name || locals.contains(name->name))
      return;
    if (const auto *target = dyn_cast_or_null<ast::FunctionItem>(module.find(name->name)))
      out.push_back({target, name->range});
  });
}

} // namespace

void findRecursion(LoadedModule &module, Elaborator &elaborator) {
  enum State { Open, Done };
  DenseMap<const ast::FunctionItem *, State> states;
  struct Frame {
    const ast::FunctionItem *function;
    SmallVector<std::pair<const ast::FunctionItem *, SourceRange>> references;
    size_t next = 0;
  };
  for (const ast::ItemPtr &item : module.ast->items) {
    const auto *root = dyn_cast<ast::FunctionItem>(item.get());
    if (!root || states.count(root))
      continue;
    // Depth first, with the path kept by hand: a chain of functions may be longer than the machine's stack.
    SmallVector<Frame> path;
    auto open = [&](const ast::FunctionItem *function) {
      states[function] = Open;
      path.push_back({function, {}, 0});
      referencedItems(*function, module, path.back().references);
    };
    open(root);
    while (!path.empty()) {
      Frame &top = path.back();
      if (top.next == top.references.size()) {
        states[top.function] = Done;
        module.calleesFirst.push_back(top.function);
        path.pop_back();
        continue;
      }
      auto [target, range] = top.references[top.next++];
      auto state = states.find(target);
      if (state == states.end()) {
        open(target);
        continue;
      }
      if (state->second == Done)
        continue;
      auto *begin = find_if(path, [&, t = target](const Frame &f) { return f.function == t; });
      std::string cycle;
      for (auto *frame = begin; frame != path.end(); ++frame) {
        cycle += "'" + frame->function->name.text + "' calls ";
        module.recursive.insert(frame->function);
      }
      Report report =
          elaborator.error(Code::E0505, range, "functions cannot recurse: " + cycle + "'" + target->name.text + "'");
      report.note(SourceRange(), "a loop, `for` or `while`, repeats");
    }
  }
}

} // namespace pmap::sema
