// The elaborator: an abstract interpreter over the AST that builds the pmap dialect. Every theme of the language has a
// file of its own (Expressions.cpp, Operators.cpp, Indexing.cpp, ControlFlow.cpp, …) that implements some of these
// members.
#pragma once

#include "compiler/Sema/Builtin.h"
#include "compiler/Sema/Scope.h"
#include "compiler/Sema/Sema.h"
#include "compiler/Sema/Value.h"
#include "compiler/Syntax/AST.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace pmap {
struct ProgramSignature;
}

namespace pmap::sema {

/// A diagnostic under construction. It is reported when the builder dies, with the chain of calls that led here as its
/// last notes. It converts to an Error value, so that a handler can write `return e.error(Code::E0301, range, "…");`.
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
  /// And to nothing, where a function returns an optional.
  template <typename T> /*implicit*/ operator std::optional<T>() const { return std::nullopt; }
  /// Drops it: the subject turned out to have failed already.
  void cancel() { elaborator = nullptr; }

private:
  Elaborator *elaborator;
  Diagnostic diagnostic;
};

/// What the elaborator knows of one size symbol.
struct SizeSymbol {
  std::string name;        // unique in the module: `n`, `n.1`
  std::string shown;       // as the user wrote it: `n`
  SourceRange birth;       // where it was born, for notes
  std::string birthText;   // "dimension 0 of parameter 'x'"
  mlir::Value ssa;         // the index value that it is (may be null for a symbol of the function's own `pmap.sizes`)
  VarySet vary;            // V10: a local size of a ragged split varies
  bool nonNegative = true; // a loop index that may start below zero is not
  bool bound = false;      // whether `pmap.size` may name it (function and map symbols, and after a `pmap.bind_size`)
  /// For an index of a loop or comprehension: its bounds, `low <= symbol < high`, by which indexing is proved in range.
  std::optional<Size> low, high;
  bool dataDependent = false;                  // a length that only the run knows, which `let [k] y = …` names
  unsigned isolation = 0;                      // how many isolated regions (`pmap`) were around its birth
  llvm::SmallVector<std::string, 2> splitOver; // for the size of a block inside a `pmap`: the axes that cut the whole
};

/// A mesh (or a vmapped axis) in force. `open` is the standalone check of a function that names axes its caller will
/// bring: every axis name exists then and nothing is known of its size.
struct MeshContext {
  llvm::SmallVector<std::string, 2> axes;
  llvm::SmallVector<int64_t, 2> sizes; // -1: the devices at run time
  bool open = false;
  bool isVmap = false;
  bool anonymous = false;         // a vmap without `axis:`, whose axis no program can name
  mlir::Region *region = nullptr; // of a vmap: what varies over its axis lives in there
  SourceRange range;
  std::string madeBy = "pmap"; // what the program called: pmap, vmap or cmap
  /// The sizes of arrays in collectives over its axes, which must not vary (V10), each with the collective in
  /// backquotes.
  llvm::SmallVector<std::pair<Size, std::string>, 4> evenSizes;
};

/// A region whose execution differs between devices: the body of an `if` or loop whose condition or trip count varies.
struct VaryingRegion {
  mlir::Region *region; // values defined outside it are widened when they enter (V5)
  VarySet vary;
  SourceRange range; // the condition
  std::string what;  // "this condition", "the trip count of this loop"
  mlir::Value cause; // the condition's value, from which the chain of V6's message is read
};

struct CallFrame {
  std::string name;
  SourceRange callRange;
};

class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, SourceManager &sources, DiagnosticEngine &diagnostics,
             const SemaOptions &options);
  ~Elaborator();

  //===--- Diagnostics
  //---------------------------------------------------------------------------------------------===//
  /// Begins an error. The chain of calls that led here is added as notes.
  Report error(Code code, SourceRange range, const llvm::Twine &message);
  Report warning(Code code, SourceRange range, const llvm::Twine &message);
  /// Whether source text is of the library, which a program's author cannot mend.
  bool isOfLibrary(SourceRange range) const;
  /// The innermost call that the user wrote, not one inside of the library; invalid where there is none.
  SourceRange callOfUser() const;
  /// Notes on where each symbol of a size was born.
  void noteBirths(Report &report, const Size &size);
  /// Notes on why a value varies over `axis`: the chain of values from the source to `value` (V6, V7, F16).
  void noteVariance(Report &report, mlir::Value value, llvm::StringRef axis);
  /// A note on where a value's dtype came from.
  void noteDType(Report &report, const Value &value);
  /// The source text of a range, on one line and shortened, for messages: `x @ w`.
  std::string sourceText(SourceRange range, size_t limit = 40) const;

  //===--- Types of arrays
  //-----------------------------------------------------------------------------------------===//
  llvm::SmallVector<Size> sizesOf(mlir::Value array) const; // sees through a distributed type (global sizes)
  llvm::SmallVector<Size> sizesOf(const Value &value);      // also of literals (none) and lists
  VarySet varyOf(mlir::Value array) const;
  VarySet varyOf(const Size &size) const;   // V10
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

  //===--- Making arrays of values
  //---------------------------------------------------------------------------------===//
  /// The value as an array of a definite dtype on this device: literals and sizes become constants, lists are stacked,
  /// distributed values are gathered (P5). A weak value takes `hint`, or its default. Never changes a strong dtype.
  /// Returns Error (reported) when the value cannot be an array or a fractional literal meets an integer dtype.
  Value materialize(const Value &value, std::optional<DType> hint = std::nullopt);
  /// The same, but what has no dtype yet keeps taking that of what it meets: `[1, 2][k]` is as weak as `1` is.
  Value claimable(const Value &value);
  /// The tensor of `materialize`; null on error.
  mlir::Value tensorOf(const Value &value, std::optional<DType> hint = std::nullopt);
  /// The dtype that operands of an elementwise operation meet in; nullopt (reported) when two strong ones differ, with
  /// the fix-it that converts. All weak: the weak kind's default. `what` names the operation: "`+`", "`where`".
  /// With `allowAllWeak`, nullopt also where all are weak (`failedCommonDType` tells the two apart).
  std::optional<DType> commonDType(llvm::ArrayRef<Value> operands, SourceRange range, llvm::StringRef what,
                                   bool allowAllWeak = false);
  bool failedCommonDType = false;
  /// The shape that NumPy's rules give, decided by the sizes; nullopt (reported) when they do not fit.
  std::optional<llvm::SmallVector<Size>> broadcastShapes(llvm::ArrayRef<Value> operands, SourceRange range,
                                                         llvm::StringRef what);
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
  /// Whether two nests have the same tuples, records and field names, whatever their leaves are.
  bool sameForm(const Value &a, const Value &b) const;
  /// Dotted names of the leaves ("" for a lone array): `w`, `layers.0.b`.
  void leafNames(const Value &value, llvm::StringRef prefix, llvm::SmallVectorImpl<std::string> &names) const;

  //===--- Sizes
  //---------------------------------------------------------------------------------------------------===//
  /// A new symbol; `shown` is made unique. The IR that binds it is the caller's (or `bindSize`).
  SizeSymbol &newSymbol(llvm::StringRef shown, SourceRange birth, std::string birthText);
  SizeSymbol *findSymbol(llvm::StringRef name);
  /// The symbol that an index value is; null when it is none.
  const SizeSymbol *symbolOf(mlir::Value index) const;
  /// A fresh symbol for an index value that exists in the IR (`pmap.bind_size`), e.g. the length that compress gives.
  Size bindSize(llvm::StringRef shown, mlir::Value index, SourceRange birth, std::string birthText,
                const VarySet &vary);
  /// The `index` value of a size at the insertion point.
  mlir::Value indexOf(const Size &size, SourceRange range);
  /// The polynomial of an integer that is known without the run: a literal, a size, or one that took a dtype since.
  std::optional<Size> pureSizeOf(const Value &value) const;
  /// What a scalar means as a size; null when it is none. And what two such give under an operator.
  std::shared_ptr<const SizeRecipe> recipeOf(const Value &value);
  std::shared_ptr<const SizeRecipe> combine(ast::BinaryOp op, const Value &lhs, const Value &rhs);
  /// The same for any operation on sizes; null where it gives nothing.
  std::shared_ptr<const SizeRecipe>
  combine(const Value &lhs, const Value &rhs,
          llvm::function_ref<std::optional<Size>(const Size &p, const Size &q)> operation);
  /// Makes the symbols of a size that exist only as index values (loop indices) nameable in types.
  void bindSymbolsOf(const Size &size);
  /// Whether what `op` defines may be used at the insertion point.
  bool isVisible(mlir::Operation *op) const;
  /// A value used as a size: literal, Size, or integer scalar (which becomes a symbol, one per SSA value). nullopt
  /// (reported) when it is none. `what` says where: "a dimension", "a slice bound".
  std::optional<Size> sizeOf(const Value &value, llvm::StringRef what);
  /// The shape that `zeros([n, 2*d])`, `reshape(x, [n, -1])` got: a list, a tuple or a single size.
  std::optional<llvm::SmallVector<Size>> shapeOf(const Value &value, llvm::StringRef what);
  /// Proofs; "not provable" is false.
  bool provablyEqual(const Size &a, const Size &b) const { return a == b; }
  bool provablyNonNegative(const Size &size) const;
  /// The dimensions of an array that exists are at least 0: a fact of them that are not provably so.
  void noteDimensions(llvm::ArrayRef<Size> sizes);
  void noteDimensions(const Value &value);
  /// Sizes known to be at least 0 at the insertion point: loops around it have a first iteration, conditions hold.
  llvm::SmallVector<Size, 8> facts;
  /// Whether a comparison of two sizes always has one outcome; and what its outcome says.
  std::optional<bool> provableComparison(ast::BinaryOp op, const Size &a, const Size &b) const;
  static std::shared_ptr<const SizeFacts> factsOf(ast::BinaryOp op, const Size &a, const Size &b);
  bool provablyLess(const Size &a, const Size &b) const;
  bool provablyAtMost(const Size &a, const Size &b) const;
  /// Reports E0401, naming both birthplaces, unless the sizes are equal.
  bool expectEqual(const Size &a, const Size &b, SourceRange range, std::string message);
  /// Shown to users: symbols by the names they wrote.
  std::string render(const Size &size) const;
  std::string render(llvm::ArrayRef<Size> sizes) const;                   // "[n, 2*d]"
  std::string renderArray(DType dtype, llvm::ArrayRef<Size> sizes) const; // "f32[n, 2*d]"
  std::string render(const Value &value);                                 // renderType

  //===--- Calls
  //---------------------------------------------------------------------------------------------------===//
  /// Calls any function value with arguments as written.
  Value callFunction(const Value &function, llvm::ArrayRef<Argument> arguments, SourceRange callRange);
  /// One value per parameter of `function`, labels and defaults resolved; nullopt (reported) when they do not fit.
  std::optional<llvm::SmallVector<Value, 4>> bindArguments(const FunctionValue &function,
                                                           llvm::ArrayRef<Argument> arguments, SourceRange callRange);
  /// Calls with one value per parameter, as `bindArguments` made them.
  Value callBound(const Value &function, llvm::ArrayRef<Value> arguments, SourceRange callRange);
  /// Calls a function value with positional arguments only.
  Value apply(const Value &function, llvm::ArrayRef<Value> arguments, SourceRange callRange);

  //===--- Regions, meshes
  //-----------------------------------------------------------------------------------------===//
  const MeshContext *currentMesh() const { return meshes.empty() ? nullptr : &meshes.back(); }
  llvm::SmallVector<MeshContext, 2> meshes;
  /// V6: reports a collective over `axes` inside a region whose condition or trip count varies over one of them.
  bool collectiveAllowed(llvm::ArrayRef<std::string> axes, SourceRange range, llvm::StringRef name);
  llvm::SmallVector<VaryingRegion, 4> varyingRegions;
  /// How a value that was bound outside the innermost varying regions is seen inside (V5).
  /// `fromOutside`: it was bound outside of the innermost `pmap`, where `@devices` are those of the run.
  Value seenFromHere(const Value &value, bool fromOutside = false);
  /// Elaborates `body` with the builder at the end of `block`, then restores the insertion point. Diagnostics of the
  /// body are reported as usual.
  void inBlock(mlir::Block *block, llvm::function_ref<void()> body);
  /// Elaborates something whose IR and diagnostics are thrown away (to learn a type). True when it gave no error.
  bool dryRun(llvm::function_ref<void()> body);

  //===--- Expressions and statements (one file per theme)
  //---------------------------------------------------------===//
  Value expression(const ast::Expr &e);

  mlir::OpBuilder builder;
  mlir::Location loc(SourceRange range);
  /// The range that a location was made of; invalid when it was not made here.
  SourceRange rangeOf(mlir::Location location) const;
  mlir::MLIRContext &context;
  SourceManager &sources;
  const SemaOptions &options;
  DiagnosticEngine &diagnostics;

  //===--- State that only the core touches
  //------------------------------------------------------------------------===//
  Scope scope;
  Store store;
  VarId nextVar = 0;
  /// Variables below are outside of the function or comprehension that is being elaborated, and cannot be assigned
  /// there.
  VarId firstAssignable = 0;
  /// The current value of what a name is bound to, as it is seen from here.
  Value valueOf(const ScopeNode &node);
  LoadedModule *currentModule = nullptr;
  llvm::SmallVector<CallFrame, 8> calls;
  /// Inside `pmap`'s region, which is isolated: what comes from outside enters through `capture` (P9). Sizes likewise.
  struct Isolation {
    mlir::Region *region;
    std::function<Value(const Value &)> captureArray;
    std::function<Size(const Size &, bool fromOutside)> captureSize;
    uint64_t bindingsOutside = 0; // the names bound before it: `ScopeNode::number` up to this one
  };
  llvm::SmallVector<Isolation, 2> isolations;

  //===--- Entry points of the core (Sema.cpp, Modules.cpp, Signature.cpp)
  //-------------------------------------------===//
  /// Loads what `module` imports and declares its items. Reports names declared twice, missing modules and cycles.
  LoadedModule *load(const ast::Module &module);
  /// A module of the standard library, loaded when first asked for; null (reported at `use`) when there is none.
  LoadedModule *library(llvm::StringRef name, SourceRange use);
  void elaborateEntries(LoadedModule &program, mlir::ModuleOp into);
  /// While a function is checked alone: what is taken of the sizes that only its callers know. Null otherwise.
  struct Assumptions {
    std::map<std::string, Size> sizes; // of a parameter's size by name, in terms of the others and of the axes
    llvm::StringSet<> symbols;         // sizes of parameters that nothing is assumed of
    bool grew = false;                 // something was assumed, so the function is to be looked at once more
  };
  Assumptions *assumptions = nullptr;
  /// Whether two different sizes agree for some caller, who brings an axis or the devices that they speak of. Who asks
  /// before reporting a mismatch then says nothing: the function is elaborated again, with sizes that agree.
  bool assumedEqual(const Size &a, const Size &b);
  bool assumedEqual(llvm::ArrayRef<Size> a, llvm::ArrayRef<Size> b);
  /// The same of a shape that broadcasts to another, dimensions matched from the right.
  bool assumedToFit(llvm::ArrayRef<Size> part, llvm::ArrayRef<Size> whole);
  /// The value of a module's item; null when it has none of that name.
  Value item(LoadedModule &module, llvm::StringRef name, SourceRange use);
  Value constant(const ast::ConstItem &decl, LoadedModule &module, SourceRange use);

  //===--- Types as written (Types.cpp)
  //------------------------------------------------------------------------------===//
  /// The arguments of a parameterised type, in force while its declaration is looked at: `i` of `Layer[i, o]`.
  struct SizeArguments {
    const SizeArguments *outer = nullptr; // where the arguments' own names are looked up
    LoadedModule *outerModule = nullptr;
    llvm::StringMap<const ast::Expr *> expressions;
  };
  /// Where the names of an annotation are looked up.
  struct TypeContext {
    LoadedModule *module = nullptr;
    llvm::StringMap<Value> *binds = nullptr; // sizes that a parameter list has bound so far
    bool canBind = false;                    // an unknown lone name binds the size it meets
    const SizeArguments *arguments = nullptr;
  };
  /// What a NamedType names.
  struct NamedTarget {
    bool hole = false;
    std::optional<DType> dtype;
    const ast::TypeItem *decl = nullptr;
    LoadedModule *module = nullptr; // of the declaration
  };
  std::optional<NamedTarget> resolveType(const ast::NamedType &type, LoadedModule *module, bool quiet = false);
  std::optional<SizeArguments> argumentsOf(const ast::NamedType &type, const NamedTarget &target,
                                           const TypeContext &in);
  /// First pass over a parameter list: binds the lone names to the sizes they meet. Reports nothing.
  void bindSizes(const Value &value, const ast::Type &type, const TypeContext &in);
  void solveSizes(const Value &value, const ast::Type &type, const TypeContext &in);
  /// Second pass: the value under its annotation, weak ones converted; Error (reported) when it does not fit. `subject`
  /// says what is annotated: "argument 'x' of 'f'".
  Value checkAgainst(const Value &value, const ast::Type &type, const TypeContext &in, const std::string &subject,
                     SourceRange at);
  /// The size that an expression in an annotation means; nullopt (reported unless quiet).
  std::optional<Size> sizeInType(const ast::Expr &e, const TypeContext &in, bool quiet = false);
  /// The lone name a dimension is, seen through the arguments of parameterised types; null when it is an expression.
  const ast::NameExpr *loneName(const ast::Expr &e, const TypeContext &in, TypeContext &where);
  /// An annotation as text with its sizes as they are bound: `f32[n, d]`.
  std::string renderAnnotation(const ast::Type &type) const;
  /// `Layer(w: a, b: c)`, `f32(x)`.
  Value construct(const TypeValue &type, llvm::ArrayRef<Argument> arguments, SourceRange range);

  //===--- Expressions (one file per theme)
  //--------------------------------------------------------------------------===//
  Value nameExpression(const ast::NameExpr &e);
  Value foreignModule(const ast::FieldExpr &e, const ast::NameExpr &module);
  Value fieldExpression(const ast::FieldExpr &e);
  Value numberExpression(const ast::NumberExpr &e);
  Value unaryExpression(const ast::UnaryExpr &e);
  Value binaryExpression(const ast::BinaryExpr &e);
  Value logicalExpression(const ast::BinaryExpr &e);
  Value castExpression(const ast::CastExpr &e);
  Value withExpression(const ast::WithExpr &e);
  Value pipeExpression(const ast::PipeExpr &e);
  Value callExpression(const ast::CallExpr &e);
  Value callWith(const Value *first, SourceRange firstRange, const ast::CallExpr &e);
  Value castTo(const Value &value, const ast::Type &type, const TypeContext &in, SourceRange range);
  Value atUse(const Value &value, SourceRange range);
  Value indexExpression(const ast::IndexExpr &e);
  Value tupleExpression(const ast::TupleExpr &e);
  Value recordExpression(const ast::RecordExpr &e);
  Value arrayExpression(const ast::ArrayExpr &e);
  Value comprehensionExpression(const ast::ComprehensionExpr &e);
  Value ifExpression(const ast::IfExpr &e, bool asStatement);
  Value blockExpression(const ast::BlockExpr &e, bool asStatement = false);
  Value lambdaExpression(const ast::LambdaExpr &e);
  Value functionValue(const ast::FunctionItem &decl, LoadedModule &module);
  /// The operators on values, for builtins that are spelt otherwise too.
  Value binary(ast::BinaryOp op, Value lhs, Value rhs, SourceRange range, SourceRange opRange);
  Value elementwise(ast::BinaryOp op, Value lhs, Value rhs, SourceRange range, SourceRange opRange,
                    const std::string &what);
  mlir::Type weakElement(const Value &weak);
  Value negate(const Value &operand, SourceRange range);
  Value matmul(Value lhs, Value rhs, SourceRange range);
  /// `i1` of a condition; null (reported) when it is no bool scalar. `what`: "the condition of `if`".
  mlir::Value condition(const Value &value, SourceRange range, llvm::StringRef what);

  //===--- Indexing (Indexing.cpp)
  //-----------------------------------------------------------------------------------===//
  Value index(const Value &base, llvm::ArrayRef<ast::Subscript> subscripts, SourceRange range);
  Value updateIndex(const Value &base, llvm::ArrayRef<ast::Subscript> subscripts, const Value &update,
                    SourceRange range);
  /// `x[i]` for one index along dimension 0, proved or checked.
  Value row(const Value &base, const Size &position, SourceRange range);
  Value indexTuple(const TupleValue &tuple, llvm::ArrayRef<ast::Subscript> subscripts, SourceRange range);

  //===--- Statements (Statements.cpp, Loops.cpp)
  //--------------------------------------------------------------------===//
  void statement(const ast::Stmt &s);
  void letStatement(const ast::LetStmt &s);
  void assignStatement(const ast::AssignStmt &s);
  void forStatement(const ast::ForStmt &s);
  void whileStatement(const ast::WhileStmt &s);
  void assertStatement(const ast::AssertStmt &s);
  void assignTo(const ast::Expr &target, const Value &value, SourceRange range);
  Value replacing(const Value &old, const Value &value, SourceRange range, const std::string &subject);
  Value statements(const ast::BlockExpr &e, size_t from, bool asStatement);
  /// The hidden variable that says whether the innermost loop was left by `break`.
  std::optional<VarId> breakFlag;
  /// Like dryRun, but what is wrong is reported.
  bool dryRunReporting(llvm::function_ref<void()> body);
  /// An end of a range: any integer; one below zero means no iteration.
  std::optional<Size> sizeBound(const Value &value, llvm::StringRef what);
  bool bindPattern(const ast::Pattern &pattern, const Value &value, bool isVar);
  //===--- Regions whose types are known only when they are built (Elaborator.cpp, Conditionals.cpp, Loops.cpp)
  //-------===//
  /// A branch of a conditional: where it was built, its value, and the variables after it.
  struct Branch {
    mlir::Block *block = nullptr;
    Value value;
    Store store;
  };
  /// The type in which two leaves meet at the end of branches, or at the start and end of a loop's body.
  struct LeafType {
    DType dtype = DType::F32;
    bool weak = false;
    llvm::SmallVector<Size> sizes;
    VarySet vary;
    mlir::Type split; ///< the distributed type of a value that stays on its devices (P5); null for any other
  };
  std::optional<LeafType> meet(const Value &a, const Value &b, SourceRange range, llvm::StringRef what);
  mlir::Value leafAs(const Value &value, const LeafType &type, SourceRange range);
  /// An `scf.if` of two bodies: the values of both as one (where `wantsValue`), and the variables that either assigned.
  /// `vary` is that of the condition, `cause` the tensor it was made of.
  Value conditional(mlir::Value condition, const VarySet &vary, mlir::Value cause, SourceRange conditionRange,
                    llvm::StringRef what, SourceRange range, llvm::function_ref<Value()> thenBody,
                    llvm::function_ref<Value()> elseBody, bool wantsValue);
  /// A container of two regions in which bodies are built before the operation they belong to can be made.
  mlir::Operation *scratch(SourceRange range);
  void eraseScratch(mlir::Operation *op);
  /// Maps the leaves of a nest, sharing what does not change.
  Value mapLeavesOf(const Value &value, llvm::function_ref<Value(const Value &)> map);

private:
  friend class LoopBuilder;
  mutable unsigned proofSteps = 0;
  bool nonNegativeByBounds(const Size &size) const;
  mlir::Value indexArithmetic(const Size &size, mlir::Location at, SourceRange range);
  Value sizeParameter(const Value &argument, const Value &size, const ast::Param &param);
  void elaborateFunction(const ast::FunctionItem &decl, LoadedModule &module, mlir::ModuleOp into, bool isEntry);
  void elaborateTest(const ast::TestItem &test, LoadedModule &module, mlir::ModuleOp into, unsigned number);
  void finishEntry(mlir::func::FuncOp function, const Value &result, SourceRange at, bool isEntry,
                   llvm::function_ref<void(ProgramSignature &, const Value &returned)> describe);
  void reset();
  static bool isEntry(const ast::FunctionItem &function);
  void checkUnreached(LoadedModule &program, unsigned tests);
  void checkFunction(const ast::FunctionItem &function, LoadedModule &program, mlir::ModuleOp aside);
  void checkTypeItem(const ast::TypeItem &item, LoadedModule &module);
  static bool isConcrete(const ast::Type &type);
  LoadedModule *declare(std::unique_ptr<LoadedModule> module);
  LoadedModule *importModule(const ast::ImportItem &import, LoadedModule &importer);
  std::map<std::string, std::unique_ptr<LoadedModule>> modules; // by path
  llvm::SmallVector<LoadedModule *> loading;
  Value stackList(const ListValue &list, std::optional<DType> hint);
  llvm::DenseMap<mlir::Location, SourceRange> rangesOfLocations;
  std::map<std::string, std::unique_ptr<SizeSymbol>> symbols;
  llvm::StringMap<unsigned> symbolCounts;
  llvm::DenseMap<mlir::Value, unsigned> placeholders;
};

} // namespace pmap::sema
