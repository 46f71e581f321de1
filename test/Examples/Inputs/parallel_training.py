"""Two ways to share the work of ../mlp: layers split over devices, and the optimizer's state. Both follow NumPy's training in
f64 and the run on one device, on every number of devices."""

import sys

import numpy as np
from common import check, inputs, run
from digits import accuracy, is_test, train
from threefry import key, permutation, split

EXAMPLE = sys.argv[3]
LEAVES = ["hidden.w", "hidden.b", "output.w", "output.b"]
files = inputs(x="digits_x", y="digits_y")
train_rows = np.flatnonzero(~is_test)


def model_of(result):
    return {name: result["model." + name].astype(np.float64) for name in LEAVES}


batch, epochs = 96, 3
steps = len(train_rows) // batch
order = train_rows[permutation(split(key(0))[1], len(train_rows))][: steps * batch].reshape(steps, batch)
start = model_of(run(EXAMPLE, "cpu", 1, [*files, "epochs=0"]))
expected, losses, right = train(start, [order] * epochs, lr=0.003)
one = run(EXAMPLE, "cpu", 1, [*files, f"epochs={epochs}"])
for name in LEAVES:
    check(f"{name} after {epochs} epochs", one["model." + name], expected[name], atol=2e-3)
check("losses", one["losses"], losses, rtol=1e-4)
check("accuracy", one["accuracy"], right[-1], atol=0.003)

for devices in (2, 3, 4, 8):
    many = run(EXAMPLE, "cpu", devices, [*files, f"epochs={epochs}"])
    for name in one:
        check(f"{name} on {devices} devices", many[name], one[name], atol=1e-4)

whole = run(EXAMPLE, "cpu", 4, files)
if not accuracy(model_of(whole)) >= 0.97:
    raise SystemExit(f"expected at least 97 % of the test rows, got {accuracy(model_of(whole)):.4f}")

# The reference evaluator, two minibatches.
few = [*files, "epochs=1", "batch=600"]
for devices in (1, 4):
    check(f"ref on {devices} devices", run(EXAMPLE, "ref", devices, few)["losses"], run(EXAMPLE, "cpu", 1, few)["losses"], rtol=1e-5)
