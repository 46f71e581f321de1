"""Random statements of an SPMD function, each with what it means for NumPy arrays that hold all devices' values at once.

A value on a mesh of axes (a: 2, b: 3) is for the oracle one array of shape [2, 3, ...] (or with 1 for an axis over which it
does not vary): a psum is a sum along a dimension, a permutation an index. A vmapped axis is one more such dimension for as
long as its function runs (P8). A derivative is, by G1, what an invariant value or the sum over the devices of a varying one
gains when one copy of the argument moves.
"""

import numpy as np

from complex_step import extremum, in_order, larger, magnitude, step_derivative, stepped


class Value:
    """`text` names the value in the program; `shape` and `vary` are those of one device, or row."""

    def __init__(self, text, shape, vary):
        self.text, self.shape, self.vary = text, tuple(shape), frozenset(vary)

    @property
    def rank(self):
        return len(self.shape)


class Scope:
    """A function's body: statements, each a text and how the oracle computes it.

    `axes` are the mesh's, then those of the vmaps around; the oracle's arrays have a dimension for each, then the value's own."""

    def __init__(self, sampler, axes, pool, depth, order=0):
        self.sampler, self.random, self.axes, self.pool, self.depth = sampler, sampler.random, dict(axes), list(pool), depth
        # How many derivatives are around. Steps of a derivative within another must not cross a kink.
        self.order = order
        self.lines, self.steps = [], []

    # What the oracle does.
    def run(self, values):
        values = dict(values)
        for name, step in self.steps:
            values[name] = step(values)
        return values

    def at(self, axis):
        return list(self.axes).index(axis)

    @property
    def lead(self):
        return len(self.axes)

    def add(self, text, shape, vary, step):
        name = self.sampler.fresh()
        self.lines.append(f"let {name} = {text}")
        self.steps.append((name, step))
        value = Value(name, shape, vary)
        self.pool.append(value)
        return value

    def pick(self, fits=lambda value: True):
        fitting = [value for value in self.pool if fits(value)]
        return self.random.choice(fitting[-6:] if self.random.random() < 0.7 else fitting) if fitting else None

    def subset(self):
        """Some axes, in any order."""
        names = list(self.axes)
        count = 1 if self.random.random() < 0.6 else self.random.randrange(1, len(names) + 1)
        return self.random.sample(names, count)

    def spelt(self, axes):
        return f'"{axes[0]}"' if len(axes) == 1 else "(" + ", ".join(f'"{axis}"' for axis in axes) + ")"

    def count(self, axes):
        return int(np.prod([self.axes[axis] for axis in axes]))

    def smooth(self, kinds):
        """One of several, none with a kink where derivatives are nested."""
        if self.order > 1:
            kinds = [kind for kind in kinds if not any(word in kind[0] for word in ("max", "min", "abs", "sort"))]
        return self.random.choice(kinds)

    # Statements.
    def grow(self, statements):
        for _ in range(statements):
            makers = [self.unary, self.unary, self.binary, self.binary, self.reduction, self.arrange, self.contraction, self.choice,
                      self.position, self.loop, self.all_reduce, self.all_reduce, self.gather, self.scatter, self.exchange,
                      self.permute, self.shift, self.spread]
            if self.depth > 0:
                makers += [self.derivative, self.vmap]
            self.random.choice(makers)()

    def unary(self):
        x = self.pick()
        text, f = self.smooth([
            ("sin({0})", np.sin), ("cos({0})", np.cos), ("tanh({0})", np.tanh), ("exp(-0.3 * {0} * {0})", lambda v: np.exp(-0.3 * v * v)),
            ("sqrt(1 + {0} * {0})", lambda v: np.sqrt(1 + v * v)), ("log(2 + {0} * {0})", lambda v: np.log(2 + v * v)),
            ("0.5 - {0}", lambda v: 0.5 - v), ("abs({0})", magnitude), ("{0} ** 2", lambda v: v * v)])
        self.add(text.format(x.text), x.shape, x.vary, lambda values: f(values[x.text]))

    def binary(self):
        x = self.pick()
        y = self.pick(lambda v: v.shape in (x.shape, (), x.shape[1:]))
        text, f = self.smooth([
            ("{0} + {1}", lambda p, q: p + q), ("{0} - 0.5 * {1}", lambda p, q: p - 0.5 * q), ("sin({0}) * {1}", lambda p, q: np.sin(p) * q),
            ("{0} / (1 + {1} * {1})", lambda p, q: p / (1 + q * q)), ("maximum({0}, {1})", larger)])
        self.add(text.format(x.text, y.text), x.shape, x.vary | y.vary,
                 lambda values: f(values[x.text], self.lifted(values[y.text], y, x.rank)))

    def lifted(self, array, value, rank):
        """An array with dimensions of size 1 before the value's own, to broadcast with one of a higher rank."""
        return array.reshape(array.shape[:self.lead] + (1,) * (rank - value.rank) + array.shape[self.lead:])

    def reduction(self):
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return self.unary()
        dim = self.random.randrange(x.rank)
        rest = x.shape[:dim] + x.shape[dim + 1:]
        at = self.lead + dim
        kinds = [("sum({0}, axis: {1})", rest, lambda v: v.sum(axis=at)), ("mean({0}, axis: {1})", rest, lambda v: v.mean(axis=at)),
                 ("max({0}, axis: {1})", rest, lambda v: extremum("max", v, at)), ("min({0}, axis: {1})", rest, lambda v: extremum("min", v, at)),
                 ("prod(0.7 * {0}, axis: {1})", rest, lambda v: (0.7 * v).prod(axis=at)),
                 ("cumsum({0}, axis: {1})", x.shape, lambda v: v.cumsum(axis=at)),
                 ("cumprod(0.8 * {0}, axis: {1})", x.shape, lambda v: (0.8 * v).cumprod(axis=at)),
                 ("sort({0}, axis: {1})", x.shape, lambda v: in_order(v, at))]
        text, shape, f = self.smooth(kinds)
        self.add(text.format(x.text, dim), shape, x.vary, lambda values: f(values[x.text]))

    def arrange(self):
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return self.unary()
        dim = self.random.randrange(x.rank)
        at, size = self.lead + dim, x.shape[dim]
        index = lambda text: "[" + ", ".join([":"] * dim + [text]) + "]"
        cut = lambda part: (slice(None),) * at + (part,)
        doubled = x.shape[:dim] + (2 * size,) + x.shape[dim + 1:]
        dropped = x.shape[:dim] + x.shape[dim + 1:]
        picked = [self.random.randrange(size) for _ in range(3)]
        kinds = [(f"{x.text}{index('::-1')}", x.shape, lambda v: np.flip(v, at)), (f"{x.text}{index('0')}", dropped, lambda v: v[cut(0)]),
                 (f"{x.text}{index(str(picked))}", x.shape[:dim] + (3,) + x.shape[dim + 1:], lambda v: np.take(v, picked, at)),
                 (f"roll({x.text}, 1, axis: {dim})", x.shape, lambda v: np.roll(v, 1, at)),
                 (f"transpose({x.text})", x.shape[::-1], lambda v: v.transpose(*range(self.lead), *reversed(range(self.lead, v.ndim)))),
                 (f"flatten({x.text})", (int(np.prod(x.shape)),), lambda v: v.reshape(v.shape[:self.lead] + (-1,)))]
        if np.prod(doubled) <= 24:
            kinds.append((f"concat(({x.text}, 0.5 * {x.text}), axis: {dim})", doubled, lambda v: np.concatenate([v, 0.5 * v], at)))
        if size > 1:
            kinds.append((f"{x.text}{index('1:')}", x.shape[:dim] + (size - 1,) + x.shape[dim + 1:], lambda v: v[cut(slice(1, None))]))
        text, shape, f = self.random.choice(kinds)
        self.add(text, shape, x.vary, lambda values: f(values[x.text]))

    def contraction(self):
        x = self.pick(lambda v: v.rank in (1, 2))
        y = self.pick(lambda v: v.rank in (1, 2) and x and v.shape[0] == x.shape[-1])
        if not y:
            return self.unary()
        labels = ("i", "ij")[x.rank - 1], ("j", "jk")[y.rank - 1]
        equation = f"...{labels[0][:-1]}j,...{labels[1]}->...{labels[0][:-1]}{labels[1][1:]}"
        self.add(f"0.3 * ({x.text} @ {y.text})", x.shape[:-1] + y.shape[1:], x.vary | y.vary,
                 lambda values: 0.3 * np.einsum(equation, values[x.text], values[y.text]))

    def choice(self):
        """A `where`, or an `if`, on a device's position."""
        axis = self.random.choice(list(self.axes))
        x = self.pick()
        y = self.pick(lambda v: v.shape == x.shape)
        which = self.random.randrange(self.axes[axis])
        text = self.random.choice(["where(axis_index({2}) == {3}, {0}, {1})", "if axis_index({2}) == {3} {{ {0} }} else {{ sin({1}) }}"])
        f = np.sin if text.startswith("if") else lambda v: v
        at = self.at(axis)

        def step(values):
            p, q = np.broadcast_arrays(values[x.text], f(values[y.text]))
            shape = tuple(n if i == at else p.shape[i] for i, n in enumerate(self.axes.values())) + p.shape[self.lead:]
            p, result = np.broadcast_to(p, shape), np.broadcast_to(q, shape) + 0 * np.broadcast_to(p, shape)
            index = (slice(None),) * at + (which,)
            result[index] = p[index]
            return result
        self.add(text.format(x.text, y.text, f'"{axis}"', which), x.shape, x.vary | y.vary | {axis}, step)

    def position(self):
        axes = self.subset()
        x = self.pick()
        n = self.count(axes)
        dtype = self.sampler.dtype

        def step(values):
            place = np.zeros((1,) * self.lead)
            for axis in axes:
                along = np.arange(self.axes[axis]).reshape([-1 if i == self.at(axis) else 1 for i in range(self.lead)])
                place = place * self.axes[axis] + along
            return values[x.text] * (1 + place.reshape(place.shape + (1,) * x.rank)) / n
        self.add(f"{x.text} * {dtype}(1 + axis_index({self.spelt(axes)})) / {n}", x.shape, x.vary | set(axes), step)

    def loop(self):
        x = self.pick()
        y = self.pick(lambda v: v.shape == x.shape)
        trips = self.random.randrange(4)
        name = self.sampler.fresh()

        def step(values):
            v = values[x.text]
            for i in range(trips):
                v = 0.5 * v + np.sin(values[y.text]) * (1 + i) * 0.3
            return v
        self.lines.append(f"var {name} = {x.text}")
        self.lines.append(f"for i in 0..{trips} {{ {name} = 0.5 * {name} + sin({y.text}) * {self.sampler.dtype}(1 + i) * 0.3 }}")
        vary = x.vary | y.vary
        value = self.add(f"1 * {name}", x.shape, vary, step)
        return value

    # Collectives.
    def group_of(self, axes):
        """Groups over one axis, or none."""
        n = self.axes[axes[0]]
        if len(axes) > 1 or n not in (4, 6, 8) or self.random.random() < 0.6:
            return None
        order = self.random.sample(range(n), n)
        return [order[i:i + n // 2] for i in (0, n // 2)]

    def over(self, axes, groups, f):
        """Applies f(members stacked along a first dimension) -> results stacked alike, over axes or in groups."""
        places = [self.at(axis) for axis in axes]
        n = self.count(axes)

        def step(array):
            array = np.broadcast_to(array, tuple(self.axes.values()) + array.shape[self.lead:])
            moved = np.moveaxis(array, places, range(len(places)))
            flat = moved.reshape((n,) + moved.shape[len(places):])
            parts = np.stack(f(flat)) if not groups else None
            if groups:
                rows = [None] * n
                for group in groups:
                    for member, row in zip(group, f(flat[group])):
                        rows[member] = row
                parts = np.stack(rows)
            back = parts.reshape(moved.shape[:len(places)] + parts.shape[1:])
            return np.moveaxis(back, range(len(places)), places)
        return step

    def collective(self, x, axes, groups, text, shape, f, invariant):
        given = f", groups: {groups}" if groups else ""
        vary = (x.vary - set(axes)) if invariant and not groups else x.vary | set(axes)
        step = self.over(axes, groups, f)
        text = text.format(x.text, self.spelt(axes), given)
        if shape and any(word in text for word in ("gather", "scatter", "all_to_all")):
            # Sizes are in terms of the axis's; what follows needs them as numbers.
            text += f" :> {self.sampler.dtype}[{', '.join(map(str, shape))}]"
        self.add(text, shape, vary, lambda values: step(values[x.text]))

    def all_reduce(self):
        axes = self.subset()
        groups = self.group_of(axes)
        x = self.pick()
        n = len(groups[0]) if groups else self.count(axes)
        same = lambda row, rows: [row] * len(rows)
        text, f = self.smooth([
            (f"psum({{0}}, {{1}}{{2}}) / {n}", lambda rows: same(rows.sum(0) / n, rows)), ("pmean({0}, {1}{2})", lambda rows: same(rows.mean(0), rows)),
            ("pmax({0}, {1}{2})", lambda rows: same(extremum("max", rows, 0), rows)),
            ("pmin({0}, {1}{2})", lambda rows: same(extremum("min", rows, 0), rows)),
            ("pprod(0.8 * {0}, {1}{2})", lambda rows: same((0.8 * rows).prod(0), rows))])
        # The extremum of equal values has a derivative that is shared, which one step does not see (V8: a no-op).
        if ("max" in text or "min" in text) and not set(axes) <= x.vary:
            return self.unary()
        self.collective(x, axes, groups, text, x.shape, f, invariant=True)

    def gather(self):
        axes = self.subset()
        x = self.pick(lambda v: np.prod(v.shape, initial=1) * self.count(axes) <= 48)
        if not x:
            return self.unary()
        groups = self.group_of(axes)
        n = len(groups[0]) if groups else self.count(axes)
        tiled = x.rank > 0 and self.random.random() < 0.6
        dim = self.random.randrange(x.rank if tiled else x.rank + 1)
        at = self.lead - len(axes) + dim  # among the dimensions of one member
        shape = x.shape[:dim] + ((n * x.shape[dim],) + x.shape[dim + 1:] if tiled else (n,) + x.shape[dim:])
        f = lambda rows: [np.concatenate(list(rows), at) if tiled else np.stack(list(rows), at)] * len(rows)
        self.collective(x, axes, groups, f"all_gather({{0}}, {{1}}, dim: {dim}, tiled: {str(tiled).lower()}{{2}})", shape, f, invariant=True)

    def repeated(self, n):
        """A value and a dimension of it that n divides."""
        x = self.pick(lambda v: any(size % n == 0 for size in v.shape))
        if x and self.random.random() < 0.7:
            return x, self.random.choice([dim for dim, size in enumerate(x.shape) if size % n == 0])
        x = self.pick(lambda v: v.rank > 0 and np.prod(v.shape) * n <= 48)
        if not x:
            return None, None
        dim = self.random.randrange(x.rank)
        copies = ", ".join(f"{round(1 - 0.1 * i, 1)} * {x.text}" for i in range(n))
        shape = x.shape[:dim] + (n * x.shape[dim],) + x.shape[dim + 1:]
        at = self.lead + dim
        return self.add(f"concat(({copies},), axis: {dim})", shape, x.vary,
                        lambda values: np.concatenate([round(1 - 0.1 * i, 1) * values[x.text] for i in range(n)], at)), dim

    def scatter(self):
        axes = self.subset()
        groups = self.group_of(axes)
        n = len(groups[0]) if groups else self.count(axes)
        x, dim = self.repeated(n)
        if not x:
            return self.unary()
        at = self.lead - len(axes) + dim
        shape = x.shape[:dim] + (x.shape[dim] // n,) + x.shape[dim + 1:]
        self.collective(x, axes, groups, f"psum_scatter({{0}}, {{1}}, dim: {dim}{{2}})", shape,
                        lambda rows: np.split(rows.sum(0), len(rows), at), invariant=False)

    def exchange(self):
        axes = self.subset()
        groups = self.group_of(axes)
        n = len(groups[0]) if groups else self.count(axes)
        x, split = self.repeated(n)
        if not x:
            return self.unary()
        concat = self.random.randrange(x.rank)
        shape = list(x.shape)
        shape[split] //= n
        shape[concat] *= n
        base = self.lead - len(axes)

        def f(rows):
            pieces = [np.split(row, len(rows), base + split) for row in rows]
            return [np.concatenate([pieces[sender][k] for sender in range(len(rows))], base + concat) for k in range(len(rows))]
        self.collective(x, axes, groups, f"all_to_all({{0}}, {{1}}, split: {split}, concat: {concat}{{2}})", shape, f, invariant=False)

    def permute(self):
        axes = self.subset()
        n = self.count(axes)
        x = self.pick()
        sources = self.random.sample(range(n), self.random.randrange(1, n + 1))
        pairs = list(zip(sources, self.random.sample(range(n), len(sources))))
        fill = self.random.choice([0, 0, 0.5])

        def f(rows):
            result = [np.full_like(rows[0], fill)] * n
            for source, target in pairs:
                result[target] = rows[source]
            return result
        spelt = "[" + ", ".join(f"({s}, {t})" for s, t in pairs) + "]"
        self.collective(x, axes, None, f"ppermute({{0}}, {{1}}, {spelt}, fill: {fill})", x.shape, f, invariant=False)

    def shift(self):
        axes = [self.random.choice(list(self.axes))]
        n, by, wrap = self.count(axes), self.random.choice([-2, -1, 1, 1, 2]), self.random.random() < 0.5
        x = self.pick()
        # Device i gets what device i - by holds.
        f = lambda rows: [rows[(i - by) % n] if wrap or 0 <= i - by < n else np.zeros_like(rows[0]) for i in range(n)]
        self.collective(x, axes, None, f"shift({{0}}, {{1}}, by: {by}, wrap: {str(wrap).lower()})", x.shape, f, invariant=False)

    def spread(self):
        axes = [self.random.choice(list(self.axes))]
        x = self.pick(lambda v: axes[0] in v.vary)
        if not x:
            return self.unary()
        n = self.count(axes)
        root = self.random.randrange(n)
        if self.random.random() < 0.5 or x.rank == 0:
            return self.collective(x, axes, None, f"pbroadcast({{0}}, {{1}}, root: {root})", x.shape, lambda rows: [rows[root]] * n, True)
        dim = self.random.randrange(x.rank)
        edge = self.random.choice(['"wrap"', '"clamp"', "0.0"])
        at, size = self.lead - 1 + dim, x.shape[dim]
        first = lambda row: np.take(row, [0], at)
        last = lambda row: np.take(row, [size - 1], at)

        def f(rows):
            result = []
            for i, row in enumerate(rows):
                left, right = last(rows[i - 1]), first(rows[(i + 1) % n])
                if edge != '"wrap"' and i == 0:
                    left = first(row) if "clamp" in edge else 0 * left
                if edge != '"wrap"' and i == n - 1:
                    right = last(row) if "clamp" in edge else 0 * right
                result.append(np.concatenate([left, row, right], at))
            return result
        shape = x.shape[:dim] + (size + 2,) + x.shape[dim + 1:]
        self.collective(x, axes, None, f"halo({{0}}, {{1}}, dim: {dim}, width: 1, edge: {edge})", shape, f, invariant=False)

    # Transformations.
    def inner(self, axes, argument, order):
        return Scope(self.sampler, axes, self.pool[-8:] + [argument], self.depth - 1, order)

    def derivative(self):
        """grad of a function of one value, which may hold collectives, and of captured ones (G1)."""
        # The oracle takes a step for each element of each device, and those of an inner gradient for each step of the outer one.
        most = 6 if self.order == 0 else 8 // int(np.prod(list(self.axes.values())))
        x = self.pick(lambda v: np.prod(v.shape, initial=1) <= most)
        if not x or self.order > 1:
            return self.unary()
        argument = Value(self.sampler.fresh(), x.shape, x.vary)
        scope = self.inner(self.axes, argument, self.order + 1)
        scope.grow(self.random.randrange(1, 4))
        last = scope.pool[-1]
        if not last.vary <= argument.vary and any("grad(" in line for line in scope.lines):
            # The argument is widened first (G1), and what is within would be another function.
            return self.unary()
        sum_of = lambda value: f"sum({value.text})" if value.rank else value.text
        total = lambda v: v.reshape(v.shape[:self.lead] + (-1,)).sum(-1)
        # The result must depend on the argument.
        loss = f"({sum_of(last)}) * sin({sum_of(argument)})"
        vary = last.vary | argument.vary
        mesh = tuple(self.axes.values())

        def value_at(values, v):
            inside = scope.run(values | {argument.text: v})
            each = np.broadcast_to(total(inside[last.text]) * np.sin(total(v)), mesh)
            # The sum over the axes over which it varies; along others all are equal.
            return each[tuple(slice(None, None if axis in vary else 1) for axis in self.axes)].sum()

        def step(values):
            # The argument has a copy for each position along the axes over which it, or the loss, varies.
            copies = tuple(n if axis in vary else 1 for axis, n in self.axes.items())
            own = np.broadcast_to(values[x.text], mesh + x.shape)[tuple(slice(None, n) for n in copies)]
            return step_derivative(lambda v: value_at(values, v), own)

        body = "; ".join(scope.lines + [loss])
        self.add(f"grad(fn({argument.text}) {{ {body} }})({x.text})", x.shape, vary, lambda values: stepped(step, values))

    def vmap(self):
        """A function of the rows of a value, in which collectives may name the axis of the rows (P8)."""
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return self.unary()
        axis = self.sampler.fresh("i")
        argument = Value(self.sampler.fresh(), x.shape[1:], x.vary | {axis})
        scope = self.inner(dict(self.axes) | {axis: x.shape[0]}, argument, self.order)
        scope.grow(self.random.randrange(1, 4))
        last = scope.pool[-1]
        mapped = axis in last.vary

        def step(values):
            lifted = {name: np.expand_dims(v, self.lead) for name, v in values.items()}
            lifted[argument.text] = values[x.text]
            result = scope.run(lifted)[last.text]
            if not mapped:
                return result.take(0, self.lead)
            return np.broadcast_to(result, result.shape[:self.lead] + x.shape[:1] + result.shape[self.lead + 1:])
        body = "; ".join(scope.lines + [last.text])
        out = "" if mapped else ", out: _"
        self.add(f'vmap(fn({argument.text}) {{ {body} }}, axis: "{axis}"{out})({x.text})',
                 ((x.shape[0],) if mapped else ()) + last.shape, last.vary - {axis}, step)
