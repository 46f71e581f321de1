// The reference evaluator as a program of the runtime: `pmap_program.call` for `--target ref`.
#pragma once

#include "compiler/Evaluate/Evaluate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pmap::evaluate {

/// An entry point to evaluate; the `user` pointer of a pmap_program whose `call` is callReference.
struct ReferenceEntry {
  mlir::func::FuncOp entry;
};

/// Evaluates `user`'s (a ReferenceEntry's) function on packed arguments, as its compiled form would run: the arguments, then
/// storage for the results, which it allocates with pmap_rt_alloc. Runs on as many devices as the runtime was started with.
/// Returns 0; or 1 after a run-time error, whose message it has printed on stderr.
int32_t callReference(void *user, void **args);

/// The same, but the rendered message is given back instead of printed; for `pmapc test`.
int32_t callReference(mlir::func::FuncOp entry, void **args, std::string &message);

} // namespace pmap::evaluate
