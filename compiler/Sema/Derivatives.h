// What grad, vjp, jvp, jacobian and custom_vjp share. Each elaborates a function into a region, with arguments and
// results taken apart into arrays.
#pragma once

#include "compiler/Sema/Builtins.h"

namespace pmap::sema {

/// A derivative of a function, as it was written.
struct DerivativeRequest {
  Value function;
  llvm::SmallVector<unsigned, 2> wrt; // positions of parameters
  bool wrtIsTuple = false;
  std::string name;  // `grad`, `vjp`, …
  SourceRange range; // of the `grad(...)` itself
};

/// The function argument `f` of a transformation; null (reported) when it is none.
const FunctionValue *readFunction(CallContext &c, llvm::StringRef parameter = "f");
/// `wrt:` as positions of parameters: names, positions, or a tuple of either; the first parameter when it was left out.
bool readWrt(CallContext &c, const FunctionValue &function, DerivativeRequest &request);

/// The transformed function `name(f)`, called as `f` is: every call is `Builder(e, request, range).run(arguments)`.
template <typename Builder, typename Request>
Value makeTransformed(llvm::StringRef name, const FunctionValue &function, const Request &request, SourceRange range) {
  return makeFunction(
      name.str() + "(" + function.name + ")", function.parameters,
      [request](Elaborator &e, llvm::ArrayRef<Value> arguments, SourceRange at) {
        return Builder(e, request, at).run(arguments);
      },
      range, function.defaultOf);
}

/// The arguments that a function is differentiated by, as their leaves.
class WrtArguments {
public:
  WrtArguments(Elaborator &e, const DerivativeRequest &request, SourceRange range)
      : e(e), request(request), range(range) {}

  /// Reads the arguments of a call; false (reported) where a leaf is no float.
  bool read(llvm::ArrayRef<Value> arguments);
  /// Widens every leaf (G1); true when one changed.
  bool widen(const VarySet &vary);
  /// The arguments of a call, with those that are differentiated made of these leaves.
  llvm::SmallVector<Value, 8> replaced(llvm::ArrayRef<Value> arguments, mlir::ValueRange leaves) const;
  /// The derivatives by the arguments: of the form of each, as a tuple where there are several or one was asked for.
  Value derivatives(llvm::ArrayRef<Value> leaves, SourceRange at) const;
  Value derivatives(mlir::ValueRange leaves, SourceRange at) const;

  llvm::SmallVector<mlir::Value, 8> inputs() const;
  llvm::SmallVector<int64_t, 8> positions() const;
  /// The names of the leaves, for messages: `w`, `p.b`.
  llvm::SmallVector<std::string, 8> names;
  llvm::SmallVector<Operand, 8> operands;

private:
  bool readLeaf(const Value &leaf, const std::string &name, bool isWhole);
  llvm::SmallVector<Value, 4> leavesOf(size_t k, llvm::ArrayRef<Value> leaves) const;

  Elaborator &e;
  DerivativeRequest request;
  SourceRange range;
  llvm::SmallVector<unsigned, 4> first; // per argument, where its leaves begin
  llvm::SmallVector<Value, 4> arguments;
};

/// What a tangent or cotangent belongs to.
struct DerivativeLeaf {
  mlir::RankedTensorType type;
  DType dtype;
  std::string name;
};

/// What a function elaborated into a region returns: its arrays are yielded, the rest exists at compile time.
struct RegionResult {
  Value form;
  llvm::SmallVector<Value, 4> leaves;                 // of `form`, arrays materialized
  llvm::SmallVector<size_t, 4> places;                // of the arrays among the leaves
  llvm::SmallVector<mlir::Value, 4> yielded;          // the arrays
  llvm::SmallVector<mlir::RankedTensorType, 4> types; // of the arrays, which may go away with their region
  llvm::SmallVector<std::string, 4> names;            // of all leaves

  /// Calls a function in a region and yields what it returns; false when something in it is an error.
  bool elaborate(Elaborator &e, mlir::Block *body, const Value &function, llvm::ArrayRef<Value> arguments,
                 SourceRange range);
  /// False when something in it is an error.
  bool read(Elaborator &e, const Value &result);
  bool isFloating(size_t k) const; // of the k-th array
  DType dtype(size_t k) const;
  /// The axes over which a floating array varies.
  VarySet vary() const;
  /// The same nest over other arrays.
  Value rebuilt(Elaborator &e, mlir::ValueRange arrays, SourceRange range) const;
  /// A nest of the same form: of the given values where arrays are floating, of zeros elsewhere.
  Value derivatives(Elaborator &e, llvm::ArrayRef<Value> floating, SourceRange range) const;
  /// What a derivative of each floating array has to be like.
  llvm::SmallVector<DerivativeLeaf, 4> floating() const;
};

/// A tangent or cotangent as an array of its value's type, V at least; null (reported) when it does not fit. `what` is
/// "cotangent", `whose` "the result" or "the argument".
mlir::Value readDerivative(Elaborator &e, const Value &leaf, const DerivativeLeaf &primal, llvm::StringRef what,
                           llvm::StringRef whose, SourceRange range, Code code = Code::E0806);

/// A collective under `op` over one of these axes, or null. Where there is none, a direction that varies over them is
/// each device's (or row's) own business.
CollectiveOp findCollective(mlir::Operation *op, const VarySet &axes);
/// A note where a result varies over an axis though a collective over it was used: most often a loss that was not
/// summed.
void noteCollectives(Elaborator &e, mlir::Operation *op, const VarySet &vary, SourceRange range);

/// vjp of a function: `(y, pullback)`; jvp: `(y, dy)`. All arguments of the call are given, those by `request.wrt` are
/// differentiated.
Value buildVjp(Elaborator &e, const DerivativeRequest &request, llvm::ArrayRef<Value> arguments, SourceRange range);
/// `tangents` has one nest per position in `request.wrt`.
Value buildJvp(Elaborator &e, const DerivativeRequest &request, llvm::ArrayRef<Value> arguments,
               llvm::ArrayRef<Value> tangents, SourceRange range);

void registerGradientBuiltins(BuiltinTable &table);   // Gradient.cpp
void registerVjpBuiltins(BuiltinTable &table);        // Vjp.cpp: vjp, jvp
void registerJacobianBuiltins(BuiltinTable &table);   // Jacobian.cpp: jacobian, hessian
void registerCheckpointBuiltins(BuiltinTable &table); // CustomRules.cpp: checkpoint, custom_vjp

} // namespace pmap::sema
