// What the collectives share: reading the value and the axes, and one fused op for many leaves (C4).
#pragma once

#include "compiler/Sema/Parallel.h"

namespace pmap::sema {

/// What a reduction over devices is given: the leaves of its argument as arrays, and the axes.
struct Collective {
  llvm::SmallVector<Operand, 4> leaves;
  /// The axes over which each leaf was invariant (V8); groups widen it.
  llvm::SmallVector<VarySet, 4> missing;
  AxisNames axes;
  VarySet set;            // the axes, sorted
  mlir::ArrayAttr groups; // null: all devices along the axes together

  llvm::SmallVector<mlir::StringAttr, 2> attributes(mlir::MLIRContext *context) const {
    return axisAttributes(context, axes);
  }
};

/// Whether the result's size depends on how many devices are in a group, so that groups must be of one size.
enum class GroupSizes { Any, Equal };

/// Whether a collective has a meaning where the number of those who meet along its axes differs between devices, as
/// that of the rows of ragged blocks: sums and extrema have, what depends on positions or makes a size of the number
/// has not.
enum class Members { AnyNumber, OneNumber };

/// The name of the collective in backquotes.
std::string spelt(CallContext &c);
/// The product of the sizes of axes, as code that is built here writes them.
Size productOf(Elaborator &e, llvm::ArrayRef<mlir::StringAttr> axes);
/// Reads the value and `axis:` (and `groups:`), and checks that all devices arrive (V6) with arrays of one size (V10).
std::optional<Collective> readCollective(CallContext &c, const Value &value, Members members = Members::OneNumber,
                                         GroupSizes sizes = GroupSizes::Any);
/// The axes over which the number of rows along one of `axes` varies.
VarySet unevenOver(Elaborator &e, llvm::ArrayRef<std::string> axes);
/// Reports E0709 and gives false where the number of those who meet along the axes differs between them.
bool expectOneNumber(CallContext &c, llvm::ArrayRef<std::string> axes);
/// The axes in the order in which the meshes and vmaps around name them.
AxisNames inMeshOrder(Elaborator &e, llvm::ArrayRef<std::string> axes);
/// The number of devices along axes where it is literal, else -1.
int64_t literalDevices(CallContext &c, llvm::ArrayRef<std::string> axes);
/// Who meets along the axes: "devices", "rows" (of a vmap), or both.
std::string membersOf(CallContext &c, llvm::ArrayRef<std::string> axes);
/// The axes as a message names them.
std::string quotedAxes(llvm::ArrayRef<std::string> axes);
/// The index `position`, which varies over `vary`, as an i32: a run-time error (E1124) unless it is one of `count`
/// along the axes. `what`: "sends from".
mlir::Value checkedPosition(CallContext &c, mlir::Value position, const VarySet &vary, const Size &count,
                            llvm::ArrayRef<std::string> axes, const std::string &what);
/// The position of a device among those along the axes, major first.
mlir::Value positionAlong(Emit &m, llvm::ArrayRef<std::string> axes);
/// Warns of a sum of a value that is the same on all devices along `missing` (V8).
void warnInvariant(CallContext &c, const Operand &operand, llvm::ArrayRef<mlir::StringAttr> missing);
/// One fused collective over those operands that vary (C4); `axesOf` gives the axes of each, none to leave it alone.
void allReduce(CallContext &c, ReductionKind kind, llvm::SmallVectorImpl<mlir::Value> &values,
               llvm::ArrayRef<VarySet> axesOf, mlir::ArrayAttr groups = {});
/// The results as a nest of the form of the argument.
Value finishCollective(CallContext &c, const Value &like, llvm::ArrayRef<mlir::Value> values,
                       const Collective &collective);

/// all_gather, axis_index, axis_size, pvary, pbroadcast, assert_same (ParallelGather.cpp).
void registerGatherBuiltins(BuiltinTable &table);
/// psum_scatter, all_to_all (ParallelExchange.cpp).
void registerExchangeBuiltins(BuiltinTable &table);
/// ppermute, shift, halo (ParallelPermute.cpp).
void registerPermuteBuiltins(BuiltinTable &table);

} // namespace pmap::sema
