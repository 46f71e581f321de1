"""The product of matrices round a ring against NumPy, on every number of devices."""

import os
import tempfile

import numpy as np
from common import check, run

generator = np.random.default_rng(4)

with tempfile.TemporaryDirectory() as folder:
    def product(a, b, target, devices):
        arguments = []
        for name, value in (("a", a), ("b", b)):
            path = os.path.join(folder, name + ".npy")
            np.save(path, value)
            arguments.append(f"{name}={path}")
        return run("ring", target, devices, arguments)["result"]

    a = generator.standard_normal((48, 120)).astype(np.float32)
    b = generator.standard_normal((120, 30)).astype(np.float32)
    for devices in (1, 2, 3, 4, 8):
        check(f"cpu on {devices} devices", product(a, b, "cpu", devices), a.astype(np.float64) @ b, atol=1e-4)
    # Whole numbers, so that an order of additions cannot hide a part taken twice.
    a, b = np.arange(24 * 24).reshape(24, 24) % 7, np.arange(24 * 5).reshape(24, 5) % 11
    for devices in (1, 3, 8):
        check(f"ref on {devices} devices", product(a.astype(np.float32), b.astype(np.float32), "ref", devices), a @ b)
