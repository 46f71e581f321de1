"""Compiles and runs the programs shown in a page of the documentation.

usage: snippets.py PMAPC PAGE SCRATCH [ARGUMENTS of pmapc test]

A block fenced as ```pmap must check without an error, and its tests must pass. One fenced as ```pmap-error E0123 must fail with that
code, one fenced as ```pmap-warning E0123 must check with a warning of it. Prints the number of blocks.
"""

import os
import re
import subprocess
import sys


def main():
    pmapc, page, scratch, *arguments = sys.argv[1:]
    os.makedirs(scratch, exist_ok=True)
    text = open(page, encoding="utf-8").read()
    blocks = re.findall(r"^```(pmap|pmap-(?:error|warning) (E\d+))\n(.*?)^```$", text, re.M | re.S)
    failures = 0
    for number, (kind, code, program) in enumerate(blocks, 1):
        path = os.path.join(scratch, f"snippet_{number}.pmap")
        with open(path, "w", encoding="utf-8") as out:
            out.write(program)
        verbs = ["check"] + (["test"] if not code and re.search(r"^test ", program, re.M) else [])
        for verb in verbs:
            done = subprocess.run([pmapc, verb, path] + (arguments if verb == "test" else []), capture_output=True, text=True)
            fails = kind.startswith("pmap-error")
            fine = (done.returncode != 0) == fails and (not code or f"[{code}]" in done.stderr)
            if not fine:
                failures += 1
                print(f"block {number}, pmapc {verb} exits with {done.returncode}:\n{program}\n{done.stdout}{done.stderr}")
                break
    print(f"{len(blocks)} blocks, {failures} failed")
    return 1 if failures or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
