"""cmap of a model and of dot, and a Jacobian by cmap of a pullback, against NumPy in f64, on every number of devices."""

import os
import tempfile

import numpy as np
from common import check, data, inputs, run
from digits import forward, labels, pixels

LEAVES = ["hidden.w", "hidden.b", "output.w", "output.b"]

with tempfile.TemporaryDirectory() as folder:
    trained = run("mlp", "cpu", 1, [*inputs(x="digits_x", y="digits_y"), "epochs=3", "hidden=24"])
    archive = os.path.join(folder, "m.npz")
    np.savez(archive, **{name: trained["model." + name] for name in LEAVES})
    model = {name: trained["model." + name].astype(np.float64) for name in LEAVES}

    # 1797 rows: no number of devices but 3 divides them.
    log = forward(model, pixels)[1]
    means = np.stack([pixels[labels == digit].mean(axis=0) for digit in range(10)])[labels]
    likeness = (pixels * means).sum(axis=1) / np.sqrt((pixels**2).sum(axis=1) * (means**2).sum(axis=1))
    for target, devices in (("cpu", 1), ("cpu", 2), ("cpu", 3), ("cpu", 4), ("cpu", 8), ("ref", 2)):
        result = run("cmap", target, devices, [f"m={archive}", *inputs(x="digits_x", y="digits_y")])
        what = f"{target} on {devices} devices"
        check(f"{what}: digit", result["digit"], log.argmax(axis=1))
        check(f"{what}: confidence", result["confidence"], np.exp(log.max(axis=1)), rtol=1e-4)
        check(f"{what}: likeness", result["likeness"], likeness, rtol=1e-4)

    # The network is linear where its hidden units do not change sign: J = W2' diag(units > 0) W1'.
    for row in (0, 100):
        image = os.path.join(folder, "image.npy")
        np.save(image, data("digits_x")[row])
        units = forward(model, pixels[row:row + 1])[0][0]
        expected = (model["hidden.w"] * (units > 0)) @ model["output.w"]
        for target, devices in (("cpu", 1), ("cpu", 2), ("cpu", 3), ("cpu", 4), ("cpu", 8), ("ref", 4)):
            result = run("jacobian", target, devices, [f"m={archive}", f"image={image}"])
            what = f"{target} on {devices} devices, row {row}"
            check(f"{what}: logits", result["logits"], units @ model["output.w"] + model["output.b"], atol=1e-4)
            check(f"{what}: jacobian", result["jacobian"], expected.T, atol=1e-5)
