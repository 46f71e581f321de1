// The reference evaluator: runs a function of the pmap dialect op by op, looping over devices and elements.
//
// It is what `--target ref` runs and the oracle of the numeric tests, so it shares no code with the lowering or with
// the runtime's collectives, and prefers the obvious to the fast. It runs a module before or after simplification; only
// `pmap.grad` must be gone (`pmap-transform`).
//
// How it counts: elementwise operations round once per operation to the element's dtype; sums, products and
// contractions within a device accumulate in long double and round once; collectives combine in flat rank order in the
// dtype (f16 and bf16 in f32), the order that rule C1 fixes, so that their bits are those of CPU devices.
#pragma once

#include "compiler/Evaluate/NDArray.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <functional>
#include <string>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace pmap::evaluate {

/// Why a program stopped: a run-time error of the program, told as `pmap_rt_fail` tells it.
struct Failure {
  /// A pmap_failure (pmap/runtime.h), or -1 for one that has its own message.
  int32_t kind = -1;
  int64_t a = 0, b = 0, c = 0;
  /// What the kind's message calls {text}, or the whole message without its code where kind is -1.
  std::string text;
  /// The code of a message of its own (`E1120`); empty for a defect of the compiler.
  std::string code;
  /// What to do about it, or empty; printed as a note.
  std::string note;
  /// Sizes of inputs, or the number of devices, do not fit, and no device ran.
  bool ofInput = false;
  std::string file;
  int32_t line = 0, column = 0;
};

/// The failure's message as the runtime words it, without place and code.
std::string messageOf(const Failure &failure);
/// Its code, `E1101`.
std::string codeOf(const Failure &failure);
/// What to do about it, or which device it was; empty where there is nothing to say.
std::string noteOf(const Failure &failure);

struct EvaluateOptions {
  int64_t devices = 1;
  /// Receives what `print` prints: a format with one `{}` per value, the values and their dtypes, and the device inside
  /// a map on more than one, else -1. Where it is null nothing is printed.
  std::function<void(llvm::StringRef format, llvm::ArrayRef<NDArray> values, llvm::ArrayRef<llvm::StringRef> dtypes,
                     int64_t device)>
      print = nullptr;
};

/// Runs `entry` on its arguments (the size symbols' values, then the parameters' leaves) and gives the results' leaves.
/// On failure `failure` says why; the lowest failing device's error is the one reported.
llvm::LogicalResult evaluate(mlir::func::FuncOp entry, llvm::ArrayRef<NDArray> inputs, const EvaluateOptions &options,
                             llvm::SmallVectorImpl<NDArray> &results, Failure &failure);

} // namespace pmap::evaluate
