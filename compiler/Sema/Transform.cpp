// Transformations of functions: the table of them, and stop_gradient.

#include "compiler/Sema/Derivatives.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::SmallVector;

namespace {

/// The value as a constant to derivatives; takes any nest of records and tuples.
Value stopGradient(CallContext &c) {
  if (!c["x"] || c["x"].isError())
    return Value::error();
  SmallVector<Value, 4> leaves, results;
  c.e.flatten(c["x"], leaves);
  for (const Value &leaf : leaves) {
    if (!leaf.is(ValueKind::Array)) {
      results.push_back(leaf); // literals and sizes have no derivative anyway
      continue;
    }
    const auto *array = leaf.as<ArrayValue>();
    mlir::Value ssa = array->ssa;
    if (c.e.isDistributed(leaf))
      ssa = c.e.tensorOf(leaf);
    if (!isFloat(array->dtype)) {
      results.push_back(Value::array(ssa, array->dtype, c.range, array->weak));
      continue;
    }
    auto stopped = StopGradientOp::create(c.e.builder, c.e.loc(c.range), ssa.getType(), ssa);
    results.push_back(Value::array(stopped, array->dtype, c.range, array->weak));
  }
  return c.e.rebuild(c["x"], results);
}

} // namespace

void sema::registerTransformBuiltins(BuiltinTable &table) {
  table.add("stop_gradient", "x", stopGradient);
  registerGradientBuiltins(table);
  registerVjpBuiltins(table);
  registerJacobianBuiltins(table);
  registerCheckpointBuiltins(table);
  registerVmapBuiltins(table);
}
