// Facts about the code that is made, for `--explain`: where a decision is made, or what it left is plain to see, a pass
// says so. They are MLIR's remarks; the driver collects and renders them (compiler/Driver/Explain.h). Nobody asked,
// nothing is made: a caller that would have to compute something looks at `factsWanted` first.
#pragma once

#include "mlir/IR/Remarks.h"

namespace pmap {

/// What a fact is about. The names head the lines that users read.
namespace fact {
constexpr llvm::StringLiteral kKernel = "kernel";
constexpr llvm::StringLiteral kCopy = "copy";
constexpr llvm::StringLiteral kMovement = "movement";
constexpr llvm::StringLiteral kCollective = "collective";
constexpr llvm::StringLiteral kStored = "stored";
} // namespace fact

inline bool factsWanted(mlir::MLIRContext *context) { return context->getRemarkEngine() != nullptr; }

/// States a fact about the code at `location`. `bytes` is a size polynomial as users read it, or "".
inline void stateFact(mlir::Location location, llvm::StringLiteral kind, const std::string &text,
                      const std::string &bytes = "") {
  auto remark = mlir::remark::analysis(location, mlir::remark::RemarkOpts::name(kind).category("pmap"));
  remark << text;
  if (!bytes.empty())
    remark << mlir::remark::detail::Remark::Arg("bytes", bytes);
}

/// The name in the locations of collectives that a derivative added, and of what it stores.
constexpr llvm::StringLiteral kAddedByDerivative = "derivative";
constexpr llvm::StringLiteral kStoredForDerivative = "stored";
/// Whether a location, or a part of a fused one, bears the name; whether all parts do.
bool anyPartNamed(mlir::Location location, llvm::StringRef name);
bool allPartsNamed(mlir::Location location, llvm::StringRef name);
mlir::Location named(mlir::Location location, llvm::StringRef name);

} // namespace pmap
