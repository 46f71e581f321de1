//===- runtime.h - What compiled programs call -------------------------------------------------------------------===//
//
// The C ABI between compiled code and the runtime. Every thread has a current device (a thread-local that the runtime
// sets), so no call passes a context. An error never returns: `pmap_rt_fail` unwinds to the launch.
//
// Packed calls. A compiled function `f` has a packed form `void f.packed(void **args)`. `args[i]` points at argument i:
// an `int64_t` for an index, the scalar itself for a rank-0 array, otherwise an MLIR strided memref descriptor (struct
// pmap_array below). After the arguments come pointers to storage for each result in the same form. A result is a fresh
// buffer from `pmap_rt_alloc` that the caller owns, or aliases an argument (`allocated` tells); arrays are contiguous,
// row-major. A bool is one byte. A device body (pmap_rt_map) gives a reference with every result, also with one that
// aliases an argument or another result: whether it does may depend on what it computes.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_RUNTIME_H
#define PMAP_RUNTIME_H

#include "pmap/dtypes.h"

#include <stdint.h>

#ifdef __cplusplus
#define PMAP_NORETURN [[noreturn]]
extern "C" {
#else
#define PMAP_NORETURN _Noreturn
#endif

//===--------------------------------------------------------------------------------------------------------------===//
// Types
//===--------------------------------------------------------------------------------------------------------------===//

/// A place in the source, for messages. `text` is what the kind of failure asks for (the message of an assert, the name
/// of a symbol, ...) and may be null. Line and column count from 1; line 0 means that the place is unknown.
typedef struct pmap_site {
  const char *file;
  int32_t line, column;
  const char *text;
} pmap_site;

/// The leading part of an MLIR strided memref descriptor of any rank; `sizes[rank]`, then `strides[rank]` follow it
/// directly (in elements). `allocated` is the buffer's owner, `aligned + offset` elements the first element.
typedef struct pmap_array {
  void *allocated, *aligned;
  int64_t offset;
  int64_t sizes_and_strides[];
} pmap_array;

/// A packed function (see the top of this file).
typedef void (*pmap_packed)(void **args);

/// A value distributed over a mesh. Reference counted: every function that returns one gives the caller one reference.
typedef struct pmap_dist pmap_dist;

/// X(NAME, code, format): the failures that compiled code reports. In the format `{a} {b} {c}` are the arguments of
/// `pmap_rt_fail` and `{text}` the site's text. A site's text that the format does not name is told instead of it:
/// `E1103 message`, with the same holes and `{b-a} {a-1} {c-1}`, and a note after a line break. Append only: the
/// numbers are part of the ABI.
#define PMAP_FAILURES(X)                                                                                               \
  X(INDEX, "E1101", "index {a} is out of range for dimension {b} of size {c}")                                         \
  X(ASSERT, "E1102", "assertion failed: {text}")                                                                       \
  X(INEXACT, "E1103", "division is not exact: {a} / {b}")                                                              \
  X(SLICE, "E1104", "slice {a}:{b} is out of range for size {c}")                                                      \
  X(CAST, "E1105", "expected size {a} for dimension {c}, got {b}")                                                     \
  X(NEGATIVE_SIZE, "E1106", "size {text} is negative: {a}")                                                            \
  X(RESHAPE, "E1107", "cannot reshape {a} elements to a shape of {b}")                                                 \
  X(NARROW, "E1108", "{a} does not fit {text}")                                                                        \
  X(DIVIDE_BY_ZERO, "E1109", "integer division by zero")                                                               \
  X(EMPTY, "E1110", "{text} of an array of size 0 has no value")                                                       \
  X(SIZES_DIFFER, "E1111", "sizes differ: {a} and {b}{text}")                                                          \
  X(TOLD, "E1202", "a failure without a text")

typedef enum pmap_failure {
#define PMAP_FAILURE_ENUM(name, code, format) PMAP_FAIL_##name,
  PMAP_FAILURES(PMAP_FAILURE_ENUM)
#undef PMAP_FAILURE_ENUM
      PMAP_FAILURE_COUNT
} pmap_failure;

/// How a collective combines. Sums and products of integers wrap; max and min pass NaN on, as NumPy does; MEAN divides
/// by the size of the device's own group and is for floating dtypes.
typedef enum pmap_reduce_kind {
  PMAP_REDUCE_SUM,
  PMAP_REDUCE_MEAN,
  PMAP_REDUCE_MAX,
  PMAP_REDUCE_MIN,
  PMAP_REDUCE_PROD
} pmap_reduce_kind;

//===--------------------------------------------------------------------------------------------------------------===//
// Memory, loops, errors
//===--------------------------------------------------------------------------------------------------------------===//

/// A buffer of at least `bytes` bytes (0 is allowed), 64-byte aligned, from the current device's arena; the contents
/// are undefined. Out of memory is a run-time error (E1115), never null.
void *pmap_rt_alloc(int64_t bytes);

/// The same for the line of a program that `site` names, which the error then shows.
void *pmap_rt_alloc_at(int64_t bytes, const pmap_site *site);

/// Gives back one reference to a buffer of `pmap_rt_alloc`, from any thread. Null and the placeholder 0xdeadbeef that
/// MLIR puts in descriptors of constants are ignored.
void pmap_rt_free(void *buffer);

/// Adds a reference to a buffer of `pmap_rt_alloc`, so that one more `pmap_rt_free` is needed. Buffers that are the
/// caller's own (inputs, constants) are ignored.
void pmap_rt_retain(void *buffer);

/// Runs `fn(closure, lo, hi)` over disjoint pieces that cover 0..n, each a multiple of `grain` long except the last, on
/// the current device's threads; the caller takes part. Returns when all are done. A nested call runs inline, as one
/// piece. A failure in any piece unwinds the caller.
void pmap_rt_parallel_for(void (*fn)(void *closure, int64_t lo, int64_t hi), void *closure, int64_t n, int64_t grain);

/// Threads of the current device.
int64_t pmap_rt_threads(void);

/// Records the error for the current device, wakes the devices that wait for it, and unwinds to the launch. `kind` is a
/// pmap_failure; a, b, c are what its format names.
PMAP_NORETURN void pmap_rt_fail(const pmap_site *site, int32_t kind, int64_t a, int64_t b, int64_t c);

/// Sorts along one dimension of an array [outer, length, inner], stably and with NaN last in either direction, and
/// writes the first `kept` of each line, [outer, kept, inner]. With `indices` the result is the permutation, of i32,
/// instead of the sorted elements.
void pmap_rt_sort(int32_t dtype, int32_t descending, int32_t indices, int64_t outer, int64_t length, int64_t inner,
                  int64_t kept, const void *in, void *out);

/// Running sums (PMAP_REDUCE_SUM) or products (PMAP_REDUCE_PROD) along the last dimension of an array [lines, length],
/// which `out` may be. f16 and bf16 accumulate in f32. The bits depend on `length` only.
void pmap_rt_scan(int32_t kind, int32_t dtype, int64_t lines, int64_t length, const void *in, void *out);

/// Writes an array with its dimensions permuted: dimension d of the dense `result` is dimension `perm[d]` of `source`,
/// which is in packed form and dense. Elements are `bytes` long (1, 2, 4 or 8); the rank is at most 16.
void pmap_rt_permute(int32_t bytes, int32_t rank, const int32_t *perm, const pmap_array *source, void *result);

/// Prints one line. `format` holds one `{}` per value (`{{` and `}}` are braces); values are in packed form, printed as
/// NumPy prints them. Inside a map on more than one device the line begins with the device, `[device 1] `.
void pmap_rt_print(const pmap_site *site, const char *format, int32_t count, const int32_t *dtypes,
                   const int32_t *ranks, const void *const *values);

//===--------------------------------------------------------------------------------------------------------------===//
// Meshes and distributed values
//
// A layout is a text, parsed once and cached by content. Statements end in `;`, blanks separate words:
//
//   mesh data=-1 model=2;       the axes in order, row-major (the first is the slowest); -1: the devices at run time
//   devices 0 2;                optional: which devices, in mesh order
//   size data ragged "argument 'x', dimension 0";
//                               one per index operand of a map: the axes the global size is divided by (`_` for none,
//                               `a+b` for two, major first), `ragged` if the first n mod a devices may hold one more,
//                               and the subject of the message when it does not divide; after a " | " in it, what
//                               in the body needs blocks of one size, so that `ragged` is no way out
//   in f32 [data,_];            one per input: dtype, then per dimension `_` or axes (`a`, `a+b`); `[]` is a scalar
//   out f32 [data,_];           one per output
//   out f32 [data] stack;       the body yields one of lower rank: the first dimension is new, one entry per device
//
// For single values (moves) a layout is `mesh ...; in f32 [data,_];`.
//===--------------------------------------------------------------------------------------------------------------===//

/// One pmap: `body` is the packed device body; its arguments are the local sizes (one index per `size` statement), then
/// one block per `in`; its results one block per `out`.
typedef struct pmap_map_desc {
  const pmap_site *site;
  pmap_packed body;
  const char *layout;
} pmap_map_desc;

/// Runs a device body once on every device of the mesh and returns when all are done. Checks first, before anything
/// runs: that the mesh fits the devices (E1121) and that sizes divide (E1120, P3). `inputs` stay the caller's;
/// `outputs[i]` receives a new reference. An input split otherwise than its layout says is moved (and counted).
void pmap_rt_map(const pmap_map_desc *desc, const int64_t *global_sizes, pmap_dist *const *inputs, pmap_dist **outputs);

/// Devices of the running program.
int64_t pmap_rt_num_devices(void);

/// The size of axis number `axis` of the layout's mesh, open sizes filled in from the devices at run time.
int64_t pmap_rt_mesh_axis_size(const pmap_site *site, const char *layout, int32_t axis);

/// Host to devices: `source` is in packed form. Blocks that are contiguous in the source (splits of dimension 0,
/// replicated values) are views and no byte moves: then the source must not be written while the value lives, unless
/// `copy` is non-zero, which copies the whole first. Sizes that do not divide are split raggedly: the map is who
/// checks.
pmap_dist *pmap_rt_move_to_dist(const pmap_site *site, const char *layout, const void *source, int32_t copy);

/// Devices to host (gather): `result` is storage in packed form. With `last_use` the reference to `value` is consumed,
/// and a value held in one piece is handed over without a copy when nobody else holds it.
void pmap_rt_move_to_host(const pmap_site *site, pmap_dist *value, void *result, int32_t last_use);

/// Devices to devices: the value split as `layout` says. When it already is, the same value with one more reference.
pmap_dist *pmap_rt_move_dist(const pmap_site *site, const char *layout, pmap_dist *value);

/// P6: `count` arrays in packed form as the blocks of one value, split on the dimension the layout names, which has one
/// mesh axis of size `count`. Blocks that differ elsewhere are an error (E1122), more blocks than devices likewise
/// (E1121).
pmap_dist *pmap_rt_shards(const pmap_site *site, const char *layout, int32_t count, const void *const *blocks,
                          int32_t copy);

/// P6: the blocks of `value` as `count` arrays in packed form.
void pmap_rt_to_shards(const pmap_site *site, pmap_dist *value, int32_t count, void *const *results);

/// The global sizes of `value`, one per dimension.
void pmap_rt_dist_sizes(const pmap_dist *value, int64_t *sizes);

/// One reference more, one fewer. Null is ignored.
void pmap_rt_dist_retain(pmap_dist *value);
void pmap_rt_dist_release(pmap_dist *value);

//===--------------------------------------------------------------------------------------------------------------===//
// Collectives: only inside a device body, only on its own thread (not inside a parallel_for).
//
// `among` says who meets, as a table in memory that does not change: the number of axes; their numbers in the layout's
// mesh, major first; the number of groups; for each group its size and the positions of its members, counted along the
// axes. Devices stand in the order of their positions, or in that in which their group names them; without groups all
// devices along the axes meet. Groups that do not cover each device once are an error (E1123) before any byte moves.
//===--------------------------------------------------------------------------------------------------------------===//

/// One fused reduction of `count` arrays of one dtype, `n[i]` elements each (dense; a scalar has one). `out[i]` may be
/// `in[i]`. f16 and bf16 accumulate as f32. Every device of a group gets the same bits: reductions run in the order in
/// which the devices stand.
void pmap_rt_all_reduce(const pmap_site *site, const int32_t *among, int32_t kind, int32_t dtype, int32_t count,
                        const void *const *in, void *const *out, const int64_t *n);

/// Gathers blocks. With x viewed as [outer, inner_bytes] the result is [outer, devices, inner_bytes]: both the tiled
/// and the stacked form of all_gather over dimension d, `outer` the product of the sizes before d.
void pmap_rt_all_gather(const pmap_site *site, const int32_t *among, int64_t outer, int64_t inner_bytes, const void *in,
                        void *out);

/// Sums, each device keeping its block. With x viewed as [outer, devices, inner] elements the result is [outer, inner],
/// summed as pmap_rt_all_reduce does.
void pmap_rt_reduce_scatter(const pmap_site *site, const int32_t *among, int32_t dtype, int64_t outer, int64_t inner,
                            const void *in, void *out);

/// Cuts the array, in packed form and dense, along dimension `split` into one piece for each device, and puts the
/// pieces that arrive together along dimension `concat`. A size that does not divide is an error (E1103).
void pmap_rt_all_to_all(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t rank, int32_t split,
                        int32_t concat, const pmap_array *in, void *out);

/// Sends arrays between devices. There are three inputs: the array, of elements of `bytes` bytes; the destinations, an
/// int32 for each device, -1 for none; and the one element that fills the array of a device that receives nothing.
/// A destination that is no device or is named twice is an error (E1124) before any byte moves.
void pmap_rt_send(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t inputs, const void *const *in,
                  void *out, const int64_t *n);

/// The device's place along one axis, and the axis's size.
int64_t pmap_rt_axis_index(int32_t axis);
int64_t pmap_rt_axis_size(int32_t axis);

//===--------------------------------------------------------------------------------------------------------------===//
// Embedding: for the compiler's `run`, `repl` and `test`, for executables, and for other programs
//===--------------------------------------------------------------------------------------------------------------===//

/// Starts devices and their threads; 0 means the default (1 device, all cores). A second call with other numbers stops
/// the old threads first. Calls before any start, start the default.
void pmap_rt_start(int32_t devices, int32_t threads);

/// Stops all threads and gives the arenas' memory back.
void pmap_rt_stop(void);

/// Seconds that a device may wait in a collective before the program fails naming it (E1114); 0 for no limit.
void pmap_rt_set_timeout(double seconds);

/// Runs a packed function as a launch. Returns 0; or 1 after a run-time error, whose rendered message (several lines,
/// final newline included) is then `pmap_rt_error_message()` until the next launch; or 2 after one that says that sizes
/// or the number of devices do not fit (E1120, E1121) and that was found before any device ran. Buffers that a failed
/// launch made are freed.
int32_t pmap_rt_call(pmap_packed fn, void **args);
const char *pmap_rt_error_message(void);

/// Marks memory of the caller's own (an input) so that retain and free leave it alone; 0 bytes unmarks.
void pmap_rt_mark_foreign(const void *begin, int64_t bytes);

/// Counters of the program: bytes that moved between host, devices or splits; bytes in use now and at most, over all
/// arenas; bytes held from the system now; maps and collectives run.
typedef struct pmap_stats {
  int64_t moved_bytes, live_bytes, peak_bytes, held_bytes, maps, collectives;
} pmap_stats;
void pmap_rt_get_stats(pmap_stats *stats);
void pmap_rt_reset_stats(void);

/// The text NumPy would print for an array (`data` dense, row-major), `malloc`ed. `repr` non-zero separates by ", " as
/// `repr` does, without the `array(...)` around it.
char *pmap_format_array(int32_t dtype, int32_t rank, const int64_t *sizes, const void *data, int32_t repr);

#ifdef __cplusplus
}
#endif

#endif // PMAP_RUNTIME_H
