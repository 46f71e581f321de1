"""ptxas_bounds.py PTXAS ARCH FILE REGISTERS: ptxas takes the file, and no kernel spills or needs more registers."""

import re
import subprocess
import sys

ptxas, arch, path, most = sys.argv[1:]
run = subprocess.run([ptxas, "-v", f"-arch={arch}", path, "-o", "/dev/null"], capture_output=True, text=True)
log = run.stdout + run.stderr
assert run.returncode == 0, log
used = [int(number) for number in re.findall(r"Used (\d+) registers", log)]
assert used, "no kernel: " + log
assert max(used) <= int(most), f"{max(used)} registers\n{log}"
for stack, stores, loads in re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log):
    assert (stack, stores, loads) == ("0", "0", "0"), log
print(f"{len(used)} kernels, {max(used)} registers at most")
