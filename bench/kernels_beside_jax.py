"""Single kernels beside JAX: bench/programs/kernels, each with the inputs below; results compared first, then times in turns.

PMAP_BENCH_KERNELS may name some of them, separated by blanks.
"""

import os
import subprocess

import numpy as np
from beside_jax import PYTHON, has_jax
from measure import CORES, PMAPC, PROGRAMS, ROOT, Harness, Process, interleave, report

GENERATOR = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    return GENERATOR.standard_normal(shape).astype(dtype)


def integers(*shape, below, dtype=np.int32):
    return GENERATOR.integers(0, below, shape).astype(dtype)


def bf16(*shape):
    """As NumPy stores it, without a name for it: the upper half of an f32."""
    return (normal(*shape).view(np.uint32) >> 16).astype(np.uint16).view("V2")


def matrices(*shape):
    """A matrix of each dtype that is transposed."""
    return {"f32": lambda: {"x": normal(*shape)}, "f64": lambda: {"x": normal(*shape, dtype=np.float64)},
            "bf16": lambda: {"x": bf16(*shape)}, "u8": lambda: {"x": integers(*shape, below=256, dtype=np.uint8)}}


def images():
    """Images and kernels of three by three, of one channel to 64."""
    return {"": lambda: {"x": normal(8, 64, 64, 16), "w": normal(3, 3, 16, 32)},
            ":1": lambda: {"x": normal(1797, 8, 8, 1), "w": normal(3, 3, 1, 8)},
            ":16": lambda: {"x": normal(256, 16, 16, 16), "w": normal(3, 3, 16, 16)},
            ":32": lambda: {"x": normal(64, 32, 32, 32), "w": normal(3, 3, 32, 32)},
            ":64": lambda: {"x": normal(32, 28, 28, 64), "w": normal(3, 3, 64, 64)}}


CASES = {
    "top_k": lambda: {"q": normal(1000, 32), "p": normal(20000, 32)},
    "sort_rows": lambda: {"x": normal(1000, 1000)},
    "sort_vector": lambda: {"x": normal(1000000)},
    "argsort_rows": lambda: {"x": normal(1000, 1000)},
    "sort_columns_i32": lambda: {"x": integers(1000, 1000, below=1 << 30)},
    "sort_columns": lambda: {"x": normal(1000, 1000)},
    "argsort_columns": lambda: {"x": normal(1000, 1000)},
    "median": lambda: {"x": normal(1000001)},
    "cumsum_vector": lambda: {"x": normal(1 << 24)},
    "cumsum_rows": lambda: {"x": normal(4096, 4096)},
    "cumsum_long_rows": lambda: {"x": normal(3, 1 << 22)},
    "cumsum_columns": lambda: {"x": normal(4096, 4096)},
    "cumsum_i32": lambda: {"x": integers(1 << 24, below=100)},
    "roll": lambda: {"x": normal(4096, 4096), "k": np.int32(37)},
    "roll_sum": lambda: {"x": normal(2048, 2048)},
    "roll_vector": lambda: {"x": normal(1 << 22)},
    "roll_gradient": lambda: {"x": normal(2048, 2048), "k": np.int32(37)},
    **{f"transpose_{dtype}": make for dtype, make in matrices(4096, 4096).items()},
    **{f"transpose_small_{dtype}": make for dtype, make in matrices(512, 512).items()},
    "permute_heads": lambda: {"x": normal(8, 512, 8, 64)},
    "gather_rows": lambda: {"x": normal(50000, 64), "ids": integers(100000, below=50000)},
    "gather_elements": lambda: {"x": normal(1000000), "ids": integers(4000000, below=1000000)},
    "scatter_add_rows": lambda: {"x": normal(1000, 64), "ids": integers(100000, below=1000), "u": normal(100000, 64)},
    "scatter_add_elements": lambda: {"x": normal(1000), "ids": integers(1000000, below=1000), "u": normal(1000000)},
    "histogram": lambda: {"x": normal(256), "ids": integers(4000000, below=256)},
    "one_hot": lambda: {"ids": integers(4096, below=1000), "w": normal(1000, 64)},
    "mask_sum": lambda: {"x": normal(1 << 24)},
    "compress": lambda: {"x": normal(1 << 22)},
    "searchsorted": lambda: {"x": np.sort(normal(100000)), "v": normal(1000000)},
    "argmax_rows": lambda: {"x": normal(4096, 4096)},
    "argmax_columns": lambda: {"x": normal(4096, 4096)},
    "argmax_vector": lambda: {"x": normal(1 << 24)},
    "sum_tall": lambda: {"x": normal(1000000, 16)},
    "sum_narrow": lambda: {"x": normal(1000000, 3)},
    "sum_columns": lambda: {"x": normal(4096, 4096)},
    "max_rows": lambda: {"x": normal(1000000, 16)},
    "softmax_columns": lambda: {"x": normal(2048, 2048)},
    "logsumexp_rows": lambda: {"x": normal(4096, 4096)},
    "moments": lambda: {"x": normal(4096, 4096)},
    "moments_columns": lambda: {"x": normal(4096, 4096)},
    "clip_u8": lambda: {"x": integers(1 << 24, below=256, dtype=np.uint8)},
    "clip_bf16": lambda: {"x": bf16(1 << 24)},
    "image_u8": lambda: {"x": integers(4096, 4096, below=256, dtype=np.uint8)},
    "conv2d_one": lambda: {"x": normal(1, 2048, 2048, 1), "w": normal(3, 3, 1, 1)},
    **{f"{kernel}{suffix}": make for kernel in ("conv2d", "conv2d_by_image", "conv2d_by_kernel")
       for suffix, make in images().items()},
    "matmul_4": lambda: {"a": normal(100000, 4, 4), "c": normal(100000, 4, 4)},
    "matmul_16": lambda: {"a": normal(20000, 16, 16), "c": normal(20000, 16, 16)},
    "matmul_i32": lambda: {"a": integers(512, 512, below=100), "b": integers(512, 512, below=100)},
    "matvec": lambda: {"a": normal(4096, 4096), "x": normal(4096), "y": normal(4096)},
    "mandelbrot": lambda: {"cx": np.linspace(-2, 0.6, 800, dtype=np.float32),
                           "cy": np.linspace(-1.3, 1.3, 800, dtype=np.float32)},
    "loop_with_break": lambda: {"x": normal(1 << 20), "steps": np.int32(20)},
}


def our_results(scratch, program, archive, names):
    """The results of a program by `pmapc run`, in order."""
    output = os.path.join(scratch, "ours.npz")
    subprocess.run([PMAPC, "run", program, *[f"{name}={archive}:{name}" for name in names], "-o", output], check=True)
    results = list(dict(np.load(output)).values())
    return [(r.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if r.dtype.kind == "V" else r for r in results]


def compare(name, ours, theirs):
    """Raises when results differ by more than rounding in another order."""
    for mine, other in zip(ours, theirs, strict=True):
        scale = max(np.abs(np.float64(other)).max(), 1e-6)
        if mine.shape != other.shape:
            raise RuntimeError(f"{name}: the result has shape {mine.shape} and JAX's has {other.shape}")
        worst = np.abs(np.float64(mine) - other).max() / scale
        # Equal keys, and sums of millions of elements, may come out otherwise in JAX.
        if not worst < (0.02 if mine.dtype.kind == "f" else 1):
            raise RuntimeError(f"{name} differs from JAX's by {worst:.1e} of its largest element")


def bench_single_kernels(scratch):
    if not has_jax():
        return report("kernels beside JAX", "", "PMAP_BENCH_PYTHON names no Python with JAX")
    peer = Process(PYTHON, f"{ROOT}/bench/peers/kernels.py", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    chosen = os.environ.get("PMAP_BENCH_KERNELS", "").split()
    for name, make in CASES.items():
        if chosen and name not in chosen and name.split(":")[0] not in chosen:
            continue
        archive, theirs = os.path.join(scratch, "inputs.npz"), os.path.join(scratch, "theirs.npz")
        inputs = make()
        np.savez(archive, **inputs)
        # One kernel may come with several sizes: what follows the colon tells them apart.
        kernel = name.split(":")[0]
        program = f"{PROGRAMS}/kernels/{kernel}.pmap"
        peer.ask("load", f"{kernel}:{archive}")()
        peer.ask("save", theirs)()
        compare(name, our_results(scratch, program, archive, inputs), list(dict(np.load(theirs)).values()))
        harness = Harness(scratch, program, 1, CORES, f"all:{archive}")
        ours, jax = interleave(harness.ask("run"), peer.ask("run"), pause=0.01)
        harness.close()
        shape = " ".join("x".join(map(str, value.shape)) for value in inputs.values() if value.ndim)
        report(f"{name} {shape}", f"{ours * 1e3:.3f} ms", f"faster than JAX: {jax / ours:.2f} x", f"JAX {jax * 1e3:.3f} ms",
               ours < jax)
    peer.close()
