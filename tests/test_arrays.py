"""Functions of arrays on top of the array API, against NumPy."""

import numpy as np
import pytest
from scipy import special

from thinrank import arrays
from thinrank.arrays import hard_threshold, top_positions, top_rows

# --------------------------------------------------------------------------- conversion


def test_as_float_array_keeps_floats(library, dtype):
    x = library.array([[1, 2], [3, 4]], dtype)
    assert arrays.as_float_array(x) is x


@pytest.mark.parametrize("kind", ["int64", "bool"])
def test_as_float_array_makes_the_rest_float64(library, kind):
    out = arrays.as_float_array(library.array([[0, 1], [1, 1]], kind))
    library.check(out)
    np.testing.assert_array_equal(library.numpy(out), [[0.0, 1.0], [1.0, 1.0]])


def test_as_float_array_refuses_complex_numbers(library):
    with pytest.raises(ValueError, match="Complex data not supported"):
        arrays.as_float_array(library.array([1.0, 2.0], "complex128"))


# --------------------------------------------------------------------------- rows and columns


@pytest.mark.parametrize("index", [[], [1, 3], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("tail", [(), (2,)])
def test_scatter_rows(library, dtype, rng, index, tail):
    rows = rng.standard_normal((len(index), *tail)).astype(dtype)
    out = arrays.scatter_rows(library.array(rows, dtype), library.index(index), 5)
    library.check(out, dtype=dtype)
    expected = np.zeros((5, *tail), dtype=dtype)
    expected[index] = rows
    np.testing.assert_array_equal(library.numpy(out), expected)


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        ([1, 5, 3, 4], 2, [1, 3]),
        ([1, 5, 3, 4], 9, [0, 1, 2, 3]),
        ([2, 2, 2, 2], 2, [0, 1]),  # ties go to the first rows
        ([1, 2, 3, 2, 2], 3, [1, 2, 3]),
        ([-3, 1, 3, 0], 1, [0]),
        ([0, 7, 0, 0], 3, [1]),  # rows of zeros are never kept
        ([0, 0, 0], 2, []),
    ],
)
def test_top_rows(library, dtype, values, count, expected):
    block = library.array(np.array(values)[:, None] * [0.0, 1.0], dtype)
    kept = library.numpy(top_rows(block, count))
    assert kept.dtype.kind == "i"
    np.testing.assert_array_equal(kept, expected)


# --------------------------------------------------------------------------- ties by rounding


@pytest.mark.parametrize("times", [-3, 3])
def test_rows_that_differ_by_rounding_are_ties(library, dtype, times):
    """The first is kept, whichever is larger."""
    eps = np.finfo(dtype).eps
    values = np.array([1.0, 5.0, 3.0, 5.0 * (1 + times * eps), 2.0])
    block = np.array(values[:, None] * [0.6, 0.8], dtype=dtype)
    # what differs by more than half of the digits is no tie
    clear = library.array([[1.0], [1 + 3 * eps**0.5]], dtype)
    assert library.numpy(top_rows(clear, 1)).tolist() == [1]
    assert np.sum(block[1] ** 2) != np.sum(block[3] ** 2)
    for count, expected in ((1, [1]), (2, [1, 3]), (3, [1, 2, 3])):
        kept = library.numpy(top_rows(library.array(block, dtype), count))
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        ([3, np.inf, 5], 2, [1, 2]),
        ([np.inf, 3, np.inf], 1, [0]),
        ([0, np.inf, 0], 2, [1]),
    ],
)
def test_top_rows_of_what_is_not_finite(library, dtype, values, count, expected):
    with np.errstate(invalid="ignore", over="ignore"):
        kept = top_rows(library.array(np.array(values)[:, None], dtype), count)
    np.testing.assert_array_equal(library.numpy(kept), expected)


def test_top_rows_of_very_large_numbers(library, dtype):
    """Squares that are finite, but not when they are split into halves of their digits."""
    large = np.finfo(dtype).max ** 0.5 / 4
    block = library.array([[3.0], [large], [5.0], [2 * large]], dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for count, expected in ((1, [3]), (2, [1, 3]), (3, [1, 2, 3])):
            kept = library.numpy(top_rows(block, count))
            np.testing.assert_array_equal(kept, expected)


# --------------------------------------------------------------------------- functions of entries


def test_logistic_functions_do_not_overflow(library, dtype):
    x = np.array([-700.0, -80.0, -1.5, 0.0, 2.0, 80.0, 700.0])
    own, positive, share = library.array(x, dtype), np.logaddexp(0.0, x), special.expit(x)
    found = [arrays.expit(own), *arrays.logistic(own)]
    library.check(*found, dtype=dtype)
    tol = 1e-5 if dtype == "float32" else 1e-13
    expected = [share, positive, share, special.expit(-x)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(library.numpy(one), other, rtol=tol, atol=1e-40)


@pytest.mark.parametrize("ties", [False, True])
def test_the_largest_of_many_numbers(rng, ties):
    squares = rng.standard_normal(40_001) ** 2
    if ties:
        squares = np.round(squares, 1)
    order = np.argsort(-arrays.half_the_digits(squares), kind="stable")
    assert top_positions(squares, 300).tolist() == sorted(order[:300].tolist())


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
