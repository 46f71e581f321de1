// The signature of an entry point as the module carries it: Sema writes it, the driver makes the program's tables of
// it.
#pragma once

#include "compiler/Support/DType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace pmap {

/// One leaf (array or scalar) of a parameter or of the result.
struct SignatureLeaf {
  std::string name;                       // dotted: `m.w`, `p.0`; "" for a result that is one lone array
  DType dtype;                            // signedness included
  std::vector<std::string> sizes;         // one polynomial in normal form per dimension
  std::optional<std::string> defaultText; // a literal: `0.2`, `true`, `-1`
  std::string doc;
};

enum class EntryKind { Main, Export, Test };

struct ProgramSignature {
  EntryKind kind = EntryKind::Main;
  std::string name;        // the function's or test's name as the user wrote it
  std::string declaration; // as a user reads it: `main(x: f32[n, d], lr: f32 = 0.2) -> f32[d]`
  std::string doc;
  std::vector<std::string> symbols; // in the order of the entry's `index` arguments; the same as `pmap.sizes`
  std::vector<SignatureLeaf> parameters, results;
  bool isParallel = false; // the program holds a pmap
};

/// Sets and reads the attribute `pmap.signature` of an entry point. Reading a function without one gives nothing.
void setSignature(mlir::func::FuncOp function, const ProgramSignature &signature);
std::optional<ProgramSignature> getSignature(mlir::func::FuncOp function);

} // namespace pmap
