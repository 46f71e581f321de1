// cmap: a function of one row over rows that are split over the devices (P7). It is composed of the parts that a
// program has, too: a vmap within a ragged pmap, and a gather of what comes out.

#include "compiler/Sema/Parallel.h"

using namespace pmap;
using namespace pmap::sema;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

/// Calls a builtin with one value per parameter, by name; those not named are left out. It speaks of itself as what the
/// program called.
Value callBuiltin(CallContext &c, StringRef name, ArrayRef<std::pair<StringRef, Value>> given) {
  Builtin builtin = *BuiltinTable::get().find(name);
  builtin.name = c.builtin.name;
  SmallVector<Value, 8> arguments;
  for (const Parameter &parameter : builtin.parameters) {
    const auto *found = llvm::find_if(given, [&](const auto &pair) { return pair.first == parameter.name; });
    arguments.push_back(found == given.end() ? Value() : found->second);
  }
  CallContext inside{c.e, builtin, arguments, c.range};
  return builtin.handler(inside);
}

Value cmapBuiltin(CallContext &c) {
  if (!c["f"] || c["f"].isError())
    return Value::error();
  const auto *function = c["f"].as<FunctionValue>();
  if (!function)
    return c.e.error(Code::E0520, c["f"].range(), "`cmap` needs a function, got " + describeKind(c["f"]));
  std::optional<int64_t> device;
  if (c.has("dst")) {
    device = readDevice(c, "dst");
    if (!device)
      return Value::error();
  }
  // The dimensions of the rows are those that are split: a block keeps its rank.
  Value rows = callBuiltin(c, "vmap", {{"f", c["f"]}, {"in", c["in"]}, {"out", c["out"]}, {"chunk", c["chunk"]}});
  if (rows.isError())
    return rows;
  Value split = callBuiltin(c, "pmap",
                            {{"f", rows},
                             {"in", c["in"]},
                             {"out", c["out"]},
                             {"devices", c["devices"]},
                             {"ragged", Value::boolean(true, c.range)}});
  const auto *mapped = split.as<FunctionValue>();
  if (!mapped)
    return Value::error();
  return makeFunction(
      "cmap(" + function->name + ")", function->parameters,
      [split, device](Elaborator &e, ArrayRef<Value> arguments, SourceRange range) {
        Value result = e.callBound(split, arguments, range);
        if (result.isError())
          return result;
        return device ? moveToDevice(e, result, *device, range) : gatherAll(e, result, range);
      },
      c.range, mapped->defaultOf);
}

} // namespace

void sema::registerCmapBuiltins(BuiltinTable &table) {
  table.add("cmap", "f, in:?, out:?, dst:?, devices:?, chunk:?", cmapBuiltin);
}
