"""Hard(U, s) of the paper."""

import numpy as np
import pytest

from thinrank.core.threshold import hard_threshold


def naive_hard(block, count):
    out = np.zeros_like(block)
    order = sorted(range(len(block)), key=lambda i: (-np.sum(block[i] ** 2), i))
    for i in order[:count]:
        out[i] = block[i]
    return out


@pytest.mark.parametrize("count", [1, 3, 8, 9, 20])
@pytest.mark.parametrize("kind", ["random", "ties", "zeros"])
def test_hard(library, dtype, rng, count, kind):
    block = rng.standard_normal((9, 2))
    if kind == "ties":
        block = rng.integers(-1, 2, (9, 2)).astype(float)
    elif kind == "zeros":
        block[2:] = 0
    block = block.astype(dtype)
    out = hard_threshold(library.array(block, dtype), count)
    library.check(out, dtype=dtype)
    np.testing.assert_array_equal(library.numpy(out), naive_hard(block, count))


def test_hard_leaves_its_input_alone(library, rng):
    block = rng.standard_normal((6, 2))
    given = library.array(block)
    hard_threshold(given, 2)
    np.testing.assert_array_equal(library.numpy(given), block)
