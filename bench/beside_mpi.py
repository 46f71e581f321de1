#!/usr/bin/env python3
"""The collectives beside Open MPI's and JAX's, of 1 KiB to 256 MiB, and beside a copy with non-temporal stores.

    bench/beside_mpi.py [DEVICES] [MIB]     the whole table

Open MPI takes part where `mpicxx` and `mpirun` are (packages libopenmpi-dev and openmpi-bin), JAX where the Python that
PMAP_BENCH_PYTHON names has it. Sizes are those of every device's operand, times microseconds, `copy` the percentage of the rate of
the copy that the same threads make in the same run. The programs take turns; every number is the median of the turns.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from beside_jax import PYTHON, has_jax
from measure import BUILD, ROOT, report

HERE = os.path.join(ROOT, "bench", "collectives")
NAMES = ["psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"]
TURNS = 3


def rows(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        print(f"{command[0]}: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return {}
    return {(name, int(size)): float(time) for name, size, time in (line.split() for line in done.stdout.splitlines())}


def measure(devices, mib, scratch):
    """Microseconds by name and size, of ours and of each peer that is there."""
    programs = {"ours": lambda: rows([os.path.join(BUILD, "bin", "collectives-bench"), devices, mib, "--rows"])}
    if shutil.which("mpicxx") and shutil.which("mpirun"):
        peer = os.path.join(scratch, "peer")
        subprocess.run(["mpicxx", "-O3", os.path.join(HERE, "peer_mpi.cpp"), "-o", peer], check=True)
        # As root in a container, and with as many processes as asked for whatever the cores.
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        programs["Open MPI"] = lambda: rows(["mpirun", "--oversubscribe", "-n", devices, peer, mib], allowed)
    if has_jax():
        programs["JAX"] = lambda: rows([PYTHON, os.path.join(HERE, "peer_jax.py"), devices, mib])
    turns = [{name: program() for name, program in programs.items()} for _ in range(TURNS)]
    return {name: {key: statistics.median(turn[name][key] for turn in turns if key in turn[name]) for key in turns[0][name]}
            for name in programs}


def of_copy(times, name, size, devices):
    """The rate as a part of a copy's; what counts are the bytes that all devices read and write at least."""
    traffic = {"all_gather": 2 * size * devices**2, "psum_scatter": size * (devices + 1)}.get(name, 2 * size * devices)
    return traffic / times[name, size] / (2 * size * devices / times["copy", size])


def bench_exchanges(scratch):
    measured = measure("2", "256", scratch)
    ours = measured.pop("ours")
    for name in NAMES:
        for size, text in ((1 << 10, "1 KiB"), (16 << 20, "16 MiB"), (256 << 20, "256 MiB")):
            time, part = ours[name, size], of_copy(ours, name, size, 2)
            peers = ", ".join(f"{peer} {times[name, size]:.2f} us" for peer, times in measured.items() if (name, size) in times)
            if size < 1 << 20:
                report(f"{name} of {text} on 2 devices", f"{time:.2f} us", "under 5 us", peers, time < 5)
            else:
                report(f"{name} of {text} on 2 devices", f"{time:.0f} us", f"at least 90 % of a copy: {100 * part:.0f} %", peers,
                       part >= 0.9)


def main():
    devices = sys.argv[1] if len(sys.argv) > 1 else "2"
    mib = sys.argv[2] if len(sys.argv) > 2 else "256"
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(devices, mib, scratch)
    ours = measured.pop("ours")
    print(f"{'':14}{'bytes':>12}{'us':>12}{'copy':>8}" + "".join(f"{name:>14}" for name in measured) + "   faster than all")
    for name in NAMES:
        for size in sorted({size for other, size in ours if other == name}):
            others = [peer.get((name, size)) for peer in measured.values()]
            won = all(ours[name, size] <= other for other in others if other is not None)
            print(f"{name:14}{size:12}{ours[name, size]:12.2f}{100 * of_copy(ours, name, size, int(devices)):7.0f}%" +
                  "".join(f"{other:14.2f}" if other is not None else f"{'-':>14}" for other in others) +
                  ("   yes" if won else "   no"))


if __name__ == "__main__":
    main()
