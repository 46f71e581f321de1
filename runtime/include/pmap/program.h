//===- program.h - A program's entry and its signature as static tables ------------------------------------------===//

#ifndef PMAP_PROGRAM_H
#define PMAP_PROGRAM_H

#include "pmap/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One leaf (array or scalar) of a parameter or of the result.
typedef struct pmap_leaf {
  const char *name; ///< Dotted name, `m.w`; "" for a result that is one lone array. A tuple's leaf counts: `p.0`.
  int32_t dtype;    ///< A pmap_dtype.
  int32_t rank;     ///< 0 for a scalar.
  const char *const *sizes; ///< `rank` size polynomials in normal form (`n`, `2*d+1`, `3`).
  const char *default_text; ///< The default as a literal (`0.2`, `true`), or null.
  const char *doc;          ///< The parameter's doc comment, or null.
} pmap_leaf;

/// The signature of an entry point. The packed function's arguments are one index per symbol, then the parameter
/// leaves; then the result leaves.
typedef struct pmap_signature {
  const char *name;        ///< The function's name, `main`.
  const char *declaration; ///< Its signature as a user reads it: `main(x: f32[n, d], lr: f32 = 0.2) -> f32[d]`.
  const char *doc;         ///< Its doc comment, or null.
  int32_t symbol_count, parameter_count, result_count;
  const char *const *symbols;
  const pmap_leaf *parameters, *results;
} pmap_signature;

/// A program. `entry` is the packed function; when `call` is set it is called instead, as `call(user, args)`, and
/// returns 0, or 1 when the program failed and its message has been printed (the reference evaluator enters so).
typedef struct pmap_program {
  const char *name; ///< For messages and usage: `linreg`, or `pmapc run linreg.pmap`.
  pmap_packed entry;
  const pmap_signature *signature;
  int32_t (*call)(void *user, void **args);
  void *user;
  /// Non-zero when the program holds a pmap, so that running on one device is worth a remark.
  int32_t is_parallel;
} pmap_program;

/// The whole `main` of a program: reads flags and `name=value` inputs from argv[1..], checks them against the
/// signature, runs the entry, prints or writes the result. Returns the exit status: 0 done; 1 the program failed; 2 bad
/// usage or input.
int32_t pmap_program_main(const pmap_program *program, int32_t argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // PMAP_PROGRAM_H
