"""bench/programs/heat.pmap in JAX: shard_map over rows, halos by ppermute, the steps in one compiled loop."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
from peer import serve


def run(u, r, steps, devices):
    def step(_, u):
        # A device without a neighbour receives zeros, the temperature of the walls.
        above = jax.lax.ppermute(u[-1:], "data", [(i, i + 1) for i in range(devices - 1)])
        below = jax.lax.ppermute(u[:1], "data", [(i + 1, i) for i in range(devices - 1)])
        p = jnp.pad(jnp.concatenate([above, u, below]), ((0, 0), (1, 1)))
        return u + r * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)

    return jax.lax.fori_loop(0, steps, step, u)


def make(inputs, mesh):
    u = jax.device_put(inputs["u"], NamedSharding(mesh, P("data")))
    r, steps = jnp.float32(inputs["r"]), jnp.int32(inputs["steps"])
    f = jax.jit(jax.shard_map(lambda u, r, s: run(u, r, s, mesh.size), mesh=mesh, in_specs=(P("data"), P(), P()),
                              out_specs=P("data"), check_vma=False))
    return lambda: {"result": f(u, r, steps)}


serve(make)
