#include "compiler/Driver/Repl.h"

#include "compiler/Driver/Jit.h"
#include "compiler/Driver/ReferenceProgram.h"
#include "compiler/Driver/SessionValue.h"
#include "compiler/Syntax/Parser.h"

#include "llvm/Support/Format.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace pmap {
namespace {

/// Whether a statement binds something that exists at compile time only: a function, or a literal (which stays weak).
bool isCompileTime(const ast::Stmt &statement) {
  const auto *let = llvm::dyn_cast<ast::LetStmt>(&statement);
  if (!let || let->isVar || !let->sizes.empty() || !llvm::isa<ast::NamePattern>(let->pattern.get()))
    return false;
  if (llvm::isa<ast::LambdaExpr, ast::StringExpr>(let->value.get()))
    return true;
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(let->value.get())) {
    static constexpr llvm::StringLiteral transformations[] = {
        "grad", "value_and_grad", "vmap", "pmap", "jacobian", "hessian", "checkpoint", "custom_vjp", "cmap"};
    return llvm::is_contained(transformations, call->calleeName());
  }
  bool isLiteral = true;
  ast::walk(*let->value, [&](const ast::Expr &e) {
    isLiteral &= llvm::isa<ast::NumberExpr, ast::BoolExpr, ast::UnaryExpr, ast::BinaryExpr>(&e);
    return isLiteral;
  });
  return isLiteral;
}

/// Whether an expression is there for its effect and has no value to show.
bool isEffect(const ast::Expr &e) {
  if (const auto *call = llvm::dyn_cast<ast::CallExpr>(&e))
    return call->calleeName() == "print" || call->calleeName() == "assert_close" || call->calleeName() == "save";
  const auto *branch = llvm::dyn_cast<ast::IfExpr>(&e);
  return branch && !branch->elseBranch;
}

constexpr llvm::StringLiteral valueName = "__value";

} // namespace

/// The module of one entry: the session's items, and a `main` that takes the values of earlier entries, elaborates the
/// statements without a value again, then the entry's own, and returns what it bound.
struct ReplSession::Program {
  std::unique_ptr<ast::Module> module;
  ast::FunctionItem *main = nullptr;
  /// What main returns, in order: the names it binds or assigns, then the value to show.
  std::vector<std::string> results;
  std::vector<const SessionLeaf *> inputs;
  size_t ownStatements = 0;
  std::string header;
};

ReplSession::ReplSession(const RunOptions &options) : options(options), compiler(options.compile) {}
ReplSession::~ReplSession() = default;

void ReplSession::report() {
  compiler.diagnostics.print(llvm::errs(), llvm::errs().has_colors());
  compiler.diagnostics.clear();
}

/// Whether the entry failed only because its value is one that no program returns, a function. Its messages are then
/// dropped: they speak of the `main` that the session made.
bool ReplSession::onlyAtCompileTime() {
  if (compiler.diagnostics.errorCount() != 1 ||
      llvm::none_of(compiler.diagnostics.all(), [](const Diagnostic &d) { return d.code == Code::E0508; }))
    return false;
  compiler.diagnostics.clear();
  return true;
}

std::unique_ptr<ast::BlockExpr> ReplSession::parseBlock(const std::string &text) {
  const SourceFile *file = compiler.sources.addText("<repl:" + std::to_string(++entries) + ">", text + "\n\n");
  ReplInput input = parseExpressionOrItem(*file, compiler.diagnostics);
  if (compiler.diagnostics.hasErrors()) {
    report();
    return nullptr;
  }
  if (input.kind != ReplInput::Statements) {
    llvm::errs() << "error: expected an expression\n";
    return nullptr;
  }
  return std::move(input.block);
}

/// Builds the program of an entry. The block's statements and the replayed ones are moved into it; `takeBack` returns
/// them.
std::unique_ptr<ReplSession::Program> ReplSession::compose(ast::BlockExpr &block, bool &showsValue) {
  auto program = std::make_unique<Program>();
  // The last expression becomes `let __value = e`, unless it is there for its effect.
  showsValue = false;
  if (auto *last = block.statements.empty() ? nullptr : llvm::dyn_cast<ast::ExprStmt>(block.statements.back().get());
      last && !isEffect(*last->expr)) {
    auto let = std::make_unique<ast::LetStmt>(last->range);
    let->pattern = std::make_unique<ast::NamePattern>(ast::Ident{valueName.str(), last->range});
    let->value = std::move(last->expr);
    block.statements.back() = std::move(let);
    showsValue = true;
  }
  auto addResult = [&](llvm::StringRef name) {
    if (!llvm::is_contained(program->results, name))
      program->results.push_back(name.str());
  };
  for (const ast::StmtPtr &statement : block.statements)
    if (const auto *let = llvm::dyn_cast<ast::LetStmt>(statement.get()); let && !isCompileTime(*statement))
      for (const ast::Ident *name : ast::boundNames(*let->pattern))
        if (name->text != valueName)
          addResult(name->text);
  for (const ast::Ident &name : ast::assignedVariables(block))
    addResult(name.text);
  if (showsValue)
    addResult(valueName);

  std::string parameters, lets;
  for (const SessionBinding &binding : bindings) {
    if (binding.replayed)
      continue;
    std::vector<std::string> names;
    for (const SessionLeaf &leaf : binding.leaves) {
      std::string name = "__" + std::to_string(program->inputs.size());
      parameters += (parameters.empty() ? "" : ", ") + name + ": " + typeText(leaf);
      names.push_back(name);
      program->inputs.push_back(&leaf);
    }
    lets += std::string("  ") + (binding.isVar ? "var " : "let ") + binding.name + " = " +
            nestText(binding.leaves, names) + "\n";
  }
  std::string tuple;
  for (const std::string &name : program->results)
    tuple += name + ", ";
  program->header = "fn main(" + parameters + ") {\n" + lets + "  (" + tuple + ")\n}\n";
  const SourceFile *file = compiler.sources.addText("<session>", program->header);
  program->module = parseFile(*file, compiler.diagnostics);
  program->main = llvm::cast<ast::FunctionItem>(program->module->items.front().get());
  auto &statements = llvm::cast<ast::BlockExpr>(program->main->body.get())->statements;
  // Replayed statements go back to the place they had among the bindings.
  size_t at = 0;
  for (SessionBinding &binding : bindings) {
    if (binding.replayed)
      statements.insert(statements.begin() + at, std::move(binding.replayed));
    ++at;
  }
  program->ownStatements = block.statements.size();
  for (ast::StmtPtr &statement : block.statements)
    statements.insert(statements.begin() + at++, std::move(statement));
  block.statements.clear();
  for (size_t i = 0; i < items.size(); ++i)
    program->module->items.insert(program->module->items.begin() + i, std::move(items[i]));
  return program;
}

/// Returns to the session, and to the entry's block, what `compose` took.
void ReplSession::takeBack(Program &program, ast::BlockExpr *block) {
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = std::move(program.module->items[i]);
  auto &statements = llvm::cast<ast::BlockExpr>(program.main->body.get())->statements;
  for (size_t i = 0; i < bindings.size(); ++i)
    if (bindings[i].leaves.empty())
      bindings[i].replayed = std::move(statements[i]);
  for (size_t i = 0; block && i < program.ownStatements; ++i)
    block->statements.push_back(std::move(statements[bindings.size() + i]));
}

bool ReplSession::addItems(std::vector<ast::ItemPtr> added) {
  size_t before = items.size();
  std::vector<ast::ItemPtr> replaced = std::move(items);
  items.clear();
  // A new definition takes the place of an old one of the same name.
  auto isReplaced = [&](const ast::ItemPtr &item) {
    const ast::Ident *name = ast::nameOf(*item);
    return name && llvm::any_of(added, [&](const ast::ItemPtr &other) {
             const ast::Ident *newName = ast::nameOf(*other);
             return newName && newName->text == name->text;
           });
  };
  std::vector<size_t> kept;
  for (size_t i = 0; i < before; ++i)
    if (!isReplaced(replaced[i])) {
      kept.push_back(i);
      items.push_back(std::move(replaced[i]));
    }
  for (ast::ItemPtr &item : added)
    items.push_back(std::move(item));
  ast::BlockExpr empty{SourceRange()};
  bool showsValue;
  auto program = compose(empty, showsValue);
  bool good = !compiler.diagnostics.hasErrors() && compiler.elaborate(*program->module);
  takeBack(*program, nullptr);
  report();
  if (good)
    return true;
  // Back to what there was.
  for (size_t i = 0; i < kept.size(); ++i)
    replaced[kept[i]] = std::move(items[i]);
  items = std::move(replaced);
  return false;
}

bool ReplSession::run(const std::string &text, ast::BlockExpr &block, std::vector<SessionLeaf> *value) {
  bool showsValue;
  auto program = compose(block, showsValue);
  std::unique_ptr<LoadedProgram> loaded;
  std::unique_ptr<ReferenceProgram> reference;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const pmap_program *compiled = nullptr;
  if (options.target == Target::Reference) {
    module = compiler.elaborate(*program->module);
    if (module && compiler.transform(*module)) {
      reference = ReferenceProgram::create(*module, "repl", pmap_rt_num_devices());
      compiled = reference ? reference->programs().front() : nullptr;
    }
  } else {
    std::string key;
    for (const ast::ItemPtr &item : program->module->items)
      if (item.get() != program->main)
        key += item->range.text().str() + "\n";
    for (const ast::StmtPtr &statement : llvm::cast<ast::BlockExpr>(program->main->body.get())->statements)
      key += statement->range.text().str() + "\n";
    std::string error;
    if (auto object = compiler.objectOf(*program->module, "<repl>", key + program->header)) {
      loaded = LoadedProgram::load(std::move(object), error);
      compiled = loaded ? static_cast<const pmap_program *>(loaded->lookup(programsSymbol)) : nullptr;
      if (!compiled)
        llvm::errs() << "error: cannot load the compiled entry: " << error << "\n";
    }
  }
  std::vector<std::string> results = program->results;
  std::vector<const SessionLeaf *> inputs = program->inputs;
  takeBack(*program, &block);
  if (onlyAtCompileTime())
    llvm::errs()
        << "the value is there only when compiling, as functions, dtypes and texts are: keep it with `let f = ...`, or "
           "use it in an expression\n";
  report();
  if (!compiled)
    return false;

  std::vector<SessionLeaf> leaves;
  if (!callProgram(*compiled, inputs, leaves))
    return false;
  // Leaf names start with the place in the result tuple.
  std::vector<SessionBinding> bound(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    bound[i].name = results[i];
  for (SessionLeaf &leaf : leaves) {
    auto [place, rest] = llvm::StringRef(leaf.name).split('.');
    size_t index = 0;
    if (place.getAsInteger(10, index) || index >= bound.size())
      continue;
    leaf.name = rest.str();
    bound[index].leaves.push_back(std::move(leaf));
  }
  if (showsValue) {
    if (value)
      *value = std::move(bound.back().leaves);
    else if (!bound.back().leaves.empty())
      llvm::outs() << valueText(bound.back().leaves) << "\n";
    bound.pop_back();
  }
  for (ast::StmtPtr &statement : block.statements) {
    const auto *let = llvm::dyn_cast<ast::LetStmt>(statement.get());
    if (!let || !isCompileTime(*statement))
      continue;
    SessionBinding binding;
    binding.name = ast::boundNames(*let->pattern).front()->text;
    binding.replayed = std::move(statement);
    bindings.push_back(std::move(binding));
  }
  for (SessionBinding &binding : bound) {
    for (const ast::StmtPtr &statement : block.statements)
      if (const auto *let = llvm::dyn_cast_or_null<ast::LetStmt>(statement.get()))
        for (const ast::Ident *name : ast::boundNames(*let->pattern))
          binding.isVar |= let->isVar && name->text == binding.name;
    bind(std::move(binding));
  }
  return true;
}

void ReplSession::bind(SessionBinding binding) {
  auto isOld = [&](const SessionBinding &old) { return old.name == binding.name && !old.replayed; };
  for (const SessionBinding &old : bindings)
    binding.isVar |= isOld(old) && old.isVar;
  // What a function captured has to stay; without functions nothing refers to the old value.
  if (llvm::none_of(bindings, [](const SessionBinding &old) { return old.replayed != nullptr; }))
    llvm::erase_if(bindings, isOld);
  if (!binding.leaves.empty())
    bindings.push_back(std::move(binding));
}

bool ReplSession::enter(const std::string &text) {
  const SourceFile *file = compiler.sources.addText("<repl:" + std::to_string(entries + 1) + ">", text);
  ReplInput input = parseExpressionOrItem(*file, compiler.diagnostics);
  if (input.kind == ReplInput::Incomplete)
    return false;
  ++entries;
  if (input.kind == ReplInput::Error || compiler.diagnostics.hasErrors()) {
    report();
    return true;
  }
  if (input.kind == ReplInput::Item)
    addDefinitions(std::move(input.module->items));
  else if (input.kind == ReplInput::Statements)
    run(text, *input.block, nullptr);
  return true;
}

void ReplSession::showType(const std::string &text) {
  auto block = parseBlock(text);
  if (!block)
    return;
  bool showsValue;
  auto program = compose(*block, showsValue);
  auto module = compiler.elaborate(*program->module);
  takeBack(*program, block.get());
  if (onlyAtCompileTime()) {
    llvm::outs() << "there only when compiling: a function, a dtype or a text\n";
    return;
  }
  report();
  if (!module)
    return;
  for (const ProgramEntry &entry : Compiler::entries(*module)) {
    auto [parameters, type] = llvm::StringRef(entry.signature.declaration).rsplit(" -> ");
    // The result is a tuple with one element, `(T,)`.
    type.consume_front("(");
    type.consume_back(")");
    type.consume_back(",");
    llvm::outs() << type << "\n";
  }
}

void ReplSession::showIr(const std::string &text) {
  auto block = parseBlock(text);
  if (!block)
    return;
  bool showsValue;
  auto program = compose(*block, showsValue);
  auto module = compiler.elaborate(*program->module);
  bool good = module && compiler.transform(*module);
  takeBack(*program, block.get());
  report();
  if (good)
    llvm::outs() << *module << "\n";
}

void ReplSession::time(const std::string &text) {
  auto block = parseBlock(text);
  if (!block)
    return;
  auto seconds = [&] {
    auto start = std::chrono::steady_clock::now();
    std::vector<SessionLeaf> ignored;
    bool good = run(text, *block, &ignored);
    return good ? std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() : -1.0;
  };
  double first = seconds();
  if (first < 0)
    return;
  block = parseBlock(text);
  double second = block ? seconds() : first;
  llvm::outs() << llvm::format("%.3f ms (%.3f ms with compilation)\n", second * 1e3, first * 1e3);
}

/// Adds what a session can use: neither tests, nor a `main`, which is the name of the session's own entry.
bool ReplSession::addDefinitions(std::vector<ast::ItemPtr> added) {
  bool hasTest = false, hasMain = false;
  llvm::erase_if(added, [&](const ast::ItemPtr &item) {
    const ast::Ident *name = ast::nameOf(*item);
    bool isTest = item->kind == ast::ItemKind::Test, isMain = name && name->text == "main";
    hasTest |= isTest;
    hasMain |= isMain;
    return isTest || isMain;
  });
  if (hasTest)
    llvm::errs() << "note: tests are left out; `pmapc test FILE` runs them\n";
  if (hasMain)
    llvm::errs() << "note: `main` is left out; `pmapc run FILE` runs it\n";
  return added.empty() || addItems(std::move(added));
}

bool ReplSession::load(const std::string &path) {
  if (auto module = compiler.parse(path))
    return addDefinitions(std::move(module->items)), true;
  report();
  return false;
}

void ReplSession::loadArrays(const std::string &name, const std::string &path) {
  // Whether the name can be bound is what the parser says.
  if (!parseBlock("let " + name + " = 0"))
    return;
  SessionBinding binding;
  binding.name = name;
  if (!readLeaves(path, name, binding.leaves))
    return;
  llvm::outs() << name << ": " << nestText(binding.leaves, typeTexts(binding.leaves)) << "\n";
  bind(std::move(binding));
}

bool ReplSession::valueOf(const std::string &text, std::vector<SessionLeaf> &leaves) {
  auto block = parseBlock(text);
  return block && run(text, *block, &leaves);
}

void ReplSession::save(const std::string &path, const std::string &text) {
  std::vector<SessionLeaf> leaves;
  if (valueOf(text, leaves))
    writeLeaves(path, leaves);
}

void ReplSession::plot(const std::string &text) {
  std::vector<SessionLeaf> leaves;
  if (valueOf(text, leaves))
    plotLeaves(text, leaves);
}

std::vector<std::string> ReplSession::names() const {
  std::vector<std::string> list;
  for (const ast::ItemPtr &item : items)
    if (const ast::Ident *name = ast::nameOf(*item))
      list.push_back(name->text);
  for (const SessionBinding &binding : bindings)
    list.push_back(binding.name);
  return list;
}

} // namespace pmap
