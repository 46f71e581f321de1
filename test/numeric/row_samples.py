"""Random programs under vmap, for sampler.py: an expression of one row, whose inputs are mapped along random dimensions or shared,
and which may branch, look up and loop by what the row holds (P8). NumPy computes row by row."""

from sampler import Expression, Sampler

ROWS = (0, 1, 3, 8)


class RowSampler(Sampler):
    def __init__(self, seed):
        super().__init__(seed, "gradients" if seed % 2 else "values")
        if self.mode == "values":
            self.extents = {name: min(size, 9) for name, size in self.extents.items()}
        self.rows = self.choose(*ROWS)
        everything = self.inputs + self.integers + self.booleans
        # What is mapped, and along which dimension. The integers decide the branches: they are mapped most of the time.
        self.mapped = {e.pmap: self.random.randrange(e.rank + 1) for e in everything if self.random.random() < 0.7 or e.pmap == "x"}

    def floating(self, shape, depth):
        if depth > 0 and self.random.random() < 0.35:
            makers = [self.branch, self.trips] + ([self.lookup] if shape else [self.element, self.part])
            return self.random.choice(makers)(shape, depth - 1)
        return super().floating(shape, depth)

    def count(self, extent=None):
        """A number below the extent that the row holds."""
        name = self.choose("i[0, 0]", "j[0]", "i[-1, 0]")
        bound = extent or "4"
        return f"(abs({name}) % i32({bound}))", f"int(abs({name}) % {self.extents.get(bound, 4)})"

    def branch(self, shape, depth):
        test = self.choose("i[0, 0] > 0", "j[0] % 2 == 0", "p[0, 0]", "q[0]")
        a, b = self.floating(shape, depth), self.floating(shape, depth)
        return Expression(self.dtype, shape, f"(if {test} {{ {a.pmap} }} else {{ {b.pmap} }})",
                          f"(({a.numpy}) if {test} else ({b.numpy}))")

    def trips(self, shape, depth):
        a, b = self.floating(shape, depth), self.leaf(shape)
        pmap, numpy = self.count()
        return Expression(
            self.dtype, shape, f"(fn(start) {{ var v0 = start; for step in 0..{pmap} {{ v0 = 0.5 * v0 + {b.pmap} }}; v0 }})({a.pmap})",
            f"(lambda start: [v0 := start] + [v0 := 0.5 * v0 + {b.numpy} for step in range({numpy})])({a.numpy})[-1]")

    def lookup(self, shape, depth):
        """A row, or a column, of an array."""
        name = self.choose(*self.extents)
        front = self.random.random() < 0.7
        a = self.floating((name, *shape) if front else (*shape, name), depth) if len(shape) == 1 else None
        if not a:
            return self.unary(shape, depth)
        pmap, numpy = self.count(name)
        at = "{0}" if front else ":, {0}"
        return Expression(self.dtype, shape, f"({a.pmap})[{at.format(pmap)}]", f"({a.numpy})[{at.format(numpy)}]")

    def element(self, shape, depth):
        name = self.choose(*self.extents)
        a = self.floating((name,), depth)
        pmap, numpy = self.count(name)
        return Expression(self.dtype, shape, f"({a.pmap})[{pmap}]", f"({a.numpy})[{numpy}]")

    def part(self, shape, depth):
        """A sum over a part whose size the row decides."""
        name = self.choose(*self.extents)
        a = self.floating((name,), depth)
        pmap, numpy = self.count(name)
        return Expression(self.dtype, shape, f"(sum(({a.pmap})[:{pmap}]) * 0.1)", f"(np.sum(({a.numpy})[:{numpy}]) * 0.1)")

    def program(self, leaves):
        numpy_dtype = {"f32": "np.float32", "f64": "np.float64"}[self.dtype]
        lines, declared = [], []
        everything = self.inputs + self.integers + self.booleans
        for e in everything:
            shape, sizes = [self.extents[d] for d in e.shape], list(e.shape)
            if e.pmap in self.mapped:
                shape.insert(self.mapped[e.pmap], self.rows)
                sizes.insert(self.mapped[e.pmap], "rows")
            extents = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
            maker = {"i32": f"rng.integers(-20, 20, ({extents})).astype(np.int32)",
                     "bool": f"rng.integers(0, 2, ({extents})).astype(bool)"}.get(
                         e.dtype, f"rng.uniform(-2, 2, ({extents})).astype({numpy_dtype})")
            lines.append(f"# input {e.pmap} = {maker}")
            declared.append(f"{e.pmap}: {e.dtype}" + (f"[{', '.join(sizes)}]" if sizes else ""))
        lines += [f"# let {e.pmap} = {e.pmap}.astype(np.float64)" for e in self.inputs]
        fields = []
        for number in range(leaves):
            pmap, numpy, tolerance = self.leaf_of_rows()
            lines.append(f"# expect[{tolerance}] r{number} = {numpy}")
            fields.append(f"  r{number}: {pmap}")
        return "\n".join(lines) + f"\n\nfn main({', '.join(declared)}) = (\n" + ",\n".join(fields) + "\n)\n"

    def leaf_of_rows(self):
        """One vmap: as Pmap, as NumPy, and its tolerances."""
        names = list(self.mapped)
        shape = self.choose(("n", "m"), ("m", "k"), ("m",), ("n",), ())
        e = self.floating(shape, self.random.randrange(1, 5))
        specs = ", ".join(f"{name}: {self.mapped[name]}" for name in names)
        rows = ", ".join(f"np.take({name}, row, axis={self.mapped[name]})" for name in names)
        kind = self.choose("value", "chunk", "inside", "outside", "meet") if self.mode == "gradients" else \
            self.choose("value", "value", "chunk", "meet")
        extents = [self.extents[d] for d in shape]
        out = self.random.randrange(len(shape) + 1)
        pmap, numpy, options = e.pmap, e.numpy, f"out: {out}"
        tolerance = "rtol=1e-3, atol=2e-4" if self.dtype == "f32" else "rtol=1e-10, atol=1e-11"
        if kind == "chunk":
            options += f", chunk: {self.choose(1, 2, 3)}"
        elif kind == "meet":
            pmap, options = f"(fn(e) = e - pmean(e, \"rows\") * 0.5)({pmap})", options + ', axis: "rows"'
        elif kind in ("inside", "outside"):
            tolerance, extents, out, options = "rtol=1e-5, atol=1e-6", [self.extents["n"], self.extents["m"]], 0, "out: 0"
        if kind == "inside":
            pmap, numpy = f"grad(fn(x) = sum({pmap}))(x)", f"finite_difference(lambda x: np.sum({numpy}), x)"
        arguments = ", ".join(names)
        mapped = f"vmap(fn({arguments}) = {pmap}, in: ({specs}), {options})({arguments})"
        # Without rows there is nothing to stack.
        empty = list(extents)
        empty.insert(out, 0)
        each = f"[(lambda {arguments}: {numpy})({rows}) for row in range({self.rows})]"
        stacked = f"np.stack({each}, axis={out})" if self.rows else f"np.zeros({tuple(empty)})"
        if kind == "meet" and self.rows:
            stacked = f"(lambda all: all - np.mean(all, axis={out}, keepdims=True) * 0.5)({stacked})"
        if kind == "outside":
            mapped = f"grad(fn(x) = sum({mapped}))(x)"
            stacked = f"finite_difference(lambda x: np.sum({each}), x)" if self.rows else "np.zeros(x.shape)"
        return mapped, stacked, tolerance
