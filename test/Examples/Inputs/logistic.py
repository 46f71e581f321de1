"""Logistic regression against the same descent by NumPy in f64."""

import numpy as np
from common import check, data, inputs, run

x, y = data("cancer_x").astype(np.float64), data("cancer_y")


def descend(steps, lr=0.5, l2=0.001):
    w, b = np.zeros(x.shape[1]), 0.0
    for _ in range(steps):
        rest = 1 / (1 + np.exp(-(x @ w + b))) - y
        w, b = w - lr * (x.T @ rest / len(y) + l2 * w), b - lr * rest.mean()
    z = x @ w + b
    return w, b, np.mean(np.logaddexp(0, z) - y * z) + 0.5 * l2 * (w**2).sum(), np.mean((z > 0) == (y == 1))


def check_against_numpy(target, devices, steps):
    result = run("logistic", target, devices, [*inputs(x="cancer_x", y="cancer_y"), f"steps={steps}"])
    w, b, loss, accuracy = descend(steps)
    what = f"{target} on {devices} devices"
    check(f"{what}: w", result["model.w"], w, atol=1e-4)
    check(f"{what}: b", result["model.b"], b, atol=1e-4)
    check(f"{what}: loss", result["loss"], loss, rtol=1e-4)
    check(f"{what}: accuracy", result["accuracy"], accuracy, atol=1e-6)


for devices in (1, 2, 3, 4, 8):
    check_against_numpy("cpu", devices, 300)
check_against_numpy("ref", 3, 5)
check_against_numpy("ref", 1, 0)
