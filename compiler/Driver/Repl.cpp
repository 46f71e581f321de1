#include "compiler/Driver/Repl.h"

#include "compiler/Driver/Doc.h"
#include "compiler/Driver/Jit.h"
#include "compiler/Driver/ReferenceProgram.h"
#include "compiler/Driver/SessionValue.h"
#include "compiler/Support/BuiltinPages.h"
#include "compiler/Syntax/Parser.h"

#include "llvm/LineEditor/LineEditor.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unistd.h>

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

bool ReplSession::run(const std::string &text, ast::BlockExpr &block, bool quiet) {
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
    llvm::errs() << "the value is a function: keep it with `let f = ...`, or call it\n";
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
    if (!quiet && !bound.back().leaves.empty())
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
    bool existed = false;
    // An assigned `var` keeps its place when nothing after it could have captured the old value.
    for (SessionBinding &old : bindings)
      if (old.name == binding.name && !old.replayed) {
        existed = true;
        binding.isVar |= old.isVar;
      }
    bool anyReplay = llvm::any_of(bindings, [](const SessionBinding &old) { return old.replayed != nullptr; });
    if (existed && !anyReplay)
      llvm::erase_if(bindings, [&](const SessionBinding &old) { return old.name == binding.name; });
    if (!binding.leaves.empty())
      bindings.push_back(std::move(binding));
  }
  return true;
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
    addItems(std::move(input.module->items));
  else if (input.kind == ReplInput::Statements)
    run(text, *input.block, /*quiet=*/false);
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
    llvm::outs() << "a function\n";
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
    bool good = run(text, *block, /*quiet=*/true);
    return good ? std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() : -1.0;
  };
  double first = seconds();
  if (first < 0)
    return;
  block = parseBlock(text);
  double second = block ? seconds() : first;
  llvm::outs() << llvm::format("%.3f ms (%.3f ms with compilation)\n", second * 1e3, first * 1e3);
}

bool ReplSession::load(const std::string &path) {
  if (auto module = compiler.parse(path)) {
    llvm::erase_if(module->items, [](const ast::ItemPtr &item) {
      const ast::Ident *name = ast::nameOf(*item);
      // `main` is the name of the session's own entry.
      return item->kind == ast::ItemKind::Test || (name && name->text == "main");
    });
    addItems(std::move(module->items));
    return true;
  }
  report();
  return false;
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

namespace {

constexpr llvm::StringLiteral helpText =
    R"(Type an expression to see its value, `let x = e` or `var x = e` to keep it, or a definition (fn, type, const, import).
An entry goes on over several lines until its brackets close; an empty line ends it.
  :type EXPR     the type of an expression
  :ir EXPR       its operations in the pmap dialect
  :time EXPR     how long it takes, without and with compilation
  :devices N     run on N devices from now on
  :load FILE     add the definitions of a file
  :help          this text
  :help NAME     what is written about a builtin, a module or a library function
  :quit          end the session (also end of input)
)";

/// Completes the word before the cursor by the session's names, the commands and the builtins.
std::vector<llvm::LineEditor::Completion> complete(const ReplSession &session, llvm::StringRef buffer,
                                                   size_t position) {
  llvm::StringRef before = buffer.take_front(position);
  size_t start = before.find_last_of(" ()[]{},=+-*/@:");
  llvm::StringRef word =
      before.starts_with(":") ? before : before.drop_front(start == llvm::StringRef::npos ? 0 : start + 1);
  std::vector<llvm::LineEditor::Completion> found;
  std::vector<std::string> words = session.names();
  for (const char *command : {":type ", ":ir ", ":time ", ":devices ", ":load ", ":help", ":quit"})
    words.push_back(command);
  for (const BuiltinGroup &group : builtinGroups())
    for (const BuiltinEntry &entry : group.entries)
      words.push_back(entry.name);
  for (const std::string &name : words)
    if (!word.empty() && llvm::StringRef(name).starts_with(word))
      found.emplace_back(name.substr(word.size()), name);
  return found;
}

/// What the session can do, or what is written about a name.
void help(const std::string &name) {
  std::optional<std::string> page = name.empty() ? helpText.str() : documentationOf(name);
  if (page)
    llvm::outs() << *page;
  else
    llvm::errs() << "error: " << unknownDocumentation(name) << "\n";
}

/// Runs a line that starts with a colon. False: the session ends.
bool command(ReplSession &session, llvm::StringRef line, int threads) {
  auto [name, rest] = line.split(' ');
  std::string argument = rest.trim().str();
  bool needs = name == ":type" || name == ":ir" || name == ":time" || name == ":devices" || name == ":load";
  int devices = 0;
  if (name == ":quit" || name == ":q" || name == ":exit")
    return false;
  if (name == ":help" || name == ":h")
    help(argument);
  else if (needs && argument.empty())
    llvm::errs() << "error: " << name << " needs an argument; :help lists the commands\n";
  else if (name == ":type")
    session.showType(argument);
  else if (name == ":ir")
    session.showIr(argument);
  else if (name == ":time")
    session.time(argument);
  else if (name == ":load")
    session.load(argument);
  else if (name == ":devices" && (llvm::StringRef(argument).getAsInteger(10, devices) || devices < 1))
    llvm::errs() << "error: :devices takes a number of at least 1, got '" << argument << "'\n";
  else if (name == ":devices")
    pmap_rt_start(devices, threads);
  else
    llvm::errs() << "error: unknown command '" << name << "'; :help lists them\n";
  return true;
}

} // namespace

int runRepl(const RunOptions &options, int devices, int threads, const std::vector<std::string> &load) {
  pmap_rt_start(devices, threads);
  ReplSession session(options);
  for (const std::string &path : load)
    if (!session.load(path))
      return 2;
  bool isTerminal = isatty(STDIN_FILENO);
  if (isTerminal)
    llvm::outs() << "pmapc " PMAPC_VERSION "; :help for help\n";
  llvm::LineEditor editor("pmapc", llvm::LineEditor::getDefaultHistoryPath("pmapc"));
  editor.setListCompleter([&](llvm::StringRef buffer, size_t position) { return complete(session, buffer, position); });
  std::string pending;
  while (true) {
    llvm::outs().flush();
    editor.setPrompt(!isTerminal ? "" : pending.empty() ? "> " : ". ");
    auto line = editor.readLine();
    if (!line)
      break;
    if (pending.empty() && llvm::StringRef(*line).trim().starts_with(":")) {
      if (!command(session, llvm::StringRef(*line).trim(), threads))
        return 0;
      continue;
    }
    pending += *line + "\n";
    if (llvm::StringRef(pending).trim().empty() || session.enter(pending))
      pending.clear();
  }
  // What was begun and never ended is said, not lost in silence.
  if (!pending.empty())
    session.enter(pending + "\n");
  if (isTerminal)
    llvm::outs() << "\n";
  return 0;
}

} // namespace pmap
