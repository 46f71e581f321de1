// `pmapc doc`. A page is made of the `##` comments of a file: the file's own, then the types, constants and entry
// points, and the functions that have one. A function without a comment is a helper, and not shown.
#include "compiler/Driver/Doc.h"

#include "compiler/Driver/Compiler.h"
#include "compiler/Driver/Output.h"
#include "compiler/Support/BuiltinPages.h"
#include "compiler/Support/ErrorPages.h"
#include "compiler/Syntax/Parser.h"
#include "compiler/Syntax/Printer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <memory>

namespace pmap {
namespace {

using llvm::SmallVector;
using llvm::StringRef;

/// The modules of the standard library, parsed once, by name. The prelude is not one: its functions are builtins.
struct LibraryModule {
  std::string name;
  std::unique_ptr<ast::Module> ast;
};

struct Library {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::vector<LibraryModule> modules;

  Library() {
    std::error_code failure;
    for (llvm::sys::fs::directory_iterator file(standardLibraryFolder(), failure), end; !failure && file != end;
         file.increment(failure)) {
      StringRef path = file->path(), name = llvm::sys::path::stem(path);
      std::string reason;
      if (llvm::sys::path::extension(path) != ".pmap" || name == "prelude")
        continue;
      if (const SourceFile *source = sources.addFile(path, reason))
        modules.push_back({name.str(), parseFile(*source, diagnostics)});
    }
    llvm::sort(modules, [](const LibraryModule &a, const LibraryModule &b) { return a.name < b.name; });
  }

  static const Library &get() {
    static const Library library;
    return library;
  }
};

bool isEntry(const ast::Item &item) {
  const auto *function = llvm::dyn_cast<ast::FunctionItem>(&item);
  return function && (function->isExport || function->name.text == "main");
}

/// Whether an item belongs on a page.
bool isShown(const ast::Item &item) {
  if (item.kind == ast::ItemKind::Type || item.kind == ast::ItemKind::Const)
    return true;
  return item.kind == ast::ItemKind::Function && (!item.doc.empty() || isEntry(item));
}

/// Text in a list item: what follows its first line is indented.
std::string indented(StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '\n' ? "\n  " : std::string(1, c);
  return result;
}

/// What is said of the parameters of a function, or of the fields of a record.
std::string partsOf(const ast::Item &item) {
  std::string list;
  auto add = [&](StringRef name, StringRef doc) {
    if (!doc.empty())
      list += ("- `" + name + "`: " + indented(doc) + "\n").str();
  };
  if (const auto *function = llvm::dyn_cast<ast::FunctionItem>(&item))
    for (const ast::Param &param : function->params)
      add(param.label.text, param.doc);
  if (const auto *type = llvm::dyn_cast<ast::TypeItem>(&item))
    if (const auto *record = llvm::dyn_cast<ast::RecordType>(type->type.get()))
      for (const ast::RecordTypeField &field : record->fields)
        add(field.name.text, field.doc);
  return list;
}

/// An item under a heading of so many `#`.
std::string itemPage(const ast::Item &item, const std::string &name, unsigned level) {
  std::string page = std::string(level, '#') + " " + name + "\n\n```\n" + formatSignature(item) + "\n```\n";
  // An example comes last, behind what is said of the parameters.
  auto [said, example] = StringRef(item.doc).split("\n```");
  std::string parts = partsOf(item);
  for (const std::string &part : {said.rtrim().str(), StringRef(parts).rtrim().str()})
    if (!part.empty())
      page += "\n" + part + "\n";
  return example.empty() ? page : page + "\n```" + example.str() + "\n";
}

std::string modulePage(const ast::Module &module, const std::string &title, unsigned level) {
  std::string page = std::string(level, '#') + " " + title + "\n";
  if (!module.doc.empty())
    page += "\n" + module.doc + "\n";
  for (const ast::ItemPtr &item : module.items)
    if (isShown(*item))
      page += "\n" + itemPage(*item, ast::nameOf(*item)->text, level + 1);
  return page;
}

/// The names of a module that its page shows, as a line of links or of plain text.
std::string namesOf(const ast::Module &module) {
  std::string names;
  for (const ast::ItemPtr &item : module.items)
    if (isShown(*item))
      names += (names.empty() ? "`" : " `") + ast::nameOf(*item)->text + "`";
  return names;
}

std::string libraryPage() {
  std::string page =
      "# The standard library\n\n"
      "Modules that a program imports by name: `import nn`, then `nn.relu(x)`. All of them are written in the "
      "language, in\n"
      "[stdlib/](../stdlib). Unless an entry says otherwise, a function takes any floating dtype and gives the same, "
      "what it gives\n"
      "varies over devices as its arguments do (V2), and it has derivatives of every order, reverse and forward.\n"
      "`pmapc doc nn` prints a module, `pmapc doc nn.relu` one entry. The page is made from the `##` comments of the "
      "modules by\n"
      "`./dev docs`; every program on it is run by the tests.\n\n";
  for (const LibraryModule &module : Library::get().modules)
    page += "- [" + module.name + "](#" + module.name + "): " + namesOf(*module.ast) + "\n";
  for (const LibraryModule &module : Library::get().modules)
    page += "\n" + modulePage(*module.ast, module.name, 2);
  return page;
}

/// The index of docs/errors.
std::string errorsPage() {
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kinds[] = {
      {"E01", "Syntax"},
      {"E02", "Names and modules"},
      {"E03", "Dtypes and types"},
      {"E04", "Sizes and shapes"},
      {"E05", "Functions and calls"},
      {"E06", "Statements and control flow"},
      {"E07", "Devices and variance"},
      {"E08", "Derivatives"},
      {"E09", "Not compiled yet"},
      {"E10", "Command line and files"},
      {"E11", "Errors of a running program"},
      {"E12", "Faults of the compiler itself"},
  };
  std::string page = "# Errors\n\n"
                     "Every message ends with its code; `pmapc explain E0401` prints its page. A page says what causes "
                     "the error, and shows a\n"
                     "program or a command that gives it and how it is mended; the tests run them. This index is made "
                     "by `./dev docs`.\n";
  for (const auto &[prefix, title] : kinds) {
    page += ("\n## " + title + "\n\n").str();
    for (const auto &[code, text] : errorPages())
      if (code.starts_with(prefix))
        page += ("- [" + code + "](" + code + ".md): " + text.split('\n').first.split(": ").second + "\n").str();
  }
  return page;
}

/// All names, by group and module: what `pmapc doc` prints when it is asked for nothing.
std::string indexPage() {
  std::string page = "pmapc doc NAME prints an entry, pmapc doc MODULE a module, pmapc doc FILE.pmap the page of a "
                     "file.\n\nBuiltins\n";
  auto add = [&](StringRef title, StringRef names) {
    page += ("  " + title + ":").str();
    size_t column = title.size() + 3;
    for (StringRef rest = names; !rest.empty();) {
      auto [name, others] = rest.split(' ');
      StringRef word = name.trim('`');
      if (column + 1 + word.size() > 100) {
        page += "\n   ";
        column = 3;
      }
      page += (" " + word).str();
      column += 1 + word.size();
      rest = others;
    }
    page += "\n";
  };
  for (const BuiltinGroup &group : builtinGroups()) {
    std::string names;
    for (const BuiltinEntry &entry : group.entries)
      names += (names.empty() ? "" : " ") + entry.name;
    add(group.title, names);
  }
  page += "\nModules\n";
  for (const LibraryModule &module : Library::get().modules)
    add(module.name, namesOf(*module.ast));
  return page;
}

/// The page of a file; nothing (reported) when it cannot be read or parsed.
std::optional<std::string> filePage(const std::string &path) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::string reason;
  const SourceFile *file = sources.addFile(path, reason);
  if (!file) {
    llvm::errs() << "error: cannot read '" << path << "': " << reason << " [E1001]\n";
    return std::nullopt;
  }
  auto module = parseFile(*file, diagnostics);
  diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  if (diagnostics.hasErrors())
    return std::nullopt;
  auto isLeftOut = [](const ast::ItemPtr &item) { return item->kind == ast::ItemKind::Function && !isShown(*item); };
  if (auto count = llvm::count_if(module->items, isLeftOut))
    llvm::errs() << "note: " << count << (count == 1 ? " function" : " functions") << " of '" << path
                 << "' without a `##` comment " << (count == 1 ? "is" : "are") << " left out\n";
  return modulePage(*module, llvm::sys::path::stem(path).str(), 1);
}

} // namespace

std::optional<std::string> documentationOf(StringRef name) {
  std::vector<std::string> pages;
  if (const BuiltinEntry *entry = builtinEntry(name))
    pages.push_back(entry->page());
  for (const LibraryModule &module : Library::get().modules) {
    if (module.name == name)
      pages.push_back(modulePage(*module.ast, module.name, 1));
    for (const ast::ItemPtr &item : module.ast->items)
      if (isShown(*item)) {
        std::string full = module.name + "." + ast::nameOf(*item)->text;
        if (full == name || ast::nameOf(*item)->text == name)
          pages.push_back(itemPage(*item, full, 1));
      }
  }
  if (pages.empty())
    return std::nullopt;
  return llvm::join(pages, "\n");
}

std::string unknownDocumentation(StringRef name) {
  // A misspelt `nn.sofmax` is near `nn.softmax`, and so is `sofmax` alone.
  std::vector<std::pair<unsigned, std::string>> near;
  unsigned most = std::max<unsigned>(1, static_cast<unsigned>(name.size()) / 3);
  auto consider = [&](StringRef spelling, const std::string &shown) {
    unsigned distance = name.edit_distance(spelling, /*AllowReplacements=*/true, most);
    if (distance <= most)
      near.push_back({distance, shown});
  };
  for (const BuiltinGroup &group : builtinGroups())
    for (const BuiltinEntry &entry : group.entries)
      consider(entry.name, entry.name);
  for (const LibraryModule &module : Library::get().modules) {
    consider(module.name, module.name);
    for (const ast::ItemPtr &item : module.ast->items)
      if (isShown(*item)) {
        std::string own = ast::nameOf(*item)->text, full = module.name + "." + own;
        consider(name.contains('.') ? full : own, full);
      }
  }
  llvm::sort(near);
  if (name.size() == 5 && (name[0] == 'E' || name[0] == 'e') && llvm::all_of(name.drop_front(), llvm::isDigit))
    return ("'" + name + "' is an error, whose page 'pmapc explain " + name + "' prints").str();
  std::string text = ("there is no builtin, module or library function '" + name + "'").str();
  if (near.empty())
    return text + "; 'pmapc doc' lists all";
  if (near.size() > 3)
    near.resize(3);
  for (auto [i, candidate] : llvm::enumerate(near))
    text += (i == 0 ? "; did you mean '" : i + 1 == near.size() ? " or '" : ", '") + candidate.second + "'";
  return text + "?";
}

int printDocumentation(const std::vector<std::string> &subjects, const std::string &output) {
  bool toFile = !output.empty() && output != "-";
  if (int status = toFile ? checkOutput(output) : 0)
    return status;
  std::vector<std::string> pages;
  for (const std::string &subject : subjects) {
    std::optional<std::string> page;
    if (StringRef(subject).ends_with(".pmap")) {
      page = filePage(subject);
      if (!page)
        return 2;
    } else {
      page = subject == "builtins"  ? builtinsPage()
             : subject == "library" ? libraryPage()
             : subject == "errors"  ? errorsPage()
                                    : documentationOf(subject);
    }
    if (!page) {
      llvm::errs() << "error: " << unknownDocumentation(subject) << "\n";
      return 2;
    }
    pages.push_back(std::move(*page));
  }
  std::string text = subjects.empty() ? indexPage() : llvm::join(pages, "\n");
  if (!toFile) {
    llvm::outs() << text;
    return 0;
  }
  return writeOutput(output, text);
}

} // namespace pmap
