"""Checks that the links of the documentation lead somewhere: files, and headings of pages.

usage: links.py PAGE...
"""

import os
import re
import sys


def without_code(path):
    return re.sub(r"^```.*?^```", "", open(path, encoding="utf-8").read(), flags=re.M | re.S)


def anchors(path):
    """The headings of a page, as GitHub spells them in links."""
    headings = re.findall(r"^#+ (.*)$", without_code(path), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h).lower()).replace(" ", "-") for h in headings}


def broken(page):
    for link in re.findall(r"\[[^\]]+\]\(([^)\s]+)\)", without_code(page)):
        if re.match(r"https?:", link):
            continue
        name, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
        if not os.path.exists(target) or (anchor and target.endswith(".md") and anchor not in anchors(target)):
            yield link


def main():
    bad = [(page, link) for page in sys.argv[1:] for link in broken(page)]
    for page, link in bad:
        print(f"{page}: nothing is at {link}")
    print(f"{len(sys.argv) - 1} pages, {len(bad)} broken links")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
