"""The equilibrium layer against NumPy: fixed points, the gradient by the implicit function theorem, Adam."""

import numpy as np
from common import check, data, inputs, run
from digits import Adam

x, y = data("diabetes_x").astype(np.float64), data("diabetes_y").astype(np.float64)
y = (y - y.mean()) / y.std()
files = inputs(x="diabetes_x", y="diabetes_y")
NAMES = {"w": "layer.w", "u": "layer.u", "b": "layer.b", "v": "v", "c": "c"}


def model_of(result):
    return {name: result["model." + leaf] for name, leaf in NAMES.items()}


def loss_and_gradient(m):
    z = np.zeros((len(x), len(m["b"])))
    for _ in range(200):
        z = np.tanh(z @ m["w"].T + x @ m["u"].T + m["b"])
    error = z @ m["v"] + m["c"] - y
    of_result = 2 * error / len(y)
    slope = 1 - z**2
    # Row by row: (1 - J)^T g = ct, where J = diag(slope) w.
    systems = np.eye(z.shape[1]) - slope[:, None, :] * m["w"].T
    g = np.linalg.solve(systems, (of_result[:, None] * m["v"])[:, :, None])[:, :, 0] * slope
    gradient = {"w": g.T @ z, "u": g.T @ x, "b": g.sum(axis=0), "v": z.T @ of_result, "c": of_result.sum()}
    return (error**2).mean(), gradient


def train(m, steps, lr=0.02):
    adam, losses = Adam(m, lr), []
    for _ in range(steps):
        loss, gradient = loss_and_gradient(m)
        losses.append(loss)
        m = adam.step(m, gradient)
    return m, losses


start = model_of(run("equilibrium", "cpu", 1, [*files, "steps=0"]))
for target, devices, steps in [("cpu", 1, 60), ("cpu", 2, 10), ("cpu", 3, 10), ("cpu", 4, 10), ("cpu", 8, 10), ("ref", 3, 1)]:
    what = f"{target} on {devices} devices"
    expected, losses = train(dict(start), steps)
    result = run("equilibrium", target, devices, [*files, f"steps={steps}"])
    check(f"{what}: losses", result["losses"], losses, rtol=1e-6)
    for name, leaf in model_of(result).items():
        check(f"{what}: {name}", leaf, expected[name], atol=1e-6)
    if steps == 60 and losses[-1] > 0.45:
        raise SystemExit(f"expected a mean squared error below 0.45, got {losses[-1]}")
