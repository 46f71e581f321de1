// The state of an interactive session: definitions, the values of variables, and how an entry is run.
#pragma once

#include "compiler/Driver/Compiler.h"
#include "compiler/Driver/Verbs.h"

#include "pmap/program.h"

#include <memory>
#include <string>
#include <vector>

namespace pmap {

/// An array or scalar that the session keeps: dense, row-major, in a buffer of the runtime's.
struct SessionLeaf {
  std::string name; // dotted path below its variable: "", "w", "0.b"
  DType dtype;
  std::vector<int64_t> sizes;
  std::vector<char> scalar; // the element of a rank-0 leaf
  std::shared_ptr<void> buffer;
};

/// What an earlier entry bound: values, which later entries get as inputs, or a statement that has no value of its own
/// (a function, a literal) and is elaborated again in each entry. The order matters: a function captures what was bound
/// before it.
struct SessionBinding {
  std::string name;
  bool isVar = false;
  std::vector<SessionLeaf> leaves;
  ast::StmtPtr replayed;
};

class ReplSession {
public:
  explicit ReplSession(const RunOptions &options);
  ~ReplSession();

  /// Runs what was typed. False: more lines are needed.
  bool enter(const std::string &text);
  /// Prints the type, the IR, or the time of an expression.
  void showType(const std::string &text);
  void showIr(const std::string &text);
  void time(const std::string &text);
  /// Adds the definitions of a file. False (reported) where it cannot be read or parsed.
  bool load(const std::string &path);
  /// Binds a name to what a .npy file or .npz archive holds.
  void loadArrays(const std::string &name, const std::string &path);
  /// Writes the value of an expression to a .npy file or .npz archive, or draws it on the terminal.
  void save(const std::string &path, const std::string &text);
  void plot(const std::string &text);
  /// The names that can be completed.
  std::vector<std::string> names() const;

private:
  struct Program;

  std::unique_ptr<Program> compose(ast::BlockExpr &block, bool &showsValue);
  void takeBack(Program &program, ast::BlockExpr *block);
  bool addItems(std::vector<ast::ItemPtr> added);
  bool addDefinitions(std::vector<ast::ItemPtr> added);
  /// Runs an entry and keeps what it binds. Its value is printed, or goes to `value` where that is given.
  bool run(const std::string &text, ast::BlockExpr &block, std::vector<SessionLeaf> *value);
  /// Keeps a value under its name, in place of an older one.
  void bind(SessionBinding binding);
  bool valueOf(const std::string &text, std::vector<SessionLeaf> &leaves);
  std::unique_ptr<ast::BlockExpr> parseBlock(const std::string &text);
  bool onlyAtCompileTime();
  void report();

  RunOptions options;
  Compiler compiler;
  std::vector<ast::ItemPtr> items;
  std::vector<SessionBinding> bindings;
  unsigned entries = 0;
};

} // namespace pmap
