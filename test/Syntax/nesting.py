"""Feeds the parser programs that nest deeply, and prints how each ended.

usage: nesting.py PMAP_PARSE SCRATCH
"""

import re
import resource
import subprocess
import sys

N = 50000
PROGRAMS = {
    "parentheses": "fn f(x) = " + "(" * N + "x" + ")" * N,
    "brackets": "fn f(x) = " + "[" * N + "x" + "]" * N,
    "blocks": "fn f(x) = " + "{ " * N + "x" + "}" * N,
    "minus": "fn f(x) = " + "-" * N + "x",
    "not": "fn f(x) = " + "not " * N + "x",
    "power": "fn f(x) = x" + " ** x" * N,
    "functions": "fn f(x) = " + "fn(x) = " * N + "x",
    "else_if": "fn f(x) = if x { x } " + "else if x { x } " * N + "else { x }",
    "types": "fn f(x: " + "(" * N + "f32" + ")" * N + ") = x",
    "patterns": "fn f(x) { let " + "(" * N + "a" + ")" * N + " = x }",
    "sum": "fn f(x) = x" + " + x" * N,
    "pipes": "fn f(x) = x" + " |> f(1)" * N,
    "fields": "fn f(x) = x" + ".a" * N,
    "sum_of_900": "fn f(x) = x" + " + x" * 900,
    "long_list": "fn f(x) = [" + "1.5, " * N + "]",
}


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (3 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))


def main():
    parser, scratch = sys.argv[1:]
    for name, text in PROGRAMS.items():
        path = f"{scratch}.{name}.pmap"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text + "\n")
        done = subprocess.run([parser, path], capture_output=True, text=True, preexec_fn=small_stack)
        errors = re.findall(r"error: (.*)", done.stderr)
        if done.returncode not in (0, 1):
            print(f"{name}: crashed with {done.returncode}")
        else:
            print(f"{name}: " + (f"{len(errors)} error: {errors[0]}" if errors else "fine"))


if __name__ == "__main__":
    main()
