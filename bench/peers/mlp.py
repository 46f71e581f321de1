"""bench/programs/mlp.pmap in JAX: shard_map over rows, the steps in one compiled loop."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from peer import flat, nested, serve


def layer(p, x):
    return x @ p["w"] + p["b"]


def loss(m, x, y):
    h = jax.nn.relu(layer(m["b"], jax.nn.relu(layer(m["a"], x))))
    log = jax.nn.log_softmax(layer(m["c"], h))
    return -jnp.mean(jnp.take_along_axis(log, y[:, None], axis=1))


def train(m, x, y, steps):
    def step(i, carry):
        m, first, second, _ = carry
        l, g = jax.value_and_grad(loss)(m, x, y)
        l, g = jax.lax.pmean((l, g), "data")
        first = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, first, g)
        second = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, second, g)
        t = i.astype(jnp.float32) + 1
        c1, c2 = 1 - 0.9 ** t, 1 - 0.999 ** t
        m = jax.tree.map(lambda p, a, b: p - 0.001 * (a / c1) / (jnp.sqrt(b / c2) + 1e-8), m, first, second)
        return m, first, second, l

    zeros = jax.tree.map(jnp.zeros_like, m)
    m, _, _, l = jax.lax.fori_loop(0, steps, step, (m, zeros, zeros, jnp.float32(0)))
    return {"model": m, "loss": l}


def make(inputs, mesh):
    put = lambda value, spec: jax.tree.map(lambda a: jax.device_put(a, NamedSharding(mesh, spec)), value)
    m, x, y = put(nested(inputs, "m"), P()), put(inputs["x"], P("data")), put(inputs["y"], P("data"))
    steps = put(jnp.int32(inputs["steps"]), P())
    f = jax.jit(jax.shard_map(train, mesh=mesh, in_specs=(P(), P("data"), P("data"), P()), out_specs=P(), check_vma=False))
    return lambda: flat(f(m, x, y, steps))


serve(make)
