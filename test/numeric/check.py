#!/usr/bin/env python3
"""Runs a numeric test: a .pmap program, its inputs, and what NumPy says its results are.

The program's comments hold the test, each directive on a line of its own (a line that ends in a backslash goes on):

    # input NAME = EXPRESSION        an input of main, a NumPy expression
    # let NAME = EXPRESSION          a value for later expressions
    # expect LEAF = EXPRESSION       what the result's leaf is; LEAF is `_` for a result that is one array
    # expect[rtol=1e-4, atol=0] ...  with other tolerances; `ulp=4` counts units in the last place of the leaf's dtype
    # devices 1 2 3                  numbers of devices to run on (default 1)
    # targets ref cpu                targets to run on (default both)
    # args --precise                 more arguments for `pmapc run`
    #| def f(x):                     lines of Python, run before the other directives: functions for their expressions

Expressions see NumPy as `np`, a seeded generator `rng`, the inputs, `devices`, `finite_difference(f, x)`,
`data(name)` (an array of examples/data), and the names bound before them. Where a leaf depends on the number of devices its expression may say so through `devices`.

Every target and number of devices must give the expected values: the reference evaluator and the compiled program are
compared with the oracle, never with their own output.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

DIRECTIVE = re.compile(r"^#\s*(input|let|expect|devices|targets|args)\b(?:\[([^\]]*)\])?\s*(.*)$")
TOLERANCES = {"f2": (2e-3, 1e-3), "f4": (2e-5, 1e-6), "f8": (1e-12, 1e-13)}


def finite_difference(f, x, step=1e-6):
    """The gradient of the scalar function f at x by central differences, in f64."""
    x = np.asarray(x, dtype=np.float64)
    gradient = np.empty_like(x)
    for position in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[position] += step
        behind[position] -= step
        gradient[position] = (f(ahead) - f(behind)) / (2 * step)
    return gradient


def data(name):
    """An array of the examples."""
    here = os.path.dirname(os.path.abspath(__file__))
    return np.load(os.path.join(here, "..", "..", "examples", "data", name + ".npy"))


def from_bf16(array):
    """bfloat16 travels as raw 2-byte elements, which NumPy has no type for."""
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


class Test:
    """The directives of one file."""

    def __init__(self, path):
        self.path = path
        self.steps = []
        self.devices, self.targets, self.args = [1], ["ref", "cpu"], []
        with open(path) as file:
            text = file.read().splitlines()
        self.python = "\n".join(line[3:] for line in text if line.startswith("#|"))
        lines = iter(text)
        for line in lines:
            match = DIRECTIVE.match(line)
            if not match:
                continue
            while line.endswith("\\"):
                line = line[:-1].rstrip() + " " + next(lines).lstrip("# ")
            kind, options, rest = DIRECTIVE.match(line).groups()
            if kind == "devices":
                self.devices = [int(n) for n in rest.split()]
            elif kind == "targets":
                self.targets = rest.split()
            elif kind == "args":
                self.args += rest.split()
            else:
                name, _, expression = rest.partition("=")
                options = dict(o.split("=") for o in (options or "").replace(" ", "").split(",") if o)
                self.steps.append((kind, name.strip(), expression.strip(), options))

    def evaluate(self, devices):
        """The inputs by name, and the expectations as (leaf, value, options)."""
        inputs = {}
        names = {"np": np, "rng": np.random.default_rng(12345), "devices": devices, "finite_difference": finite_difference,
                 "data": data}
        exec(self.python, names)  # The code and the expressions are ours: they are part of the test.
        expected = []
        for kind, name, expression, options in self.steps:
            value = eval(expression, names)
            if "," in name:
                names.update(zip((n.strip() for n in name.split(",")), value))
            elif kind == "expect":
                expected.append((name, np.asarray(value), options))
            else:
                names[name] = value
                if kind == "input":
                    inputs[name] = value
        return inputs, expected


def write_inputs(inputs, folder):
    """The command-line arguments for the inputs: scalars as text, arrays as files."""
    arguments = []
    for name, value in inputs.items():
        if isinstance(value, (bool, int, float)):
            arguments.append(f"{name}={str(value).lower()}")
        else:
            path = os.path.join(folder, name + ".npy")
            np.save(path, np.asarray(value))
            arguments.append(f"{name}={path}")
    return arguments


def ulp_error(actual, expected):
    """The largest distance from the exact value, in units in the last place of the actual dtype at that value."""
    # Rounding the exact value may overflow where the function's value lies beyond the largest finite number.
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = expected.astype(actual.dtype)
        both = np.isfinite(nearest) & np.isfinite(actual)
        same = (nearest == actual) | (np.isnan(nearest) & np.isnan(actual))
        if not np.all(both | same):
            return np.inf
        unit = np.spacing(np.abs(nearest[both])).astype(expected.dtype)
        distance = np.abs(actual[both].astype(expected.dtype) - expected[both]) / unit
    return float(distance.max(initial=0))


def compare(leaf, actual, expected, options):
    """What is wrong with a leaf, or None."""
    if actual.dtype.kind == "V" and actual.dtype.itemsize == 2:
        actual = from_bf16(actual)
        options = {"rtol": "1e-2", "atol": "1e-2", **options}
    if actual.shape != expected.shape:
        return f"{leaf}: expected shape {expected.shape}, got {actual.shape}"
    if actual.dtype.kind == "f":
        if expected.dtype.kind != "f":
            expected = expected.astype(np.float64)
        if "ulp" in options:
            error = ulp_error(actual, expected)
            return None if error <= float(options["ulp"]) else f"{leaf}: off by {error:.3g} ulp"
        rtol, atol = TOLERANCES[actual.dtype.str[1:]]
        rtol, atol = float(options.get("rtol", rtol)), float(options.get("atol", atol))
        good = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True)
    else:
        if actual.dtype.kind != expected.dtype.kind:
            return f"{leaf}: expected dtype {expected.dtype}, got {actual.dtype}"
        good = actual == expected
    if np.all(good):
        return None
    where = tuple(int(i) for i in np.argwhere(~np.atleast_1d(good))[0])
    got, wanted = np.atleast_1d(actual)[where], np.atleast_1d(expected)[where]
    return f"{leaf}: {np.size(good) - np.count_nonzero(good)} of {np.size(good)} differ, first at {where}: expected {wanted!r}, got {got!r}"


def run(pmapc, test, target, devices, folder):
    """The problems of one run."""
    inputs, expected = test.evaluate(devices)
    alone = [leaf for leaf, _, _ in expected] == ["_"]
    output = os.path.join(folder, "result.npy" if alone else "result.npz")
    command = [pmapc, "run", test.path, "--target", target, "--devices", str(devices), *test.args]
    command += [*write_inputs(inputs, folder), "-o", output]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        return [f"exit status {result.returncode}: {' '.join(command)}\n{result.stderr}{result.stdout}"]
    with np.errstate(all="ignore"):
        if alone:
            leaves = {"_": np.load(output)}
        else:
            with np.load(output) as archive:
                leaves = {leaf: archive[leaf] for leaf in archive.files}
        os.remove(output)
        problems = [f"no expectation for the result's leaf {leaf}" for leaf in set(leaves) - {e[0] for e in expected}]
        for leaf, value, options in expected:
            if leaf not in leaves:
                problems.append(f"{leaf}: no such leaf, there are {', '.join(leaves)}")
                continue
            if problem := compare(leaf, leaves[leaf], value, options):
                problems.append(problem)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmapc", default="build/bin/pmapc")
    parser.add_argument("--targets", help="only these targets, separated by commas")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    failed = False
    for path in options.files:
        test = Test(path)
        for target in options.targets.split(",") if options.targets else test.targets:
            for devices in test.devices:
                with tempfile.TemporaryDirectory() as folder:
                    for problem in run(options.pmapc, test, target, devices, folder):
                        failed = True
                        print(f"{os.path.basename(path)} on {target}, {devices} devices: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        sys.exit(main())
