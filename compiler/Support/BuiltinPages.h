// What is written about the builtins: the files of docs/builtins, embedded at build time. `pmapc doc`, the session's
// `:help` and the page docs/builtins.md all come from here.
//
// A file is a group of builtins: a title, then text and facts that hold for all of them. Below stands one entry per
// builtin:
//
//   ## sum(x, axis: all, keep: false)
//
//   The sum over the dimensions `axis:`.
//
//   Dtypes: numbers; integers below 32 bits add as 32 bits
//
// In a signature, `name: value` and `name = value` have a default, `name:` must be given by name, `*names` are any
// number. A fact is a line that begins with one of the `factNames`; what an entry does not say of them its group says.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <string>
#include <vector>

namespace pmap {

/// The facts that are known of every builtin.
inline constexpr std::array<llvm::StringLiteral, 4> factNames = {"Shapes", "Dtypes", "V", "Derivative"};

/// One text per fact, empty where nothing is said.
using BuiltinFacts = std::array<std::string, factNames.size()>;

struct BuiltinGroup;

struct BuiltinEntry {
  std::string name;                    ///< `sum`
  std::string signature;               ///< `sum(x, axis: all, keep: false)`
  std::string text;                    ///< Markdown, examples included, without the facts.
  BuiltinFacts facts;                  ///< Its own.
  const BuiltinGroup *group = nullptr; ///< Never null once the pages are read.

  /// A fact of its own, or else of its group.
  llvm::StringRef fact(size_t i) const;
  /// The page of the entry by itself, with all that holds for it.
  std::string page() const;
};

struct BuiltinGroup {
  std::string title;
  std::string text;
  BuiltinFacts facts;
  std::vector<BuiltinEntry> entries;
};

/// All groups, in the order of their files.
llvm::ArrayRef<BuiltinGroup> builtinGroups();

/// The entry of a name; null when there is none.
const BuiltinEntry *builtinEntry(llvm::StringRef name);

/// The page docs/builtins.md: every group, and the entries of which there is but a line in tables.
std::string builtinsPage();

} // namespace pmap
