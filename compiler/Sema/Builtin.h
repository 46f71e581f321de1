// The table of builtins: name, parameters, handler. Every theme registers its own rows.
//
//   table.add("sum", "x, axis:?, keep:?", sumBuiltin);
//
// A parameter list is written as in a call: `x` is positional (and may be named), `axis:` is always named, `?` makes
// one optional (the handler sees a null Value), and `*xs` takes the positional arguments that are left as a tuple.
#pragma once

#include "compiler/Sema/Value.h"
#include "llvm/ADT/StringMap.h"

namespace pmap::sema {

struct Builtin;

/// What a handler is given.
struct CallContext {
  Elaborator &e;
  const Builtin &builtin;
  llvm::ArrayRef<Value> arguments; // one per parameter, in order
  SourceRange range;               // of the whole call

  /// The value of a parameter by its position in the list or by name; null when it was left out.
  const Value &operator[](unsigned i) const { return arguments[i]; }
  const Value &operator[](llvm::StringRef name) const;
  bool has(llvm::StringRef name) const { return bool((*this)[name]); }
  /// Where an argument was written; the call where it was not.
  SourceRange rangeOf(llvm::StringRef name) const;
};

using BuiltinHandler = Value (*)(CallContext &);

struct Builtin {
  std::string name;
  llvm::SmallVector<Parameter, 4> parameters;
  BuiltinHandler handler;
};

class BuiltinTable {
public:
  /// The table with every theme's rows, made once.
  static const BuiltinTable &get();
  void add(llvm::StringRef name, llvm::StringRef parameters, BuiltinHandler handler);
  const Builtin *find(llvm::StringRef name) const;
  const llvm::StringMap<Builtin> &all() const { return rows; }

private:
  llvm::StringMap<Builtin> rows;
};

// The themes. BuiltinTable::get() calls each once.
void registerHostBuiltins(BuiltinTable &table);      // print, assert_close (Host.cpp)
void registerTreeBuiltins(BuiltinTable &table);      // map_leaves, ravel, unravel (Records.cpp)
void registerBitBuiltins(BuiltinTable &table);       // bitand … shr (Operators)
void registerArrayBuiltins(BuiltinTable &table);     // Builtins*.cpp: make, shape, reduce, linear algebra, math
void registerParallelBuiltins(BuiltinTable &table);  // Parallel*.cpp: pmap, collectives, shards, …
void registerTransformBuiltins(BuiltinTable &table); // Transform*.cpp: grad, value_and_grad, stop_gradient, …

} // namespace pmap::sema
