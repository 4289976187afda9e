"""The linear algebra on top of the array API, against NumPy."""

import tracemalloc

import numpy as np
import pytest
from scipy import special

from thinrank import arrays, entrywise, linalg
from thinrank.largest import bound_of_largest, top_positions, top_rows
from thinrank.leading_vectors import leading_left_vectors

LOOSE = {"float32": 1e-4, "float64": 1e-8}


def with_spectrum(rng, shape, values):
    """A matrix with the given leading singular values; the others are zero."""
    left = np.linalg.qr(rng.standard_normal((shape[0], len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((shape[1], len(values))))[0]
    return (left * np.asarray(values)) @ right.T


# --------------------------------------------------------------------------- conversion


def test_as_float_array_keeps_floats(library, dtype):
    x = library.array([[1, 2], [3, 4]], dtype)
    assert arrays.as_float_array(x) is x


@pytest.mark.parametrize("kind", ["int64", "bool"])
def test_as_float_array_makes_the_rest_float64(library, kind):
    out = arrays.as_float_array(library.array([[0, 1], [1, 1]], kind))
    library.check(out)
    np.testing.assert_array_equal(library.numpy(out), [[0.0, 1.0], [1.0, 1.0]])


def test_as_float_array_takes_lists():
    out = arrays.as_float_array([[1, 2]])
    assert isinstance(out, np.ndarray)
    assert out.dtype == np.float64


def test_as_float_array_refuses_complex_numbers(library):
    with pytest.raises(ValueError, match="Complex data not supported"):
        arrays.as_float_array(library.array([1.0, 2.0], "complex128"))


def test_there_and_back(library, dtype, rng):
    x = rng.standard_normal((3, 2)).astype(dtype)
    there = arrays.from_numpy(x, like=library.array([0.0], dtype))
    library.check(there, arrays.zeros((2, 3), like=there), dtype=dtype)
    back = arrays.to_numpy(there)
    assert type(back) is np.ndarray
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, x)


def test_numbers_of_a_dtype(library, dtype):
    x = library.array([0.0], dtype)
    assert arrays.eps(x) == np.finfo(dtype).eps
    assert arrays.itemsize(x) == np.dtype(dtype).itemsize


def test_norm_and_inner_are_python_numbers(library, dtype):
    a, b = library.array([[3, 0], [0, 4]], dtype), library.array([[1, 9], [9, 2]], dtype)
    for out, expected in ((arrays.norm(a), 5.0), (arrays.inner(a, b), 11.0)):
        assert type(out) is float
        assert out == expected


# --------------------------------------------------------------------------- rows and columns


def test_take(library, dtype):
    a = library.array(np.arange(12).reshape(4, 3), dtype)
    rows = arrays.take_rows(a, library.index([3, 1]))
    columns = arrays.take_columns(a, library.index([2, 0]))
    library.check(rows, columns, dtype=dtype)
    np.testing.assert_array_equal(library.numpy(rows), [[9, 10, 11], [3, 4, 5]])
    np.testing.assert_array_equal(library.numpy(columns), [[2, 0], [5, 3], [8, 6], [11, 9]])


@pytest.mark.parametrize("index", [[], [0], [4], [1, 3], [0, 1, 2, 3, 4]])
@pytest.mark.parametrize("tail", [(), (2,)])
def test_scatter_rows(library, dtype, rng, index, tail):
    rows = rng.standard_normal((len(index), *tail)).astype(dtype)
    out = arrays.scatter_rows(library.array(rows, dtype), library.index(index), 5)
    library.check(out, dtype=dtype)
    expected = np.zeros((5, *tail), dtype=dtype)
    expected[index] = rows
    np.testing.assert_array_equal(library.numpy(out), expected)


def test_add_to_diagonal(library, dtype):
    a = np.arange(9.0).reshape(3, 3)
    out = arrays.add_to_diagonal(library.array(a, dtype), 0.5)
    library.check(out, dtype=dtype)
    np.testing.assert_array_equal(library.numpy(out), a + 0.5 * np.eye(3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_add_to_diagonal_works_in_place(order):
    a = np.asarray(np.ones((4, 4)), order=order)
    assert arrays.add_to_diagonal(a, 2.0) is a
    np.testing.assert_array_equal(a, 1 + 2 * np.eye(4))


def test_row_norms_squared(library, dtype):
    out = arrays.row_norms_squared(library.array([[3, 4], [0, 0], [1, 2]], dtype))
    library.check(out, dtype=dtype)
    np.testing.assert_allclose(library.numpy(out), [25, 0, 5], rtol=4 * np.finfo(dtype).eps)


def test_select(library):
    out = arrays.true_positions(library.array([1, 0, 0, 1, 1], "bool"))
    np.testing.assert_array_equal(library.numpy(out), [0, 3, 4])


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        ([1, 5, 3, 4], 2, [1, 3]),
        ([1, 5, 3, 4], 4, [0, 1, 2, 3]),
        ([1, 5, 3, 4], 9, [0, 1, 2, 3]),
        ([2, 2, 2, 2], 2, [0, 1]),  # ties go to the first rows
        ([1, 2, 3, 2, 2], 3, [1, 2, 3]),
        ([-3, 1, 3, 0], 1, [0]),
        ([0, 7, 0, 0], 3, [1]),  # rows of zeros are never kept
        ([0, 7, 0, 0], 4, [1]),
        ([0, 0, 0], 2, []),
    ],
)
def test_top_rows(library, dtype, values, count, expected):
    block = library.array(np.array(values)[:, None] * [0.0, 1.0], dtype)
    kept = library.numpy(top_rows(block, count))
    assert kept.dtype.kind == "i"
    np.testing.assert_array_equal(kept, expected)


# --------------------------------------------------------------------------- ties by rounding


def test_half_the_digits_makes_numbers_equal_that_differ_by_rounding(library, dtype):
    short = np.array([1.0, 3.0, 0.375, 1000.0, 1.28e5, -7.0, 2.0**-60, 0.0])
    eps = np.finfo(dtype).eps
    for times in (-4, -1, 0, 1, 4):
        near = library.array(short * (1 + times * eps), dtype)
        out = arrays.half_the_digits(near)
        library.check(out, dtype=dtype)
        np.testing.assert_array_equal(library.numpy(out), short)


def test_half_the_digits_keeps_half_of_them(library, dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(2000) * 10 ** rng.uniform(-12, 12, 2000)).astype(dtype)
    out = library.numpy(arrays.half_the_digits(library.array(x, dtype)))
    root = np.finfo(dtype).eps ** 0.5
    assert np.all(np.abs(out - x) <= root * np.abs(x))
    assert np.any(np.abs(out - x) > root / 8 * np.abs(x))
    again = arrays.half_the_digits(library.array(out, dtype))
    np.testing.assert_array_equal(library.numpy(again), out)
    # what differs by more stays different
    one, more = library.numpy(arrays.half_the_digits(library.array([1, 1 + 3 * root], dtype)))
    assert one < more


@pytest.mark.parametrize("times", [-3, 3])
def test_rows_that_differ_by_rounding_are_ties(library, dtype, times):
    """The first is kept, whichever is larger."""
    eps = np.finfo(dtype).eps
    values = np.array([1.0, 5.0, 3.0, 5.0 * (1 + times * eps), 2.0])
    block = np.array(values[:, None] * [0.6, 0.8], dtype=dtype)
    assert np.sum(block[1] ** 2) != np.sum(block[3] ** 2)
    for count, expected in ((1, [1]), (2, [1, 3]), (3, [1, 2, 3])):
        kept = library.numpy(top_rows(library.array(block, dtype), count))
        np.testing.assert_array_equal(kept, expected)


def test_rows_that_differ_by_more_are_no_ties(library, dtype):
    values = np.array([5.0, 5.0 * (1 + 4 * np.finfo(dtype).eps ** 0.5)])
    kept = top_rows(library.array(values[:, None], dtype), 1)
    np.testing.assert_array_equal(library.numpy(kept), [1])


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        ([3, np.inf, 5], 1, [1]),
        ([3, np.inf, 5], 2, [1, 2]),
        ([np.inf, 3, 4, np.inf, 5], 3, [0, 3, 4]),
        ([np.inf, 3, np.inf], 1, [0]),
        ([0, np.inf, 0], 2, [1]),
    ],
)
def test_top_rows_of_what_is_not_finite(library, dtype, values, count, expected):
    with np.errstate(invalid="ignore", over="ignore"):
        kept = top_rows(library.array(np.array(values)[:, None], dtype), count)
    np.testing.assert_array_equal(library.numpy(kept), expected)


def test_top_rows_of_what_is_not_a_number(library, dtype):
    """Not a number is not among the largest."""
    block = library.array([[3.0], [np.nan], [5.0], [4.0]], dtype)
    with np.errstate(invalid="ignore"):
        kept = library.numpy(top_rows(block, 2))
    assert set(kept) <= {0, 2, 3}


def test_top_rows_of_very_large_numbers(library, dtype):
    """Squares that are finite, but not when they are split into halves of their digits."""
    large = np.finfo(dtype).max ** 0.5 / 4
    block = library.array([[3.0], [large], [5.0], [2 * large]], dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for count, expected in ((1, [3]), (2, [1, 3]), (3, [1, 2, 3])):
            kept = library.numpy(top_rows(block, count))
            np.testing.assert_array_equal(kept, expected)


# --------------------------------------------------------------------------- spectra


def test_extreme_eigenvalues(library, dtype, rng):
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    symmetric = (basis * [-2.0, 0.5, 1.0, 3.0, 7.0]) @ basis.T
    low, high = linalg.extreme_eigenvalues(library.array(symmetric, dtype))
    assert (low, high) == pytest.approx((-2.0, 7.0), rel=LOOSE[dtype])


SPECTRA = {
    "gap": np.concatenate([[5.0], np.linspace(0, 1, 299)]),
    "one cluster": np.concatenate([np.full(40, 2.0), np.linspace(0, 1, 260)]),
    "smaller than the block": np.array([1.0, 2.0, 3.0]),
    "little larger than the block": np.linspace(0, 1, 15),
    "no gap": np.linspace(0, 1, 2000),
    "flat": np.linspace(0.9, 1, 2000),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_largest_eigenvalue_is_a_close_upper_bound(library, dtype, spectrum):
    values = SPECTRA[spectrum]
    diagonal = library.array(values[:, None], dtype)
    out = linalg.largest_eigenvalue(lambda block: diagonal * block, len(values), diagonal)
    assert type(out) is float
    assert out >= values.max()
    assert out <= 1.01 * values.max()


def test_largest_eigenvalue_of_zero(library):
    like = library.array([0.0])
    assert linalg.largest_eigenvalue(lambda block: 0 * block, 20, like) == 0.0


def function_pair(A):
    return (lambda block: A @ block), (lambda block: A.T @ block)


@pytest.mark.parametrize("kind", ["dense", "functions"])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (12, 4), (600, 500)])
def test_truncated_svd(library, dtype, rng, kind, shape):
    rank = 3
    matrix = with_spectrum(rng, shape, [10.0, 8.0, 5.0, 0.2][: min(shape)])
    matrix += 1e-3 * rng.standard_normal(shape)
    A = library.array(matrix, dtype)
    if kind == "dense":
        left, values, right = linalg.truncated_svd(A, rank)
    else:
        left, values, right = linalg.truncated_svd(function_pair(A), rank, shape=shape, like=A)
    library.check(left, values, right, dtype=dtype)
    assert (left.shape, values.shape, right.shape) == ((shape[0], 3), (3,), (shape[1], 3))
    left, values, right = (library.numpy(x) for x in (left, values, right))
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(values, s[:rank], rtol=LOOSE[dtype])
    best = (u[:, :rank] * s[:rank]) @ vt[:rank]
    np.testing.assert_allclose((left * values) @ right.T, best, atol=10 * LOOSE[dtype])
    for basis in (left, right):
        np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=LOOSE[dtype])


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("kind", ["dense", "functions"])
def test_truncated_svd_returns_no_more_than_there_is(rng, shape, kind):
    A = rng.standard_normal(shape)
    matrix = A if kind == "dense" else function_pair(A)
    left, values, right = linalg.truncated_svd(matrix, 9, shape=shape, like=A)
    assert (left.shape, values.shape, right.shape) == ((shape[0], 3), (3,), (shape[1], 3))
    np.testing.assert_allclose((left * values) @ right.T, A, atol=1e-12)


def test_truncated_svd_of_zero(library):
    A = library.array(np.zeros((600, 500)))
    _, values, _ = linalg.truncated_svd(A, 2)
    np.testing.assert_array_equal(library.numpy(values), [0.0, 0.0])


def test_truncated_svd_of_functions_needs_a_shape(rng):
    with pytest.raises(TypeError, match="shape and like"):
        linalg.truncated_svd(function_pair(rng.standard_normal((4, 3))), 2)


@pytest.mark.parametrize("size", [1, 5, 128, 129, 300])
def test_inverse_cholesky(library, dtype, size):
    rng = np.random.default_rng(size)
    factor = rng.standard_normal((2 * size, size))
    A = factor.T @ factor / size
    R, ridged = linalg.inverse_cholesky(library.array(A.copy(), dtype))
    assert not ridged
    library.check(R, dtype=dtype)
    R = library.numpy(R)
    assert np.all(np.triu(R, 1) == 0)
    tol = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(R @ A @ R.T, np.eye(size), atol=tol)


def test_inverse_cholesky_of_a_singular_matrix(library):
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((50, 150))  # rank 50 of 150
    A = factor.T @ factor
    R, ridged = linalg.inverse_cholesky(library.array(A.copy(), "float64"))
    assert ridged
    R = library.numpy(R)
    assert np.all(np.isfinite(R))
    b = A @ rng.standard_normal(150)
    solution = R.T @ (R @ b)
    assert np.linalg.norm(A @ solution - b) < 1e-4 * np.linalg.norm(b)


@pytest.mark.parametrize("order", ["C", "F"])
def test_taking_columns_does_not_copy_the_rest(order):
    a = np.asarray(np.zeros((1000, 1000)), order=order)
    index = np.arange(0, 1000, 100)
    tracemalloc.start()
    arrays.take_columns(a, index)
    arrays.take_rows(a, index)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.nbytes / 10


@pytest.mark.parametrize("shape", [(20, 12), (150, 100), (100, 150)])
def test_leading_left_vectors(library, shape):
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.standard_normal((shape[0], 4)))
    right, _ = np.linalg.qr(rng.standard_normal((shape[1], 4)))
    A = (left * [8.0, 6.0, 4.0, 1e-3]) @ right.T
    guess = library.array(rng.standard_normal((shape[1], 2)), "float64")
    found = leading_left_vectors(library.array(A, "float64"), 3, guess)
    found = library.numpy(found)
    assert found.shape == (shape[0], 3)
    np.testing.assert_allclose(found @ found.T, left[:, :3] @ left[:, :3].T, atol=1e-6)
    fewer = leading_left_vectors(library.array(A, "float64"), 8, guess)
    assert fewer.shape == (shape[0], 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inverse_cholesky_of_what_is_not_finite(library, bad):
    with pytest.raises(ValueError, match="not finite"), np.errstate(invalid="ignore"):
        linalg.inverse_cholesky(library.array(np.full((3, 3), bad), "float64"))


# --------------------------------------------------------------------------- functions of entries


def test_expit_and_log1p_exp_do_not_overflow(library, dtype):
    x = np.array([-700.0, -80.0, -1.5, 0.0, 2.0, 80.0, 700.0])
    tol = 1e-5 if dtype == "float32" else 1e-13
    own = library.array(x, dtype)
    found, expected = entrywise.expit(own), special.expit(x)
    library.check(found, entrywise.log1p_exp(own), dtype=dtype)
    np.testing.assert_allclose(library.numpy(found), expected, rtol=tol, atol=1e-40)
    found = library.numpy(entrywise.log1p_exp(own))
    np.testing.assert_allclose(found, np.logaddexp(0.0, x), rtol=tol, atol=1e-40)


def test_logistic_functions_from_one_exponential(library, dtype):
    x = np.array([-700.0, -80.0, -1.5, 0.0, 2.0, 80.0, 700.0])
    tol = 1e-5 if dtype == "float32" else 1e-13
    found = entrywise.logistic(library.array(x, dtype))
    library.check(*found, dtype=dtype)
    for one, other in zip(
        found, (np.logaddexp(0.0, x), special.expit(x), special.expit(-x)), strict=True
    ):
        np.testing.assert_allclose(library.numpy(one), other, rtol=tol, atol=1e-40)


@pytest.mark.parametrize(("numbers", "expected"), [([3, 6, 12.1], True), ([3, 6, 15], False)])
def test_proportional_up_to_a_relative_difference(library, dtype, numbers, expected):
    a, b = library.array(numbers, dtype), library.array([1.0, 2.0, 4.0], dtype)
    assert entrywise.about_proportional(a, b, 0.1) is expected


def test_typical_changes_are_apart_from_a_common_factor(library, dtype):
    a = library.array([3.0, 6.0, 12.0, 24.0], dtype)
    factors = np.exp([0.02, -0.02, 0.02, -0.02])
    assert entrywise.typical_change(a, library.array([1.0, 2, 4, 8], dtype)) < 1e-6
    found = entrywise.typical_change(a, library.array(factors * [1, 2, 4, 8], dtype))
    assert found == pytest.approx(0.02, rel=1e-4)


def test_limits_of_entries(library, dtype):
    x = library.array([[-1.0, 0.5], [3.0, -2.0]], dtype)
    bounds = library.array([0.0, -1.0], dtype)
    outputs = [
        (entrywise.at_least(x, 0.25), [[0.25, 0.5], [3.0, 0.25]]),
        (entrywise.at_most(x, 0.25), [[-1.0, 0.25], [0.25, -2.0]]),
        (entrywise.at_least(x, bounds), [[0.0, 0.5], [3.0, -1.0]]),
        (entrywise.at_most(x, bounds), [[-1.0, -1.0], [0.0, -2.0]]),
    ]
    for found, expected in outputs:
        library.check(found, dtype=dtype)
        np.testing.assert_array_equal(library.numpy(found), expected)


def test_logarithm_of_zero_is_finite(library, dtype):
    x = library.array([0.0, 1.0, 5.0], dtype)
    found = entrywise.log_or_smallest(x)
    library.check(found, x * found, dtype=dtype)
    tol = 1e-6 if dtype == "float32" else 1e-14
    smallest = np.log(np.finfo(dtype).tiny)
    np.testing.assert_allclose(library.numpy(found), [smallest, 0.0, np.log(5.0)], rtol=tol)
    assert library.numpy(x * found)[0] == 0.0


@pytest.mark.parametrize("columns", [1, 3, 20])
def test_sums_and_maxima_of_rows(library, dtype, rng, columns):
    x = rng.standard_normal((6, columns))
    own = library.array(x, dtype)
    library.check(entrywise.row_sums(own), entrywise.row_maxima(own), dtype=dtype)
    tol = 1e-5 if dtype == "float32" else 1e-13
    for found, expected in [
        (entrywise.row_sums(own), x.sum(axis=1, keepdims=True)),
        (entrywise.row_maxima(own), x.max(axis=1, keepdims=True)),
    ]:
        np.testing.assert_allclose(library.numpy(found), expected, rtol=tol, atol=tol)


@pytest.mark.parametrize(("size", "count"), [(40_000, 1), (40_001, 300), (20_000, 2500)])
@pytest.mark.parametrize("ties", [False, True])
def test_the_largest_of_many_numbers(rng, size, count, ties):
    squares = rng.standard_normal(size) ** 2
    if ties:
        squares = np.round(squares, 1)
    found = top_positions(squares, count)
    order = np.argsort(-arrays.half_the_digits(squares), kind="stable")
    assert found.tolist() == sorted(order[:count].tolist())
    bound = bound_of_largest(squares, count)
    assert count <= np.count_nonzero(squares >= bound)
    if not ties:
        assert np.count_nonzero(squares >= bound) < 3 * count + 30


@pytest.mark.parametrize("count", [1, 40])
def test_the_largest_of_many_numbers_and_what_is_none(rng, count):
    """As for few numbers: what is not a number is left out, and may take places."""
    squares = rng.standard_normal(40_000) ** 2
    squares[::100] = np.nan
    assert top_positions(squares, count).tolist() == []
    few = squares[:9000]
    assert top_positions(few, count).tolist() == []


def test_every_kind_of_nan_stays_one(torch):
    """The bits of this one, which a GPU makes, would overflow."""
    x = torch.tensor([2**31 - 1, 0x3F800000], dtype=torch.int32).view(torch.float32)
    assert torch.isnan(arrays.half_the_digits(x)).tolist() == [True, False]
