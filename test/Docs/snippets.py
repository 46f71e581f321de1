"""Runs what the pages of the documentation show: programs, errors, and commands with their output.

usage: snippets.py PMAPC SCRATCH [--devices N] [--errors] PAGE...

The fences say what a block is:

    ```pmap                   checks without an error, and its tests pass
    ```pmap f.pmap            the same, and the commands below find it under that name; not checked itself
    ```pmap-error E0123       fails with that code
    ```pmap-warning E0123     checks, with a warning or a note of that code
    ```console                commands, `$ pmapc run f.pmap`, each with all it prints; a line `...` is any number of lines

Commands run in a folder of the page's own, where `examples` is that of the repository and `python3` this Python. With `--errors` each page E0123.md must show
that error, in a program or in what a command prints, or say why "No program shows it here"; and a program or a command without an
error: how it is mended. Prints the number of blocks.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FENCE = re.compile(r"^```(pmap|pmap-error|pmap-warning|console)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


class Page:
    def __init__(self, path, options):
        self.path, self.options = path, options
        self.folder = os.path.join(options.scratch, os.path.splitext(os.path.basename(path))[0])
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(self.folder, "examples"))
        self.text = open(path, encoding="utf-8").read()
        self.blocks = FENCE.findall(self.text)
        self.problems = []
        # Codes that were printed, and whether something went well.
        self.codes, self.mended = set(), False

    def pmapc(self, verb, file):
        arguments = ["--devices", str(self.options.devices)] if verb == "test" else []
        return subprocess.run([self.options.pmapc, verb, file, *arguments], cwd=self.folder, capture_output=True, text=True)

    def run(self):
        for number, (kind, word, text) in enumerate(self.blocks, 1):
            if kind == "console":
                self.console(number, text)
            else:
                self.program(number, kind, word, text)

    def program(self, number, kind, word, text):
        name = word if word.endswith(".pmap") else f"block_{number}.pmap"
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write(text)
        if word.endswith(".pmap"):
            return
        # The tests of a program are all of it, unless it has an entry as well.
        has_tests = kind == "pmap" and re.search(r"^test ", text, re.M)
        verbs = ["check"] if not has_tests else ["check", "test"] if re.search(r"^(export )?fn ", text, re.M) else ["test"]
        for verb in verbs:
            done = self.pmapc(verb, name)
            fails = kind == "pmap-error"
            if (done.returncode != 0) != fails or (word and f"[{word}]" not in done.stderr):
                self.problems.append(f"block {number}, pmapc {verb} exits with {done.returncode}:\n{text}\n{done.stdout}{done.stderr}")
                return
            self.codes |= set(re.findall(r"\[(E\d+)\]", done.stderr))
            self.mended |= not fails

    def console(self, number, text):
        path = os.pathsep.join([os.path.dirname(self.options.pmapc), os.path.dirname(sys.executable), os.environ["PATH"]])
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "PATH": path})
            pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected.splitlines())
            if not re.fullmatch(pattern, done.stdout):
                self.problems.append(f"block {number}: {command}\nprints\n{done.stdout}\nexpected\n{expected}")
            self.codes |= set(re.findall(r"\[(E\d+)\]", done.stdout))
            self.mended |= done.returncode == 0 and command.startswith("pmapc")

    def check_error_page(self):
        code = os.path.splitext(os.path.basename(self.path))[0]
        is_shown = "No program shows it here" not in self.text
        if is_shown and code not in self.codes:
            self.problems.append(f"nothing on the page gives {code}")
        if is_shown and not self.mended:
            self.problems.append("nothing on the page shows how the error is mended")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pmapc")
    parser.add_argument("scratch")
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    options.pmapc = os.path.abspath(options.pmapc)
    blocks = failures = 0
    for path in options.pages:
        page = Page(path, options)
        page.run()
        if options.errors:
            page.check_error_page()
        blocks += len(page.blocks)
        failures += len(page.problems)
        for problem in page.problems:
            print(f"{path}: {problem}\n")
    print(f"{blocks} blocks, {failures} failed")
    return 1 if failures or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
