// What the handlers of array builtins share: reading arguments, and emitting operations by dtype.
#pragma once

#include "compiler/Dialect/IR/PmapOps.h"
#include "compiler/Sema/Builtin.h"
#include "compiler/Sema/Elaborator.h"

namespace pmap::sema {

/// An argument that has become an array of a definite dtype.
struct Operand {
  mlir::Value ssa;
  DType dtype = DType::F32;
  SourceRange range;
  explicit operator bool() const { return ssa != nullptr; }
  int64_t rank() const { return mlir::cast<mlir::RankedTensorType>(ssa.getType()).getRank(); }
};

/// The message kinds every builtin needs, and its arguments read as what they must be. Each reader reports what is
/// wrong and returns nothing then; the handler just returns Value::error().
class Arguments {
public:
  explicit Arguments(CallContext &c) : c(c), e(c.e) {}

  /// The name in backquotes, for messages: `sum`.
  std::string name() const { return "`" + c.builtin.name + "`"; }
  /// The argument as an array; false on error. A weak one takes `hint` or its default dtype.
  Operand array(llvm::StringRef parameter, std::optional<DType> hint = std::nullopt);
  Operand asArray(const Value &value, std::optional<DType> hint = std::nullopt);
  /// The same, and it must be floating; typed integers get the fix-it `f32(x)`.
  Operand floating(llvm::StringRef parameter);
  /// The same, of any dtype but random keys, which are opaque.
  Operand notKeys(llvm::StringRef parameter, std::optional<DType> hint = std::nullopt);
  /// The same, and it must be an integer array.
  Operand integers(llvm::StringRef parameter);
  /// `axis:` as dimensions of an array of rank `rank`, sorted; all of them when it was left out.
  std::optional<llvm::SmallVector<int64_t, 4>> axes(int64_t rank, llvm::StringRef parameter = "axis");
  /// `axis:` as one dimension; `fallback` (already normalised) when it was left out.
  std::optional<int64_t> axis(int64_t rank, std::optional<int64_t> fallback, llvm::StringRef parameter = "axis");
  /// One literal dimension of an array of rank `rank`.
  std::optional<int64_t> dimension(const Value &value, int64_t rank);
  /// A literal `true` or `false`; `fallback` when it was left out.
  std::optional<bool> flag(llvm::StringRef parameter, bool fallback);
  /// A literal integer.
  std::optional<int64_t> integer(const Value &value, llvm::StringRef what);
  /// `dtype:`; `fallback` when it was left out.
  std::optional<DType> dtype(DType fallback, llvm::StringRef parameter = "dtype");
  /// The elements of a list or tuple; one value stands for a list of one.
  llvm::SmallVector<Value, 4> sequence(const Value &value);

  /// An E0320: the builtin has no meaning for this dtype. `wanted` is "floats", "integers", "bool".
  Value badDType(const Operand &operand, llvm::StringRef wanted, llvm::StringRef conversion = "");

private:
  CallContext &c;
  Elaborator &e;
};

/// Emits operations at the elaborator's insertion point, with the source range of one call. Operands of one operation
/// must have one type; `like` makes constants that fit.
class Emit {
public:
  Emit(Elaborator &e, SourceRange range) : e(e), builder(e.builder), loc(e.loc(range)), range(range) {}
  explicit Emit(CallContext &c) : Emit(c.e, c.range) {}

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b); // floats
  mlir::Value neg(mlir::Value a);
  mlir::Value maximum(mlir::Value a, mlir::Value b, DType dtype);
  mlir::Value minimum(mlir::Value a, mlir::Value b, DType dtype);
  mlir::Value less(mlir::Value a, mlir::Value b, DType dtype);
  mlir::Value lessEqual(mlir::Value a, mlir::Value b, DType dtype);
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value notEqual(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);
  mlir::Value logicalNot(mlir::Value a);
  /// A constant of the shape, dtype and variance of `array`.
  mlir::Value like(mlir::Value array, double value, DType dtype);
  mlir::Value likeInt(mlir::Value array, int64_t value, DType dtype);
  /// A size as an array of the shape and variance of `array` (its own variance must be within that).
  mlir::Value sizeLike(mlir::Value array, const Size &size, DType dtype);
  /// The scalar that a size is, of its own variance.
  mlir::Value sizeScalar(const Size &size, DType dtype);
  mlir::Value convert(mlir::Value array, DType from, DType to);

  mlir::Value reduce(ReductionKind kind, mlir::Value array, llvm::ArrayRef<int64_t> dims);
  /// Puts back the dimensions that a reduction dropped, with size 1.
  mlir::Value keepDims(mlir::Value array, llvm::ArrayRef<int64_t> dims);
  mlir::Value reshape(mlir::Value array, llvm::ArrayRef<Size> sizes);
  mlir::Value transpose(mlir::Value array, llvm::ArrayRef<int64_t> permutation);
  mlir::Value broadcast(mlir::Value array, llvm::ArrayRef<Size> sizes, llvm::ArrayRef<int64_t> dims);
  mlir::Value iota(DType dtype, llvm::ArrayRef<Size> sizes, int64_t dim);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> arrays, int64_t dim);
  /// `length` elements along `dim` from `offset`; checked at run time unless they provably fit.
  mlir::Value slice(mlir::Value array, int64_t dim, const Size &offset, const Size &length);
  /// Makes arrays agree in variance by widening (V2).
  void unifyVary(llvm::MutableArrayRef<mlir::Value> arrays);
  llvm::SmallVector<Size, 4> sizes(mlir::Value array) { return e.sizesOf(array); }

  Elaborator &e;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  SourceRange range;
};

/// The kinds for a dtype: unsigned and bool have their own.
ReductionKind maxKind(DType dtype);
ReductionKind minKind(DType dtype);

/// The product of sizes.
Size countOf(llvm::ArrayRef<Size> sizes);
/// `f32[n, d]`, for messages.
std::string shown(CallContext &c, const Operand &x);
/// Widens an array by the variance of the sizes it is about to get (V10).
mlir::Value widenBySizes(CallContext &c, mlir::Value array, llvm::ArrayRef<Size> sizes);

/// An honest E0901 for a construct that this version parses but does not compile.
Value notBuiltYet(Elaborator &e, SourceRange range, llvm::StringRef what);

void registerVmapBuiltins(BuiltinTable &table);    // Vmap.cpp
void registerPreludeBuiltins(BuiltinTable &table); // BuiltinsPrelude.cpp

/// Calls a function of the library's module `prelude`.
Value callPrelude(CallContext &c, llvm::StringRef function, llvm::ArrayRef<Argument> arguments);
void registerMakeBuiltins(BuiltinTable &table);
void registerBitsBuiltins(BuiltinTable &table);
void registerMathBuiltins(BuiltinTable &table);
void registerReduceBuiltins(BuiltinTable &table);
void registerShapeBuiltins(BuiltinTable &table);
void registerArrangeBuiltins(BuiltinTable &table);
void registerLinearBuiltins(BuiltinTable &table);
void registerIndexBuiltins(BuiltinTable &table);

} // namespace pmap::sema
