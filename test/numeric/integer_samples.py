"""Random programs of integers of every width and sign, for sampler.py: all results are exact."""

import random

DTYPES = {f"{sign}{bits}": f"np.{'u' if sign == 'u' else ''}int{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}
SHAPES = [("n", "m"), ("m",), ("n",)]


class Expression:
    def __init__(self, dtype, shape, pmap, numpy):
        self.dtype, self.shape, self.pmap, self.numpy = dtype, tuple(shape), pmap, numpy


class IntegerSampler:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.extents = {"n": self.random.choice((1, 2, 5, 33)), "m": self.random.choice((1, 7, 64, 65))}
        self.inputs = []
        # Two dtypes per program, so that they meet in conversions.
        self.dtypes = self.random.sample(list(DTYPES), 2)
        for k, dtype in enumerate(self.dtypes):
            for name, shape in zip("abc", SHAPES):
                self.inputs.append(Expression(dtype, shape, f"{name}{k}", f"{name}{k}"))

    def expression(self, dtype, shape, depth):
        if depth == 0:
            return self.random.choice([e for e in self.inputs if e.dtype == dtype and e.shape == shape])
        makers = [self.unary, self.binary, self.binary, self.literal, self.where, self.convert, self.shift]
        makers += [self.rearrange] if shape else []
        if len(shape) == 1:
            makers += [self.reduce]
        return self.random.choice(makers)(dtype, shape, depth - 1)

    def make(self, dtype, shape, pmap, numpy):
        """NumPy's result may be wider: narrowing it again is what wrapping means."""
        return Expression(dtype, shape, pmap, f"({numpy}).astype({DTYPES[dtype]})")

    def unary(self, dtype, shape, depth):
        a = self.expression(dtype, shape, depth)
        pmap, numpy = self.random.choice([("(-{0})", "-{0}"), ("abs({0})", "np.abs({0})"), ("({0} * {0})", "{0} * {0}"),
                                          ("bitxor({0}, 85)", "{0} ^ 85"), ("({0} ** 2)", "{0} * {0}")])
        return self.make(dtype, shape, pmap.format(f"({a.pmap})"), numpy.format(a.numpy))

    def binary(self, dtype, shape, depth):
        a = self.expression(dtype, shape, depth)
        b = self.expression(dtype, self.random.choice([s for s in (shape, shape[-1:]) if s in SHAPES and s[-1:] == shape[-1:]]), depth)
        pmap, numpy = self.random.choice([
            ("({0} + {1})", "{0} + {1}"), ("({0} - {1})", "{0} - {1}"), ("({0} * {1})", "{0} * {1}"),
            ("maximum({0}, {1})", "np.maximum({0}, {1})"), ("minimum({0}, {1})", "np.minimum({0}, {1})"),
            ("bitand({0}, {1})", "{0} & {1}"), ("bitor({0}, {1})", "{0} | {1}"), ("bitxor({0}, {1})", "{0} ^ {1}")])
        return self.make(dtype, shape, pmap.format(f"({a.pmap})", f"({b.pmap})"), numpy.format(a.numpy, b.numpy))

    def literal(self, dtype, shape, depth):
        a = self.expression(dtype, shape, depth)
        number = self.random.choice([1, 2, 3, 7, 10, 100])
        if dtype[0] == "i" and self.random.random() < 0.4:
            number = -number
        operator = self.random.choice(["+", "-", "*", "//", "%"])
        return self.make(dtype, shape, f"(({a.pmap}) {operator} {number})".replace(" -", " -"),
                         f"{a.numpy} {operator} {DTYPES[dtype]}({number})")

    def shift(self, dtype, shape, depth):
        a = self.expression(dtype, shape, depth)
        by = self.random.randrange(8)
        name, operator = self.random.choice([("shl", "<<"), ("shr", ">>")])
        return self.make(dtype, shape, f"{name}({a.pmap}, {by})", f"{a.numpy} {operator} {DTYPES[dtype]}({by})")

    def where(self, dtype, shape, depth):
        a, b = self.expression(dtype, shape, depth), self.expression(dtype, shape, depth)
        operator = self.random.choice(["<", "<=", "==", "!=", ">", ">="])
        return self.make(dtype, shape, f"where(({a.pmap}) {operator} ({b.pmap}), {b.pmap}, {a.pmap})",
                         f"np.where({a.numpy} {operator} {b.numpy}, {b.numpy}, {a.numpy})")

    def convert(self, dtype, shape, depth):
        a = self.expression(self.random.choice(self.dtypes), shape, depth)
        return self.make(dtype, shape, f"{dtype}({a.pmap})", a.numpy)

    def rearrange(self, dtype, shape, depth):
        a = self.expression(dtype, shape, depth)
        axis = self.random.randrange(len(shape))
        reverse = ", ".join("::-1" if d == axis else ":" for d in range(len(shape)))
        pmap, numpy = self.random.choice([(f"({{0}})[{reverse}]", f"{{0}}[{reverse}]"),
                                          (f"sort({{0}}, axis: {axis})", f"np.sort({{0}}, axis={axis})"),
                                          (f"roll({{0}}, 1, axis: {axis})", f"np.roll({{0}}, 1, axis={axis})")])
        return self.make(dtype, shape, pmap.format(a.pmap), numpy.format(a.numpy))

    def reduce(self, dtype, shape, depth):
        axis = 0 if shape == ("m",) else 1
        a = self.expression(dtype, ("n", "m"), depth)
        kind = self.random.choice(["sum", "prod", "max", "min"])
        # A sum of narrow integers is a 32-bit one; narrowed again it is what wrapping in the dtype gives.
        return self.make(dtype, shape, f"{dtype}({kind}({a.pmap}, axis: {axis}))", f"np.{kind}({a.numpy}, axis={axis})")

    def program(self, leaves):
        n, m = self.extents["n"], self.extents["m"]
        lines = []
        for e in self.inputs:
            extents = ", ".join(str(self.extents[d]) for d in e.shape)
            lines.append(f"# input {e.pmap} = rng.integers(np.iinfo({DTYPES[e.dtype]}).min, np.iinfo({DTYPES[e.dtype]}).max, "
                         f"({extents},), dtype={DTYPES[e.dtype]}, endpoint=True)")
        results = []
        for i in range(leaves):
            e = self.expression(self.random.choice(self.dtypes), self.random.choice(SHAPES), self.random.randrange(1, 5))
            lines.append(f"# expect r{i} = {e.numpy}")
            results.append(f"  r{i}: {e.pmap}")
        # Positions of extrema, counts and sums over all.
        e = self.expression(self.dtypes[0], ("n", "m"), 2)
        lines += [f"# expect position = np.argmax({e.numpy}, axis=1).astype(np.int32)",
                  f"# expect order = np.argsort({e.numpy}, axis=0, kind='stable').astype(np.int32)",
                  f"# expect count = np.int32(np.count_nonzero({e.numpy} > 3))"]
        results += [f"  position: argmax({e.pmap}, axis: 1)", f"  order: argsort({e.pmap}, axis: 0)", f"  count: sum(({e.pmap}) > 3)"]
        parameters = ", ".join(f"{e.pmap}: {e.dtype}[{', '.join(e.shape)}]" for e in self.inputs)
        return "\n".join(lines) + f"\n\nfn main({parameters}) = (\n" + ",\n".join(results) + "\n)\n"
