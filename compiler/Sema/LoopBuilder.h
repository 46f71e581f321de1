// Building a loop whose carried types are found by a fixpoint over dtypes and variance (V5): the body is elaborated
// anew until its end has the types of its beginning. Only the last elaboration stays, in the IR and in the diagnostics.
#pragma once

#include "compiler/Sema/Elaborator.h"
#include "llvm/ADT/DenseSet.h"

namespace pmap::sema {

class LoopBuilder {
public:
  LoopBuilder(Elaborator &e, SourceRange range, const ast::BlockExpr &body) : e(e), range(range), body(body) {}

  /// At the start of each elaboration of a body: the index, and the axes over which the number of trips varies.
  using BindIndex = llvm::function_ref<void(mlir::Value index, const VarySet &vary)>;

  void buildFor(const Size &low, const Size &high, mlir::Value lowIndex, mlir::Value highIndex, SourceRange boundRange,
                BindIndex bindIndex);
  /// `while`, and any loop with a `break`. With `highIndex` it counts from `lowIndex` itself.
  void buildWhile(const ast::Expr *condition, mlir::Value lowIndex, mlir::Value highIndex, VarySet boundVary,
                  SourceRange boundRange, BindIndex bindIndex);

private:
  Elaborator &e;
  SourceRange range;
  const ast::BlockExpr &body;

  struct Variable {
    VarId id;
    std::string name;
    SourceRange range;
    Value initial;
    size_t firstLeaf, leafCount;
  };
  llvm::SmallVector<Variable> variables;
  llvm::SmallVector<Value> initialLeaves;
  llvm::SmallVector<Elaborator::LeafType> types;
  llvm::SmallDenseSet<size_t> splitChanged, carriedWhole; // of the leaves, by number

  bool collect(std::optional<VarId> flag);
  bool addVariable(VarId id, llvm::StringRef name, SourceRange at);
  llvm::SmallVector<mlir::Type> mlirTypes();
  void enter(llvm::ArrayRef<mlir::BlockArgument> arguments);
  bool leave(bool &changed, llvm::SmallVectorImpl<Value> &finalLeaves);
  bool settleSplit(size_t number, const Value &leaf);
  void widenAll(const VarySet &vary);
  bool settleWeak();
  llvm::SmallVector<mlir::Value> initialValues();
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Value> leaves);
  void exit(mlir::ValueRange results);
  void abandon();
};

/// Whether a statement or block may leave the loop around it; loops within it catch their own.
bool mayBreak(const ast::Stmt &s);
bool mayBreak(const ast::Expr *e);
/// The first `break` that leaves the loop of this body; invalid where there is none.
SourceRange firstBreak(const ast::Expr *body);

} // namespace pmap::sema
