// Modules as they are loaded: the program's file and what it imports.
#pragma once

#include "compiler/Sema/Value.h"
#include "compiler/Syntax/AST.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace pmap::sema {

struct LoadedModule {
  const ast::Module *ast = nullptr;
  std::string name; // `nn`; empty for the program itself
  std::string path;
  bool isLibrary = false; // found in a library folder: builtins of the same module name are its members, too
  std::unique_ptr<ast::Module> owned;
  llvm::StringMap<LoadedModule *> imports; // by the name the module uses
  llvm::StringMap<const ast::Item *> items;
  llvm::DenseSet<const ast::FunctionItem *> recursive;    // reported; a call of one is an Error value
  llvm::DenseSet<const ast::FunctionItem *> instantiated; // elaborated at least once
  std::vector<const ast::FunctionItem *> calleesFirst;    // all functions, each behind those that its text names
  llvm::DenseSet<const ast::ConstItem *> evaluating;      // consts on the way, to find cycles

  const ast::Item *find(llvm::StringRef item) const { return items.lookup(item); }
  LoadedModule *import(llvm::StringRef alias) const { return imports.lookup(alias); }
  void names(llvm::SmallVectorImpl<llvm::StringRef> &out) const {
    for (const auto &entry : items)
      out.push_back(entry.first());
  }
};

/// The candidate nearest to a misspelt name, if any is near enough to be meant.
std::optional<llvm::StringRef> nearest(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// Adds the names that occur in the sizes of an annotation.
void sizeNames(const ast::Type *type, llvm::StringSet<> &names);

/// Reports functions that call themselves, directly or through others, naming the cycle; fills `recursive` and
/// `calleesFirst`.
void findRecursion(LoadedModule &module, Elaborator &elaborator);

} // namespace pmap::sema
