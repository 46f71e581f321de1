"""bench/programs/transformer.pmap in JAX: shard_map over the batch."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from peer import flat, nested, serve


def norm(p, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    q, k, v = (jnp.einsum("btd,dhc->bhtc", x, p[n]) for n in "qkv")
    weights = jax.nn.softmax(jnp.einsum("bhqc,bhkc->bhqk", q, k) * q.shape[-1] ** -0.5)
    return jnp.einsum("bhtc,hcd->btd", jnp.einsum("bhqk,bhkc->bhqc", weights, v), p["o"])


def block(p, x):
    y = x + attention(p, norm(p["first"], x))
    return y + jax.nn.gelu(norm(p["second"], y) @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def step(p, x):
    l, g = jax.value_and_grad(lambda p: jnp.mean(block(p, x) ** 2))(p)
    l, g = jax.lax.pmean((l, g), "data")
    return {"loss": l, "gradient": g}


def make(inputs, mesh):
    put = lambda value, spec: jax.tree.map(lambda a: jax.device_put(a, NamedSharding(mesh, spec)), value)
    p, x = put(nested(inputs, "p"), P()), put(inputs["x"], P("data"))
    f = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False))
    return lambda: flat(f(p, x))


serve(make)
