"""Reads the curves of a plot back, by the places of its ticks, and compares them with what was plotted."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import numpy as np

PMAPC = sys.argv[1]
SVG = "{http://www.w3.org/2000/svg}"


def plot(*arguments, status=0):
    result = subprocess.run([PMAPC, "plot", *arguments], capture_output=True, text=True)
    if result.returncode != status:
        sys.exit(f"plot {arguments}: exit status {result.returncode}\n{result.stderr}")
    return result.stdout or result.stderr


def scale(ticks):
    """The linear map from places to numbers that ticks (place, number) tell; all of them must lie on it."""
    places, numbers = np.array(ticks).T
    slope, start = np.polyfit(places, numbers, 1)
    assert np.allclose(slope * places + start, numbers, rtol=1e-3, atol=1e-3 * np.abs(numbers).max()), ticks
    return lambda place: slope * place + start


def curves(path, logarithmic=False):
    """Title, names of the legend, and for each curve its points."""
    root = xml.parse(path).getroot()
    texts = [(float(t.get("x")), float(t.get("y")), t.get("text-anchor"), t.text) for t in root.iter(SVG + "text")]
    axis = 440 - 56
    x = scale([(t[0], float(t[3])) for t in texts if t[2] == "middle" and axis < t[1] < axis + 25])
    numbers = [(t[1] - 4.5, float(t[3])) for t in texts if t[2] == "end" and t[0] < 72]
    y = scale([(place, np.log10(v) if logarithmic else v) for place, v in numbers])
    found = []
    for path in root.iter(SVG + "path"):
        points = [tuple(map(float, p.split())) for p in re.findall(r"[ML]([-\d. ]+)", path.get("d"))]
        found.append([(x(px), 10 ** y(py) if logarithmic else y(py)) for px, py in points])
    names = [t[3] for t in texts if t[2] == "end" and t[0] > 600]
    return [t[3] for t in texts], names, found


def check_curve(points, values, rtol=0.0):
    kept = [(i, v) for i, v in enumerate(values) if np.isfinite(v)]
    assert len(points) == len(kept), (len(points), len(kept))
    span = max(v for _, v in kept) - min(v for _, v in kept)
    for (x, y), (i, v) in zip(points, kept):
        assert abs(x - i) < 0.02 * len(values) / 10 and abs(y - v) <= max(span / 200, rtol * abs(v)), ((x, y), (i, v))


os.chdir(tempfile.mkdtemp())
decay = 2.5 * np.exp(-np.arange(40) / 7)
wave = np.sin(np.arange(40) / 3).astype(np.float32)
np.save("decay.npy", decay)
np.savez("both.npz", decay=decay, wave=wave, matrix=np.zeros((2, 2)))

plot("decay.npy", "-o", "one.svg", "--title", "a < b & c", "--x", "step", "--y", "loss")
texts, names, found = curves("one.svg")
assert texts[0] == "a < b & c" and "step" in texts and "loss" in texts and names == []
check_curve(found[0], decay)

plot("decay.npy", "-o", "log.svg", "--log")
check_curve(curves("log.svg", True)[2][0], decay, rtol=0.02)

# Every vector of an archive; a name takes one; a matrix is a curve per column; whole numbers are numbers.
plot("both.npz", "-o", "two.svg")
_, names, found = curves("two.svg")
assert names == ["decay", "wave"]
check_curve(found[0], decay)
check_curve(found[1], wave)
np.save("pair.npy", np.stack([np.arange(9), 8 - np.arange(9)], axis=1).astype(np.int16))
plot("both.npz:wave", "pair.npy", "-o", "three.svg")
_, names, found = curves("three.svg")
assert names == ["wave", "pair[:, 0]", "pair[:, 1]"]
check_curve(found[2], 8 - np.arange(9))

# What is not finite is a gap: two pieces, and no line across it.
broken = decay.copy()
broken[10:13] = [np.nan, np.inf, -np.inf]
np.save("broken.npy", broken)
plot("broken.npy", "-o", "broken.svg")
check_curve(curves("broken.svg")[2][0], broken)
assert open("broken.svg").read().count("M") == 2

# The ends of f64 have their places, and no label is infinite.
np.save("ends.npy", np.array([1e308, -1e308, 0]))
plot("ends.npy", "-o", "ends.svg")
points = re.findall(r"[ML]([-\d. ]+)", xml.parse("ends.svg").getroot().find(SVG + "path").get("d"))
heights = [float(p.split()[1]) for p in points]
assert 44 <= heights[0] < heights[2] < heights[1] <= 384 and "inf" not in open("ends.svg").read().split("fill=")[-1], heights
plot("ends.npy")

# Of a long curve only what can be seen is written: its peaks are there, and its gap.
long = np.sin(np.arange(1_000_000) / 1e4)
long[123_456], long[700_000], long[400_000] = 5, -4, np.nan
np.save("long.npy", long)
plot("long.npy", "-o", "long.svg")
assert os.path.getsize("long.svg") < 200_000 and open("long.svg").read().count("M") == 2
points = curves("long.svg")[2][0]
assert max(y for _, y in points) > 4.95 and min(y for _, y in points) < -3.95
assert abs(max(points, key=lambda p: p[1])[0] - 123_456) < 2000

# As text: the curve falls from the upper left to the lower right.
lines = [line.split("|")[-1].split("+")[-1] for line in plot("decay.npy").splitlines()[1:17]]
tops = [min(row for row, line in enumerate(lines) if line[column:column + 1] == "*") for column in range(70)]
assert tops == sorted(tops) and tops[0] < 3 and tops[-1] == 15, tops


def refuses(expected, *arguments, status=2):
    message = plot(*arguments, status=status)
    if expected not in message:
        sys.exit(f"plot {arguments}: expected {expected!r} in {message!r}")


np.save("cube.npy", np.zeros((2, 3, 4), np.float32))
np.save("nothing.npy", np.full(3, np.nan))
np.save("wide.npy", np.zeros((5, 30)))
refuses("cube.npy: error: expected a vector, or a matrix whose columns are curves, got f32[2, 3, 4] [E1029]", "cube.npy")
np.save("empty.npy", np.zeros(0, np.float32))
refuses("error: the array has no elements [E1029]", "empty.npy")
refuses("error: no element is finite [E1029]", "nothing.npy")
refuses("error: no element is positive and finite [E1029]", "both.npz:matrix", "--log")
refuses("error: expected at most 24 curves, got 30 [E1029]", "wide.npy")
refuses("error: plots are written as .svg, got 'a.png' [E1029]", "decay.npy", "-o", "a.png")
refuses("none.npy: error: cannot read the file: no such file or directory [E1018]", "none.npy")
refuses("both.npz: error: the archive has no array 'loss' [E1026]", "both.npz:loss")
refuses("none/a.svg: error: cannot write the file: the folder 'none' does not exist [E1027]", "decay.npy", "-o", "none/a.svg")
assert not os.path.exists("a.png")
