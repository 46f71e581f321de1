"""Runs a command that must end within so many seconds: within.py SECONDS COMMAND..."""

import subprocess
import sys

sys.exit(subprocess.run(sys.argv[2:], timeout=float(sys.argv[1])).returncode)
