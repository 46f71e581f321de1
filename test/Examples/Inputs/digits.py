"""Training on the digits by NumPy in f64: what the examples' networks compute, written with its derivatives."""

import numpy as np
from common import data

pixels, labels = data("digits_x").astype(np.float64) / 16, data("digits_y")
is_test = np.arange(len(pixels)) % 5 == 0


def forward(m, x):
    """The hidden units and the log of the probabilities."""
    units = np.maximum(x @ m["hidden.w"] + m["hidden.b"], 0)
    z = units @ m["output.w"] + m["output.b"]
    z = z - z.max(axis=1, keepdims=True)
    return units, z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def loss_and_gradient(m, x, y):
    units, log = forward(m, x)
    rows = np.arange(len(y))
    rest = np.exp(log)
    rest[rows, y] -= 1
    rest /= len(y)
    back = (rest @ m["output.w"].T) * (units > 0)
    gradient = {"hidden.w": x.T @ back, "hidden.b": back.sum(axis=0), "output.w": units.T @ rest, "output.b": rest.sum(axis=0)}
    return -log[rows, y].mean(), gradient


class Adam:
    def __init__(self, m, lr):
        self.lr, self.t = lr, 0
        self.first = {name: np.zeros_like(p) for name, p in m.items()}
        self.second = {name: np.zeros_like(p) for name, p in m.items()}

    def step(self, m, gradient):
        self.t += 1
        new = {}
        for name, g in gradient.items():
            self.first[name] = 0.9 * self.first[name] + 0.1 * g
            self.second[name] = 0.999 * self.second[name] + 0.001 * g * g
            first, second = self.first[name] / (1 - 0.9**self.t), self.second[name] / (1 - 0.999**self.t)
            new[name] = m[name] - self.lr * first / (np.sqrt(second) + 1e-8)
        return new


def accuracy(m):
    """The share of the test rows that a model reads rightly."""
    return np.mean(forward(m, pixels[is_test])[1].argmax(axis=1) == labels[is_test])


def train(m, order, lr):
    """Trains on minibatches; `order[e]` are the rows of epoch e, [steps, batch]. Returns the model, the mean loss and the
    accuracy of each epoch."""
    adam, losses, right = Adam(m, lr), [], []
    for epoch in order:
        total = 0.0
        for rows in epoch:
            loss, gradient = loss_and_gradient(m, pixels[rows], labels[rows])
            m = adam.step(m, gradient)
            total += loss
        losses.append(total / len(epoch))
        right.append(accuracy(m))
    return m, losses, right
