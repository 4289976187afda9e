"""Supports next to that of a fit: what is promised and proposed, against fits in NumPy."""

from itertools import combinations

import numpy as np
import pytest

import thinrank as tr
from thinrank.losses import LeastSquares
from thinrank.solvers import neighbours
from thinrank.solvers.pursuit import Pursuit

N, P, K = 40, 9, 7


def data(correlation=0.8, seed=0, p=P):
    return tr.datasets.make_two_way_sparse(
        N, p, K, 2, 3, 4, correlation=correlation, signal=0.3, random_state=seed
    )[:2]


def fitted(loss, rows, rank=2, columns=K, library=None):
    index = np.array(rows) if library is None else library.index(rows)
    everything = np.arange(K) if library is None else library.index(np.arange(K))
    solver = Pursuit().sized(rank, len(rows), columns)
    fit = solver._fit_form(
        loss.quadratic(), index, everything, loss.quadratic().cross_rows(index).T
    )
    return solver, fit


def value(X, Y, rows, columns, rank):
    """Reduced-rank regression on supports; what the other responses have is left."""
    projected = np.linalg.qr(X[:, rows])[0].T @ Y[:, columns]
    kept = np.linalg.svd(projected, compute_uv=False)[:rank]
    return (np.sum(Y**2) - np.sum(kept**2)) / (2 * len(X))


def test_pairs_against_refitting():
    """With Q held fixed: one row out, another in."""
    X, Y = data()
    _, fit = fitted(LeastSquares(X, Y, ridge=0.1), [0, 2, 5])
    H, C = X.T @ X / N + 0.1 * np.eye(P), X.T @ Y @ fit.Q / N

    def along_Q(rows):
        return np.sum(C[rows] * np.linalg.solve(H[np.ix_(rows, rows)], C[rows]))

    solver = Pursuit().sized(2, 3, K)
    prospects = solver.prospects(LeastSquares(X, Y, ridge=0.1).quadratic(), fit)
    nets = prospects.of_pairs(fit)
    for i in range(3):
        for j, new in enumerate(prospects.candidates[prospects.exact]):
            change = along_Q([*np.delete(fit.rows, i), new]) - along_Q(fit.rows)
            assert nets[i, j] == pytest.approx(change, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("columns", [K, 3])
@pytest.mark.parametrize("everything", [True, False])
def test_the_proposal_is_the_best(library, columns, everything, monkeypatch):
    """Of all sets of rows, or of all single exchanges where sets are too many."""
    X, Y = data()
    if not everything:
        monkeypatch.setattr(neighbours, "_MAX_SUPPORTS", 3 * (P - 3))  # fewer than 84 sets
    loss = LeastSquares(library.array(X), library.array(Y))
    solver, fit = fitted(loss, [4, 6, 8], columns=columns, library=library)
    prospects = solver.prospects(loss.quadratic(), fit)
    near = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, columns, 0.0)
    library.check(near.rows, near.columns, dtype="int64")
    rows, chosen = library.numpy(near.rows), library.numpy(near.columns)
    assert near.exchanged == 3 - len({4, 6, 8} & set(rows.tolist()))
    tried = [S for S in combinations(range(P), 3) if everything or len({4, 6, 8} & set(S)) == 2]
    best = min(
        value(X, Y, list(S), list(T), 2) for S in tried for T in combinations(range(K), columns)
    )
    assert value(X, Y, rows, chosen, 2) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("most", [1, 4, 9])
@pytest.mark.parametrize("limit", ["_MAX_SUPPORTS", "_MAX_WORK"])
def test_the_best_of_the_most_promising_exchanges(most, limit, monkeypatch):
    """Where even single exchanges are too many: those with the largest net gains, Q held fixed."""
    X, Y = data()
    work = {"_MAX_SUPPORTS": 1, "_MAX_WORK": 3**2 * (3 + K)}  # of one support of 3 rows
    monkeypatch.setattr(neighbours, limit, most * work[limit])
    loss = LeastSquares(X, Y)
    solver, fit = fitted(loss, [4, 6, 8])
    prospects = solver.prospects(loss.quadratic(), fit)
    near = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 0.0)
    nets = prospects.of_pairs(fit)
    tried = [
        [*np.delete(fit.rows, place // nets.shape[1]), prospects.candidates[place % nets.shape[1]]]
        for place in np.argsort(-nets, axis=None)[:most]
    ]
    best = min(value(X, Y, rows, np.arange(K), 2) for rows in tried)
    assert near.exchanged == 1
    assert value(X, Y, near.rows, np.arange(K), 2) == pytest.approx(best, rel=1e-9)


def test_the_only_row_outside_is_tried(monkeypatch):
    X, Y = data(p=4)
    monkeypatch.setattr(neighbours, "_MAX_SUPPORTS", 3)  # fewer than the 4 sets of 3 rows
    loss = LeastSquares(X, Y)
    solver, fit = fitted(loss, [1, 2, 3])
    prospects = solver.prospects(loss.quadratic(), fit)
    near = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 0.0)
    assert 0 in near.rows
    exchanges = [list(S) for S in combinations(range(4), 3) if 0 in S]
    best = min(value(X, Y, rows, np.arange(K), 2) for rows in exchanges)
    assert value(X, Y, near.rows, np.arange(K), 2) == pytest.approx(best, rel=1e-9)


def test_every_row_exchanged_pays_the_margin():
    X, Y = data()
    loss = LeastSquares(X, Y)
    solver, fit = fitted(loss, [4, 6, 8])
    prospects = solver.prospects(loss.quadratic(), fit)
    free = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 0.0)
    dear = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, fit.objective)
    assert free.exchanged > 0
    assert dear.exchanged == 0


def test_large_supports_get_only_exchanges_that_are_certain(monkeypatch):
    X, Y = data()
    monkeypatch.setattr(neighbours, "_MAX_WORK", 0)
    loss = LeastSquares(X, Y)
    solver, fit = fitted(loss, [4, 6, 8])
    prospects = solver.prospects(loss.quadratic(), fit)
    best = np.max(prospects.of_pairs(fit)) / 2
    assert best > 0
    near = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 0.9 * best)
    assert near.exchanged == 1
    assert value(X, Y, near.rows, np.arange(K), 2) <= fit.objective - best
    assert neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 1.1 * best) is None


def test_columns_of_any_rows(library):
    """A fit that begins from the wrong columns, and the best single exchange of them."""
    X, Y = data()
    loss = LeastSquares(library.array(X), library.array(Y))
    for seed in range(5):
        rows = np.sort(np.random.default_rng(seed).choice(P, 4, replace=False))
        _, fit = fitted(loss, rows.tolist(), rank=1, columns=3, library=library)
        near = neighbours.next_columns(fit, 1, 3)
        assert near.exchanged == 0  # of rows
        before, after = (library.numpy(x).tolist() for x in (fit.columns, near.columns))
        exchanged = [
            [*(set(before) - {out}), new] for out in before for new in set(range(K)) - set(before)
        ]
        best = min(value(X, Y, rows, T, 1) for T in exchanged)
        assert value(X, Y, rows, after, 1) <= best * (1 + 1e-9)


@pytest.mark.parametrize(("rank", "columns"), [(3, 4), (2, K)])
def test_columns_that_are_settled(rank, columns):
    """By their norms where the rank is no limit, and where all of them are in use."""
    X, Y = data()
    _, fit = fitted(LeastSquares(X, Y), [0, 1, 2], rank=rank, columns=columns)
    assert neighbours.next_columns(fit, rank, columns) is None


def test_duplicated_predictors():
    X, Y = data(p=5)
    loss = LeastSquares(np.hstack([X, X]), Y)
    solver, fit = fitted(loss, [0, 5, 6])  # 0 and 5 are the same
    prospects = solver.prospects(loss.quadratic(), fit)
    near = neighbours.next_rows(loss.quadratic(), fit, prospects, 2, K, 0.0)
    assert len(set((near.rows % 5).tolist())) == 3


def test_pursuit_tries_the_proposal_at_the_end():
    X, Y = data()
    loss = LeastSquares(X, Y)
    _, fit = fitted(loss, [4, 6, 8])
    solver, form = Pursuit(exchange_penalty=0.0).sized(2, 3, K), loss.quadratic()
    prospects = solver.prospects(form, fit)
    near = neighbours.next_rows(form, fit, prospects, 2, K, 0.0)
    assert near.exchanged > 0
    tried = [trial.rows.tolist() for trial, _ in solver._last_trials(loss, form, fit, prospects)]
    assert near.rows.tolist() in tried


@pytest.mark.parametrize("columns", [2, 5])
@pytest.mark.parametrize("rank", [3, 4])
def test_all_directions_explain_the_largest_columns(rank, columns):
    """Without a limit on the rank there is nothing to alternate."""
    whitened = np.random.default_rng(0).standard_normal((4, 3, 5))
    values, weights = neighbours.explained_squares(whitened, rank, columns, None)
    squares = np.sum(whitened**2, axis=1)
    np.testing.assert_allclose(weights, squares)
    np.testing.assert_allclose(values, np.sort(squares, axis=1)[:, -columns:].sum(axis=1))


def test_explained_squares_of_one_direction_and_all_columns():
    whitened = np.random.default_rng(1).standard_normal((4, 3, 5))
    values, weights = neighbours.explained_squares(whitened, 1, 5, None)
    expected = np.linalg.svd(whitened, compute_uv=False)[:, 0] ** 2
    np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(weights.sum(axis=1), expected)
