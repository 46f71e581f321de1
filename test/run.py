#!/usr/bin/env python3
"""Runs every test and ends with the line `N passed, N failed`.

The lit tests below test/ and the GoogleTest programs named `*-tests` in the build folder count alike: one test each
per lit file and per GoogleTest case.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIT = "/usr/lib/llvm-22/bin/lit"

# Debian's LLVM is built without the sanitizer: memory that it hands out from pools which our instrumented inlined code has
# poisoned, and containers that it grows, would be reported falsely. Overruns, uses after free and leaks still are.
ASAN_OPTIONS = "allow_user_poisoning=0:detect_container_overflow=0"


def run_lit(build, options):
    """Returns (passed, failed) of the lit tests."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "lit.xml")
        command = [LIT, "-q", "--xunit-xml-output", report, "--timeout", "3600" if options.full else "300"]
        command += ["-j", str(os.cpu_count() or 1), "-D", f"build={build}"]
        if options.full:
            command += ["-D", "full=1"]
        if options.sanitizer:
            command += ["-D", f"sanitizer={options.sanitizer}"]
        if options.filter:
            command += ["--filter", options.filter, "--allow-empty-runs"]
        status = subprocess.run(command + [os.path.join(ROOT, "test")]).returncode
        if not os.path.exists(report):
            return 0, 1
        suites = xml.parse(report).getroot().iter("testsuite")
        total = failed = skipped = 0
        for suite in suites:
            total += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
        if status and not failed:
            failed = 1
        return total - failed - skipped, failed


def run_google_tests(build, options):
    """Returns (passed, failed) of the GoogleTest programs."""
    passed = failed = 0
    for program in sorted(glob.glob(os.path.join(build, "bin", "*-tests"))):
        command = [program, "--gtest_brief=1"]
        if options.filter:
            command.append(f"--gtest_filter=*{options.filter}*")
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "gtest.json")
            status = subprocess.run(command + [f"--gtest_output=json:{report}"], cwd=scratch).returncode
            if not os.path.exists(report):
                print(f"{program}: stopped with status {status} before it could report")
                failed += 1
                continue
            with open(report) as file:
                result = json.load(file)
            bad = result["failures"] + result.get("errors", 0)
            passed += result["tests"] - bad
            failed += bad if bad or status == 0 else 1
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("filter", nargs="?", help="run only the tests whose path or name contains this")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--full", action="store_true", help="the long random runs too")
    parser.add_argument("--sanitizer", help="the sanitizer that the build folder was built with")
    parser.add_argument("--units", action="store_true", help="the GoogleTest programs only")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if options.sanitizer:
        # The instrumented runtime needs the support library of the compiler that instrumented it.
        os.environ["CC"] = "clang-22"
    if options.sanitizer == "asan":
        os.environ.setdefault("ASAN_OPTIONS", ASAN_OPTIONS)
        os.environ.setdefault("LSAN_OPTIONS", f"suppressions={ROOT}/test/leaks.txt:print_suppressions=0")

    lit = (0, 0) if options.units else run_lit(build, options)
    google = run_google_tests(build, options)
    passed, failed = lit[0] + google[0], lit[1] + google[1]
    if passed + failed == 0:
        print("no test matches", options.filter)
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
