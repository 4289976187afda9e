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


@pytest.mark.parametrize("count", [1, 8, 20])
@pytest.mark.parametrize("kind", ["random", "ties", "zeros"])
def test_hard(library, dtype, rng, count, kind):
    block = rng.standard_normal((9, 2))
    if kind == "ties":
        block = rng.integers(-1, 2, (9, 2)).astype(float)
    elif kind == "zeros":
        block[2:] = 0
    given = library.array(block, dtype)
    out = hard_threshold(given, count)
    library.check(out, dtype=dtype)
    np.testing.assert_array_equal(library.numpy(out), naive_hard(block.astype(dtype), count))
    np.testing.assert_array_equal(library.numpy(given), block.astype(dtype))  # as it was
