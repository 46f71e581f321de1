"""The MLP on the digits against training by NumPy in f64, and the measure: at least 97 % of the test rows."""

import numpy as np
from common import check, inputs, run
from digits import accuracy, is_test, train
from threefry import fold_in, key, permutation, split

LEAVES = ["hidden.w", "hidden.b", "output.w", "output.b"]
files = inputs(x="digits_x", y="digits_y")
train_rows = np.flatnonzero(~is_test)


def model_of(result):
    return {name: result["model." + name].astype(np.float64) for name in LEAVES}


def order(epochs, batch=96, seed=0):
    """The rows of each minibatch: the training rows, shuffled anew for each epoch."""
    n = len(train_rows)
    steps = n // batch
    shuffling = split(key(seed))[1]
    return [train_rows[permutation(fold_in(shuffling, e), n)][: steps * batch].reshape(steps, batch) for e in range(epochs)]


# Three epochs follow NumPy closely.
start = model_of(run("mlp", "cpu", 1, [*files, "epochs=0"]))
check("scale of the start", [start[name].std() for name in ("hidden.w", "output.w")], [(2 / 64) ** 0.5, (2 / 128) ** 0.5], rtol=0.05)
expected, losses, right = train(start, order(3), lr=0.003)
one = run("mlp", "cpu", 1, [*files, "epochs=3"])
for name in LEAVES:
    check(f"{name} after 3 epochs", one["model." + name], expected[name], atol=2e-3)
check("losses", one["losses"], losses, rtol=1e-4)
check("accuracy", one["accuracy"], right, atol=0.003)

# Every number of devices trains the same model.
for devices in (2, 3, 4, 8):
    many = run("mlp", "cpu", devices, [*files, "epochs=3"])
    for name in one:
        check(f"{name} on {devices} devices", many[name], one[name], atol=1e-4)

whole = run("mlp", "cpu", 2, files)
if accuracy(model_of(whole)) < 0.97:
    raise SystemExit(f"expected at least 97 % of the test rows, got {accuracy(model_of(whole)):.4f}")
check("the reported accuracy", whole["accuracy"][-1], accuracy(model_of(whole)), atol=1e-6)

# The reference evaluator, one minibatch.
few = [*files, "epochs=1", "batch=1437"]
check("ref", run("mlp", "ref", 3, few)["losses"], run("mlp", "cpu", 1, few)["losses"], rtol=1e-5)
