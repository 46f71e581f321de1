"""What all measures share: timing in turns, the report, memory, and programs that answer commands."""

import glob
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PMAP_BENCH_BUILD", os.path.join(ROOT, "build"))
PMAPC = os.path.join(BUILD, "bin", "pmapc")
PROGRAMS = os.path.join(ROOT, "bench", "programs")
LINREG = os.path.join(ROOT, "examples", "linreg", "linreg.pmap")
DATA = [f"{n}={ROOT}/examples/data/diabetes_{n}.npy" for n in "xy"]
RUNS = int(os.environ.get("PMAP_BENCH_RUNS", "20"))
CORES = len(os.sched_getaffinity(0))
MIB = 1 << 20


def interleave(*actions, runs=RUNS, pause=0.0):
    """The median seconds of each action; an action returns its own seconds, or None to be timed from outside. `pause` seconds
    pass before each: OpenBLAS's threads keep their cores busy for some time after a call, and would slow whoever comes next."""
    times = [[] for _ in actions]
    for _ in range(runs + 1):
        for action, seconds in zip(actions, times):
            time.sleep(pause)
            start = time.perf_counter()
            own = action()
            seconds.append(own if own is not None else time.perf_counter() - start)
    # The first round warms caches, pages and branch predictors.
    return [statistics.median(s[1:]) for s in times]


def report(name, ours, bound="", peer="", good=None):
    mark = "" if good is None else ("ok" if good else "MISSED")
    print(f"{name:<44} {ours:>12}  {bound:<34} {mark:<7} {peer}", flush=True)


def ms(seconds):
    return f"{seconds * 1e3:.1f} ms"


def command(*arguments, env=None):
    """An action that runs a command to its end."""
    environment = {**os.environ, **(env or {})}

    def action():
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, env=environment)

    return action


MEASURE_MEMORY = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(process.returncode, usage.ru_maxrss * 1024)
"""


def peak_memory(*arguments):
    """The largest resident size of a command, in bytes. A child inherits the peak of the process that it was forked from,
    so a small process of its own does the forking."""
    output = subprocess.run([sys.executable, "-c", MEASURE_MEMORY, *arguments], capture_output=True, text=True, check=True)
    status, size = map(int, output.stdout.split())
    if status != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit status {status}")
    return size


class Process:
    """A process that answers each command line by the seconds that it took."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def line(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{os.path.basename(self.process.args[0])} stopped")
        return answer

    def ask(self, what, argument=0):
        def action():
            self.process.stdin.write(f"{what} {argument}\n")
            self.process.stdin.flush()
            return float(self.line())

        return action

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Harness(Process):
    """bench/harness.cpp with a program's object. `slots` are its inputs; there are none without a program."""

    def __init__(self, scratch, program, devices, threads, *slots):
        name = os.path.splitext(os.path.basename(program))[0] if program else "runtime"
        binary = os.path.join(scratch, "harness-" + name)
        if not os.path.exists(binary):
            objects = []
            if program:
                objects = [os.path.join(scratch, name + ".o")]
                subprocess.run([PMAPC, "build", program, "--emit", "obj", "-o", objects[0]], check=True)
            libraries = glob.glob(f"{BUILD}/lib/libpmap*blas*.a") + [f"{BUILD}/lib/libpmaprt.a"]
            # The harness itself is compiled once per scratch folder.
            main = os.path.join(scratch, "harness.o")
            if not os.path.exists(main):
                subprocess.run(["clang++-22", "-std=c++20", "-O2", "-march=native", f"-I{ROOT}/runtime/include", f"-I{ROOT}", "-c",
                                f"{ROOT}/bench/harness.cpp", "-o", main], check=True)
            subprocess.run(["clang++-22", main, *objects, "-Wl,-z,muldefs", "-Wl,--start-group", *libraries, "-Wl,--end-group",
                            "-lopenblas", "-lmvec", "-lm", "-lminizip", "-lz", "-lpthread", "-o", binary], check=True)
        super().__init__(binary, str(devices), str(threads), *slots)
