"""The same collectives by JAX on CPU host devices. Prints `operation bytes microseconds`, as collectives-bench --rows does.

usage: peer_jax.py DEVICES MIB

A size is that of every device's operand. Small ones are repeated inside one compiled loop, so that what is measured is the
collective and not the dispatch of a call from Python; each step's operand is made of the last one's result.
"""

import os
import statistics
import sys
import time

devices, mib = int(sys.argv[1]), int(sys.argv[2])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

try:
    shard_map = jax.shard_map
except AttributeError:
    from jax.experimental.shard_map import shard_map

mesh = Mesh(jax.devices()[:devices], "a")
RING = [(i, (i + 1) % devices) for i in range(devices)]
OPERATIONS = {
    "psum": (lambda x: lax.psum(x, "a"), lambda x, y: lax.pcast(y, ("a",), to="varying") * 0.5 if hasattr(lax, "pcast") else y * 0.5),
    "all_gather": (lambda x: lax.all_gather(x, "a", tiled=True), lambda x, y: y[:x.shape[0]]),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "a", tiled=True), lambda x, y: jnp.concatenate([y * 0.5] * devices)),
    "all_to_all": (lambda x: lax.all_to_all(x, "a", 0, 0, tiled=True), lambda x, y: y),
    "ppermute": (lambda x: lax.ppermute(x, "a", RING), lambda x, y: y),
}


def main():
    size = 1024
    while size <= mib << 20:
        for name, (operation, again) in OPERATIONS.items():
            repeats = max(1, (256 << 10) // size) * (16 if size <= 4096 else 1)

            def body(x):
                if repeats == 1:
                    return operation(x)
                return lax.fori_loop(0, repeats, lambda _, x: again(x, operation(x)), x)

            out = P() if repeats == 1 and name == "psum" else P("a")
            step = jax.jit(shard_map(body, mesh=mesh, in_specs=P("a"), out_specs=out))
            x = jax.device_put(jnp.ones(size // 4 * devices, jnp.float32), NamedSharding(mesh, P("a")))
            times = []
            for round in range((7 if size >= 64 << 20 else 21) + 1):
                begin = time.perf_counter()
                step(x).block_until_ready()
                times.append((time.perf_counter() - begin) / repeats)
            print(name, size, f"{statistics.median(times[1:]) * 1e6:.3f}", flush=True)
        size *= 4


main()
