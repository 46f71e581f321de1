"""The heat equation: random plates against NumPy, a sine mode against its closed form, on meshes of every number of devices."""

import os
import tempfile

import numpy as np
from common import check, run

generator = np.random.default_rng(3)


def cool(u, r, steps):
    """The same steps by NumPy in f64."""
    heat = []
    for _ in range(steps):
        heat.append(u.sum())
        p = np.pad(u, 1)
        u = u + r * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u)
    return u, heat


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "u.npy")

    def plate(u, target, devices, r, steps):
        np.save(path, u.astype(np.float32))
        return run("heat", target, devices, [f"u={path}", f"r={r}", f"steps={steps}"])

    u = generator.uniform(0, 10, (48, 72))
    expected, heat = cool(u.astype(np.float32).astype(np.float64), 0.2, 30)
    one = plate(u, "cpu", 1, 0.2, 30)
    check("plate", one["plate"], expected, atol=1e-4)
    check("heat", one["heat"], heat, rtol=1e-5)
    for devices in (2, 3, 4, 8):
        many = plate(u, "cpu", devices, 0.2, 30)
        # The additions of one point are the same on every mesh; the total's are not.
        check(f"plate on {devices} devices", many["plate"], one["plate"])
        check(f"heat on {devices} devices", many["heat"], one["heat"], rtol=1e-5)
    few = plate(u, "ref", 4, 0.2, 3)
    check("ref", few["plate"], cool(u, 0.2, 3)[0], atol=1e-4)

    # An eigenvector of the steps: it shrinks by one and the same factor.
    n, steps, r = 120, 400, 0.25
    wave = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    factor = 1 - 8 * r * np.sin(np.pi / (2 * (n + 1))) ** 2
    for devices in (1, 2, 3, 4, 8):
        result = plate(np.outer(wave, wave), "cpu", devices, r, steps)
        check(f"sine mode on {devices} devices", result["plate"], factor**steps * np.outer(wave, wave), atol=1e-5)
