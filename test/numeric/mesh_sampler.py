#!/usr/bin/env python3
"""Random SPMD functions on random meshes, split by random specs, against NumPy (mesh_statements.py says how).

Every draw is a program: a `pmap` of a random function with collectives, vmaps and gradients in it, on a mesh of one to three
axes and up to eight devices. In half of the draws the gradients of its results by its inputs are taken from outside as
well (G3). f64 agrees within 1e-9 of the largest element (1e-6 for derivatives of derivatives), f32 within 1e-5. A failure is reproduced by its seed:
`mesh_sampler.py --seed N --count 1 --keep FOLDER`.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

import check
from complex_step import step_derivative
from mesh_statements import Scope, Value

MESHES = [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}, {"a": 8}, {"a": 2, "b": 2}, {"a": 2, "b": 3}, {"a": 4, "b": 2}, {"a": 1, "b": 3},
          {"a": 2, "b": 2, "c": 2}, {"a": 1, "b": 2, "c": 3}]


class MeshSampler:
    """A program: a pmap of a random function over a random mesh, its results, and their gradients by its inputs."""

    def __init__(self, seed, dtype=None):
        self.random = random.Random(seed)
        self.dtype = dtype or self.random.choice(["f64", "f64", "f32"])
        self.axes = self.random.choice(MESHES)
        self.names = 0
        self.inputs = []  # (name, global shape, axes per dimension)
        pool = [self.input() for _ in range(3)]
        self.body = Scope(self, self.axes, pool, depth=2)
        self.body.grow(self.random.randrange(4, 10))
        made = self.body.pool[len(self.inputs):]
        self.results = made[-1:] + self.random.sample(made[:-1], min(2, len(made) - 1))
        self.with_gradients = self.dtype == "f64" and self.random.random() < 0.5

    @property
    def devices(self):
        return int(np.prod(list(self.axes.values())))

    @property
    def of_derivatives(self):
        """Whether the gradients are of a function that differentiates."""
        return self.with_gradients and any("grad(" in line for line in self.body.lines)

    @property
    def tolerance(self):
        """Relative to the largest element. Of nested derivatives the oracle has the outer ones by differences."""
        nested = self.of_derivatives or any(line.count("grad(") > 1 for line in self.body.lines)
        return 1e-5 if self.dtype == "f32" else 1e-6 if nested else 1e-9

    def fresh(self, letter="v"):
        self.names += 1
        return f"{letter}{self.names}"

    def input(self):
        name = f"x{len(self.inputs)}"
        local = [self.random.choice([1, 2, 2, 3, 4]) for _ in range(self.random.choice([0, 1, 1, 2, 2]))]
        split = [[] for _ in local]
        for axis in self.axes:
            dim = self.random.randrange(-1, len(local))
            if dim >= 0:
                split[dim].append(axis)
        shape = [size * int(np.prod([self.axes[a] for a in axes])) for size, axes in zip(local, split)]
        self.inputs.append((name, shape, split))
        return Value(name, local, [a for axes in split for a in axes])

    def values(self):
        rng = np.random.default_rng(self.random.randrange(1 << 30))
        numpy_dtype = {"f32": np.float32, "f64": np.float64}[self.dtype]
        return {name: rng.uniform(-1.5, 1.5, shape).astype(numpy_dtype) for name, shape, _ in self.inputs}

    def stacked(self, array, split):
        """A global array as the oracle has it: mesh dimensions, then a block's."""
        shape, places = [], {}
        for size, axes in zip(array.shape, split):
            for axis in axes:
                places[axis] = len(shape)
                shape.append(self.axes[axis])
            shape.append(size // int(np.prod([self.axes[a] for a in axes])))
        array = array.reshape(shape)
        order = [places[a] for a in self.axes if a in places]
        array = array.transpose(order + [d for d in range(len(shape)) if d not in order])
        block = array.shape[len(order):]
        return array.reshape([self.axes[a] if a in places else 1 for a in self.axes] + list(block))

    def oracle(self, inputs):
        """The results by name."""
        run = lambda given: self.body.run({name: self.stacked(given[name], split) for name, _, split in self.inputs})

        def whole(values, value):
            array = np.broadcast_to(values[value.text], tuple(self.axes.values()) + value.shape)
            return array.reshape((self.devices,) + value.shape)
        exact = {name: array.astype(np.float64) for name, array in inputs.items()}
        values = run(exact)
        expected = {f"r{i}": whole(values, value) for i, value in enumerate(self.results)}
        if self.with_gradients:
            def weighed(values):
                flat = np.concatenate([whole(values, value).reshape(-1) for value in self.results])
                return (flat * np.cos(1.0 + np.arange(flat.size))).sum()
            for name, _, _ in self.inputs:
                along = self.directions(exact[name].shape)
                moved = lambda steps: weighed(run(exact | {name: exact[name] + np.tensordot(steps, along, 1)}))
                expected[f"g.{name}"] = step_derivative(moved, np.zeros(len(along)))
        return expected

    def directions(self, shape):
        """What gradients are compared along: each element on its own, and where an element takes the oracle a derivative in a
        derivative, three mixtures of all."""
        count = int(np.prod(shape))
        if not self.of_derivatives or count <= 3:
            return np.eye(count).reshape((count, *shape))
        mixtures = np.cos(np.outer([1.0, 2.0, 3.0], 1 + np.arange(count)))
        return (mixtures / np.abs(mixtures).sum(1, keepdims=True)).reshape((3, *shape))

    def spec(self, split):
        if not split:
            return "_"
        return "[" + ", ".join("_" if not axes else f'"{axes[0]}"' if len(axes) == 1 else "(" + ", ".join(f'"{a}"' for a in axes) + ")"
                               for axes in split) + "]"

    def program(self):
        def type_of(shape):
            return self.dtype + (f"[{', '.join(map(str, shape))}]" if shape else "")
        declared = ", ".join(f"{name}: {type_of(shape)}" for name, shape, _ in self.inputs)
        names = ", ".join(name for name, _, _ in self.inputs)
        mesh = ", ".join(f"{axis}: {n}" for axis, n in self.axes.items())
        given = ", ".join(f"{name}: {self.spec(split)}" for name, _, split in self.inputs)
        lines = [f"fn body({names}) {{"] + [f"  {line}" for line in self.body.lines]
        leaves = ", ".join(f"r{i}: reshape({v.text}, [{', '.join(['1'] + [str(n) for n in v.shape])}])" for i, v in enumerate(self.results))
        lines += [f"  ({leaves})", "}", ""]
        out = ", ".join(f"r{i}: {self.spec([list(self.axes)] + [[] for _ in v.shape])}" for i, v in enumerate(self.results))
        lines += [f"fn mapped({declared}) = pmap(body, mesh: ({mesh}), in: ({given}), out: ({out}))({names})", ""]
        if not self.with_gradients:
            return "\n".join(lines + [f"fn main({declared}) = mapped({names})", ""])
        place = "(" + ", ".join(f"{name}: {name}" for name, _, _ in self.inputs) + ")"
        return "\n".join(lines + [
            "fn weighed(p) {", f"  let v = ravel(map_leaves(gather, mapped({', '.join('p.' + name for name, _, _ in self.inputs)})))",
            "  sum(v * cos(cumsum(ones_like(v), axis: 0)))", "}", "",
            f"fn main({declared}) {{", f"  let r = mapped({names})",
            f"  ({', '.join(f'r{i}: r.r{i}' for i in range(len(self.results)))}, g: grad(weighed)({place}))", "}", ""])


def run(pmapc, seed, targets, folder):
    """What is wrong with a draw."""
    sampler = MeshSampler(seed)
    path = os.path.join(folder, f"mesh{seed}.pmap")
    with open(path, "w") as file:
        file.write(sampler.program())
    inputs = sampler.values()
    expected = sampler.oracle(inputs)
    arguments = check.write_inputs(inputs, folder)
    output = os.path.join(folder, "out.npz")
    problems = []
    for target in targets:
        command = [pmapc, "run", "--target", target, "--devices", str(sampler.devices), path, *arguments, "-o", output]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            problems.append(f"{target}: {errors[0]}")
            continue
        results = np.load(output)
        for name, right in expected.items():
            got = results[name]
            if name.startswith("g.") and got.shape == inputs[name[2:]].shape:
                along = sampler.directions(got.shape)
                got = np.tensordot(along, got, got.ndim)
            allowed = sampler.tolerance * max(1, np.abs(right).max(initial=0))
            if got.shape != right.shape:
                problems.append(f"{target}: {name} has shape {got.shape}, expected {right.shape}")
            elif not np.abs(got - right).max(initial=0) <= allowed:
                problems.append(f"{target}: {name} is off by {np.abs(got - right).max():.3g}, allowed {allowed:.3g}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmapc", default="build/bin/pmapc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20, help="draws")
    parser.add_argument("--targets", default="ref,cpu")
    parser.add_argument("--keep", help="a folder for the programs")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for seed in range(options.seed, options.seed + options.count):
            for problem in run(options.pmapc, seed, options.targets.split(","), folder):
                failed += 1
                print(f"seed {seed}, {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
