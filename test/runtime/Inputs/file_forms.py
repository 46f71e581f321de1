"""Saves arrays in every form that NumPy writes, and compares what a program reads with what NumPy reads."""

import os
import subprocess
import sys

import numpy as np

rng = np.random.default_rng(5)
DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
SHAPES = [(), (5,), (1, 4), (4, 1), (3, 70), (67, 33), (2, 3, 5), (4, 1, 40), (2, 3, 4, 5), (0, 3), (2, 2, 2, 2, 2)]


def run(source, *arguments):
    with open("p.pmap", "w") as file:
        file.write(source)
    return subprocess.run([sys.argv[1], "run", "p.pmap", *arguments], capture_output=True, text=True)


def fails(code, message, source, *arguments):
    result = run(source, *arguments)
    assert result.returncode == 2, (arguments, result)
    assert message in result.stderr and f"[{code}]" in result.stderr, (arguments, result.stderr)


def array(dtype, shape):
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind == "f":
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


# One program for each shape takes an array of each dtype in each form.
forms = {
    "c": lambda x: x,
    "f": lambda x: np.asarray(x, order="F"),
    "big": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "both": lambda x: np.asarray(x.astype(x.dtype.newbyteorder(">")), order="F"),
}
for number, shape in enumerate(SHAPES):
    parameters, results, arguments, expected, archived = [], [], [], {}, {}
    # All dtypes once; for other shapes one of each size is enough.
    for name, dtype in DTYPES.items() if shape == (3, 70) else [(n, DTYPES[n]) for n in ("i8", "f16", "i32", "f64")]:
        for form, convert in forms.items():
            leaf = f"{name}_{form}"
            x = np.asarray(array(dtype, shape))
            np.save(f"{leaf}.npy", convert(x))
            archived[leaf] = convert(x)
            sizes = ", ".join(f"n{d}" for d in range(len(shape)))
            parameters.append(f"{leaf}: {name}[{sizes}]")
            results.append(f"{leaf}: {leaf}")
            arguments.append(f"{leaf}={leaf}.npy")
            expected[leaf] = x
    source = f"fn main({', '.join(parameters)}) = ({', '.join(results)})"
    np.savez("plain.npz", **archived)
    np.savez_compressed("packed.npz", **archived)
    for given in (arguments, [f"{leaf}=plain.npz" for leaf in archived], [f"{leaf}=packed.npz:{leaf}" for leaf in archived]):
        if given is not arguments and number % 3:
            continue
        result = run(source, *given, "-o", "out.npz")
        assert result.returncode == 0, (shape, result.stderr)
        with np.load("out.npz") as out:
            for leaf, x in expected.items():
                assert out[leaf].dtype == x.dtype and np.array_equal(out[leaf], x), (shape, leaf)

# A large array in Fortran order is not used as it lies in the file.
big = rng.standard_normal((700, 300)).astype(np.float32)
np.save("big.npy", big.T)
np.save("bools.npy", np.asfortranarray(big > 0))
result = run("fn main(x: f32[n, m], b: bool[m, n]) = (x: x, b: b)", "x=big.npy", "b=bools.npy", "-o", "out.npz")
assert result.returncode == 0, result.stderr
with np.load("out.npz") as out:
    assert np.array_equal(out["x"], big.T) and np.array_equal(out["b"], big > 0)

# Blocks are matched by every pattern of a shell, and may be in either order.
for i in range(11):
    np.save(f"part-{i}.npy", (np.asfortranarray if i % 2 else np.asarray)(big[i * 20 : i * 20 + 20]))
matrix = "fn main(x: f32[n, m]) = x"
for pattern, last in (("part-*.npy", 220), ("part-?.npy", 200), ("part-[0-2].npy", 60)):
    result = run(matrix, f"x={pattern}", "-o", "out.npy")
    assert result.returncode == 0 and np.array_equal(np.load("out.npy"), big[:last]), (pattern, result.stderr)
fails("E1018", "x=none-*.npy: error: no file matches the pattern", matrix, "x=none-*.npy")
fails("E1018", "note: end it in .npy, as in x='part-*.npy'", matrix, "x=part-*")
fails("E1018", "note: end it in .npy, as in x='part-*.npy'", matrix, "x=part-*.npz")

# What holds no array that can be used.
np.save("records.npy", np.zeros(3, [("a", "f4"), ("b", "i4")]))
np.save("texts.npy", np.array(["ab", "c"]))
np.save("complex.npy", np.array([1j]))
np.save("long.npy", np.array([1], np.longdouble))
np.save("vector.npy", np.ones(3, np.float32))
np.save("double.npy", np.ones((2, 2)))
fails("E1025", "note: save each field by itself, as in np.save(path, array['a'])", matrix, "x=records.npy")
fails("E1025", "the array holds texts ('<U2'), which have no dtype here", matrix, "x=texts.npy")
fails("E1025", "note: save array.real and array.imag, two arrays", matrix, "x=complex.npy")
fails("E1025", "the array holds elements of type '<f16'", matrix, "x=long.npy")
fails("E1016", "expected rank 2, got rank 1", matrix, "x=vector.npy")
fails("E1015", "convert it with np.save(path, array.astype(np.float32))", matrix, "x=double.npy")
fails("E1015", "convert it with np.save(path, array.astype(ml_dtypes.bfloat16))", "fn main(x: bf16[n, m]) = x", "x=double.npy")
os.makedirs("folder.npy")
fails("E1018", "folder.npy: error: cannot read the file: is a directory", matrix, "x=folder.npy")
fails("E1018", "x=.: error: expected a value or a file for f32[n, m], got a folder", matrix, "x=.")
fails("E1018", "got what is no regular file", matrix, "x=/dev/null")
os.mkfifo("pipe.npy")
fails("E1018", "pipe.npy: error: cannot read the file: not a regular file", matrix, "x=pipe.npy")
fails("E1018", "note: write x=vector.npy", matrix, "x=vector.npy:a")
with open("table.txt", "w") as file:
    file.write("1 2\n")
fails("E1024", 'np.save("table.npy", np.loadtxt("table.txt", dtype=np.float32))', matrix, "x=table.txt")
os.link("vector.npy", "vector.NPY")
fails("E1024", "note: its name ends in capital letters; call it vector.npy", matrix, "x=vector.NPY")

# Archives: damaged ones, arrays of other names, and more than a record takes.
np.savez_compressed("m.npz", x=big)
with open("m.npz", "rb") as file:
    whole = file.read()
for at in range(60, len(whole) - 200, len(whole) // 4):
    with open("bad.npz", "wb") as file:
        file.write(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    fails("E1026", "bad.npz:x: error: damaged archive", matrix, "x=bad.npz")
for length in range(1, len(whole), len(whole) // 4):
    with open("bad.npz", "wb") as file:
        file.write(whole[:length])
    fails("E1026", "bad.npz: error: ", matrix, "x=bad.npz")
with open("bad.npz", "wb") as file:
    file.write(whole[:-10])
fails("E1026", "bad.npz: error: damaged archive: its directory cannot be read", matrix, "x=bad.npz")
np.savez("other.npz", a=big, b=big)
fails("E1026", "note: name one of them: x=other.npz:a", matrix, "x=other.npz")
fails("E1026", "note: name one of them: x=other.npz:a", matrix, "x=other.npz:c")
fails("E1014", "expected the name of an array after '.npz:'", matrix, "x=other.npz:")

record = "fn main(m: (w: f32[d], b: f32), x: f32[d]) = sum(m.w * x) + m.b"
one = np.float32(1)
vector = np.ones(3, np.float32)
np.savez("exact.npz", w=vector, b=one)
np.savez("more.npz", w=vector, b=one, losses=vector, wold=vector)
np.savez("full.npz", **{"m.w": vector, "m.b": one, "m.c": one, "x": vector, "z": one})
np.savez("below.npz", **{"model.w": vector, "model.b": one, "model.c": one, "z": one})
for archive, note in (
    ("exact.npz", ""),
    ("more.npz", "more.npz: note: 'losses', 'wold' are not read: 'm' has no such part\n"),
    ("full.npz", "full.npz: note: 'm.c' is not read: 'm' has no such part\n"),
    ("below.npz:model", "below.npz: note: 'model.c' is not read: 'm' has no such part\n"),
):
    result = run(record, f"m={archive}", "x=[1, 2, 3]")
    assert (result.returncode, result.stdout, result.stderr) == (0, "7.0\n", note), result
# Another input may take what the record leaves, and a part may be given by itself.
np.savez("with_x.npz", w=vector, b=one, x=vector)
result = run(record, "m=with_x.npz", "x=with_x.npz:x", "m.b=2")
assert (result.returncode, result.stdout, result.stderr) == (0, "5.0\n", ""), result
