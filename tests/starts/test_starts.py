"""Every start: where it begins, in which library, and what it refuses."""

import re

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors, starts
from thinrank.losses import Custom, LeastSquares
from thinrank.minimize import as_start

N, P, K, R = 40, 20, 12, 2


def data(**keywords):
    given = {"n_samples": N, "n_features": P, "n_targets": K, "rank": R, "noise": 0.5}
    return tr.datasets.make_two_way_sparse(row_sparsity=5, column_sparsity=4, **(given | keywords))


def least_squares(library, dtype="float64", scale_x=1.0, scale_y=1.0, **keywords):
    X, Y, _ = data()
    X, Y = library.array(scale_x * X, dtype), library.array(scale_y * Y, dtype)
    return LeastSquares(X, Y, **keywords)


NAMES = ["auto", "lasso", "group_lasso", "proximal", "screening", "spectral"]
STARTS = {name: as_start(name) for name in NAMES} | {
    "lasso authors": starts.Lasso("authors"),
    "lasso number": starts.Lasso(0.1),
    "group lasso authors": starts.GroupLasso("authors"),
    "array": None,
    "factors": None,
}


def start_of(name, library, dtype="float64"):
    truth = data()[2]
    if name == "array":
        return as_start(library.array(truth.theta, dtype))
    if name == "factors":
        return as_start(Factors(library.array(truth.U, dtype), library.array(truth.V, dtype)))
    return STARTS[name]


def error(theta):
    """Relative to the truth."""
    truth = data()[2].theta
    return np.linalg.norm(theta - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("name", STARTS)
def test_every_start_on_every_library(library, numpy_library, name):
    factors = start_of(name, library)(least_squares(library), R, 5, 4, 0)
    library.check(factors.U, factors.V)
    assert factors.shape == (P, K)
    assert factors.rank == R
    U, V = library.numpy(factors.U), library.numpy(factors.V)
    np.testing.assert_allclose(U.T @ U, V.T @ V, atol=1e-7)
    theta = library.numpy(factors.theta)
    assert error(theta) < 0.8  # it knows something of the truth
    expected = start_of(name, numpy_library)(least_squares(numpy_library), R, 5, 4, 0).theta
    np.testing.assert_allclose(theta, expected, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_starts_do_not_depend_on_units(numpy_library, name):
    plain, large_y, large_x = (
        STARTS[name](least_squares(numpy_library, **units), R, 5, 4, 0).theta
        for units in ({}, {"scale_y": 1e6}, {"scale_x": 1e5})
    )
    np.testing.assert_allclose(large_y, 1e6 * plain, rtol=1e-5, atol=1.0)
    np.testing.assert_allclose(1e5 * large_x, plain, rtol=1e-4, atol=1e-6)


# --------------------------------------------------------------------------- names and errors


def test_functions_are_starts(library):
    loss = least_squares(library)
    truth = start_of("factors", library).theta
    given = as_start(lambda loss, rank, rows, columns, seed: truth)
    assert given(loss, R, 5, 4, 0) is truth
    answer = tr.minimize(loss, rank=R, row_sparsity=5, column_sparsity=4, start=given)
    assert answer.status.converged


@pytest.mark.parametrize("given", [None, 3, [[1.0, 2.0]]])
def test_what_is_no_start(given):
    with pytest.raises(TypeError, match=f"start must be a name.*got {re.escape(repr(given))}"):
        as_start(given)


def test_given_starts_come_to_the_library_of_the_loss(library, dtype):
    theta = data()[2].theta  # NumPy, float64
    loss = least_squares(library, dtype)
    for given in (theta, data()[2]):
        factors = as_start(given)(loss, 1, 5, 4, 0)
        library.check(factors.U, factors.V, dtype=dtype)
        left, values, right = np.linalg.svd(theta)
        best = values[0] * np.outer(left[:, 0], right[0])
        np.testing.assert_allclose(library.numpy(factors.theta), best, atol=1e-5)


# --------------------------------------------------------------------------- penalties


def start_with(kind, penalty, loss):
    return kind(penalty)(loss, K, P, K, 0).theta


@pytest.mark.parametrize("kind", [starts.Lasso, starts.GroupLasso])
def test_penalty_of_the_authors(numpy_library, kind):
    loss = least_squares(numpy_library, sample_weight=np.full(N, 2.0))
    number = 0.5 * np.sqrt(np.log(P) / (2 * N))
    expected = start_with(kind, number, loss)
    np.testing.assert_allclose(start_with(kind, "authors", loss), expected, atol=1e-6)


def test_penalty_by_the_noise():
    """Half of what noise reaches in the gradient, for predictors of unit mean square."""
    X, Y, _ = data()
    loss = LeastSquares(X / np.sqrt(np.mean(X**2, axis=0)), Y)
    entry = 0.5 * loss.noise() * np.sqrt(np.log(P) / N)
    group = 0.5 * loss.noise() * (np.sqrt(K) + np.sqrt(2 * np.log(P))) / np.sqrt(N)
    for kind, size in ((starts.Lasso, entry), (starts.GroupLasso, group)):
        expected = start_with(kind, size, loss)
        np.testing.assert_allclose(start_with(kind, "auto", loss), expected, atol=1e-4)


@pytest.mark.parametrize("penalty", [-0.1, float("inf"), float("nan"), "bic", None])
def test_penalties_that_make_no_sense(numpy_library, penalty):
    with pytest.raises(ValueError, match="penalty must be"):
        starts.Lasso(penalty)(least_squares(numpy_library), R, 5, 4, 0)


def test_a_predictor_that_is_only_correlated_with_relevant_ones():
    """Its covariances with the responses are the largest, and it is still left out."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30))
    X[:, 0] = X[:, 1:5].sum(axis=1) / 2 + 0.5 * rng.standard_normal(300)
    theta = np.zeros((30, 6))
    theta[1:5] = (1 + 0.2 * rng.uniform(size=(4, 2))) @ rng.uniform(size=(2, 6))
    Y = (X @ theta + 0.3 * rng.standard_normal((300, 6))) * np.linspace(1, 30, 6)
    assert 0 in starts.Screening()(LeastSquares(X, Y), 2, 4, 6, 0).row_support
    for start in ("auto", "screening"):
        est = tr.SparseReducedRankRegressor(2, 4, None, start=start).fit(X, Y)
        np.testing.assert_array_equal(est.row_support_, [1, 2, 3, 4])


# --------------------------------------------------------------------------- what a loss must have


def custom(**keywords):
    B = data()[2].theta

    def gradient(theta):
        return 0.5 * np.sum((theta - B) ** 2), theta - B

    def value_and_gradient(factors):
        value, full = gradient(factors.theta)
        return value, full @ factors.V, full.T @ factors.U

    return Custom(value_and_gradient, B.shape, full_gradient=gradient, **keywords)


@pytest.mark.parametrize(
    ("start", "missing"),
    [
        ("lasso", "smoothness"),
        ("group_lasso", "smoothness"),
        ("screening", "quadratic"),
    ],
)
def test_missing_capabilities_are_named(start, missing):
    with pytest.raises(TypeError, match=f"needs a loss with the capability '{missing}'"):
        as_start(start)(custom(), R, 5, 4, 0)


@pytest.mark.parametrize("penalty", ["auto", "authors"])
def test_penalties_name_what_they_miss(penalty):
    with pytest.raises(TypeError, match=f"penalty=\"{penalty}\" needs .* 'samples'"):
        starts.Lasso(penalty)(custom(smoothness=1.0), R, 5, 4, 0)


@pytest.mark.parametrize("start", ["auto", "spectral", starts.Lasso(0.01), starts.GroupLasso(0.01)])
def test_starts_of_a_custom_loss(start):
    factors = as_start(start)(custom(smoothness=1.0), R, 5, 4, 0)
    assert factors.rank == R
    assert error(factors.theta) < 0.1


# --------------------------------------------------------------------------- memory


@pytest.mark.parametrize("name", ["lasso", "group_lasso", "proximal"])
def test_over_budget_the_way_out_is_named(monkeypatch, numpy_library, name):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "1e-9")
    message = f'start="{name}" would hold a dense 20×12 matrix.*use start="spectral"'
    with pytest.raises(MemoryError, match=message):
        as_start(name)(least_squares(numpy_library), R, 5, 4, 0)


def test_over_budget_auto_is_spectral(monkeypatch, library):
    loss = least_squares(library)
    lasso = library.numpy(as_start("auto")(loss, R, 5, 4, 0).theta)
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "1e-9")
    loss = least_squares(library)
    auto = library.numpy(as_start("auto")(loss, R, 5, 4, 0).theta)
    expected = library.numpy(starts.Spectral()(loss, R, 5, 4, 0).theta)
    np.testing.assert_allclose(auto, expected, atol=1e-9)
    assert np.abs(auto - lasso).max() > 1e-3
