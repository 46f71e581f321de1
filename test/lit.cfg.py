"""Configuration of the lit tests. `test/run.py` passes the build folder as the parameter `build`."""

import ctypes.util
import os
import shutil

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(lit_config.params.get("build", os.path.join(root, "build")))

config.name = "pmapc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".pmap", ".test"]
# Inputs are data of other tests; the examples are tested by test/Examples.
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "test-output")

# The system's Python, since it is the one that has the NumPy that ./dev installs.
python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"

config.substitutions += [
    # Runs a numeric test's directives; see test/numeric/check.py.
    ("%numeric", f"{python} {root}/test/numeric/check.py --pmapc {os.path.join(build, 'bin', 'pmapc')}"),
    ("%pmapc", os.path.join(build, "bin", "pmapc")),
    ("%pmap-opt", os.path.join(build, "bin", "pmap-opt")),
    ("%bin", os.path.join(build, "bin")),
    ("%stub_cuda", os.path.join(build, "lib", "libpmap_test_cuda.so")),
    # Any library that is no CUDA driver.
    ("%libz", ctypes.util.find_library("z") or "libz.so.1"),
    ("%examples", os.path.join(root, "examples")),
    ("%data", os.path.join(root, "examples", "data")),
    ("%root", root),
    ("%python", python),
]

# NVIDIA's assembler, where a toolkit is installed: PTX itself needs none.
ptxas = shutil.which("ptxas") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
if os.path.exists(ptxas):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), "/usr/lib/llvm-22/bin", os.environ.get("PATH", "")]
)
# Tests must neither read nor fill the user's cache.
config.environment["PMAPC_CACHE"] = os.path.join(build, "test-cache")
# Every pass is verified in tests.
config.environment["PMAPC_VERIFY"] = "1"
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment["EXAMPLES"] = os.path.join(root, "examples")
config.environment["OPENBLAS_NUM_THREADS"] = "1"
for name in ("CC", "HOME", "TMPDIR", "OPENBLAS_CORETYPE", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

if lit_config.params.get("full"):
    config.available_features.add("full")
sanitizer = lit_config.params.get("sanitizer")
if sanitizer:
    config.available_features.add(sanitizer)
