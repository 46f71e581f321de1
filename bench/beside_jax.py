"""Whole programs beside JAX on as many CPU devices: the same inputs, results compared first, then times in turns.

The peers (bench/peers) run in the Python that PMAP_BENCH_PYTHON names, by default this one; it needs JAX.
"""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
from measure import CORES, PMAPC, PROGRAMS, ROOT, Harness, Process, command, interleave, ms, peak_memory, report

PYTHON = os.environ.get("PMAP_BENCH_PYTHON", sys.executable)


def has_jax():
    return subprocess.run([PYTHON, "-c", "import jax"], capture_output=True).returncode == 0


# --- Inputs -----------------------------------------------------------------------------------------------------------------

GENERATOR = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (GENERATOR.standard_normal(shape) * scale).astype(np.float32)


def mlp_inputs(sizes, rows, steps=0):
    d, h, g, k = sizes
    inputs = {"x": normal(rows, d), "y": GENERATOR.integers(0, k, rows).astype(np.int32)}
    if steps:
        inputs["steps"] = np.int32(steps)
    for name, (i, o) in {"a": (d, h), "b": (h, g), "c": (g, k)}.items():
        inputs[f"m.{name}.w"] = normal(i, o, scale=(2 / i) ** 0.5)
        inputs[f"m.{name}.b"] = np.zeros(o, np.float32)
    return inputs


def transformer_inputs(batch, time, d, heads, hidden):
    c, scale = d // heads, d**-0.5
    inputs = {"x": normal(batch, time, d)}
    for name in ("first", "second"):
        inputs[f"p.{name}.scale"] = 1 + normal(d, scale=0.1)
        inputs[f"p.{name}.bias"] = normal(d, scale=0.1)
    for name in "qkv":
        inputs[f"p.{name}"] = normal(d, heads, c, scale=scale)
    inputs["p.o"] = normal(heads, c, d, scale=scale)
    inputs["p.up"], inputs["p.up_bias"] = normal(d, hidden, scale=scale), normal(hidden, scale=0.1)
    inputs["p.down"], inputs["p.down_bias"] = normal(hidden, d, scale=hidden**-0.5), normal(d, scale=0.1)
    return inputs


def heat_inputs(n, steps):
    return {"u": normal(n, n), "r": np.float32(0.1), "steps": np.int32(steps)}


def flow_inputs(n, steps, names=("u",)):
    """Arrays near enough to one that nonlinear steps stay bounded."""
    arrays = {name: 1 + normal(n, n, scale=0.1) for name in names}
    return {**arrays, "r": np.float32(0.05), "steps": np.int32(steps)}


# --- Rows -------------------------------------------------------------------------------------------------------------------


def leaves_of(archive):
    """Every parameter from an archive; a record is taken from the entries below its name."""
    return [f"{name}={archive}:{name}" for name in sorted({entry.split(".")[0] for entry in np.load(archive).files})]


def run_program(program, scratch, archive, devices):
    """The result's leaves of a program by `pmapc run`."""
    output = os.path.join(scratch, "ours.npz")
    subprocess.run([PMAPC, "run", program, "--devices", str(devices), *leaves_of(archive), "-o", output], check=True)
    return dict(np.load(output))


def compare(title, ours, theirs):
    """Raises when two results differ by more than rounding, which hundreds of steps of Adam let grow: 1 % of the largest
    element of a leaf."""
    for name in theirs:
        scale = max(np.abs(theirs[name]).max(), 1e-6)
        worst = np.abs(ours[name] - theirs[name]).max() / scale
        if not worst < 1e-2:
            raise RuntimeError(f"{title}: {name} differs from JAX's by {worst:.1e} of its largest element")


def bench_jax(scratch):
    if not has_jax():
        return report("beside JAX", "", "PMAP_BENCH_PYTHON names no Python with JAX")
    steps = {"small": 200, "large": 4, "heat": 20}
    cases = [
        ("MLP 64-64-64-10, 96 rows: a step", "mlp", mlp_inputs((64, 64, 64, 10), 96, steps["small"]), steps["small"]),
        ("MLP 784-512-256-10, 512 rows: a step", "mlp", mlp_inputs((784, 512, 256, 10), 512, steps["large"]), steps["large"]),
        ("transformer block 8x128x256, and gradient", "transformer", transformer_inputs(8, 128, 256, 4, 1024), 1),
        ("heat equation, 2048 squared: a step", "heat", heat_inputs(2048, steps["heat"]), steps["heat"]),
    ]
    for title, name, inputs, count in cases:
        archive = os.path.join(scratch, "inputs.npz")
        np.savez(archive, **inputs)
        program = f"{PROGRAMS}/{name}.pmap"
        for devices in sorted({1, min(2, CORES)}):
            theirs = os.path.join(scratch, "theirs.npz")
            peer = Process(PYTHON, f"{ROOT}/bench/peers/{name}.py", str(devices), archive,
                           env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            peer.line()
            peer.ask("save", theirs)()
            compare(title, run_program(program, scratch, archive, devices), dict(np.load(theirs)))
            harness = Harness(scratch, program, devices, CORES, f"all:{archive}")
            ours, jax = interleave(harness.ask("run"), peer.ask("run"), pause=0.02)
            harness.close()
            peer.close()
            report(f"{title}, {devices} devices", f"{ours / count * 1e3:.3f} ms", f"faster than JAX: {jax / ours:.2f} x",
                   f"JAX {jax / count * 1e3:.3f} ms", ours < jax)


# --- What a gradient costs --------------------------------------------------------------------------------------------------


def bench_gradients(scratch):
    # Title, program, inputs, devices, and whether what is kept grows with the steps: then the memory has no bound here.
    cases = [("MLP 784-512-256-10, 512 rows", "mlp_cost", mlp_inputs((784, 512, 256, 10), 512), 1, False),
             ("8 steps of a stencil, 2048 squared", "stencil_cost", heat_inputs(2048, 8), 1, False),
             ("8 steps of Burgers' equation", "burgers_cost", flow_inputs(2048, 8), 1, True),
             ("8 diffusions, also by a field", "diffusion_cost", flow_inputs(2048, 8, ("u", "k")), 1, True)]
    cases += [(f"8 steps with halos, {devices} devices", "halo_cost", flow_inputs(2048, 8), devices, True)
              for devices in sorted({1, min(2, CORES)})]
    for title, name, inputs, devices, keeps in cases:
        archive = os.path.join(scratch, "inputs.npz")
        np.savez(archive, **inputs)
        memory, harnesses = [], []
        for kind in ("function", "gradient"):
            program = f"{PROGRAMS}/{name}_{kind}.pmap"
            harnesses.append(Harness(scratch, program, devices, CORES, f"all:{archive}"))
            memory.append(peak_bytes(program, scratch, archive, devices))
        times = interleave(*[h.ask("run") for h in harnesses])
        for h in harnesses:
            h.close()
        ratio, space = times[1] / times[0], memory[1] / memory[0]
        report(f"gradient of {title}", ms(times[1]), f"at most 4 x its function: {ratio:.2f} x", f"function {ms(times[0])}",
               ratio <= 4)
        report("", f"{memory[1] / 2**20:.0f} MiB",
               f"keeps every step: {space:.2f} x" if keeps else f"at most 4 x its memory: {space:.2f} x",
               f"function {memory[0] / 2**20:.0f} MiB", None if keeps else space <= 4)


def peak_bytes(program, scratch, archive, devices):
    """The most memory that a program's arrays took, inputs included, as the runtime counts it."""
    run = subprocess.run([PMAPC, "run", program, "--devices", str(devices), "--time", *leaves_of(archive), "-o",
                          os.path.join(scratch, "out.npz")], check=True, capture_output=True, text=True)
    number, unit = run.stderr.split("memory ")[1].split(" at most")[0].split()
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


# --- Compiling --------------------------------------------------------------------------------------------------------------


def bench_compile(scratch):
    """From source to the start of the run, with an empty cache and from the cache; the run itself is short."""
    environment = {"PMAPC_CACHE": os.path.join(scratch, "cache")}
    cases = [("mlp", mlp_inputs((8, 8, 8, 3), 8, 1)), ("transformer", transformer_inputs(2, 4, 8, 2, 8)),
             ("heat", heat_inputs(8, 1))]
    for name, inputs in cases:
        archive = os.path.join(scratch, "inputs.npz")
        np.savez(archive, **inputs)
        run = command(PMAPC, "run", f"{PROGRAMS}/{name}.pmap", *leaves_of(archive), "-o", os.path.join(scratch, "out.npz"),
                      env=environment)

        def cold():
            shutil.rmtree(environment["PMAPC_CACHE"], ignore_errors=True)
            start = time.perf_counter()
            run()
            return time.perf_counter() - start

        first, cached = interleave(cold, run, runs=10)
        report(f"run {name}, cold", ms(first), "under 1500 ms", "", first < 1.5)
        report(f"run {name}, from the cache", ms(cached), "under 80 ms", "", cached < 0.080)
