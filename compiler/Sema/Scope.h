// Scopes: persistent linked lists of bindings, so that a closure captures what it sees by keeping one pointer, and
// every branch of a conditional starts from the same place.
#pragma once

#include "compiler/Sema/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>

namespace pmap::sema {

/// Identifies one `var` of one elaboration of a body; the store maps it to its current value.
using VarId = unsigned;

struct ScopeNode {
  std::string name;
  Value value;              // of a `let`, parameter or pattern; null for a `var`
  std::optional<VarId> var; // of a `var`
  SourceRange declaration;
  mutable std::shared_ptr<const ScopeNode> outer;
  uint64_t number = ++made; // later bindings have greater ones

  /// How many bindings there have been.
  static uint64_t count() { return made; }

  ScopeNode(std::string name, Value value, std::optional<VarId> var, SourceRange declaration,
            std::shared_ptr<const ScopeNode> outer)
      : name(std::move(name)), value(std::move(value)), var(var), declaration(declaration), outer(std::move(outer)) {}
  /// Lets go of the chain one node after the other: a long block would overflow the stack if each node freed the next.
  ~ScopeNode() {
    while (outer && outer.use_count() == 1)
      outer = std::exchange(outer->outer, nullptr);
  }

private:
  static inline std::atomic<uint64_t> made = 0;
};
using Scope = std::shared_ptr<const ScopeNode>;

/// The values of the variables in force. Copied by branches and closures, compared to find what a branch assigned.
using Store = llvm::DenseMap<VarId, Value>;

inline Scope bind(Scope outer, std::string name, Value value, SourceRange declaration) {
  return std::make_shared<const ScopeNode>(std::move(name), std::move(value), std::nullopt, declaration,
                                           std::move(outer));
}
inline Scope bindVar(Scope outer, std::string name, VarId var, SourceRange declaration) {
  return std::make_shared<const ScopeNode>(std::move(name), Value(), var, declaration, std::move(outer));
}
inline const ScopeNode *lookup(const Scope &scope, llvm::StringRef name) {
  for (const ScopeNode *node = scope.get(); node; node = node->outer.get())
    if (node->name == name)
      return node;
  return nullptr;
}

} // namespace pmap::sema
