//===- cuda.h - What programs for GPUs call ----------------------------------------------------------------------===//
//
// The C ABI between host code compiled for the CUDA target and the runtime, beside runtime.h. The host code of a device
// body runs on a thread of its own per device (pmap_rt_map), which is where everything here finds its GPU. Addresses of
// arrays are those of the device. Work goes to the device's compute stream in order, so that an allocation that is
// given back may be used again at once.
//
//===--------------------------------------------------------------------------------------------------------------===//

#ifndef PMAP_CUDA_H
#define PMAP_CUDA_H

#include "pmap/program.h"

#ifdef __cplusplus
extern "C" {
#endif

//===--------------------------------------------------------------------------------------------------------------===//
// What a program carries
//===--------------------------------------------------------------------------------------------------------------===//

/// The kernels of a program for one architecture: PTX, a text that ends in 0, or with `arch` what ptxas made of it.
typedef struct pmap_cuda_code {
  int32_t capability; ///< 80, 90, 100.
  int32_t is_ptx;
  const void *data;
  int64_t bytes;
} pmap_cuda_code;

/// All kernels of a program, once per architecture and form.
typedef struct pmap_cuda_image {
  int32_t code_count, kernel_count;
  const pmap_cuda_code *codes;
} pmap_cuda_image;

/// A kernel: its place in the program's image. `index` counts from 0.
typedef struct pmap_cuda_kernel {
  const pmap_cuda_image *image;
  const char *name;
  int32_t index;
} pmap_cuda_kernel;

/// What a kernel that fails leaves for the host; the device symbol `pmap_failure` of the image. The first failure wins.
typedef struct pmap_cuda_failure {
  int32_t state, kind; ///< state is 0 while nothing has failed; kind is a pmap_failure.
  int64_t a, b, c;
  const pmap_site *site;
} pmap_cuda_failure;

/// A function with arrays among its arguments or results. `body` takes them as arrays of the device. `table` has two
/// numbers for each argument, then for each result: its rank (-1: no array), the bytes of an element.
typedef struct pmap_cuda_function {
  pmap_packed body;
  const int32_t *table;
  int32_t argument_count, result_count;
} pmap_cuda_function;

//===--------------------------------------------------------------------------------------------------------------===//
// What host code calls
//===--------------------------------------------------------------------------------------------------------------===//

/// Calls a function whose packed arguments are arrays of the host: copies these to the device, calls the body, waits,
/// and copies the results back. A failed check of a kernel, and any error of the device, is reported here at the
/// latest.
void pmap_cuda_call(const pmap_cuda_function *function, void **args);

/// Launches a kernel of `blocks` blocks (none at all: nothing happens); `args` are the addresses of its arguments.
void pmap_cuda_launch(const pmap_cuda_kernel *kernel, int64_t blocks, int32_t threads, void **args);

/// Memory of the device, reference counted as on the host, at addresses that are multiples of 256.
void *pmap_cuda_alloc(int64_t bytes);
void pmap_cuda_free(void *buffer);
void pmap_cuda_retain(void *buffer);

/// One element to the host, which waits for it; and one from the host.
void pmap_cuda_read(const void *device, void *host, int64_t bytes);
void pmap_cuda_write(void *device, const void *host, int64_t bytes);

/// The device's copy of a constant of the program.
void *pmap_cuda_constant(const void *host, int64_t bytes);

/// As pmap_rt_move_to_dist, pmap_rt_move_to_host and pmap_rt_print, for arrays of the device.
pmap_dist *pmap_cuda_move_to_dist(const pmap_site *site, const char *layout, const void *source, int32_t copy);
void pmap_cuda_move_to_host(const pmap_site *site, pmap_dist *value, void *result, int32_t last_use);
void pmap_cuda_print(const pmap_site *site, const char *format, int32_t count, const int32_t *dtypes,
                     const int32_t *ranks, const void *const *values);

/// As the collectives of runtime.h, by NCCL.
void pmap_cuda_all_reduce(const pmap_site *site, const int32_t *among, int32_t kind, int32_t dtype, int32_t count,
                          const void *const *in, void *const *out, const int64_t *n);
void pmap_cuda_all_gather(const pmap_site *site, const int32_t *among, int64_t outer, int64_t inner_bytes,
                          const void *in, void *out);
void pmap_cuda_reduce_scatter(const pmap_site *site, const int32_t *among, int32_t dtype, int64_t outer, int64_t inner,
                              const void *in, void *out);

/// As in runtime.h, by way of the host: there is no code for GPUs yet.
void pmap_cuda_sort(int32_t dtype, int32_t descending, int32_t indices, int64_t outer, int64_t length, int64_t inner,
                    int64_t kept, const void *in, void *out);
void pmap_cuda_send(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t inputs, const void *const *in,
                    void *out, const int64_t *n);
void pmap_cuda_all_to_all(const pmap_site *site, const int32_t *among, int32_t bytes, int32_t rank, int32_t split,
                          int32_t concat, const pmap_array *in, void *out);

/// c = a b, or c += a b: c is m x n with rows `c_row` apart, a is m x k, b is k x n, each with two strides. By
/// cuBLASLt.
void pmap_cuda_gemm_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_column,
                        const float *b, int64_t b_row, int64_t b_column, float *c, int64_t c_row, int32_t accumulate);
void pmap_cuda_gemm_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t a_row, int64_t a_column,
                        const double *b, int64_t b_row, int64_t b_column, double *c, int64_t c_row, int32_t accumulate);

/// Many such products, of parts of three arrays: `plan` has four numbers for each loop (its extent, and how far a step
/// of it moves in a, b and c), for the three loops of one product (m, n, k), then for `outer` loops that number the
/// parts of c, then for `summed` loops whose products add up.
void pmap_cuda_gemm_batch_f32(const int64_t *plan, int32_t outer, int32_t summed, const float *a, const float *b,
                              float *c, int32_t accumulate);
void pmap_cuda_gemm_batch_f64(const int64_t *plan, int32_t outer, int32_t summed, const double *a, const double *b,
                              double *c, int32_t accumulate);

//===--------------------------------------------------------------------------------------------------------------===//
// Starting
//===--------------------------------------------------------------------------------------------------------------===//

/// Finds the driver and its devices. Returns how many there are; when none, `problem` (at least 1024 bytes) says in
/// several lines what was looked for and what to do.
int32_t pmap_cuda_probe(char *problem, int64_t size);

/// The whole `main` of a program that has code for GPUs (`entry`) and for the CPU (`program->entry`). `--target
/// auto|cuda|cpu` on its command line chooses; without it, `target` does: 0 auto, 1 cuda, 2 cpu. Auto takes GPUs if
/// there are any. Exit status 2 when GPUs are wanted and there are none.
int32_t pmap_cuda_program_main(const pmap_program *program, pmap_packed entry, int32_t target, int32_t argc,
                               char **argv);

#ifdef __cplusplus
}
#endif

#endif // PMAP_CUDA_H
