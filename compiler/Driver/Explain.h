// What `--explain` prints: the facts that passes state about the code they make (compiler/Dialect/IR/Facts.h), by
// source line.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace mlir {
class MLIRContext;
}

namespace pmap {

class Explanation {
public:
  struct Fact {
    std::string file;
    unsigned line = 0, column = 0; ///< 0 where the code comes from no line
    std::string kind, text, bytes; ///< `bytes` is a number or a polynomial of sizes, or ""
  };

  /// Collects the facts stated in this context from now on. This object must outlive the context.
  void collectFrom(mlir::MLIRContext &context);
  void add(Fact fact);
  void clear() { facts.clear(); }

  /// By file and line, each fact once.
  const std::vector<Fact> &sorted() {
    sort();
    return facts;
  }
  /// A list by file and line, for people.
  void print(llvm::raw_ostream &os);
  /// One JSON array, an object per fact.
  void printJson(llvm::raw_ostream &os);

private:
  void sort();
  std::vector<Fact> facts;
};

} // namespace pmap
