"""What the tests of the examples share: running a program and comparing its leaves."""

import os
import subprocess
import sys
import tempfile

import numpy as np

PMAPC, EXAMPLES = sys.argv[1:3]
DATA = os.path.join(EXAMPLES, "data")


def data(name):
    return np.load(os.path.join(DATA, name + ".npy"))


def inputs(**names):
    return [f"{name}={os.path.join(DATA, file + '.npy')}" for name, file in names.items()]


def execute(command, devices, arguments):
    """Runs a program on some devices and returns its result's leaves."""
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "result.npz")
        command = [*command, "--devices", str(devices), *arguments, "-o", output]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexit status {result.returncode}\n{result.stderr}{result.stdout}")
        with np.load(output) as archive:
            return {name: archive[name] for name in archive.files}


def run(example, target, devices, arguments):
    path = os.path.join(EXAMPLES, example, example + ".pmap")
    return execute([PMAPC, "run", path, "--target", target], devices, arguments)


def build(example, folder):
    """Builds the example's executable and returns its path."""
    program = os.path.join(folder, example)
    path = os.path.join(EXAMPLES, example, example + ".pmap")
    subprocess.run([PMAPC, "build", path, "-o", program], check=True)
    return program


def check(what, actual, expected, rtol=0.0, atol=0.0):
    if not np.allclose(actual, expected, rtol=rtol, atol=atol):
        sys.exit(f"{what}: expected {expected}, got {actual}")
