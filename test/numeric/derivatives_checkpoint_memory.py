#!/usr/bin/env python3
"""G4: a checkpoint recomputes instead of storing. Prints the peak memory of a gradient with and without one, and fails where the
checkpoint does not save at least 40 %, or gives another gradient."""

import os
import sys
import tempfile

from peak_memory import measure

PROGRAM = """
fn stage(x: f64[n]) = cumsum(sin(x)) / f64(n)
fn group(x: f64[n]) = x |> stage |> stage |> stage |> stage |> stage |> stage
fn through(g, x: f64[n]) = x |> g |> g |> g |> g |> g |> g |> sum

fn main(checkpointed: bool, n: i32) {
  let x = iota(n, dtype: f64) / f64(n)
  if checkpointed {
    sum(grad(fn(x) = through(checkpoint(group), x))(x) * x)
  } else {
    sum(grad(fn(x) = through(group, x))(x) * x)
  }
}
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pmap")
        with open(path, "w") as file:
            file.write(PROGRAM)
        stored, stored_memory = measure(sys.argv[1], path, "checkpointed=false", "n=1500000")
        again, again_memory = measure(sys.argv[1], path, "checkpointed=true", "n=1500000")
    print(f"stored: {stored_memory} KiB, recomputed: {again_memory} KiB")
    if abs(stored - again) > 1e-12 * abs(stored):
        sys.exit(f"the gradients differ: {stored} and {again}")
    if again_memory > 0.6 * stored_memory:
        sys.exit("the checkpoint saves no memory")


main()
