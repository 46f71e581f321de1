"""The mixture of experts against NumPy in f64: queues of each device, their gradients, Adam, and that it learns."""

import numpy as np
from common import check, inputs, run
from digits import Adam, labels, pixels

EXPERTS, HIDDEN = 24, 16
rows = len(pixels) // EXPERTS * EXPERTS
x, y = pixels[:rows], labels[:rows]
files = inputs(x="digits_x", y="digits_y")
NAMES = {"router": "router", "bias": "bias", "up": "experts.up", "down": "experts.down"}


def model_of(result):
    return {name: result["model." + leaf].astype(np.float64) for name, leaf in NAMES.items()}


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def routed(m, devices, length):
    """The chances, the expert of each row, and which rows find a place in the queue of their device."""
    chances = softmax(x @ m["router"])
    expert = chances.argmax(axis=1)
    fits = np.zeros(rows, bool)
    for block in np.split(np.arange(rows), devices):
        taken = np.zeros(EXPERTS, int)
        for row in block:
            fits[row] = taken[expert[row]] < length
            taken[expert[row]] += 1
    return chances, expert, fits


def loss_and_gradient(m, devices, length):
    chances, expert, fits = routed(m, devices, length)
    every = np.arange(rows)
    trust = np.where(fits, chances[every, expert], 0)
    # Row by row, with the matrices of the row's own expert.
    units = np.maximum(np.einsum("nd,ndh->nh", x, m["up"][expert]), 0)
    answers = np.einsum("nh,nhk->nk", units, m["down"][expert])
    p = softmax(m["bias"] + answers * trust[:, None])
    share = np.bincount(expert, minlength=EXPERTS) / rows
    loss = -np.log(p[every, y]).mean() + 0.5 * EXPERTS * share @ chances.mean(axis=0)

    rest = p
    rest[every, y] -= 1
    rest /= rows
    back = rest * trust[:, None]
    inner = np.einsum("nk,nhk->nh", back, m["down"][expert]) * (units > 0)
    gradient = {name: np.zeros_like(m[name]) for name in m}
    np.add.at(gradient["down"], expert, units[:, :, None] * back[:, None])
    np.add.at(gradient["up"], expert, x[:, :, None] * inner[:, None])
    gradient["bias"] = rest.sum(axis=0)
    of_chances = np.tile(0.5 * EXPERTS * share / rows, (rows, 1))
    of_chances[every, expert] += np.where(fits, (rest * answers).sum(axis=1), 0)
    of_scores = chances * (of_chances - (of_chances * chances).sum(axis=1, keepdims=True))
    gradient["router"] = x.T @ of_scores
    return loss, gradient


def train(m, devices, length, steps, lr=0.01):
    adam, losses = Adam(m, lr), []
    for _ in range(steps):
        loss, gradient = loss_and_gradient(m, devices, length)
        losses.append(loss)
        m = adam.step(m, gradient)
    return m, losses


start = model_of(run("experts", "cpu", 1, [*files, "steps=0"]))
for target, devices, room in [("cpu", d, 2.0) for d in (1, 2, 3, 4, 8)] + [("cpu", 4, 0.6), ("ref", 2, 0.6)]:
    what = f"{target} on {devices} devices, room {room}"
    result = run("experts", target, devices, [*files, "steps=3", f"room={room}"])
    length = int(np.ceil(np.float32(room) * rows / (EXPERTS * devices)))
    expected, losses = train(dict(start), devices, length, 3)
    check(f"{what}: losses", result["losses"], losses, rtol=1e-4)
    for name, leaf in model_of(result).items():
        check(f"{what}: {name}", leaf, expected[name], atol=2e-3)
    chances, expert, fits = routed(model_of(result), devices, length)
    check(f"{what}: dropped", result["dropped"], (~fits).sum(), atol=2)
    check(f"{what}: load", result["load"], np.bincount(expert, minlength=EXPERTS), atol=2)

whole = run("experts", "cpu", 4, files)
if whole["right"] < 0.97 or whole["load"].sum() != rows or whole["load"].max() > 2 * rows / EXPERTS:
    raise SystemExit(f"expected 97 % of the rows and an even load, got {whole['right']} and {whole['load']}")
