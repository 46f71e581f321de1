#!/usr/bin/env python3
"""Every differentiable builtin at every rank it takes: its derivatives against finite differences, and its rows (G6, P8).

The table below says for each builtin how a call is written. For every row and rank a program computes, in f64 and at
random places, with a fixed random weight for every element of the result:

    the derivative along a random direction by central differences of the values
    the same by `grad` (its product with the direction) and by `jvp`
    what `vmap` gives for three rows, less what a loop over the rows gives, of the values and of the gradients

A builtin that is neither in the table nor among those that have no derivative is an error, so that a new one is not
forgotten. `--builtins` is the program that lists the compiler's.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

ALL = (0, 1, 2, 3)
SIZES = ("k", "n", "m")
EXTENTS = {"k": 2, "n": 3, "m": 4}
ROWS = 3


class Row:
    """A call in `x` (and `y` and `z`, of the same shape), whose elements are between `low` and `high`.

    `call` may be one text for all ranks, or one for each. `shapes` gives other shapes than the rank's to x, y, z."""

    def __init__(self, call, low=-1.0, high=1.0, ranks=ALL, shapes=None):
        self.call, self.low, self.high, self.shapes = call, low, high, shapes
        self.ranks = tuple(call) if isinstance(call, dict) else ranks

    def text(self, rank):
        return self.call[rank] if isinstance(self.call, dict) else self.call

    def operands(self, rank):
        """The names of the operands that the call reads, with their shapes."""
        text = self.text(rank)
        default = SIZES[3 - rank:]
        names = [v for v in "xyz" if any(w == v for w in words(text))]
        return {name: (self.shapes or {}).get(name, default) for name in names}


def words(text):
    word = ""
    for c in text + " ":
        if c.isalnum() or c == "_":
            word += c
        elif word:
            yield word
            word = ""


def along(call, ranks=(1, 2, 3)):
    """A call with an axis: the first and the last dimension of each rank."""
    return [Row({r: call.format(axis=axis) for r in ranks if r >= -axis}, 0.3, 1.5) for axis in (0, -1)]


def reductions(name, low=0.3, high=1.5):
    return [Row(f"{name}(x)", low, high, (1, 2, 3)),
            Row(f"{name}(x, axis: 0)", low, high, (1, 2, 3)),
            Row(f"{name}(x, axis: -1, keep: true)", low, high, (1, 2, 3)),
            Row({3: f"{name}(x, axis: (0, 2))"}, low, high)]


def unary(name, low=-1.0, high=1.0):
    return [Row(f"{name}(x)", low, high)]


def binary(name, low=0.3, high=2.0):
    return [Row(f"{name}(x, y)", low, high), Row({2: f"{name}(x, y)", 3: f"{name}(x, y)"}, low, high, shapes={"y": ("m",)})]


TABLE = {
    # elementwise
    "abs": unary("abs", 0.2, 2) + unary("abs", -2, -0.2), "fabs": unary("fabs", -2, -0.2), "sign": unary("sign", 0.2, 2), "floor": unary("floor", 0.2, 0.8),
    "ceil": unary("ceil", 0.2, 0.8), "round": unary("round", 0.6, 1.4), "rint": unary("rint", 0.6, 1.4), "deg2rad": unary("deg2rad"), "rad2deg": unary("rad2deg"), "trunc": unary("trunc", 0.2, 0.8),
    "sqrt": unary("sqrt", 0.3, 2), "rsqrt": unary("rsqrt", 0.3, 2), "cbrt": unary("cbrt", 0.3, 2), "exp": unary("exp"),
    "exp2": unary("exp2"), "expm1": unary("expm1"), "log": unary("log", 0.3, 2), "log2": unary("log2", 0.3, 2),
    "log10": unary("log10", 0.3, 2), "log1p": unary("log1p", -0.5, 1), "sin": unary("sin"), "cos": unary("cos"),
    "tan": unary("tan"), "asin": unary("asin", -0.8, 0.8), "acos": unary("acos", -0.8, 0.8), "atan": unary("atan"),
    "sinh": unary("sinh"), "cosh": unary("cosh"), "tanh": unary("tanh"), "asinh": unary("asinh"),
    "acosh": unary("acosh", 1.2, 3), "atanh": unary("atanh", -0.8, 0.8), "erf": unary("erf"), "erfc": unary("erfc"),
    "sigmoid": unary("sigmoid"), "softplus": unary("softplus"), "square": unary("square"),
    "reciprocal": unary("reciprocal", 0.3, 2), "lgamma": unary("lgamma", 0.3, 4) + unary("lgamma", -1.9, -1.1), "tgamma": unary("tgamma", 0.3, 4),
    "clip": [Row("clip(x, min: -0.45, max: 0.65)"), Row("clip(x, min: y)"), Row("clip(x, max: y)")],
    "minimum": binary("minimum"), "maximum": binary("maximum"), "pow": binary("pow") + [Row("x ** 3"), Row("x ** 2.5", 0.3, 2)],
    "atan2": binary("atan2"), "hypot": binary("hypot"), "copysign": binary("copysign"), "fmod": [Row("fmod(1.3 + x, 1.1 + 0.1 * y)", 0.3, 0.7)],
    "fdim": binary("fdim"), "logaddexp": binary("logaddexp"), "fma": [Row("fma(x, y, z)")],
    "where": [Row("where(x > y, x * x, y)"), Row("where(x > -0.45, sqrt(0.5 + x), 2 * y)")],
    # make
    "full": [Row("full([3, 2], x)", ranks=(0,))], "full_like": [Row("full_like(y, sum(x))")],
    "linspace": [Row("linspace(x, y, 5)", ranks=(0,))], "tril": [Row("tril(x)", ranks=(2, 3)), Row("tril(x, k: -1)", ranks=(2, 3))],
    "triu": [Row("triu(x)", ranks=(2, 3)), Row("triu(x, k: 1)", ranks=(2, 3))],
    # shape
    "reshape": [Row({0: "reshape(x, [1, 1])", 1: "reshape(x, [2, 2])", 2: "reshape(x, [2, n * 2])", 3: "reshape(x, [m * n, k])"},
                    shapes=None)],
    "flatten": [Row("flatten(x)")], "squeeze": [Row("squeeze(x[newaxis])")], "expand_dims": [Row("expand_dims(x, 0)")],
    "transpose": [Row("transpose(x)", ranks=(1, 2, 3)), Row({3: "transpose(x, (1, 2, 0))"})],
    "swapaxes": [Row("swapaxes(x, 0, -1)", ranks=(1, 2, 3))],
    "broadcast_to": [Row({0: "broadcast_to(x, [2, 3])", 1: "broadcast_to(x, [2, m])", 2: "broadcast_to(x, [2, n, m])"})],
    "concat": [Row("concat((x, y, x * y), axis: 0)", ranks=(1, 2, 3)), Row("concat((x, y), axis: -1)", ranks=(2, 3))],
    "stack": [Row("stack((x, y))"), Row("stack((x, y), axis: -1)")],
    "split": [Row({1: "split(x, 2)", 2: "split(x, 2, axis: 1)", 3: "split(x, 2, axis: 2)"}, shapes=None)],
    "pad": [Row({1: "pad(x, (1, 2))", 2: "pad(x, ((1, 0), (2, 1)))", 3: "pad(x, ((0, 1), (1, 1), (2, 0)))"}),
            Row({1: "pad(x, (1, 2), value: y)"}, shapes={"y": ()})],
    "flip": [Row("flip(x)", ranks=(1, 2, 3)), Row("flip(x, axis: -1)", ranks=(1, 2, 3))],
    "roll": along("roll(x, 2, axis: {axis})") + [Row("roll(x, -1)", ranks=(1, 2, 3))],
    "repeat": along("repeat(x, 2, axis: {axis})"),
    "tile": [Row({1: "tile(x, 2)", 2: "tile(x, (2, 3))", 3: "tile(x, (1, 2, 2))"})],
    "sort": along("sort(x, axis: {axis})") + along("sort(x, axis: {axis}, descending: true)"),
    "top_k": [Row({1: "{ let (v, _) = top_k(x, 2); v }", 2: "{ let (v, _) = top_k(x, 2); v }", 3: "{ let (v, _) = top_k(x, 3); v }"})],
    "windows": along("windows(x, 2, axis: {axis})"),
    # reduce
    "sum": reductions("sum"), "prod": reductions("prod") + [Row("prod(x - x[0])", 0.3, 1, (1,))], "mean": reductions("mean"),
    "var": reductions("var") + [Row("var(x, ddof: 1)", ranks=(1, 2, 3))], "std": reductions("std"), "min": reductions("min"),
    "max": reductions("max"), "logsumexp": reductions("logsumexp"), "cumsum": along("cumsum(x, axis: {axis})"),
    "cumprod": along("cumprod(x, axis: {axis})"),
    # linear algebra
    "matmul": [Row({1: "matmul(x, y)", 2: "matmul(x, transpose(y))", 3: "matmul(x, swapaxes(y, 1, 2))"}),
               Row({2: "x @ y"}, shapes={"y": ("m",)}), Row({2: "y @ x"}, shapes={"y": ("n",)}),
               Row({3: "x @ y"}, shapes={"y": ("m", "n")}), Row({3: "y @ x"}, shapes={"y": ("k", "n")})],
    "dot": [Row({1: "dot(x, y)"})], "outer": [Row({1: "outer(x, y)"})],
    "trace": [Row({2: "trace(x @ transpose(y))"})],
    "einsum": [Row({1: 'einsum("i,i->i", x, y)', 2: 'einsum("ij,kj->ki", x, y)', 3: 'einsum("aij,bij,cij->abc", x, y, z)'}),
               Row({2: 'einsum("...j,jk->...k", x, transpose(y))', 3: 'einsum("a...b,...b->...a", x, y)'}, shapes={"y": ("n", "m")}),
               Row({2: 'einsum("ij->", x)', 3: 'einsum("aij,j->ia", x, y)'}, shapes={"y": ("m",)})],
    "cholesky": [Row({2: "cholesky(x @ transpose(x) + eye(n, dtype: f64))"})],
    "solve": [Row({2: "solve(x + 3 * eye(n, dtype: f64), y)"}, shapes={"x": ("n", "n"), "y": ("n",)}),
              Row({2: "solve(x - 2 * eye(n, dtype: f64), y)"}, shapes={"x": ("n", "n"), "y": ("n", "m")})],
    "solve_triangular": [Row({2: "solve_triangular(x + 3 * eye(n, dtype: f64), y)"}, shapes={"x": ("n", "n"), "y": ("n",)}),
                         Row({2: "solve_triangular(x + 3 * eye(n, dtype: f64), y, lower: false)"},
                             shapes={"x": ("n", "n"), "y": ("n", "m")})],
    # Far from where a reflection changes its sign and from lower rank, since differences say nothing there.
    "qr": [Row({2: "qr(transpose(x) + 3 * eye(m, n, dtype: f64))"})],
    "conv": [Row({3: "conv(x, y)"}, shapes={"x": ("k", "m", "n"), "y": ("k", "n", "k")}),
             Row({3: 'conv(x, y, strides: 2, padding: "same")'}, shapes={"x": ("k", "m", "n"), "y": ("n", "n", "k")}),
             Row({3: "conv(x[newaxis], y, strides: (1, 2), padding: 1)"}, shapes={"x": ("n", "m", "k"), "y": ("k", "k", "k", "n")})],
    # index
    "take": [Row({1: "take(x, [2, 0, 0])", 2: "take(x, [1, 0], axis: 1)", 3: "take(x, [[1, 0], [1, 1]], axis: 0)"}),
             Row({2: "x[1]", 3: "x[:, 1]"}), Row({2: "x[1, 1:3]", 3: "x[0, ::2, -1]"})],
    "scatter_add": [Row({1: "scatter_add(x, [2, 0, 2], y :> f64[3])"}, shapes={"y": ("n",)}),
                    Row({2: "scatter_add(x, [1, 1, 0], y :> f64[3, m])", 3: "scatter_add(x, [1, 0, 1], (y :> f64[3, m])[:, newaxis] + zeros([3, n, m], dtype: f64))"}, shapes={"y": ("n", "m")}),
                    ],
    "scatter_max": [Row({1: "scatter_max(x, [2, 0, 2], y :> f64[3])"}, shapes={"y": ("n",)})],
    "compress": [Row({1: "sum(sin(compress(y > 0.1, x)))", 2: "sum(sin(compress(y[:, 0] > 0.1, x)), axis: 0)",
                      3: "sum(sin(compress(y[:, 0, 0] > 0, x)), axis: 0)"})],
    "segment_sum": [Row({1: "segment_sum(x, [0, 1, 1, 0] :> i32[m], 3)", 2: "segment_sum(x, [1, 0, 1] :> i32[n], 2)",
                         3: "segment_sum(x, [1, 1] :> i32[k], 2)"})],
    # trees
    "map_leaves": [Row("map_leaves(fn(a, b) = a * b, (x, y), (y, x))")], "ravel": [Row("ravel((x, y))")],
    "unravel": [Row("unravel(ravel((x, y)) * 2, like: (y, x))")],
    # derivatives
    "grad": [Row("grad(fn(a) = sum(sin(a) * a * y))(x)")],
    "value_and_grad": [Row("value_and_grad(fn(a) = sum(exp(a * y)))(x)")],
    "stop_gradient": [Row("x * 2 + stop_gradient(full_like(x, 3.0))")],
}

NO_DERIVATIVE = {
    "integers or booleans": "float_dtype all any argmax argmin argsort bitand bitor bitxor shl shr isfinite isinf isnan searchsorted histogram "
                            "one_hot count bitcast key_data wrap_key_data dtype_of rank_of shape_of axis_index axis_size num_devices",
    "constants": "zeros ones zeros_like ones_like iota eye",
    "effects": "print assert_close load save progress",
    "keys": "replicated sampled",
    "functions of functions, and devices (parallel_*.pmap, sampler.py)":
        "pmap vmap cmap vjp jvp jacobian hessian checkpoint custom_vjp psum pmean pmax pmin pprod all_gather psum_scatter "
        "all_to_all ppermute shift halo pbroadcast pvary assert_same shard shards to_shards gather to_device",
}

HARNESS = """
# The result's elements, each with a weight of its own.
fn weighed(f, p) {
  let v = ravel(f(p))
  sum(v * cos(cumsum(ones_like(v), axis: 0)))
}

fn moved(p, t, u) = map_leaves(fn(a, b) = a + t * b, p, u)

fn by_steps(f, p, u) {
  let h = 0.001
  (8 * (weighed(f, moved(p, h, u)) - weighed(f, moved(p, -h, u)))
    - weighed(f, moved(p, 2 * h, u)) + weighed(f, moved(p, -2 * h, u))) / (12 * h)
}

fn by_grad(f, p, u) = sum(ravel(grad(fn(q) = weighed(f, q))(p)) * ravel(u))

fn by_jvp(f, p, u) {
  let (_, t) = jvp(fn(q) = weighed(f, q), p, u)
  t
}

fn row(p, i) = map_leaves(fn(a) = a[i], p)

# The largest difference between the rows of vmap and those of a loop.
fn rows_differ(f, p) {
  let together = vmap(fn(q) = ravel(f(q)))(p)
  var worst = 0.0f64
  for i in 0..3 { worst = maximum(worst, max(abs(together[i] - ravel(f(row(p, i)))))) }
  worst
}
"""

PARTS = {"grad": "by_grad({f}, row(p, 0), row(p, 1))", "jvp": "by_jvp({f}, row(p, 0), row(p, 1))",
         "vmap": "rows_differ({f}, p)", "vmap of grad": "rows_differ(fn(q) = grad(fn(r) = weighed({f}, r))(q), p)"}


class Case:
    def __init__(self, name, row, rank):
        self.name, self.row, self.rank = name, row, rank
        self.operands = row.operands(rank)

    def function(self):
        """The call as a function of its operands, which come between 0 and 1."""
        tuple_of = "(" + ", ".join(f"{self.row.low} + {self.row.high - self.row.low} * q.{v}" for v in self.operands) + ")"
        if len(self.operands) == 1:
            return f"(fn(q) {{ let {next(iter(self.operands))} = {tuple_of}; {self.row.text(self.rank)} }})"
        return f"(fn(q) {{ let ({', '.join(self.operands)}) = {tuple_of}; {self.row.text(self.rank)} }})"

    def place(self):
        return "(" + ", ".join(f"{v}: {v}{len(shape)}{''.join(shape)}" for v, shape in self.operands.items()) + ")"


def cases(names, ranks):
    for name in names:
        for row in TABLE[name]:
            for rank in row.ranks:
                if rank in ranks:
                    yield Case(name, row, rank)


def program(batch, parts):
    """One entry for all cases of a batch: per case the finite difference, then the parts."""
    inputs = sorted({(f"{v}{len(shape)}{''.join(shape)}", shape) for case in batch for v, shape in case.operands.items()})
    declared = ", ".join(f"{name}: f64[{', '.join(('rows',) + shape)}]" for name, shape in inputs)
    sizes = ", ".join(f"{name}_: f64[1, {name}]" for name in SIZES)
    lines = []
    for i, case in enumerate(batch):
        lines.append(f"fn case{i}(p, k, n, m) = stack((by_steps({case.function()}, row(p, 0), row(p, 1))")
        lines[-1] += "".join(", " + PARTS[part].format(f=case.function()) for part in parts) + "))\n"
    leaves = ",\n".join(f"  r{i}: case{i}({case.place()}, k, n, m)" for i, case in enumerate(batch))
    return HARNESS + "\n" + "\n".join(lines) + f"\nfn main({declared}, {sizes}) = (\n{leaves},\n)\n", inputs


def places(rng, extents, operand):
    """Numbers between 0 and 1, no two of one operand or of two closer than the steps are wide: no step crosses a kink."""
    count = int(np.prod(extents[1:], initial=1))
    rows = [rng.permutation(count) for _ in range(extents[0])]
    return ((np.array(rows) + (0.2, 0.45, 0.7, 0)[operand]) / count).reshape(extents)


def run(pmapc, batch, parts, target, folder, rng):
    """The failures of a batch."""
    text, inputs = program(batch, parts)
    path = os.path.join(folder, "derivatives.pmap")
    with open(path, "w") as file:
        file.write(text)
    arguments = []
    shapes = dict(inputs) | {f"{name}_": (name,) for name in SIZES}
    for name, shape in shapes.items():
        extents = [1 if name.endswith("_") else ROWS] + [EXTENTS[s] for s in shape]
        array = os.path.join(folder, f"{name}.npy")
        np.save(array, places(rng, extents, "xyz_".index(name[0] if name[0] in "xyz" else "_")))
        arguments.append(f"{name}={array}")
    output = os.path.join(folder, "out.npz")
    done = subprocess.run([pmapc, "run", "--target", target, path, *arguments, "-o", output], capture_output=True, text=True)
    if done.returncode:
        if len(batch) == 1:
            return [f"{batch[0].name}, rank {batch[0].rank}, `{batch[0].row.text(batch[0].rank)}`: {done.stderr.strip().splitlines()[0]}"]
        # Each on its own, to name all that fail.
        return [problem for case in batch for problem in run(pmapc, [case], parts, target, folder, rng)]
    results = np.load(output)
    problems = []
    for i, case in enumerate(batch):
        expected, *got = results[f"r{i}"]
        for part, value in zip(parts, got):
            right, tolerance = (0, 1e-12) if part.startswith("vmap") else (expected, 1e-7)
            if not abs(value - right) <= tolerance * (1 + abs(expected)):
                problems.append(f"{case.name}, rank {case.rank}, `{case.row.text(case.rank)}`: {part} gives {value}, expected {right}")
    return problems


def check_table(lister):
    """The builtins that nothing is said about."""
    known = set(TABLE) | {name for names in NO_DERIVATIVE.values() for name in names.split()}
    listed = set(subprocess.run([lister], capture_output=True, text=True, check=True).stdout.split())
    return [f"the builtin {name} has neither a row in the table of derivatives.py nor a reason to have none"
            for name in sorted(listed - known)] + [f"there is no builtin {name}" for name in sorted(known - listed)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pmapc", default="build/bin/pmapc")
    parser.add_argument("--builtins", help="the program that lists the builtins")
    parser.add_argument("--only", help="only these builtins, separated by commas")
    parser.add_argument("--ranks", default="0,1,2,3")
    parser.add_argument("--targets", default="ref,cpu")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--batch", type=int, default=24, help="cases per program")
    parser.add_argument("--keep", help="a folder for the programs")
    options = parser.parse_args()
    problems = check_table(options.builtins) if options.builtins else []
    names = options.only.split(",") if options.only else list(TABLE)
    everything = list(cases(names, [int(r) for r in options.ranks.split(",")]))
    parts = options.parts.split(",")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for start in range(0, len(everything), options.batch):
            for target in options.targets.split(","):
                rng = np.random.default_rng(start)
                batch = everything[start:start + options.batch]
                problems += [f"{problem} ({target})" for problem in run(options.pmapc, batch, parts, target, folder, rng)]
    print("\n".join(problems + [f"{len(everything)} cases, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
