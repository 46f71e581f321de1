// The table of builtins, and the small language its parameter lists are written in.
#include "compiler/Sema/Builtin.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace pmap::sema {

const BuiltinTable &BuiltinTable::get() {
  static const BuiltinTable table = [] {
    BuiltinTable t;
    registerHostBuiltins(t);
    registerTreeBuiltins(t);
    registerBitBuiltins(t);
    registerArrayBuiltins(t);
    registerParallelBuiltins(t);
    registerTransformBuiltins(t);
    return t;
  }();
  return table;
}

void BuiltinTable::add(StringRef name, StringRef parameters, BuiltinHandler handler) {
  Builtin row{name.str(), {}, handler};
  SmallVector<StringRef> parts;
  parameters.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    part = part.trim();
    Parameter parameter;
    parameter.variadic = part.consume_front("*");
    parameter.optional = part.consume_back("?");
    parameter.namedOnly = part.consume_back(":");
    parameter.name = part.str();
    row.parameters.push_back(std::move(parameter));
  }
  rows[name] = std::move(row);
}

const Builtin *BuiltinTable::find(StringRef name) const {
  auto found = rows.find(name);
  return found == rows.end() ? nullptr : &found->second;
}

const Value &CallContext::operator[](StringRef name) const {
  for (auto [i, parameter] : enumerate(builtin.parameters))
    if (parameter.name == name)
      return arguments[i];
  llvm_unreachable("a handler asked for a parameter that its row does not list");
}

SourceRange CallContext::rangeOf(StringRef name) const {
  const Value &value = (*this)[name];
  return value && value.range().isValid() ? value.range() : range;
}

} // namespace pmap::sema
