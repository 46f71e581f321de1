"""The peak memory of a program, for the tests that bound it."""

import os
import subprocess
import sys


def measure(pmapc, path, *inputs):
    """The result (one number) and the peak memory in KiB of `pmapc run`, the compiler's included."""
    command = [pmapc, "run", path, *inputs]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"exit status {status}: {' '.join(command)}")
    return float(output), usage.ru_maxrss
