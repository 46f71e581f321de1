// From a module in the LLVM dialect to optimised LLVM IR, assembly or an object file.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pmap {

/// The machine that code is generated for.
struct CpuTarget {
  /// LLVM's names, as `CpuOptions` wants them.
  std::string cpu, features;
  /// Width of a vector register in bits that code should use.
  unsigned vectorBits = 256;
};

/// Resolves the argument of `--cpu`: `native` (also ""), `x86-64-v2`, `x86-64-v3`, `x86-64-v4`, or any CPU that LLVM
/// knows. Sets `error` and returns false for one it does not.
bool resolveCpuTarget(llvm::StringRef name, CpuTarget &target, std::string &error);

/// How far to go, and in what form.
enum class CodegenOutput { LlvmText, AssemblyText, Object };

/// Translates a module in the LLVM dialect, optimises it for `target` and appends the output to `result`. Returns an
/// error message, or "". The same module always gives the same bytes. `extend`, when given, adds to the translated
/// module before it is optimised (the driver's program tables), and returns an error message, or "".
std::string generateCode(mlir::ModuleOp module, const CpuTarget &target, CodegenOutput output,
                         llvm::SmallVectorImpl<char> &result,
                         llvm::function_ref<std::string(llvm::Module &)> extend = {});

} // namespace pmap
