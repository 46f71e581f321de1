#!/usr/bin/env python3
"""P8, F17: `chunk:` bounds memory by the rows of one chunk. Fails where ten times the rows need much more of it, or where the result
is not that of all rows at once."""

import os
import sys
import tempfile

from peak_memory import measure

# Sorting keeps the array of a row from being computed away: all rows at once need 8 KB each.
PROGRAM = """
fn row(v: f32) = sum(cumsum(sort(sin(v * iota(2000, dtype: f32)))))
fn main(n: i32, chunked: bool) {
  let x = iota(n, dtype: f32) / f32(n)
  if chunked { sum(vmap(row, chunk: 64)(x)) } else { sum(vmap(row)(x)) }
}
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chunk.pmap")
        with open(path, "w") as file:
            file.write(PROGRAM)
        _, few = measure(sys.argv[1], path, "n=2000", "chunked=true")
        chunked, many = measure(sys.argv[1], path, "n=20000", "chunked=true")
        whole, all_at_once = measure(sys.argv[1], path, "n=20000", "chunked=false")
    print(f"2000 rows: {few} KiB, 20000 rows: {many} KiB, all of them at once: {all_at_once} KiB")
    if abs(chunked - whole) > 1e-4 * abs(whole):
        sys.exit(f"the results differ: {chunked} and {whole}")
    if many > few + 10000:
        sys.exit("memory grows with the rows")
    if all_at_once < many + 100000:
        sys.exit("all rows at once need no more: this test measures nothing")


main()
