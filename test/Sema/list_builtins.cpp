// Prints the names of all builtins, one a line, for tests that must know of every one (numeric/derivatives.py).
#include "compiler/Sema/Builtin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

int main() {
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &row : pmap::sema::BuiltinTable::get().all())
    names.push_back(row.getKey());
  llvm::sort(names);
  for (llvm::StringRef name : names)
    llvm::outs() << name << "\n";
  return 0;
}
