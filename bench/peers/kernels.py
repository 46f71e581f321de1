"""bench/programs/kernels in JAX: one function each, in one process.

    kernels.py
    load NAME:INPUTS.npz   compiles NAME's function for these inputs; the answer is the seconds it took
    run N                  calls it once; the answer is the seconds it took
    save FILE.npz          writes its results, `0`, `1`, ...; those in bf16 as f32

NumPy stands in where a result's size depends on data, which jax.jit has no type for.
"""

import os
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads the variable above)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
f32, u8 = jnp.float32, jnp.uint8
float32 = {"dtype": f32}


def nearest(q, p):
    distances = jnp.sum(q * q, 1, keepdims=True) - 2 * (q @ p.T) + jnp.sum(p * p, 1)
    return jax.lax.top_k(-distances, 10)


def stencil(x):
    return sum(jnp.roll(x, by, axis) for axis in (0, 1) for by in (1, -1)) - 4 * x


def convolution(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def sum_of_squares_of_positive(x):
    y = np.compress(x > 0, x)
    return y @ y


def histogram(x, ids):
    return x + jnp.zeros(x.shape, jnp.int32).at[ids].add(1).astype(f32)


def escape_times(cx, cy):
    a, b = jnp.broadcast_to(cx[None, :], (cy.size, cx.size)), jnp.broadcast_to(cy[:, None], (cy.size, cx.size))

    def step(state):
        x, y, times, k, inside = state
        x, y = jnp.where(inside, x * x - y * y + a, x), jnp.where(inside, 2 * x * y + b, y)
        return x, y, times + inside.astype(jnp.int32), k + 1, inside & (x * x + y * y <= 4)

    start = jnp.zeros_like(a), jnp.zeros_like(a), jnp.zeros(a.shape, jnp.int32), 0, jnp.ones(a.shape, bool)
    return jax.lax.while_loop(lambda s: (s[3] < 100) & s[4].any(), step, start)[2]


def loop_with_break(x, steps):
    def step(state):
        y, k, _ = state
        following = y * f32(0.5) + f32(1)
        leaves = following.max() < -1
        return jnp.where(leaves, y, following), k + 1, leaves

    return jax.lax.while_loop(lambda s: (s[1] < steps) & ~s[2], step, (x, 0, False))[0]


FUNCTIONS = {
    "top_k": nearest,
    "sort_rows": lambda x: jnp.sort(x),
    "sort_vector": lambda x: jnp.sort(x),
    "argsort_rows": lambda x: jnp.argsort(x).astype(jnp.int32),
    "sort_columns_i32": lambda x: jnp.sort(x, axis=0),
    "sort_columns": lambda x: jnp.sort(x, axis=0),
    "argsort_columns": lambda x: jnp.argsort(x, axis=0).astype(jnp.int32),
    "cumsum_vector": lambda x: jnp.cumsum(x),
    "cumsum_rows": lambda x: jnp.cumsum(x, axis=1),
    "cumsum_long_rows": lambda x: jnp.cumsum(x, axis=1),
    "cumsum_columns": lambda x: jnp.cumsum(x, axis=0),
    "cumsum_i32": lambda x: jnp.cumsum(x, dtype=jnp.int32),
    "roll": lambda x, k: jnp.roll(x, k, axis=1),
    "roll_sum": stencil,
    "roll_vector": lambda x: jnp.roll(x, 37),
    "roll_gradient": lambda x, k: jax.grad(lambda x: jnp.sum(jnp.roll(x, k, axis=1) * x))(x),
    "gather_rows": lambda x, ids: x[ids],
    "gather_elements": lambda x, ids: x[ids],
    "scatter_add_rows": lambda x, ids, u: x.at[ids].add(u),
    "scatter_add_elements": lambda x, ids, u: x.at[ids].add(u),
    "histogram": histogram,
    "one_hot": lambda ids, w: jax.nn.one_hot(ids, w.shape[0], dtype=f32) @ w,
    "mask_sum": lambda x: (jnp.sum(jnp.where(x > 0, x, 0)), jnp.sum(x > 0, dtype=jnp.int32)),
    "argmax_rows": lambda x: jnp.argmax(x, axis=1).astype(jnp.int32),
    "argmax_columns": lambda x: jnp.argmax(x, axis=0).astype(jnp.int32),
    "argmax_vector": lambda x: jnp.argmax(x).astype(jnp.int32),
    "sum_tall": lambda x: jnp.sum(x, axis=0),
    "sum_narrow": lambda x: jnp.sum(x, axis=0),
    "sum_columns": lambda x: jnp.sum(x, axis=0),
    "max_rows": lambda x: jnp.max(x, axis=1),
    "softmax_columns": lambda x: jax.nn.softmax(x, axis=0),
    "moments": lambda x: (jnp.mean(x), jnp.var(x)),
    "moments_columns": lambda x: (jnp.mean(x, axis=0), jnp.var(x, axis=0)),
    "clip_u8": lambda x: jnp.where(x > 200, u8(255), jnp.clip(x, 16, 235)),
    "clip_bf16": lambda x: jnp.where(x > 1, jnp.bfloat16(1), jnp.clip(x * x + x, -1, 1)),
    "image_u8": lambda x: (jnp.clip((x.astype(f32) / 255 - 0.5) * 1.5 + 0.5, 0, 1) * 255).astype(u8),
    "conv2d": convolution,
    "conv2d_one": convolution,
    "conv2d_by_image": jax.grad(lambda x, w: jnp.sum(convolution(x, w) ** 2)),
    "conv2d_by_kernel": jax.grad(lambda x, w: jnp.sum(convolution(x, w) ** 2), argnums=1),
    "matmul_4": jnp.matmul,
    "matmul_16": jnp.matmul,
    "matmul_i32": jnp.matmul,
    "matvec": lambda a, x, y: (a @ x, a.T @ y),
    "mandelbrot": escape_times,
    "loop_with_break": loop_with_break,
    "median": lambda x: jnp.median(x),
    "searchsorted": lambda x, v: jnp.searchsorted(x, v).astype(jnp.int32),
    "logsumexp_rows": lambda x: jax.nn.logsumexp(x, axis=1),
    "permute_heads": lambda x: jnp.transpose(x, (0, 2, 1, 3)),
}
for dtype in ("f32", "f64", "bf16", "u8"):
    FUNCTIONS[f"transpose_{dtype}"] = FUNCTIONS[f"transpose_small_{dtype}"] = jnp.transpose


def numbers(array):
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == jnp.bfloat16 else array


def load(name, path):
    """The function without arguments."""
    inputs = [x.view(jnp.bfloat16) if x.dtype.kind == "V" else x for x in dict(np.load(path)).values()]
    if name == "compress":
        return lambda: sum_of_squares_of_positive(*inputs)
    inputs = [jax.device_put(x) for x in inputs]
    function = jax.jit(FUNCTIONS[name])
    return lambda: jax.block_until_ready(function(*inputs))


def main():
    function = None
    for line in sys.stdin:
        what, argument = line.split()
        start = time.perf_counter()
        if what == "load":
            function = load(*argument.split(":"))
            function()
        elif what == "run":
            function()
        else:
            results = function()
            results = results if isinstance(results, (tuple, list)) else (results,)
            np.savez(argument, **{str(i): numbers(result) for i, result in enumerate(results)})
        print(time.perf_counter() - start, flush=True)


main()
