"""The measure of the first milestone: the mean squared error is within 1e-4 of the closed form's, and the model is the
one-device model to 1e-3, by `run`, by executable, and on the reference evaluator. F31: ragged blocks do not matter."""

import tempfile

import numpy as np
from common import build, check, data, execute, inputs, run

CLOSED_FORM_ERROR = 2859.696
WEIGHTS = [-0.476, -11.407, 24.727, 15.429, -37.680, 22.676, 4.806, 8.422, 35.734, 3.217]

x, y = data("diabetes_x").astype(np.float64), data("diabetes_y").astype(np.float64)
files = inputs(x="diabetes_x", y="diabetes_y")


def descend(steps, lr=0.2):
    """What the program does, by NumPy in f64."""
    w, b = np.zeros(10), 0.0
    for _ in range(steps):
        rest = x @ w + b - y
        w, b = w - lr * 2 * (x.T @ rest) / len(y), b - lr * 2 * rest.mean()
    return w, b


def check_model(what, model, reference):
    error = np.mean((x @ model["w"] + model["b"] - y) ** 2)
    check(f"{what}: mean squared error", error, CLOSED_FORM_ERROR, rtol=1e-4)
    check(f"{what}: w", model["w"], reference["w"], atol=1e-3)
    check(f"{what}: b", model["b"], reference["b"], atol=1e-3)


one = run("linreg", "cpu", 1, files)
check_model("run on 1 device", one, one)
w, b = descend(1000)
check("w by NumPy", one["w"], w, atol=5e-3)
check("b by NumPy", one["b"], b, atol=1e-3)
# Gradient descent is on its way to the closed form.
check("w of the closed form", one["w"], WEIGHTS, atol=1.5)

for devices in (2, 3, 4, 8):
    check_model(f"run on {devices} devices", run("linreg", "cpu", devices, files), one)

with tempfile.TemporaryDirectory() as folder:
    program = build("linreg", folder)
    for devices in (1, 2, 3, 4, 8):
        check_model(f"executable on {devices} devices", execute([program], devices, files), one)

few = [*files, "steps=20"]
w, b = descend(20)
for devices in (1, 2, 3, 4, 8):
    model = run("linreg", "ref", devices, few)
    check(f"ref on {devices} devices: w", model["w"], w, atol=1e-3)
    check(f"ref on {devices} devices: b", model["b"], b, atol=1e-3)
# 700 steps are the fewest hundreds that reach the closed form's error to 1e-4.
check_model("ref", run("linreg", "ref", 3, [*files, "steps=700"]), run("linreg", "cpu", 1, [*files, "steps=700"]))
