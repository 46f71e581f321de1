#!/usr/bin/env python3
"""Feeds N mutated programs to `pmapc check`: whatever the text, it must answer with 0 or 2, in time, and never crash.

The programs are the examples, the standard library and the tests, with tokens and lines deleted, doubled, swapped or taken from
elsewhere. A failure prints the seed and keeps the program, so that it can be run again.
"""

import argparse
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
SPICE = ["(", ")", "[", "]", "{", "}", "..", "...", ":", ",", "=", "-1", "0", "1e999", "n", "fn", "let", "var", "pmap", "psum",
         "grad", "for", "while", "if", "else", "_", '"a"', "@", "**", "//", "%", ":>", "|>", "with", "i64", "f64[0]", "\t", "\x00",
         "é", "𝛼", "\\", "#", "##", "\n", ";"]


def corpus():
    names = []
    for pattern in ("examples/**/*.pmap", "stdlib/**/*.pmap", "test/**/*.pmap"):
        names += glob.glob(os.path.join(ROOT, pattern), recursive=True)
    texts = []
    for name in sorted(names):
        with open(name, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return texts


def mutate(rng, texts):
    tokens = TOKEN.findall(rng.choice(texts))
    other = TOKEN.findall(rng.choice(texts))
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(tokens) + 1)
        action = rng.randrange(6)
        if action == 0 and tokens:
            del tokens[at : at + rng.choice([1, 1, 3, 20])]
        elif action == 1:
            tokens.insert(at, rng.choice(SPICE))
        elif action == 2 and tokens:
            tokens[at : at] = tokens[at : at + rng.choice([1, 5, 40])]
        elif action == 3 and other:
            start = rng.randrange(len(other))
            tokens[at:at] = other[start : start + rng.choice([1, 5, 40])]
        elif action == 4 and tokens:
            b = rng.randrange(len(tokens))
            at = min(at, len(tokens) - 1)
            tokens[at], tokens[b] = tokens[b], tokens[at]
        else:
            tokens = tokens[:at]
    return "".join(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pmapc", default=os.path.join(ROOT, "build", "bin", "pmapc"))
    options = parser.parse_args()
    texts = corpus()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "fuzz.pmap")
        for i in range(options.count):
            rng = random.Random(options.seed * 1_000_003 + i)
            with open(path, "w", encoding="utf-8") as file:
                file.write(mutate(rng, texts))
            try:
                result = subprocess.run([options.pmapc, "check", path], capture_output=True, timeout=20)
                problem = None if result.returncode in (0, 2) else f"exit status {result.returncode}"
                if b"internal error" in result.stderr:
                    problem = "internal error"
            except subprocess.TimeoutExpired:
                problem = "no answer in 20 s"
            if problem:
                failures += 1
                keep = f"fuzz-{options.seed}-{i}.pmap"
                with open(path, encoding="utf-8") as source, open(keep, "w", encoding="utf-8") as copy:
                    copy.write(source.read())
                print(f"program {i} (seed {options.seed}): {problem}; kept as {keep}")
    print(f"{options.count - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
