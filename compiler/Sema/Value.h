// What an expression can be while a program is elaborated: an array that exists in the IR, or something that exists
// only at compile time (a literal, a size, a function, a string, a type). Values are immutable and cheap to copy.
#pragma once

#include "compiler/Dialect/IR/Layout.h"
#include "compiler/Support/DType.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Size.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pmap::ast {
struct FunctionItem;
struct TypeItem;
} // namespace pmap::ast

namespace pmap::sema {

class Elaborator;
struct LoadedModule;
struct ScopeNode;
struct CallContext;

/// The axes over which a value may differ between devices: sorted, without repeats. `unionOf`, `differenceOf` and
/// `isSubset` are in compiler/Dialect/IR/Layout.h.
using VarySet = Axes;
bool contains(llvm::ArrayRef<mlir::StringAttr> set, llvm::StringRef axis);

enum class ValueKind {
  Error,    // An error was reported where it came from; whatever meets it stays silent.
  Array,    // A tensor in the IR; a scalar has rank 0. Also a distributed array at top level.
  Int,      // A weak integer literal, exact.
  Float,    // A weak float literal.
  Bool,     // `true`, `false`: dtype bool, known at compile time.
  Size,     // A weak integer that is a polynomial of size symbols. It may be negative until it becomes a dimension.
  String,   // An axis name, a message, a file name.
  List,     // `[a, b]` before anything asks for an array: a shape, a spec, a weak array literal.
  Tuple,    // A tuple or a record (a tuple with names); the empty tuple is what a statement is worth.
  Range,    // `a..b`
  Function, // A closure, a builtin, or a transformed function.
  Type,     // A dtype or a `type` declaration, as in `dtype: f64`, `f32(n)`, `Layer(w: a, b: c)`.
  Module,   // `nn` of `nn.relu`
  Hole,     // `_`, as in `out: _`
};

struct ValueData;
struct SizeRecipe;
struct SizeFacts;

/// A handle on an immutable value; null means "absent" (an argument that was not given).
class Value {
public:
  Value() = default;
  /*implicit*/ Value(std::shared_ptr<const ValueData> data) : data(std::move(data)) {}

  explicit operator bool() const { return data != nullptr; }
  ValueKind kind() const;
  bool is(ValueKind k) const { return data && kind() == k; }
  bool isError() const { return is(ValueKind::Error); }

  /// The value as one of the structs below, or null where it is something else.
  template <typename T> const T *as() const {
    return data && kind() == T::kKind ? static_cast<const T *>(data.get()) : nullptr;
  }
  /// Where the value was written or made: what notes point at.
  SourceRange range() const;
  /// Two handles on the same value; variables that an `if` leaves alone are found this way.
  bool sameAs(const Value &other) const { return data == other.data; }

  // Makers.
  static Value error();
  static Value array(mlir::Value ssa, DType dtype, SourceRange range, bool weak = false);
  /// The same bool with what it says of sizes.
  static Value withFacts(const Value &boolean, std::shared_ptr<const SizeFacts> facts);
  static Value integer(int64_t v, SourceRange range);
  static Value floating(double v, SourceRange range, bool isQuotient = false);
  static Value scalar(mlir::Value ssa, DType dtype, SourceRange range, bool weak,
                      std::shared_ptr<const SizeRecipe> recipe);
  static Value boolean(bool v, SourceRange range);
  static Value size(Size polynomial, SourceRange range);
  static Value string(std::string text, SourceRange range);
  static Value list(llvm::SmallVector<Value, 4> elements, SourceRange range);
  static Value tuple(llvm::SmallVector<Value, 4> elements, SourceRange range);
  /// `names` is empty for a plain tuple, else one per element. `typeName` is what the type was called, for messages.
  static Value record(llvm::SmallVector<Value, 4> elements, llvm::SmallVector<std::string, 4> names, SourceRange range,
                      std::string typeName = "");
  static Value unit(SourceRange range) { return tuple({}, range); }
  static Value rangeOf(Value low, Value high, SourceRange range);
  static Value dtype(DType dtype, SourceRange range);
  static Value typeDecl(const ast::TypeItem *decl, LoadedModule *module, SourceRange range);
  static Value module(LoadedModule *module, SourceRange range);
  static Value hole(SourceRange range);

private:
  std::shared_ptr<const ValueData> data;
};

struct ValueData {
  ValueData(ValueKind kind, SourceRange range) : kind(kind), range(range) {}
  virtual ~ValueData() = default;
  ValueKind kind;
  SourceRange range;
};

/// A tensor of the IR. Its sizes and variance are read from its type (`Elaborator::sizesOf`, `varyOf`); its dtype is
/// kept here because the IR's integers are signless. A weak array is a computed value that no dtype has claimed yet (`n
/// / 2`, a loop variable that began as a literal): integers are held as i64, floats as f64, and it converts to whatever
/// it meets.
struct ArrayValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Array;
  ArrayValue(mlir::Value ssa, DType dtype, bool weak, SourceRange range)
      : ValueData(kKind, range), ssa(ssa), dtype(dtype), weak(weak) {}
  mlir::Value ssa; // tensor<…> or !pmap.dist<…>
  DType dtype;
  bool weak;
  /// For a scalar computed from integers and sizes by arithmetic: what it means where it is used as a size.
  std::shared_ptr<const SizeRecipe> recipe;
  /// For a bool scalar that compares sizes: what its truth says of them.
  std::shared_ptr<const SizeFacts> facts;
};

/// Sizes that are at least 0 where a condition holds, and where it does not. Indexing under `if i > 0 { x[i - 1] }` is
/// proved in range by them.
struct SizeFacts {
  llvm::SmallVector<Size, 2> whenTrue, whenFalse;
};

/// The polynomial that an integer scalar is, over placeholders for the scalars it was computed from: `i*b` with `b:
/// i32` is `i*$0` over `b`. A placeholder becomes a symbol only where the scalar is used as a size, and is checked to
/// be at least 0 there. Likewise `n / 2`, a fraction as a value and an exact quotient as a size.
struct SizeRecipe {
  Size polynomial;
  llvm::SmallVector<std::pair<std::string, Value>, 2> scalars; // placeholder, the scalar
  bool computed = false; // by arithmetic of a dtype, which wraps where the polynomial does not
};

struct IntValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Int;
  IntValue(int64_t value, SourceRange range) : ValueData(kKind, range), value(value) {}
  int64_t value;
};

struct FloatValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Float;
  FloatValue(double value, SourceRange range) : ValueData(kKind, range), value(value) {}
  double value;
  bool isQuotient = false; // of two integer literals: as a size it is their exact quotient
};

struct BoolValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Bool;
  BoolValue(bool value, SourceRange range) : ValueData(kKind, range), value(value) {}
  bool value;
};

struct SizeValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Size;
  SizeValue(Size polynomial, SourceRange range) : ValueData(kKind, range), polynomial(std::move(polynomial)) {}
  Size polynomial;
};

struct StringValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::String;
  StringValue(std::string text, SourceRange range) : ValueData(kKind, range), text(std::move(text)) {}
  std::string text;
};

struct ListValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::List;
  ListValue(llvm::SmallVector<Value, 4> elements, SourceRange range)
      : ValueData(kKind, range), elements(std::move(elements)) {}
  llvm::SmallVector<Value, 4> elements;
};

struct TupleValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Tuple;
  TupleValue(llvm::SmallVector<Value, 4> elements, llvm::SmallVector<std::string, 4> names, std::string typeName,
             SourceRange range)
      : ValueData(kKind, range), elements(std::move(elements)), names(std::move(names)), typeName(std::move(typeName)) {
  }
  llvm::SmallVector<Value, 4> elements;
  llvm::SmallVector<std::string, 4> names;
  std::string typeName;
  bool isRecord() const { return !names.empty(); }
  /// The position of a field, or -1.
  int find(llvm::StringRef name) const;
};

struct RangeValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Range;
  RangeValue(Value low, Value high, SourceRange range)
      : ValueData(kKind, range), low(std::move(low)), high(std::move(high)) {}
  Value low, high;
};

/// One argument of a call, as written.
struct Argument {
  std::string label; // empty when positional
  Value value;
  SourceRange range;
  SourceRange labelRange;
};

/// One parameter of anything that can be called.
struct Parameter {
  std::string name;
  bool namedOnly = false; // `axis:` of a builtin
  bool optional = false;  // has a default, or the builtin copes without
  bool variadic = false;  // takes the positional arguments that are left, as a tuple
};

/// Anything that can be called. `call` gets one value per parameter, in order (null where an optional one was not
/// given).
struct FunctionValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Function;
  using Callee = std::function<Value(Elaborator &, llvm::ArrayRef<Value> arguments, SourceRange callRange)>;
  FunctionValue(std::string name, llvm::SmallVector<Parameter, 4> parameters, Callee call, SourceRange range)
      : ValueData(kKind, range), name(std::move(name)), parameters(std::move(parameters)), call(std::move(call)) {}
  std::string name; // for messages: `relu`, `grad(loss)`, `fn(x)`
  llvm::SmallVector<Parameter, 4> parameters;
  Callee call;
  /// The value of a parameter that was not given; null where the callee copes without. `bindArguments` calls it, so
  /// `call` sees defaults as if they had been written. A transformed function passes its subject's on.
  std::function<Value(Elaborator &, unsigned parameter)> defaultOf;
  /// Set for functions written in Pmap: what the documentation, the signature and the standalone check look at.
  const ast::FunctionItem *decl = nullptr;
  LoadedModule *module = nullptr;
};
Value makeFunction(std::string name, llvm::SmallVector<Parameter, 4> parameters, FunctionValue::Callee call,
                   SourceRange range, std::function<Value(Elaborator &, unsigned parameter)> defaultOf = nullptr);

struct TypeValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Type;
  TypeValue(std::optional<DType> dtype, const ast::TypeItem *decl, LoadedModule *module, SourceRange range)
      : ValueData(kKind, range), dtype(dtype), decl(decl), module(module) {}
  std::optional<DType> dtype;
  const ast::TypeItem *decl;
  LoadedModule *module;
};

struct ModuleValue : ValueData {
  static constexpr ValueKind kKind = ValueKind::Module;
  ModuleValue(LoadedModule *module, SourceRange range) : ValueData(kKind, range), module(module) {}
  LoadedModule *module;
};

/// Whether a value without a dtype is a fraction, or could be, so that it must become a float.
bool isWeakFloat(const Value &value);
/// `f32[n, d]` with its variance, `(w: f32[d], b: f32)`, `fn(x, y)`, `literal 3`, … as messages and `:type` show it.
std::string renderType(const Value &value);
/// What messages call the kind of a value: "an array", "a function", "a string".
std::string describeKind(const Value &value);

} // namespace pmap::sema
