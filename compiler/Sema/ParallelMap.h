// What a pmap is made of (P1 to P6, P9): the request as written, and the builder that makes one `pmap.map` of it.
//
// The body is elaborated into the region of a `pmap.map` that grows while it is: a captured array becomes an input, a
// captured size a size argument. The finished op, with its results, then takes the region over.
#pragma once

#include "compiler/Sema/Parallel.h"
#include <map>

namespace pmap::sema {

/// What was written in `pmap(f, ...)`.
struct MapRequest {
  Value function;
  Value in, out;
  Mesh mesh;
  bool ragged = false;
  SourceRange range;         // of the `pmap(...)` itself
  std::string name = "pmap"; // what the program called
};

/// A size inside the map and what it is outside.
struct LocalSize {
  Size global;
  AxisNames axes; // empty: the same on every device
  bool ragged = false;
};

/// A leaf of an argument, and how it enters.
struct LeafPlan {
  Value leaf;              // as an array where it has a spec
  std::optional<Spec> how; // nothing for what is the same everywhere and no array
  std::string subject;
};

/// A literal size that literal devices do not divide (E0712).
struct IndivisibleSize {
  SourceRange range;
  std::string message;
  int64_t whole, devices;
};

class MapBuilder {
public:
  MapBuilder(Elaborator &e, const MapRequest &request, SourceRange range)
      : e(e), request(request), mesh(request.mesh), range(range) {}
  Value run(llvm::ArrayRef<Value> arguments);

private:
  bool adoptMeshOfInputs(llvm::ArrayRef<Value> arguments);
  bool enter(llvm::ArrayRef<Value> arguments, llvm::SmallVectorImpl<Value> &blocks);
  bool readArgument(const Value &argument, const Value &spec, const std::string &name);
  bool readLeaf(const Value &leaf, const Value &spec, const std::string &subject);
  bool divides(const Size &size, const AxisNames &axes, const std::string &label, SourceRange at);
  void reportIndivisible(llvm::ArrayRef<Value> arguments);
  void cutSizes();
  Value enterLeaf(const LeafPlan &plan);
  Value addInput(mlir::Value array, DType dtype, const Spec &spec, llvm::ArrayRef<Size> localSizes, SourceRange at,
                 bool weak);
  Size addSize(const LocalSize &size, const std::string &label, llvm::StringRef shown, SourceRange birth);
  Size blockSize(const Size &global, const AxisNames &axes, const std::string &label, llvm::StringRef shown,
                 SourceRange birth);
  bool isMadeOf(const Size &size, const std::string &symbol, const LocalSize &local) const;
  bool solveFor(const Size &global, const Size &inside);
  Size captureSize(const Size &global, bool fromOutside = false);
  Value captureArray(const Value &value);
  bool bindOutside(const std::string &name);
  std::optional<Size> globalSize(const Size &local, const AxisNames &axes);
  VarySet vmappedAxes();
  bool leave(const Value &result);
  bool leaveLeaf(const Value &leaf, const Value &spec, const std::string &name);
  std::optional<Spec> resultSpec(const Value &spec, mlir::Value array, const std::string &subject);

  mlir::MLIRContext *context() { return &e.context; }

  Elaborator &e;
  const MapRequest &request;
  std::optional<IndivisibleSize> indivisible;
  Mesh mesh;
  SourceRange range;
  MapOp op;
  mlir::Block *body = nullptr;
  llvm::SmallVector<mlir::Value, 8> sizeOperands, inputs;
  llvm::SmallVector<SizeArgAttr, 8> sizeArgs;
  llvm::SmallVector<mlir::Value, 4> yielded;
  llvm::SmallVector<mlir::Type, 4> resultTypes;
  llvm::SmallVector<DType, 4> resultDTypes;
  llvm::SmallVector<LeafPlan, 8> plans;
  std::map<std::pair<std::string, std::string>, Size> localOf; // (global size, axes) to local
  std::map<std::string, Size>
      solved; // symbols of the outside that the sizes of blocks determine, as the inside has them
  std::map<std::string, LocalSize> locals; // by local symbol
  llvm::DenseMap<mlir::Value, mlir::Value> captured;
};

/// The size that an integer scalar is: one symbol each, checked to be at least 0 where it becomes a size.
Size sizeOfInteger(Elaborator &e, mlir::Value integer, bool isUnsigned, llvm::StringRef shown, SourceRange range,
                   std::string birthText);

/// P5: an elementwise operation on values that are split alike runs on their blocks, and the result stays split.
/// Nothing where that does not apply (inside a pmap, no split operand, different splits), and the operands are to be
/// gathered.
std::optional<Value> elementwiseOnBlocks(Elaborator &e, llvm::StringRef name, llvm::ArrayRef<Value> operands,
                                         SourceRange range, llvm::function_ref<Value(llvm::ArrayRef<Value>)> operation);
/// The same for a builtin whose arguments are all operands.
std::optional<Value> elementwiseOnBlocks(CallContext &c);

} // namespace pmap::sema
