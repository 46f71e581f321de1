#!/usr/bin/env python3
"""Every diagnostic code has a row, a page and a negative test that quotes it, and nothing else has a page."""

import os
import re
import sys

ROOT = sys.argv[1]
TESTS = (".pmap", ".mlir", ".test", ".py", ".cpp", ".txt")

# Codes that no test can provoke, and why.
UNTESTABLE = {
    "E1111": "the type checker lets no two sizes meet that could differ (V10)",
    "E1116": "it takes a system without threads",
    "E1202": "it takes a fault of the compiler",
}


def rows():
    """Code and title of each row of Errors.def."""
    with open(os.path.join(ROOT, "compiler/Support/Errors.def")) as file:
        text = file.read()
    return dict(re.findall(r'^PMAP_DIAGNOSTIC\((E\d+),\s*"[^"]*",\s*"((?:[^"\\]|\\.)*)"\)', text, re.M))


def quoted_codes():
    """The codes that a file below test/ quotes in an expectation."""
    codes = set()
    for folder, _, names in os.walk(os.path.join(ROOT, "test")):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(TESTS) and os.path.abspath(path) != os.path.abspath(__file__):
                with open(path, errors="replace") as file:
                    codes.update(re.findall(r"E\d{4}", file.read()))
    return codes


def main():
    known, quoted, faults = rows(), quoted_codes(), []
    for code, title in known.items():
        page = os.path.join(ROOT, "docs/errors", code + ".md")
        if not os.path.exists(page):
            faults.append(f"{code} has no page docs/errors/{code}.md")
        else:
            with open(page) as file:
                first = file.readline().strip()
            if first != f"# {code}: {title}":
                faults.append(f"docs/errors/{code}.md begins with '{first}', expected '# {code}: {title}'")
        if code not in quoted and code not in UNTESTABLE:
            faults.append(f"{code} is quoted by no test")
    for name in sorted(os.listdir(os.path.join(ROOT, "docs/errors"))):
        if re.fullmatch(r"E\d{4}\.md", name) and name[:5] not in known:
            faults.append(f"docs/errors/{name} explains a code that does not exist")
    print("\n".join(faults) or f"{len(known)} codes, each with a page and a test")
    return bool(faults)


sys.exit(main())
