"""Tables of errors and elimination paths against explicit coefficients and refits."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.losses import LeastSquares
from thinrank.selection.elimination import forecasts, held_out_changes, removal
from thinrank.selection.tables import directions, error_table
from thinrank.solvers.pursuit import Pursuit

N, P, K = 40, 14, 9


def data(seed=0, rows=N):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        rows, P, K, 3, 6, 5, correlation=0.4, random_state=seed
    )
    return X, Y


def fitted(ridge, rank=2, rows=6, columns=5, seed=0):
    X, Y = data(seed)
    loss = LeastSquares(X, Y, ridge=ridge)
    solver = Pursuit().sized(rank, rows, columns)
    rng = np.random.default_rng(0)
    state = solver.init(loss, tr.Factors(rng.standard_normal((P, 2)), rng.standard_normal((K, 2))))
    for _ in range(5):
        state = solver.step(loss, state)
    return X, Y, state


def known_of(fit, most, columns=None):
    """The directions of a fit, of all its columns or of some."""
    mask = None if columns is None else np.isin(np.arange(K), columns).astype(float)
    return directions(fit.root, fit.whitened, most, mask)


def models(X, Y, fit, ridge, of=slice(None)):
    """Explicit Θ for every rank and number of columns, from the singular vectors of some."""
    S = X[:, fit.rows]
    H, C = S.T @ S / len(X) + ridge * np.eye(len(fit.rows)), S.T @ Y / len(X)
    values, vectors = np.linalg.eigh(H)
    root = (vectors / np.sqrt(values)) @ vectors.T  # another root than the fit's
    left, singular, _ = np.linalg.svd((root @ C)[:, of], full_matrices=False)
    for rank in range(1, np.count_nonzero(singular > 1e-10) + 1):
        L = left[:, :rank]
        full = root @ L @ (L.T @ root @ C)
        explained = np.sum((L.T @ root @ C) ** 2, axis=0)
        order = np.argsort(-explained)
        for columns in range(1, Y.shape[1] + 1):
            theta = np.zeros((X.shape[1], Y.shape[1]))
            theta[np.ix_(fit.rows, order[:columns])] = full[:, order[:columns]]
            yield rank, columns, theta


@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("sizes", [(2, 6, 5), (1, 3, 9), (4, 9, 4)])
@pytest.mark.parametrize("of", ["all columns", "those in use"])
def test_on_the_training_rows(ridge, sizes, of):
    X, Y, fit = fitted(ridge, *sizes)
    columns_of = fit.columns if of == "those in use" else np.arange(K)
    known = known_of(fit, 20, fit.columns if of == "those in use" else None)
    image = X[:, fit.rows] @ known.map
    table = error_table(known, image.T @ Y, image.T @ image)
    count = 0
    for rank, columns, theta in models(X, Y, fit, ridge, columns_of):
        change = np.sum((Y - X @ theta) ** 2) - np.sum(Y**2)
        assert table[rank - 1, columns - 1] == pytest.approx(change, rel=1e-9)
        count += 1
    assert count == table.size == min(sizes[1], len(columns_of)) * K
    if ridge == 0:  # the directions are orthonormal in XᵀX/n
        np.testing.assert_allclose(image.T @ image / N, np.eye(len(table)), atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_on_held_out_rows(ridge):
    X, Y, fit = fitted(ridge)
    A, B = data(seed=1, rows=17)
    known = known_of(fit, 20)
    image = A[:, fit.rows] @ known.map
    table = error_table(known, image.T @ B, image.T @ image)
    for rank, columns, theta in models(X, Y, fit, ridge):
        change = np.sum((B - A @ theta) ** 2) - np.sum(B**2)
        assert table[rank - 1, columns - 1] == pytest.approx(change, rel=1e-9, abs=1e-8)


def test_the_fit_itself_is_in_the_table():
    X, Y, fit = fitted(0.1)
    known = known_of(fit, 20, fit.columns)
    image = X[:, fit.rows] @ known.map
    table = error_table(known, image.T @ Y, image.T @ image)
    rss = np.sum((Y - X @ fit.factors.theta) ** 2)
    assert table[1, 4] + np.sum(Y**2) == pytest.approx(rss, rel=1e-9)


def test_as_many_directions_as_asked_for_and_as_there_are():
    _, _, fit = fitted(0.0, 2, 6, 5)
    assert known_of(fit, 3).weights.shape == (3, K)
    assert known_of(fit, 50).weights.shape == (6, K)  # from six rows
    assert known_of(fit, 50, fit.columns).weights.shape == (5, K)  # from five columns
    X = np.random.default_rng(0).standard_normal((N, P))
    Y = np.outer(X[:, 0], np.arange(1.0, K + 1))  # one direction only
    loss = LeastSquares(X, Y)
    fit = Pursuit().sized(3, 4, 6).init(loss, tr.Factors.from_theta(loss.cross(), 3))
    assert known_of(fit, 3).weights.shape[0] == 1


@pytest.mark.parametrize("columns", [6, 3])
@pytest.mark.parametrize("rows", [5, 12])
def test_a_stack_has_the_directions_of_its_parts(rows, columns):
    """What one part has and the other has not are zeros in the other."""
    fits = [fitted(0.1, 2, rows, columns, seed)[2] for seed in (0, 1)]
    masks = np.zeros((2, K))
    masks[0, :2], masks[1, :4] = 1.0, 1.0
    stacked = directions(
        np.stack([fit.root for fit in fits]), np.stack([fit.whitened for fit in fits]), 20, masks
    )
    assert stacked.weights.shape == stacked.order.shape == (2, 4, K)
    assert stacked.map.shape == (2, rows, 4)
    for i, (fit, mask, count) in enumerate(zip(fits, masks, (2, 4), strict=True)):
        alone = directions(fit.root, fit.whitened, 20, mask)
        assert alone.weights.shape == (count, K)
        coefficients = (stacked.map @ stacked.weights)[i]
        np.testing.assert_allclose(coefficients, alone.map @ alone.weights, atol=1e-10)
        np.testing.assert_array_equal(stacked.order[i, :count], alone.order)
        assert np.all(stacked.weights[i, count:] == 0)
        assert np.all(stacked.map[i, :, count:] == 0)


def test_every_library(library, numpy_library):
    X, Y, reference = fitted(0.2)
    loss = LeastSquares(library.array(X), library.array(Y), ridge=0.2)
    U, V = (library.array(part) for part in (reference.factors.U, reference.factors.V))
    fit = Pursuit().sized(2, 6, 5).init(loss, tr.Factors(U, V))
    mask = np.resize([1.0, 0.0], K)
    for columns in (None, mask):
        moved = None if columns is None else library.array(mask)
        known = directions(fit.root, fit.whitened, 4, moved)
        expected = directions(reference.root, reference.whitened, 4, columns)
        library.check(known.map)
        library.check(known.weights)
        weights, order = library.numpy(known.weights), library.numpy(known.order)
        np.testing.assert_allclose(np.abs(weights), np.abs(expected.weights), atol=1e-8)
        np.testing.assert_array_equal(order, expected.order)
        inner = 0.9 * np.eye(len(weights))  # whatever the signs of the directions
        table = error_table(known, known.weights, library.array(inner))
        np.testing.assert_allclose(table, error_table(expected, expected.weights, inner), atol=1e-8)


# --------------------------------------------------------------------------- elimination


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_elimination_is_refitting_with_the_row_space_fixed(ridge, seed):
    X, Y, fit = fitted(ridge, rows=7, seed=seed)
    A, B = data(seed=10 + seed, rows=15)
    parts = (fit.root, fit.U, A[:, fit.rows], B @ fit.Q)
    (changes,) = held_out_changes(*(part[None] for part in parts))
    assert changes.shape == (8,)

    def refit(rows):
        S = X[:, rows]
        H, C = S.T @ S / N + ridge * np.eye(len(rows)), S.T @ Y @ fit.Q / N
        U = np.linalg.solve(H, C)
        return U, -np.sum(C * U)

    rows = np.asarray(fit.rows)
    for count in range(7, 0, -1):
        U, _ = refit(rows)
        error = np.sum((B - A[:, rows] @ U @ fit.Q.T) ** 2) - np.sum(B**2)
        assert changes[count] == pytest.approx(error, rel=1e-8, abs=1e-8)
        # the row whose loss costs the training rows least, by trying them all
        costs = [refit(np.delete(rows, i))[1] for i in range(count)] if count > 1 else [0.0]
        rows = np.delete(rows, np.argmin(costs))
    assert changes[0] == 0


def test_elimination_leaves_its_input_alone():
    _, _, fit = fitted(0.0)
    root, U = fit.root.copy(), fit.U.copy()
    held_out_changes(fit.root[None], fit.U[None], np.ones((1, 3, 6)), np.ones((1, 3, 2)))
    np.testing.assert_array_equal(fit.root, root)
    np.testing.assert_array_equal(fit.U, U)


def test_forecasts_of_fits_with_different_sizes_are_those_of_each_alone():
    counts = np.arange(1, 9)
    removals = []
    for rows, held_out in ((7, 15), (4, 12), (6, 15)):
        _, _, fit = fitted(0.1, rows=rows, seed=rows)
        A, B = data(seed=rows, rows=held_out)
        removals.append(removal(fit, A[:, fit.rows], B, 2.0, B.size))
    together = forecasts([removals[0], None, *removals[1:]], counts)
    assert np.all(np.isinf(together[1]))
    for row, alone in zip(together[[0, 2, 3]], removals, strict=True):
        np.testing.assert_allclose(row, forecasts([alone], counts)[0], rtol=1e-10)
        assert np.array_equal(np.isfinite(row), counts <= len(alone.U))
