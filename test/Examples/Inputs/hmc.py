"""The posterior by Hamiltonian Monte Carlo against a sampler of another kind by NumPy, and every number of devices."""

import numpy as np
from common import check, data, inputs, run

x = np.column_stack([data("cancer_x").astype(np.float64), np.ones(569)])
y = data("cancer_y").astype(np.float64)
files = inputs(x="cancer_x", y="cancer_y")
size = x.shape[1]


def mode():
    """The largest density, by Newton's method, and the inverse of minus its second derivative there."""
    w = np.zeros(size)
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = x.T @ (x * (p * (1 - p))[:, None]) + np.eye(size)
        w -= np.linalg.solve(hessian, x.T @ (p - y) + w)
    return w, np.linalg.inv(hessian)


def density(w):
    z = w @ x.T
    return z @ y - np.logaddexp(0, z).sum(axis=1) - (w * w).sum(axis=1) / 2


def posterior(chains=400, steps=1500):
    """Mean and deviation by random walks: steps like the normal density at the mode, in many chains, half of them left out."""
    rng = np.random.default_rng(0)
    w, covariance = mode()
    root = np.linalg.cholesky(covariance) * 2.38 / size**0.5
    now = w + rng.standard_normal((chains, size)) @ np.linalg.cholesky(covariance).T
    here, total, squares = density(now), np.zeros(size), np.zeros(size)
    for step in range(steps):
        proposal = now + rng.standard_normal((chains, size)) @ root.T
        there = density(proposal)
        takes = np.log(rng.uniform(size=chains)) < there - here
        now, here = np.where(takes[:, None], proposal, now), np.where(takes, there, here)
        if step >= steps // 2:
            total, squares = total + now.sum(axis=0), squares + (now**2).sum(axis=0)
    count = chains * (steps - steps // 2)
    return total / count, np.sqrt(squares / count - (total / count) ** 2)


mean, deviation = posterior()
result = run("hmc", "cpu", 2, [*files, "chains=16", "draws=800"])
check("means, in deviations", (result["mean"] - mean) / deviation, 0, atol=0.12)
check("deviations", result["deviation"] / deviation, 1, atol=0.12)
if result["rhat"].max() > 1.05 or result["accepted"].min() < 0.8 * 800:
    raise SystemExit(f"the chains disagree or stand still: {result['rhat']}, {result['accepted']}")

# The chains do not depend on the device that runs them.
few = [*files, "chains=11", "draws=10", "steps=5"]
one = run("hmc", "cpu", 1, few)
for target, devices in [("cpu", 2), ("cpu", 3), ("cpu", 4), ("cpu", 8), ("ref", 2)]:
    many = run("hmc", target, devices, few)
    for name in one:
        check(f"{name}: {target} on {devices} devices", many[name], one[name], rtol=1e-6, atol=1e-9)
