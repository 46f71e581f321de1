#!/usr/bin/env python3
"""Prints every measure beside its peer, or beside the machine's own rate, and the bound that we set ourselves.

    bench/run.py [NAME...]      only the measures whose names contain one of these

Times are medians of 20 runs, interleaved with the peer's, so that a slow moment of the machine hits both. Nothing here is
part of the tests: a measure that misses its bound is printed, not an error.
"""

import ctypes
import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from beside_jax import bench_compile, bench_gradients, bench_jax
from beside_mpi import bench_exchanges
from kernels_beside_jax import bench_single_kernels
from measure import (BUILD, CORES, DATA, LINREG, MIB, PMAPC, PROGRAMS, RUNS, Harness, command, interleave, ms, peak_memory,
                     report)

# --- The compiler's commands ------------------------------------------------------------------------------------------------


def bench_cli(scratch):
    output = os.path.join(scratch, "model.npz")
    cache = os.path.join(scratch, "cache")
    run = [PMAPC, "run", LINREG, *DATA, "steps=10", "-o", output]
    environment = {"PMAPC_CACHE": cache}
    program = os.path.join(scratch, "linreg")
    subprocess.run([PMAPC, "build", LINREG, "-o", program], check=True)

    def cold():
        shutil.rmtree(cache, ignore_errors=True)
        start = time.perf_counter()
        command(*run, env=environment)()
        return time.perf_counter() - start

    check, first, cached, executable, python, nothing = interleave(
        command(PMAPC, "check", LINREG), cold, command(*run, env=environment),
        command(program, *DATA, "steps=0", "-o", output), command(sys.executable, "-c", "import numpy"), command("/bin/true"))
    peers = f"an empty process {ms(nothing)}, python with numpy {ms(python)}"
    report("check linreg", ms(check), "under 60 ms", peers, check < 0.060)
    report("run linreg, cold", ms(first), "under 500 ms", peers, first < 0.5)
    report("run linreg, from the cache", ms(cached), "under 80 ms", peers, cached < 0.080)
    report("executable, start to end with steps=0", ms(executable), "under 15 ms", peers, executable < 0.015)
    size = os.path.getsize(program)
    report("executable, size", f"{size / MIB:.2f} MiB", "under 3 MiB", "", size < 3 * MIB)


# --- Memory -----------------------------------------------------------------------------------------------------------------


def bench_memory(scratch):
    programs = {}
    for name in ("empty", "gelu", "update_1gib"):
        programs[name] = os.path.join(scratch, name)
        subprocess.run([PMAPC, "build", f"{PROGRAMS}/{name}.pmap", "-o", programs[name]], check=True)
    empty = peak_memory(programs["empty"])
    x = os.path.join(scratch, "x.npy")
    count = 16 * MIB
    np.save(x, np.linspace(-3, 3, count, dtype=np.float32))
    gelu = peak_memory(programs["gelu"], f"x={x}", "-o", os.path.join(scratch, "y.npy")) - empty
    arrays = 2 * 4 * count
    report("memory of GELU over 64 MiB", f"{gelu / MIB:.0f} MiB", "input + output + 5 %", f"arrays {arrays / MIB:.0f} MiB",
           gelu <= 1.05 * arrays)
    update = peak_memory(programs["update_1gib"]) - empty
    report("memory of a loop that updates 1 GiB", f"{update / MIB:.0f} MiB", "never two of them", "array 1024 MiB",
           update < 1.5 * 1024 * MIB)


# --- Compiled code in one process ------------------------------------------------------------------------------------------


def gelu_numpy(x):
    return np.float32(0.5) * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def softmax_numpy(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def bench_kernels(scratch):
    cases = [("tanh-GELU of 16M f32", "gelu", (16 * MIB,), gelu_numpy),
             ("softmax of f32[4096, 4096]", "softmax", (4096, 4096), softmax_numpy)]
    for title, name, shape, numpy_function in cases:
        x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
        for threads in sorted({1, CORES}):
            harness = Harness(scratch, f"{PROGRAMS}/{name}.pmap", 1, threads, f"in:f32:{'x'.join(map(str, shape))}")
            ours, copy, numpy = interleave(harness.ask("run"), harness.ask("copy", x.nbytes),
                                           lambda: numpy_function(x) is None or None)
            harness.close()
            report(f"{title}, {threads} threads", ms(ours), f"at most 2 x memcpy: {ours / copy:.2f} x",
                   f"memcpy {ms(copy)}", ours <= 2 * copy)
            report("", "", f"at least 3 x NumPy: {numpy / ours:.1f} x", f"numpy {ms(numpy)}", numpy >= 3 * ours)


def direct_blas(dtype, n):
    """An action that calls the system's OpenBLAS on square matrices with all cores."""
    library = ctypes.CDLL(ctypes.util.find_library("openblas"))
    library.openblas_set_num_threads(CORES)
    a, b = (np.random.default_rng(s).standard_normal((n, n)).astype(dtype) for s in (1, 2))
    c = np.empty_like(a)
    double = dtype == np.float64
    function = library.cblas_dgemm if double else library.cblas_sgemm
    scalar = ctypes.c_double if double else ctypes.c_float
    pointers = [m.ctypes.data_as(ctypes.c_void_p) for m in (a, b, c)]

    def action():
        start = time.perf_counter()
        function(101, 111, 111, n, n, n, scalar(1), pointers[0], n, pointers[1], n, scalar(0), pointers[2], n)
        return time.perf_counter() - start

    action.arrays = (a, b, c)
    return action


def bench_matmul(scratch):
    for dtype, name in ((np.float32, "f32"), (np.float64, "f64")):
        for n in (1024, 2048):
            harness = Harness(scratch, f"{PROGRAMS}/matmul_{name}.pmap", 1, CORES, *[f"in:{name}:{n}x{n}"] * 2)
            direct = direct_blas(dtype, n)
            a, b, c = direct.arrays
            ours, blas, numpy = interleave(harness.ask("run"), direct, lambda: np.matmul(a, b, out=c) is None or None,
                                           pause=0.15)
            harness.close()
            best = min(blas, numpy)
            rate = 2 * n**3 / ours / 1e9
            report(f"{name} @ of {n} squared", f"{rate:.0f} GFLOP/s", f"at least 95 % of BLAS: {100 * best / ours:.0f} %",
                   f"OpenBLAS {2 * n**3 / blas / 1e9:.0f}, numpy {2 * n**3 / numpy / 1e9:.0f} GFLOP/s", ours <= best / 0.95)


def bench_collectives(scratch):
    size = 64 * MIB
    harness = Harness(scratch, None, 2, CORES)
    copier = Harness(scratch, None, 1, CORES)
    psum, stream = interleave(harness.ask("psum", size), copier.ask("stream", 2 * size))
    harness.close()
    copier.close()
    # Every device's sum is read by its owner, so both inputs are read and both outputs written: 2 x 2 x 64 MiB, as the copy
    # of 128 MiB reads and writes.
    moved = 4 * size
    report("psum of 64 MiB on 2 devices", f"{moved / psum / 1e9:.1f} GB/s",
           f"at least 85 % of streaming: {100 * stream / psum:.0f} %", f"non-temporal copy {moved / stream / 1e9:.1f} GB/s",
           psum <= stream / 0.85)


GROUPS = {"cli": bench_cli, "memory": bench_memory, "kernels": bench_kernels, "matmul": bench_matmul,
          "collectives": bench_collectives, "exchanges": bench_exchanges, "jax": bench_jax, "gradients": bench_gradients, "compile": bench_compile,
          "single": bench_single_kernels}


def main():
    wanted = sys.argv[1:]
    unknown = [w for w in wanted if not any(w in name for name in GROUPS)]
    if unknown:
        sys.exit(f"no measure named {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    print(f"{CORES} cores, NumPy {np.__version__}, medians of {RUNS} interleaved runs")
    with tempfile.TemporaryDirectory() as scratch:
        for name, function in GROUPS.items():
            if wanted and not any(w in name for w in wanted):
                continue
            print(f"\n{name}")
            try:
                function(scratch)
            except (subprocess.CalledProcessError, RuntimeError, OSError) as error:
                print(f"  could not be measured: {error}")


if __name__ == "__main__":
    main()
