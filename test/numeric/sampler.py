#!/usr/bin/env python3
"""Random small programs, run on ref and cpu and compared with NumPy.

Each program holds many random expressions over a few inputs: elementwise operations, broadcasting, reductions, scans,
slices, contractions, comprehensions and loops. A program is a numeric test like any other (see check.py), written from a
seed, so a failure is reproduced by `sampler.py --mode MODE --seed N --count 1 --keep FOLDER`. The modes:

    values      the expressions' values
    gradients   the gradients of their sums, against finite differences
    integers    integers of every width and sign, exactly (integer_samples.py)
    parallel    expressions of a block's rows inside a pmap, their sums and extrema over the devices, and gradients of those
    rows        expressions under vmap, with branches, lookups and loops that each row decides, and gradients of those (row_samples.py)
"""

import argparse
import os
import random
import sys
import tempfile

import check
from integer_samples import IntegerSampler

# Sizes around those of vectors and tiles.
EXTENTS = {"n": (1, 2, 5, 16, 33), "m": (1, 7, 63, 64, 65, 130), "k": (1, 3, 17)}
FLOATS = ("f32", "f64")


class Expression:
    """An expression as Pmap and as NumPy; `shape` names its dimensions."""

    def __init__(self, dtype, shape, pmap, numpy):
        self.dtype, self.shape, self.pmap, self.numpy = dtype, tuple(shape), pmap, numpy

    @property
    def rank(self):
        return len(self.shape)


class Sampler:
    def __init__(self, seed, mode="values"):
        self.random = random.Random(seed)
        self.mode = mode
        # In a block of rows nothing may mix the rows: the split is along n.
        self.rowwise = mode == "parallel"
        self.dtype = "f64" if mode == "gradients" else self.random.choice(FLOATS)
        choices = {"n": (1, 2, 5), "m": (1, 4, 7), "k": (1, 3)} if mode == "gradients" else EXTENTS
        self.extents = {name: self.random.choice(sizes) for name, sizes in choices.items()}
        # 24 rows divide by every number of devices, 10 rows make ragged blocks.
        self.ragged = self.rowwise and self.random.random() < 0.4
        if self.rowwise:
            self.extents["n"] = 10 if self.ragged else 24
        shapes = {"x": "nm", "y": "nm", "v": "m", "w": "n", "t": "mk", "s": ""}
        self.inputs = [Expression(self.dtype, shape, name, name) for name, shape in shapes.items()]
        self.integers = [Expression("i32", "nm", "i", "i"), Expression("i32", "m", "j", "j")]
        self.booleans = [Expression("bool", "nm", "p", "p"), Expression("bool", "m", "q", "q")]

    def choose(self, *options):
        return self.random.choice(options)

    def leaf(self, shape):
        """A floating input of a shape, or a literal spread to it."""
        fitting = [e for e in self.inputs if e.shape == shape]
        if fitting and self.random.random() < 0.85:
            return self.random.choice(fitting)
        number = self.choose("0.5", "2.0", "1.25", "3.0")
        sizes = ", ".join(shape)
        extents = ", ".join(str(self.extents[d]) for d in shape)
        if not shape:
            return Expression(self.dtype, shape, f"{self.dtype}({number})", f"np.asarray({number})")
        return Expression(self.dtype, shape, f"full([{sizes}], {number}, dtype: {self.dtype})", f"np.full([{extents}], {number})")

    def floating(self, shape, depth):
        """A floating expression of a shape. Values stay small, so that rounding stays small too."""
        if depth == 0:
            return self.leaf(shape)
        makers = [self.unary, self.unary, self.binary, self.binary, self.where, self.reduction, self.from_integer]
        if shape:
            makers += [self.broadcast, self.loop]
        if self.free_axes(shape):
            makers += [self.scan, self.slice]
        if shape and self.free_axes(shape) == list(range(len(shape))):
            makers += [self.comprehension]
        if len(shape) == 2:
            makers += [self.contraction]
            if not self.rowwise:
                makers += [self.transpose]
        return self.random.choice(makers)(shape, depth - 1)

    def free_axes(self, shape):
        """The dimensions whose elements may be mixed."""
        return [d for d, name in enumerate(shape) if not (self.rowwise and name == "n")]

    def free_names(self):
        return [name for name in self.extents if not (self.rowwise and name == "n")]

    def unary(self, shape, depth):
        a = self.floating(shape, depth)
        pmap, numpy = self.choose(
            ("sin({0})", "np.sin({0})"),
            ("cos({0})", "np.cos({0})"),
            ("tanh({0})", "np.tanh({0})"),
            ("exp(-abs({0}))", "np.exp(-np.abs({0}))"),
            ("sqrt(1 + {0} ** 2)", "np.sqrt(1 + ({0}) ** 2)"),
            ("log(2 + {0} * {0})", "np.log(2 + ({0}) * ({0}))"),
            ("(-{0})", "(-({0}))"),
            ("sigmoid({0})", "(1 / (1 + np.exp(-({0}))))"),
        )
        return Expression(self.dtype, shape, pmap.format(f"({a.pmap})"), numpy.format(a.numpy))

    def binary(self, shape, depth):
        a = self.floating(shape, depth)
        # The other side may be of a lower rank and broadcast.
        b = self.floating(self.choose(shape, shape[1:], ()), depth)
        pmap, numpy = self.choose(
            ("({0} + {1})", "(({0}) + ({1}))"),
            ("({0} - {1})", "(({0}) - ({1}))"),
            ("(sin({0}) * {1})", "(np.sin({0}) * ({1}))"),
            ("({0} / (1 + abs({1})))", "(({0}) / (1 + np.abs({1})))"),
            ("maximum({0}, {1})", "np.maximum({0}, {1})"),
            ("minimum({0}, {1})", "np.minimum({0}, {1})"),
        )
        return Expression(self.dtype, shape, pmap.format(f"({a.pmap})", f"({b.pmap})"), numpy.format(a.numpy, b.numpy))

    def condition(self, shape):
        """A boolean expression of a shape, of exact inputs only: it must not hang on a rounding."""
        fitting = [e for e in self.booleans if e.shape == shape] + [
            Expression("bool", e.shape, f"{e.pmap} {c} {v}", f"({e.numpy} {c} {v})")
            for e in self.integers if e.shape == shape for c in ("<", ">=", "==") for v in (-2, 0, 3)]
        return self.random.choice(fitting) if fitting else None

    def where(self, shape, depth):
        condition = self.condition(shape)
        if not condition:
            return self.unary(shape, depth)
        a, b = self.floating(shape, depth), self.floating(shape, depth)
        return Expression(self.dtype, shape, f"where({condition.pmap}, {a.pmap}, {b.pmap})",
                          f"np.where({condition.numpy}, {a.numpy}, {b.numpy})")

    def from_integer(self, shape, depth):
        fitting = [e for e in self.integers if e.shape == shape]
        if not fitting:
            return self.unary(shape, depth)
        a = self.random.choice(fitting)
        pmap, numpy = self.choose(("{0} * 3 - 1", "({0} * 3 - 1)"), ("{0} // 4", "({0} // 4)"), ("{0} % 5", "({0} % 5)"),
                                  ("bitor(bitand({0}, 6), 1)", "(({0} & 6) | 1)"), ("maximum({0}, 1 - {0})", "np.maximum({0}, 1 - {0})"))
        return Expression(self.dtype, shape, f"{self.dtype}({pmap.format(a.pmap)}) * 0.1", f"({numpy.format(a.numpy)} * 0.1)")

    def reduction(self, shape, depth):
        """An extra dimension is reduced away."""
        if len(shape) > 1:
            return self.unary(shape, depth)
        axis = self.random.randrange(len(shape) + 1)
        wider = list(shape)
        wider.insert(axis, self.choose(*self.free_names()))
        a = self.floating(tuple(wider), depth)
        kind = self.choose("sum", "mean", "max", "min")
        scale = f" * {1 / self.extents[wider[axis]]}" if kind == "sum" else ""
        return Expression(self.dtype, shape, f"({kind}({a.pmap}, axis: {axis}){scale})", f"(np.{kind}({a.numpy}, axis={axis}){scale})")

    def scan(self, shape, depth):
        a = self.floating(shape, depth)
        axis = self.choose(*self.free_axes(shape))
        scale = 1 / self.extents[shape[axis]]
        return Expression(self.dtype, shape, f"(cumsum({a.pmap}, axis: {axis}) * {scale})",
                          f"(np.cumsum({a.numpy}, axis={axis}) * {scale})")

    def slice(self, shape, depth):
        """Two parts of an array, put together again in another order, or its reverse."""
        a = self.floating(shape, depth)
        d = self.choose(*self.free_axes(shape))
        if self.random.random() < 0.3:
            index = ", ".join(["::-1" if i == d else ":" for i in range(len(shape))])
            return Expression(self.dtype, shape, f"({a.pmap})[{index}]", f"({a.numpy})[{index}]")
        cut = self.random.randrange(1, max(2, self.extents[shape[d]]))
        head = ", ".join([f":{cut}" if i == d else ":" for i in range(len(shape))])
        tail = ", ".join([f"{cut}:" if i == d else ":" for i in range(len(shape))])
        return Expression(self.dtype, shape, f"concat((({a.pmap})[{tail}], ({a.pmap})[{head}]), axis: {d})",
                          f"(lambda a: np.concatenate([a[{tail}], a[{head}]], axis={d}))({a.numpy})")

    def broadcast(self, shape, depth):
        """A column or a row spread over the shape."""
        if len(shape) == 1:
            a = self.floating((), depth)
            return Expression(self.dtype, shape, f"({a.pmap} + zeros([{shape[0]}], dtype: {self.dtype}))",
                              f"(({a.numpy}) + np.zeros({self.extents[shape[0]]}))")
        column, row = self.floating(shape[:1], depth), self.floating(shape[1:], depth)
        return Expression(self.dtype, shape, f"(({column.pmap})[:, newaxis] * sin({row.pmap}))",
                          f"(({column.numpy})[:, None] * np.sin({row.numpy}))")

    def transpose(self, shape, depth):
        a = self.floating(shape[::-1], depth)
        return Expression(self.dtype, shape, f"transpose({a.pmap})", f"({a.numpy}).T")

    def contraction(self, shape, depth):
        inner = self.choose(*self.free_names())
        a, b = self.floating((shape[0], inner), depth), self.floating((inner, shape[1]), depth)
        scale = 1 / self.extents[inner]
        return Expression(self.dtype, shape, f"(({a.pmap}) @ ({b.pmap}) * {scale})", f"(({a.numpy}) @ ({b.numpy}) * {scale})")

    def loop(self, shape, depth):
        """A for loop that carries an array."""
        a, b = self.floating(shape, depth), self.leaf(shape)
        trips = self.random.randrange(4)
        body = self.choose("0.5 * {v} + {b}", "{v} - 0.25 * sin({v}) * {v}", "sin({v}) + {i} * {b}")
        pmap = body.format(v="v0", b=b.pmap, i=f"{self.dtype}(step)")
        numpy = body.format(v="v0", b=b.numpy, i="step").replace("sin", "np.sin")
        return Expression(
            self.dtype, shape, f"(fn(start) {{ var v0 = start; for step in 0..{trips} {{ v0 = {pmap} }}; v0 }})({a.pmap})",
            f"(lambda start: [v0 := start] + [v0 := {numpy} for step in range({trips})])({a.numpy})[-1]")

    def comprehension(self, shape, depth):
        """An element by its indices, with a condition on them."""
        a = self.floating(shape, depth)
        names = ["r", "c"][: len(shape)]
        ranges = ", ".join(f"{name} in {d}" for name, d in zip(names, shape))
        index = ", ".join(names)
        extents = ", ".join(str(self.extents[d]) for d in shape)
        mirrored = ", ".join(f"{d} - 1 - {name}" for name, d in zip(names, shape))
        flipped = "[" + ", ".join(["::-1"] * len(shape)) + "]"
        return Expression(
            self.dtype, shape,
            f"(fn(e) = [for {ranges}: if {names[0]} % 2 == 0 {{ e[{index}] }} else {{ 0.5 * e[{mirrored}] }}])({a.pmap})",
            f"(lambda e: np.where(np.indices(({extents},))[0] % 2 == 0, e, 0.5 * e{flipped}))({a.numpy})")

    def program(self, leaves):
        """The text of a numeric test."""
        numpy_dtype = {"f32": "np.float32", "f64": "np.float64"}[self.dtype]
        lines = ["# devices 1 2 3 4 8"] if self.rowwise else []
        for e in self.inputs:
            extents = ", ".join(str(self.extents[d]) for d in e.shape)
            lines.append(f"# input {e.pmap} = rng.uniform(-2, 2, ({extents}{',' if e.rank == 1 else ''})).astype({numpy_dtype})")
        n, m = self.extents["n"], self.extents["m"]
        lines += [f"# input i = rng.integers(-20, 20, ({n}, {m})).astype(np.int32)",
                  f"# input j = rng.integers(-20, 20, {m}).astype(np.int32)",
                  f"# input p = rng.integers(0, 2, ({n}, {m})).astype(bool)", f"# input q = rng.integers(0, 2, {m}).astype(bool)"]
        # The oracle computes in f64.
        lines += [f"# let {e.pmap} = {e.pmap}.astype(np.float64)" for e in self.inputs]
        results = [self.result() for _ in range(leaves)]
        for i, (e, tolerance, _) in enumerate(results):
            lines.append(f"# expect[{tolerance}] r{i} = {e.numpy}")
        parameters = self.inputs + self.integers + self.booleans
        declared = ", ".join(f"{e.pmap}: {e.dtype}" + (f"[{', '.join(e.shape)}]" if e.shape else "") for e in parameters)
        body = "(\n" + ",\n".join(f"  r{i}: {e.pmap}" for i, (e, _, _) in enumerate(results)) + "\n)\n"
        text = "\n".join(lines) + "\n\n"
        if not self.rowwise:
            return text + f"fn main({declared}) = {body}"
        names = ", ".join(e.pmap for e in parameters)
        split = ", ".join(f"{e.pmap}: 0" for e in parameters if "n" in e.shape)
        out = ", ".join(f"r{i}: {spec}" for i, (_, _, spec) in enumerate(results))
        return text + f"fn body({declared}) = {body}\nfn main({declared}) =\n" + \
            f'  pmap(body, axis: "a", in: ({split}), out: ({out}), ragged: {str(self.ragged).lower()})({names})\n'

    def result(self):
        """A leaf: its expression, tolerances, and in parallel its output spec."""
        depth = self.random.randrange(1, 5)
        exact = "rtol=1e-3, atol=2e-4" if self.dtype == "f32" else "rtol=1e-10, atol=1e-11"
        differences = "rtol=1e-5, atol=1e-6"
        if self.mode == "values":
            return self.floating(self.choose(("n", "m"), ("m", "k"), ("m",), ("n",), ("k",), ()), depth), exact, ""
        if self.mode == "gradients":
            e = self.floating(self.choose(("n", "m"), ("m", "k"), ("n",), ()), depth)
            return Expression(self.dtype, ("n", "m"), f"grad(fn(x) = sum({e.pmap}))(x)",
                              f"finite_difference(lambda x: np.sum({e.numpy}), x)"), differences, ""
        e = self.floating(("n", "m"), depth)
        kinds = [("{0}", "{1}", exact, "0"),
                 ('psum(sum({0}, axis: 0), "a") / 24', "np.sum({1}, axis=0) / 24", exact, "_"),
                 ('pmax(max({0}, axis: 0), "a")', "np.max({1}, axis=0)", exact, "_"),
                 ('{0} - psum(sum({0}, axis: 0), "a") / 24', "{1} - np.sum({1}, axis=0) / 24", exact, "0")]
        if not self.ragged:
            kinds += [('pmean(mean({0}, axis: 0), "a")', "np.mean({1}, axis=0)", exact, "_")]
        if self.dtype == "f64":
            kinds += [('grad(fn(v) = psum(sum({0}), "a"))(v)', "finite_difference(lambda v: np.sum({1}), v)", differences, "_")]
            if not self.ragged:
                kinds += [('grad(fn(v) = pmean(mean({0}), "a"))(v)', "finite_difference(lambda v: np.mean({1}), v)", differences, "_")]
        pmap, numpy, tolerance, spec = self.random.choice(kinds)
        return Expression(self.dtype, (), pmap.format(f"({e.pmap})"), numpy.format("", f"({e.numpy})")), tolerance, spec


def sampler_of(mode, seed):
    if mode == "integers":
        return IntegerSampler(seed)
    if mode == "rows":
        from row_samples import RowSampler  # which is made of the Sampler above

        return RowSampler(seed)
    return Sampler(seed, mode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmapc", default="build/bin/pmapc")
    parser.add_argument("--mode", default="values", choices=["values", "gradients", "integers", "parallel", "rows"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4, help="programs")
    parser.add_argument("--leaves", type=int, default=20, help="expressions per program")
    parser.add_argument("--targets", help="only these targets, separated by commas")
    parser.add_argument("--keep", help="a folder for the programs")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for seed in range(options.seed, options.seed + options.count):
            path = os.path.join(folder, f"sample{seed}.pmap")
            with open(path, "w") as file:
                file.write(sampler_of(options.mode, seed).program(options.leaves))
            test = check.Test(path)
            for target in options.targets.split(",") if options.targets else test.targets:
                for devices in test.devices:
                    for problem in check.run(options.pmapc, test, target, devices, scratch):
                        failed += 1
                        print(f"seed {seed} on {target}, {devices} devices: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
