// The elaborator: an abstract interpreter over the AST that builds the pmap dialect. Every theme of the language has a file
// of its own (Expressions.cpp, Operators.cpp, Indexing.cpp, ControlFlow.cpp, …) that implements some of these members.
#pragma once

#include "compiler/Sema/Builtin.h"
#include "compiler/Sema/Scope.h"
#include "compiler/Sema/Sema.h"
#include "compiler/Sema/Value.h"
#include "compiler/Syntax/AST.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace pmap::sema {

/// A diagnostic under construction. It is reported when the builder dies, with the chain of calls that led here as its last
/// notes. It converts to an Error value, so that a handler can write `return e.error(Code::E0301, range, "…");`.
class Report {
public:
  Report(Elaborator &elaborator, Diagnostic diagnostic) : elaborator(&elaborator), diagnostic(std::move(diagnostic)) {}
  Report(Report &&other) : elaborator(other.elaborator), diagnostic(std::move(other.diagnostic)) {
    other.elaborator = nullptr;
  }
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;
  ~Report();
  Report &note(SourceRange range, const llvm::Twine &message);
  /// Replaces the text of `range` by `replacement`; an empty range inserts.
  Report &fix(SourceRange range, const llvm::Twine &replacement);
  /*implicit*/ operator Value() const { return Value::error(); }
  /*implicit*/ operator std::nullopt_t() const { return std::nullopt; }
  /// Drops it: the subject turned out to have failed already.
  void cancel() { elaborator = nullptr; }

private:
  Elaborator *elaborator;
  Diagnostic diagnostic;
};

/// What the elaborator knows of one size symbol.
struct SizeSymbol {
  std::string name;       // unique in the module: `n`, `n.1`
  std::string shown;      // as the user wrote it: `n`
  SourceRange birth;      // where it was born, for notes
  std::string birthText;  // "dimension 0 of parameter 'x'"
  mlir::Value ssa;        // the index value that it is (may be null for a symbol of the function's own `pmap.sizes`)
  VarySet vary;           // V10: a local size of a ragged split varies
  bool nonNegative = true; // a loop index that may start below zero is not
  bool bound = false;     // whether `pmap.size` may name it (function and map symbols, and after a `pmap.bind_size`)
  /// For an index of a loop or comprehension: its bounds, `low <= symbol < high`, by which indexing is proved in range.
  std::optional<Size> low, high;
};

/// A mesh (or a vmapped axis) in force. `open` is the standalone check of a function that names axes its caller will
/// bring: every axis name exists then and nothing is known of its size.
struct MeshContext {
  llvm::SmallVector<std::string, 2> axes;
  llvm::SmallVector<int64_t, 2> sizes; // -1: the devices at run time
  bool open = false;
  bool isVmap = false;
  SourceRange range;
};

/// A region whose execution differs between devices: the body of an `if` or loop whose condition or trip count varies.
struct VaryingRegion {
  mlir::Region *region; // values defined outside it are widened when they enter (V5)
  VarySet vary;
  SourceRange range;   // the condition
  std::string what;    // "this condition", "the trip count of this loop"
  mlir::Value cause;   // the condition's value, from which the chain of V6's message is read
};

struct CallFrame {
  std::string name;
  SourceRange callRange;
};

class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, SourceManager &sources, DiagnosticEngine &diagnostics, const SemaOptions &options);
  ~Elaborator();

  //===--- Diagnostics ---------------------------------------------------------------------------------------------===//
  /// Begins an error. The chain of calls that led here is added as notes.
  Report error(Code code, SourceRange range, const llvm::Twine &message);
  Report warning(Code code, SourceRange range, const llvm::Twine &message);
  /// Notes on where each symbol of a size was born.
  void noteBirths(Report &report, const Size &size);
  /// Notes on why a value varies over `axis`: the chain of values from the source to `value` (V6, V7, F16).
  void noteVariance(Report &report, mlir::Value value, llvm::StringRef axis);
  /// A note on where a value's dtype came from.
  void noteDType(Report &report, const Value &value);
  /// The source text of a range, on one line and shortened, for messages: `x @ w`.
  std::string sourceText(SourceRange range, size_t limit = 40) const;

  //===--- Types of arrays -----------------------------------------------------------------------------------------===//
  llvm::SmallVector<Size> sizesOf(mlir::Value array) const; // sees through a distributed type (global sizes)
  llvm::SmallVector<Size> sizesOf(const Value &value);      // also of literals (none) and lists
  VarySet varyOf(mlir::Value array) const;
  VarySet varyOf(const Size &size) const;  // V10
  VarySet varyOf(const Value &value) const; // of any value: the union over its leaves
  int64_t rankOf(const Value &value);
  bool isDistributed(const Value &value) const;
  /// Whether a value is or can become an array (arrays, literals, sizes, lists of them).
  bool isArrayLike(const Value &value) const;
  /// The dtype of an array-like value: nullopt for a weak one that would alone become `defaultDType`.
  std::optional<DType> dtypeOf(const Value &value) const;
  DType defaultDType(const Value &weak) const; // i32, f32 or bool
  mlir::Type elementType(DType dtype) const;
  /// `tensor<…>` with canonical encoding.
  mlir::RankedTensorType tensorType(DType dtype, llvm::ArrayRef<Size> sizes, const VarySet &vary) const;

  //===--- Making arrays of values ---------------------------------------------------------------------------------===//
  /// The value as an array of a definite dtype on this device: literals and sizes become constants, lists are stacked,
  /// distributed values are gathered (P5). A weak value takes `hint`, or its default. Never changes a strong dtype.
  /// Returns Error (reported) when the value cannot be an array or a fractional literal meets an integer dtype.
  Value materialize(const Value &value, std::optional<DType> hint = std::nullopt);
  /// The tensor of `materialize`; null on error.
  mlir::Value tensorOf(const Value &value, std::optional<DType> hint = std::nullopt);
  /// The dtype that operands of an elementwise operation meet in; nullopt (reported) when two strong ones differ, with
  /// the fix-it that converts. All weak: the weak kind's default. `what` names the operation: "`+`", "`where`".
  std::optional<DType> commonDType(llvm::ArrayRef<Value> operands, SourceRange range, llvm::StringRef what);
  /// Makes the operands agree for an elementwise operation: one dtype (unless `keepDTypes`), one shape by NumPy
  /// broadcasting decided by the sizes, one variance (V2). Every element becomes a materialized array. False on error.
  bool unifyForElementwise(llvm::MutableArrayRef<Value> operands, SourceRange range, llvm::StringRef what,
                           bool keepDTypes = false);
  /// The explicit conversion `f32(x)`: any array-like value to `dtype`.
  Value convert(const Value &value, DType dtype, SourceRange range);
  /// Widens to `vary` (a superset of what it has), at the value's definition, once per value and set (V2).
  mlir::Value widen(mlir::Value array, const VarySet &vary);
  /// Broadcasts to `sizes` (NumPy alignment of trailing dimensions must already hold).
  mlir::Value broadcastTo(mlir::Value array, llvm::ArrayRef<Size> sizes, SourceRange range);
  /// A scalar constant, and the same splat over a shape.
  mlir::Value constant(double value, DType dtype, SourceRange range);
  mlir::Value constantInt(int64_t value, DType dtype, SourceRange range);
  mlir::Value splat(mlir::Value scalar, llvm::ArrayRef<Size> sizes, SourceRange range);
  /// The leaves of a nest of tuples and records, in order, and a nest of the same form over new leaves.
  void flatten(const Value &value, llvm::SmallVectorImpl<Value> &leaves) const;
  Value rebuild(const Value &like, llvm::ArrayRef<Value> leaves) const;
  /// Dotted names of the leaves ("" for a lone array): `w`, `layers.0.b`.
  void leafNames(const Value &value, llvm::StringRef prefix, llvm::SmallVectorImpl<std::string> &names) const;

  //===--- Sizes ---------------------------------------------------------------------------------------------------===//
  /// A new symbol; `shown` is made unique. The IR that binds it is the caller's (or `bindSize`).
  SizeSymbol &newSymbol(llvm::StringRef shown, SourceRange birth, std::string birthText);
  SizeSymbol *findSymbol(llvm::StringRef name);
  /// A fresh symbol for an index value that exists in the IR (`pmap.bind_size`), e.g. the length that compress gives.
  Size bindSize(llvm::StringRef shown, mlir::Value index, SourceRange birth, std::string birthText, const VarySet &vary);
  /// The `index` value of a size at the insertion point.
  mlir::Value indexOf(const Size &size, SourceRange range);
  /// A value used as a size: literal, Size, or integer scalar (which becomes a symbol, one per SSA value). nullopt
  /// (reported) when it is none. `what` says where: "a dimension", "a slice bound".
  std::optional<Size> sizeOf(const Value &value, llvm::StringRef what);
  /// The shape that `zeros([n, 2*d])`, `reshape(x, [n, -1])` got: a list, a tuple or a single size.
  std::optional<llvm::SmallVector<Size>> shapeOf(const Value &value, llvm::StringRef what);
  /// Proofs; "not provable" is false.
  bool provablyEqual(const Size &a, const Size &b) const { return a == b; }
  bool provablyNonNegative(const Size &size) const;
  bool provablyLess(const Size &a, const Size &b) const;
  bool provablyAtMost(const Size &a, const Size &b) const;
  /// Reports E0401, naming both birthplaces, unless the sizes are equal.
  bool expectEqual(const Size &a, const Size &b, SourceRange range, std::string message);
  /// Shown to users: symbols by the names they wrote.
  std::string render(const Size &size) const;
  std::string render(llvm::ArrayRef<Size> sizes) const; // "[n, 2*d]"
  std::string renderArray(DType dtype, llvm::ArrayRef<Size> sizes) const; // "f32[n, 2*d]"
  std::string render(const Value &value); // renderType

  //===--- Calls ---------------------------------------------------------------------------------------------------===//
  /// Calls any function value with arguments as written.
  Value callFunction(const Value &function, llvm::ArrayRef<Argument> arguments, SourceRange callRange);
  /// One value per parameter of `function`, labels and defaults resolved; nullopt (reported) when they do not fit.
  std::optional<llvm::SmallVector<Value, 4>> bindArguments(const FunctionValue &function,
                                                           llvm::ArrayRef<Argument> arguments, SourceRange callRange);
  /// Calls with one value per parameter, as `bindArguments` made them.
  Value callBound(const Value &function, llvm::ArrayRef<Value> arguments, SourceRange callRange);
  /// Calls a function value with positional arguments only.
  Value apply(const Value &function, llvm::ArrayRef<Value> arguments, SourceRange callRange);

  //===--- Regions, meshes -----------------------------------------------------------------------------------------===//
  const MeshContext *currentMesh() const { return meshes.empty() ? nullptr : &meshes.back(); }
  llvm::SmallVector<MeshContext, 2> meshes;
  /// V6: reports a collective over `axes` inside a region whose condition or trip count varies over one of them.
  bool collectiveAllowed(llvm::ArrayRef<std::string> axes, SourceRange range, llvm::StringRef name);
  llvm::SmallVector<VaryingRegion, 4> varyingRegions;
  /// How a value that was bound outside the innermost varying regions is seen inside (V5).
  Value seenFromHere(const Value &value);
  /// Elaborates `body` with the builder at the end of `block`, then restores the insertion point. Diagnostics of the
  /// body are reported as usual.
  void inBlock(mlir::Block *block, llvm::function_ref<void()> body);
  /// Elaborates something whose IR and diagnostics are thrown away (to learn a type). True when it gave no error.
  bool dryRun(llvm::function_ref<void()> body);

  //===--- Expressions and statements (one file per theme) ---------------------------------------------------------===//
  Value expression(const ast::Expr &e);
  /// An expression in size position (a type, a shape): `/` is exact division there.
  std::optional<Size> sizeExpression(const ast::Expr &e, bool inType);

  mlir::OpBuilder builder;
  mlir::Location loc(SourceRange range);
  mlir::MLIRContext &context;
  SourceManager &sources;
  const SemaOptions &options;
  DiagnosticEngine &diagnostics;

  //===--- State that only the core touches ------------------------------------------------------------------------===//
  Scope scope;
  Store store;
  VarId nextVar = 0;
  LoadedModule *currentModule = nullptr;
  llvm::SmallVector<CallFrame, 8> calls;
  /// Inside `pmap`'s region, which is isolated: what comes from outside enters through `capture` (P9). Sizes likewise.
  struct Isolation {
    mlir::Region *region;
    std::function<Value(const Value &)> captureArray;
    std::function<Size(const Size &)> captureSize;
  };
  llvm::SmallVector<Isolation, 2> isolations;

  //===--- Entry points of the core (Sema.cpp, Modules.cpp, Signature.cpp) -------------------------------------------===//
  /// Loads what `module` imports and declares its items. Reports names declared twice, missing modules and cycles.
  LoadedModule *load(const ast::Module &module);
  void elaborateEntries(LoadedModule &program, mlir::ModuleOp into);
  /// The value of a module's item; null when it has none of that name.
  Value item(LoadedModule &module, llvm::StringRef name, SourceRange use);

  //===--- Types as written (Types.cpp) ------------------------------------------------------------------------------===//
  /// What names in an annotation mean: in a parameter list an unknown name binds the size it meets.
  struct TypeScope {
    llvm::StringMap<Size> *binds = nullptr; // sizes bound so far; null where nothing may be bound
    bool reportUnbound = true;
  };
  /// Checks a value against an annotation and gives the value that has it (weak ones converted). `subject` names what is
  /// annotated: "argument 'x' of 'f'". Sizes that the annotation names alone are bound in `binds`.
  Value checkAgainst(const Value &value, const ast::Type &type, llvm::StringMap<Size> *binds, bool bindingPass,
                     const std::string &subject, SourceRange at);
  /// `Layer(w: a, b: c)`, `f32(x)`.
  Value construct(const TypeValue &type, llvm::ArrayRef<Argument> arguments, SourceRange range);

  //===--- Expressions (one file per theme) --------------------------------------------------------------------------===//
  Value nameExpression(const ast::NameExpr &e);
  Value fieldExpression(const ast::FieldExpr &e);
  Value numberExpression(const ast::NumberExpr &e);
  Value unaryExpression(const ast::UnaryExpr &e);
  Value binaryExpression(const ast::BinaryExpr &e);
  Value logicalExpression(const ast::BinaryExpr &e);
  Value castExpression(const ast::CastExpr &e);
  Value withExpression(const ast::WithExpr &e);
  Value pipeExpression(const ast::PipeExpr &e);
  Value callExpression(const ast::CallExpr &e);
  Value indexExpression(const ast::IndexExpr &e);
  Value tupleExpression(const ast::TupleExpr &e);
  Value recordExpression(const ast::RecordExpr &e);
  Value arrayExpression(const ast::ArrayExpr &e);
  Value comprehensionExpression(const ast::ComprehensionExpr &e);
  Value ifExpression(const ast::IfExpr &e, bool asStatement);
  Value blockExpression(const ast::BlockExpr &e, bool asStatement = false);
  Value lambdaExpression(const ast::LambdaExpr &e);
  /// The operators on values, for builtins that are spelt otherwise too.
  Value binary(ast::BinaryOp op, Value lhs, Value rhs, SourceRange range, SourceRange opRange);
  Value negate(const Value &operand, SourceRange range);
  Value matmul(Value lhs, Value rhs, SourceRange range);
  /// `i1` of a condition; null (reported) when it is no bool scalar. `what`: "the condition of `if`".
  mlir::Value condition(const Value &value, SourceRange range, llvm::StringRef what);

  //===--- Indexing (Indexing.cpp) -----------------------------------------------------------------------------------===//
  Value index(const Value &base, llvm::ArrayRef<ast::Subscript> subscripts, SourceRange range);
  Value updateIndex(const Value &base, llvm::ArrayRef<ast::Subscript> subscripts, const Value &update, SourceRange range);
  /// `x[i]` for one index along dimension 0, proved or checked.
  Value row(const Value &base, const Size &position, SourceRange range);

  //===--- Statements (Statements.cpp, Loops.cpp) --------------------------------------------------------------------===//
  void statement(const ast::Stmt &s);
  void letStatement(const ast::LetStmt &s);
  void assignStatement(const ast::AssignStmt &s);
  void forStatement(const ast::ForStmt &s);
  void whileStatement(const ast::WhileStmt &s);
  void assertStatement(const ast::AssertStmt &s);
  bool bindPattern(const ast::Pattern &pattern, const Value &value, bool isVar);
  /// The values of both branches as one: the types meet, and scf.if yields them. Used by `if`, `and`, `or`.
  struct Branch {
    mlir::Block *block = nullptr; // where the branch was built
    Value value;                  // of the branch
    Store store;                  // the variables after it
    SourceRange range;
  };

private:
  friend class LoopBuilder;
  std::map<std::string, std::unique_ptr<SizeSymbol>> symbols;
  llvm::StringMap<unsigned> symbolCounts;
};

} // namespace pmap::sema
