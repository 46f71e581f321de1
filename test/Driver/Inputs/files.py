"""Gives every verb of pmapc files that are missing, folders, empty, or cannot be written: files.py PMAPC"""

import os
import stat
import subprocess
import sys

import numpy as np

PMAPC = sys.argv[1]


def expect(status, text, *command, **options):
    """Runs a command; its status and the messages it prints must be as expected, and only one of them an error."""
    command = [PMAPC if word == "pmapc" else word for word in command]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            **options)
    said = result.stderr + result.stdout
    if result.returncode != status or text not in said or said.count("error:") > 1:
        sys.exit(f"{command}: expected status {status} and {text!r}, got {result.returncode} and {said!r}")


with open("p.pmap", "w") as file:
    file.write('fn main(x: f32[n]) -> f32[n] = x * 2.0\ntest "holds" { assert 1 < 2 }\n')
for name in ("empty.pmap", "empty.npy", "empty.npz"):
    open(name, "w").close()
os.mkdir("folder")

# Sources.
for verb in ("run", "build", "check", "show", "test", "fmt", "repl"):
    expect(2, "error: cannot read 'none.pmap': no such file or directory [E1001]\n", "pmapc", verb, "none.pmap")
    expect(2, "error: cannot read 'none/p.pmap': no such file or directory [E1001]\n", "pmapc", verb, "none/p.pmap")
    expect(2, "error: cannot read 'folder': is a directory [E1001]\n", "pmapc", verb, "folder")
expect(2, "error: 'empty.pmap' has no `main` to run [E1003]\n", "pmapc", "run", "empty.pmap")
expect(2, "error: 'empty.pmap' has no `main` to build an executable of [E1003]\n", "pmapc", "build", "empty.pmap")
for verb in ("check", "show", "fmt", "repl"):
    expect(0, "", "pmapc", verb, "empty.pmap")
expect(0, "0 passed, 0 failed\n", "pmapc", "test", "empty.pmap")
expect(0, "1 passed, 0 failed\n", "pmapc", "test", "p.pmap")
expect(2, "1 passed, 1 failed\n", "pmapc", "test", "p.pmap", "none.pmap")
expect(2, "error: no test's title contains 'hodls'\n", "pmapc", "test", "p.pmap", "--filter", "hodls")

# Inputs.
expect(2, "empty.npy: error: not a .npy file: the file is empty [E1020]\n", "pmapc", "run", "p.pmap", "x=empty.npy")
expect(2, "empty.npz: error: not a .npz archive: the file is empty [E1026]\n", "pmapc", "run", "p.pmap", "x=empty.npz")
expect(2, "x=folder: error: expected a value or a file for f32[n], got a folder [E1018]\n"
          "note: name a file in it, x=folder/x.npy, or the blocks of one array, x='folder/*.npy'\n", "pmapc", "run", "p.pmap",
       "x=folder")
os.rename("folder", "folder.npz")
expect(2, "folder.npz: error: cannot read the file: is a directory [E1018]\n", "pmapc", "run", "p.pmap", "x=folder.npz")
os.rename("folder.npz", "folder")

# Outputs. A full disk shows only when it is written to: then the work was done, and failed.
run, build, emit = ("run", "p.pmap", "x=[1]"), ("build", "p.pmap"), ("build", "p.pmap", "--emit", "pmap")
for verb in (run, build, emit):
    expect(2, "folder: error: cannot write the file: it is a folder [E1027]\n", "pmapc", *verb, "-o", "folder")
    expect(2, "none/w.npy: error: cannot write the file: the folder 'none' does not exist [E1027]\n", "pmapc", *verb, "-o",
           "none/w.npy")
    expect(2, "p.pmap/w.npy: error: cannot write the file: not a directory [E1027]\n", "pmapc", *verb, "-o", "p.pmap/w.npy")
for verb in (run, emit):
    expect(1, "/dev/full: error: cannot write the file: no space left on device [E1027]\n", "pmapc", *verb, "-o", "/dev/full")
# A linker replaces what is there: a pipe here, so that no device is at stake.
os.mkfifo("pipe")
expect(2, "pipe: error: cannot write an executable: not a regular file [E1027]\n", "pmapc", *build, "-o", "pipe")
assert stat.S_ISFIFO(os.stat("pipe").st_mode)
with open("said.pmap", "w") as file:
    file.write('fn main() {\n  print("said")\n  ones([2])\n}\n')
full = open("/dev/full", "w")
for what, *command in (("the result: no space left on device", *run), ("what was printed", "run", "said.pmap", "-o", "w.npy"),
                       ("to it: no space left on device", "show", "p.pmap"), ("to it: no space left on device", "fmt", "p.pmap"), ("to it: no space left on device", "explain", "E0401"),
                       ("to it: no space left on device", "test", "p.pmap"), ("to it: no space left on device", *emit)):
    result = subprocess.run([PMAPC, *command], stdout=full, stderr=subprocess.PIPE, text=True)
    message = f"standard output: error: cannot write {what} [E1027]\n"
    if result.returncode != 1 or result.stderr != message:
        sys.exit(f"{command}: expected {message!r}, got {result.returncode} and {result.stderr!r}")

# Formatting keeps the permissions of what it replaces.
with open("ugly.pmap", "w") as file:
    file.write("fn f( x )=x\n")
os.chmod("ugly.pmap", 0o640)
expect(0, "", "pmapc", "fmt", "--in-place", "ugly.pmap")
assert open("ugly.pmap").read() == "fn f(x) = x\n" and stat.S_IMODE(os.stat("ugly.pmap").st_mode) == 0o640

# What is printed while the standard output is closed does not go into the file that gets its number.
expect(0, "", "pmapc", "build", "said.pmap", "-o", "said")
subprocess.run(["./said", "-o", "w.npy"], check=True, close_fds=False, preexec_fn=lambda: os.close(1))
assert np.load("w.npy").tolist() == [1, 1]
assert not [name for name in os.listdir(".") if name.startswith(("w.npy.", "none"))]
