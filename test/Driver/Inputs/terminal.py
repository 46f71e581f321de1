"""A session at a terminal: ^C gives up what is typed and ends a computation; entries may hold an empty line."""

import os
import pty
import select
import sys
import time

os.environ["HOME"] = os.getcwd()
os.environ["TERM"] = "dumb"
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "repl", "--devices", "2"])


screen = b""


def until(text, seconds=120):
    """What the screen shows next, up to and with `text`."""
    global screen
    end = time.time() + seconds
    while text not in screen:
        assert time.time() < end, (text, screen)
        if select.select([terminal], [], [], 0.2)[0]:
            screen += os.read(terminal, 65536)
    at = screen.index(text) + len(text)
    shown, screen = screen[:at], screen[at:]
    return shown.decode()


def enter(line, then=b"> "):
    os.write(terminal, line.encode() + b"\n")
    return until(then)


until(b"> ")
enter("let x = 41")
# What is begun is given up, on one line and on several.
os.write(terminal, b"x + (2")
until(b"(2")
os.write(terminal, b"\x03")
until(b"> ")
assert "42" in enter("x + 1")
enter("fn f(v) {", b". ")
os.write(terminal, b"\x03")
until(b"> ")
# One empty line is part of an entry, two end it; a command does as well.
enter("fn f(v) {", b". ")
enter("", b". ")
enter("  v + 2", b". ")
enter("}")
assert "43" in enter("f(x)")
enter("fn g(v) {", b". ")
enter("", b". ")
assert "[E0102]" in enter("")
enter("f(", b". ")
assert "is given up" in enter(":type x")
# Computations, on the host and on devices that wait for each other, end; the session keeps its values.
for loop in (
    'for k in 0..2000000000 { y = sin(y) + 1; if k == 9 { print("begun") } }',
    'let z = pmap(fn(v) { var u = v; for k in 0..2000000000 { u = sin(u) + psum(u, "a"); '
    'if k == 9 { print("begun") } }; u }, axis: "a")(y)',
):
    enter("var y = ones([1000])")
    os.write(terminal, loop.encode() + b"\n")
    until(b"begun\r\n")
    os.write(terminal, b"\x03")
    until(b"interrupted")
    until(b"> ")
    assert "42" in enter("x + 1")
os.write(terminal, b"quit\n")
assert os.waitpid(pid, 0)[1] == 0
