"""k-means against Lloyd's algorithm by NumPy in f64."""

import numpy as np
from common import check, data, inputs, run

x = data("digits_x").astype(np.float64)


def nearest(centres):
    return np.argmin((centres**2).sum(axis=1) - 2 * x @ centres.T, axis=1)


def cluster(k, steps):
    centres, counts = x[:k].copy(), np.zeros(k, int)
    for _ in range(steps):
        member = nearest(centres)[:, None] == np.arange(k)
        counts = member.sum(axis=0)
        means = member.T.astype(float) @ x / np.maximum(counts, 1)[:, None]
        centres = np.where(counts[:, None] > 0, means, centres)
    return centres, counts, ((x - centres[nearest(centres)]) ** 2).sum()


def check_against_numpy(target, devices, k, steps):
    result = run("kmeans", target, devices, [*inputs(x="digits_x"), f"k={k}", f"steps={steps}"])
    centres, counts, inertia = cluster(k, steps)
    what = f"{target} on {devices} devices, k = {k}"
    check(f"{what}: counts", result["counts"], counts)
    check(f"{what}: centres", result["centres"], centres, atol=1e-3)
    check(f"{what}: inertia", result["inertia"], inertia, rtol=1e-5)


for devices in (1, 2, 3, 4, 8):
    check_against_numpy("cpu", devices, 10, 30)
check_against_numpy("cpu", 2, 3, 10)
check_against_numpy("ref", 2, 4, 2)
