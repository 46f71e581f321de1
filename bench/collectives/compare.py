#!/usr/bin/env python3
"""The collectives beside Open MPI's and JAX's, of 1 KiB to 256 MiB on 2 devices, one after the other in one run.

    bench/collectives/compare.py [DEVICES] [MIB]

Open MPI takes part where `mpicxx` and `mpirun` are (packages libopenmpi-dev and openmpi-bin), JAX where PMAP_JAX_PYTHON names a
Python that has it. Sizes are those of every device's operand, times microseconds, `copy` the percentage of the rate of a copy
with non-temporal stores that the same threads reach in the same run.
"""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(HERE, "..", "..", "build", "bin", "collectives-bench")
NAMES = ["psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"]


def rows(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        print(f"{command[0]}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return {}
    return {(name, int(size)): float(time) for name, size, time in (line.split() for line in done.stdout.splitlines())}


def traffic(name, size, devices):
    """Bytes that all devices read and write at least."""
    return {"all_gather": 2 * size * devices**2, "psum_scatter": size * (devices + 1)}.get(name, 2 * size * devices)


def main():
    devices = sys.argv[1] if len(sys.argv) > 1 else "2"
    mib = sys.argv[2] if len(sys.argv) > 2 else "256"
    ours = rows([BENCH, devices, mib, "--rows"])
    peers = {}
    with tempfile.TemporaryDirectory() as scratch:
        if shutil.which("mpicxx") and shutil.which("mpirun"):
            peer = os.path.join(scratch, "peer")
            subprocess.run(["mpicxx", "-O3", os.path.join(HERE, "peer_mpi.cpp"), "-o", peer], check=True)
            # As root in a container, and with as many processes as asked for whatever the cores.
            allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            peers["Open MPI"] = rows(["mpirun", "--oversubscribe", "-n", devices, peer, mib], allowed)
    if jax := os.environ.get("PMAP_JAX_PYTHON"):
        peers["JAX"] = rows([jax, os.path.join(HERE, "peer_jax.py"), devices, mib])
    print(f"{'':14}{'bytes':>12}{'us':>12}{'copy':>8}" + "".join(f"{name:>14}" for name in peers) + "   faster than all")
    for name in NAMES:
        for size in sorted({size for other, size in ours if other == name}):
            time = ours[name, size]
            rate = traffic(name, size, int(devices)) / time
            copy = traffic("copy", size, int(devices)) / ours["copy", size]
            others = [peer.get((name, size)) for peer in peers.values()]
            won = all(time <= other for other in others if other is not None)
            print(f"{name:14}{size:12}{time:12.2f}{100 * rate / copy:7.0f}%" +
                  "".join(f"{other:14.2f}" if other is not None else f"{'-':>14}" for other in others) +
                  ("   yes" if won else "   no"))


if __name__ == "__main__":
    main()
