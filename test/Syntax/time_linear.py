"""Checks that ten times the lines do not take much more than ten times as long to parse.

usage: time_linear.py PMAP_PARSE SCRATCH
"""

import subprocess
import sys

FUNCTION = """## A function.
fn f{i}(x: f32[n, d], y: f32[n], lr: f32 = 0.2, steps: i32 = 1000) -> (w: f32[d], b: f32) {{
  # comment
  var m = (w: zeros([d]), b: 0.0)
  for i in 0..steps {{
    let g = x[i, :] * (y[i] - 3.5) ** 2 / lr + sum(x @ m.w + m.b, axis: 0, keep: true)
    if i % 2 == 0 and lr > 0.5 or not true {{ m = (w: m.w - lr * g, b: m.b) }} else {{ m = m with (b: 1e-3) }}
    let t = [for i in n, j in d: x[i, j] * y[j]] |> vmap(fn(p, q) = p - lr * q)(m, g)
  }}
  m
}}

"""


def seconds(parser, path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(FUNCTION.format(i=i) for i in range(lines // 12)))
    times = [float(subprocess.run([parser, "--time", path], check=True, capture_output=True, text=True).stdout) for _ in range(3)]
    return min(times)


def main():
    parser, scratch = sys.argv[1:]
    small, large = seconds(parser, scratch + ".small.pmap", 2000), seconds(parser, scratch + ".large.pmap", 20000)
    ratio = large / small
    print(f"{'linear' if ratio < 25 else 'not linear'}: 2,000 lines {small:.3f} s, 20,000 lines {large:.3f} s, ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
