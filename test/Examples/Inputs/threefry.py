"""The keys and permutations of module random by NumPy: Threefry-2x32 with 20 rounds (Salmon et al., 2011)."""

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, x):
    """The cipher of pairs of words under a key of two words."""
    words = [np.uint32(key[0]), np.uint32(key[1])]
    words.append(words[0] ^ words[1] ^ np.uint32(0x1BD11BDA))
    a, b = x[0] + words[0], x[1] + words[1]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            a = a + b
            b = ((b << np.uint32(turn)) | (b >> np.uint32(32 - turn))) ^ a
        a = a + words[(group + 1) % 3]
        b = b + words[(group + 2) % 3] + np.uint32(group + 1)
    return a, b


def counters(key, n):
    return threefry(key, (np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)))


def key(seed):
    return 0, seed


def split(key, n=2):
    return list(zip(*counters(key, n)))


def fold_in(key, data):
    a, b = threefry(key, (np.zeros(1, np.uint32), np.array([data], np.uint32)))
    return a[0], b[0]


def permutation(key, n):
    """The integers below n in random order: sorted by random numbers, in rounds."""
    order = np.arange(n)
    for _ in range(int(np.ceil(3 * np.log(max(n, 1)) / np.log(2**32 - 1)))):
        key, other = split(key)
        a, b = counters(other, n)
        order = order[np.argsort(a ^ b, kind="stable")]
    return order
