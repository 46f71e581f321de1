"""What the peers share: a process that loads inputs, computes with JAX, and answers commands, one a line.

    PEER.py DEVICES INPUTS.npz
    run N          calls the compiled function once; the answer is the seconds it took
    save FILE.npz  writes the result's leaves

bench/run.py starts it with the Python that PMAP_BENCH_PYTHON names (default: this one), which needs JAX.
"""

import os
import sys
import time

devices = int(sys.argv[1])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads the flags above)
import numpy as np  # noqa: E402


def serve(make):
    """`make(inputs, mesh)` returns (function without arguments, names of its result's leaves)."""
    inputs = dict(np.load(sys.argv[2]))
    mesh = jax.make_mesh((devices,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    function = make(inputs, mesh)
    compiled_in = time.perf_counter()
    jax.block_until_ready(function())
    compiled_in = time.perf_counter() - compiled_in
    print("ready", compiled_in, flush=True)
    for line in sys.stdin:
        what, argument = line.split()
        if what == "run":
            start = time.perf_counter()
            jax.block_until_ready(function())
            print(time.perf_counter() - start, flush=True)
        else:
            np.savez(argument, **{name: np.asarray(leaf) for name, leaf in function().items()})
            print(0.0, flush=True)


def nested(inputs, prefix):
    """The record whose leaves have dotted names that start with `prefix.`."""
    result = {}
    for name, value in inputs.items():
        if not name.startswith(prefix + "."):
            continue
        *path, last = name[len(prefix) + 1:].split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


def flat(record, prefix=""):
    """A nested record as a dictionary of dotted names."""
    result = {}
    for name, value in record.items():
        full = f"{prefix}.{name}" if prefix else name
        result.update(flat(value, full) if isinstance(value, dict) else {full: value})
    return result
